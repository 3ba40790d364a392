// Tables and queues as data. No Pulumi import: the components turn these into resources.

export interface TableDefinition {
  readonly hashKey: string;
  readonly rangeKey?: string;
  /** Every key attribute is a string, and an index holds keys only: readers fetch the item itself. */
  readonly indexes?: Readonly<Record<string, { readonly hashKey: string; readonly rangeKey: string }>>;
  readonly expiryAttribute?: string;
}

export const tables = {
  PipelineRuns: {
    hashKey: "pk",
    rangeKey: "sk",
    indexes: {
      // Sparse: only a run that waits for a read has `dueShard`.
      due: { hashKey: "dueShard", rangeKey: "dueAt" },
      byProject: { hashKey: "projectKey", rangeKey: "startedKey" },
    },
  },
  Repositories: { hashKey: "pk" },
  Deliveries: { hashKey: "pk", expiryAttribute: "expiresAt" },
} as const satisfies Record<string, TableDefinition>;

export type TableName = keyof typeof tables;

export interface QueueDefinition {
  readonly retentionDays: number;
  /** Tries before a message goes to the dead letters. */
  readonly maxReceiveCount: number;
}

export const queues = {
  observations: { retentionDays: 4, maxReceiveCount: 5 },
} as const satisfies Record<string, QueueDefinition>;

export type QueueName = keyof typeof queues;

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
      byCommit: { hashKey: "commitKey", rangeKey: "startedKey" },
    },
  },
  ChangeProposals: {
    hashKey: "pk",
    rangeKey: "sk",
    indexes: {
      // Sparse, as above: only a proposal that waits for a read has `dueShard`.
      due: { hashKey: "dueShard", rangeKey: "dueAt" },
      byProject: { hashKey: "projectKey", rangeKey: "stateKey" },
    },
  },
  ProposalCommits: { hashKey: "pk", rangeKey: "sk" },
  Approvals: { hashKey: "pk" },
  // Which accounts are one person. The identity service writes it, and no function of ours may: whoever could would
  // decide who counts as another person in an approval.
  Identities: { hashKey: "pk" },
  // What a tool answered to which idempotency key.
  ToolCalls: { hashKey: "pk", expiryAttribute: "expiresAt" },
  Repositories: { hashKey: "pk" },
  Deliveries: { hashKey: "pk", expiryAttribute: "expiresAt" },
} as const satisfies Record<string, TableDefinition>;

export type TableName = keyof typeof tables;

/** The indexes of a table; of a table without any, no name at all. */
export type IndexName<T extends TableName> = (typeof tables)[T] extends { readonly indexes: infer Indexes }
  ? keyof Indexes & string
  : never;

export interface QueueDefinition {
  readonly retentionDays: number;
  /** Tries before a message goes to the dead letters. */
  readonly maxReceiveCount: number;
}

export const queues = {
  observations: { retentionDays: 4, maxReceiveCount: 5 },
} as const satisfies Record<string, QueueDefinition>;

export type QueueName = keyof typeof queues;

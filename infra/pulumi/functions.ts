// Every function as data: what starts it, what it may do, its limits, what it is told.
// No Pulumi import: this table is the architecture diagram, and a test holds it against the deployed graph.

import type { IndexName, QueueName, TableName } from "./stores.js";

/** Who may call tools. The stack's setting `toolInvokers` says which IAM roles are in which group, each in one only. */
export const invokerGroups = ["agents", "approvers", "services"] as const;

export type InvokerGroup = (typeof invokerGroups)[number];

export type Trigger =
  | { readonly kind: "url" }
  | {
      readonly kind: "queue";
      readonly queue: QueueName;
      readonly batchSize: number;
      readonly batchWindowSeconds: number;
      /** How many copies Lambda may run for this queue. It caps the load on the tables, not the queue's length. */
      readonly maximumConcurrency: number;
    }
  /**
   * Called by name, through Lambda's own API. The function still asks who calls: a role proves which program it is, and
   * the call context which person or agent it calls for.
   */
  | { readonly kind: "invoke"; readonly invokableBy: readonly InvokerGroup[] };

/** A transaction needs the grant of each of its parts (`put`, `update`, `check`) and nothing besides. */
export type Grant =
  | { readonly can: "writeLogs" }
  | { readonly can: "readGithubSecrets" }
  | { readonly can: "readConnections" }
  | { readonly can: "send"; readonly queue: QueueName }
  | { readonly can: "consume"; readonly queue: QueueName }
  /** Many items by their keys. */
  | { readonly can: "read"; readonly table: TableName }
  /** One item by its key. */
  | { readonly can: "get"; readonly table: TableName }
  /** The items of one partition. */
  | { readonly can: "queryItems"; readonly table: TableName }
  | QueryGrant<TableName>
  | { readonly can: "put"; readonly table: TableName }
  | { readonly can: "update"; readonly table: TableName }
  /** That an item is as expected, as part of a transaction that changes another. */
  | { readonly can: "check"; readonly table: TableName };

/** The keys in an index, which the table itself need not allow. */
type QueryGrant<T extends TableName> = T extends TableName
  ? { readonly can: "query"; readonly table: T; readonly index: IndexName<T> }
  : never;

export type SettingName = "githubSources" | "githubConnections" | "callContextKeys";

export type EnvironmentValue =
  string | { readonly urlOf: QueueName } | { readonly nameOf: TableName } | { readonly setting: SettingName };

/** Metrics that a function counts in namespace `Plumbline`, and of which one count is already worth a look. */
export type AlarmedCount = "Quarantined" | "SecretUnusable" | "SecurityEvents";

export interface FunctionDefinition {
  readonly trigger: Trigger;
  readonly grants: readonly Grant[];
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, EnvironmentValue>>;
  readonly alarmedCounts: readonly AlarmedCount[];
}

export const functions = {
  "github-webhook": {
    trigger: { kind: "url" },
    grants: [{ can: "send", queue: "observations" }, { can: "readGithubSecrets" }, { can: "writeLogs" }],
    // GitHub gives up after 10 s.
    timeoutSeconds: 8,
    memoryMb: 256,
    environment: {
      OBSERVATIONS_QUEUE_URL: { urlOf: "observations" },
      GITHUB_SOURCES: { setting: "githubSources" },
      SECRET_TTL_SECONDS: "300",
      SECRET_STALE_SECONDS: "900",
      SECRET_REREAD_SECONDS: "30",
      BODY_BYTES_MAX: "6000000",
      LOG_LEVEL: "info",
    },
    alarmedCounts: ["SecretUnusable"],
  },
  "mirror-writer": {
    trigger: {
      kind: "queue",
      queue: "observations",
      batchSize: 10,
      batchWindowSeconds: 0,
      maximumConcurrency: 10,
    },
    grants: [
      { can: "consume", queue: "observations" },
      { can: "read", table: "PipelineRuns" },
      { can: "put", table: "PipelineRuns" },
      { can: "read", table: "Repositories" },
      { can: "put", table: "Deliveries" },
      { can: "writeLogs" },
    ],
    timeoutSeconds: 10,
    memoryMb: 256,
    environment: {
      PIPELINE_RUNS_TABLE: { nameOf: "PipelineRuns" },
      REPOSITORIES_TABLE: { nameOf: "Repositories" },
      DELIVERIES_TABLE: { nameOf: "Deliveries" },
      LOG_LEVEL: "info",
    },
    alarmedCounts: ["Quarantined", "SecurityEvents"],
  },
} as const satisfies Record<string, FunctionDefinition>;

export type FunctionName = keyof typeof functions;

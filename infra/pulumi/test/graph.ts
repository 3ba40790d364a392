// A typed view of the recorded graph, and the joins that the rules need.

import type { Recording } from "./recorder.js";

/** The inputs that some rule looks at, by type. A type that is missing here has no rules, and a test says so. */
export interface Inputs {
  "aws:cloudwatch/logGroup:LogGroup": { name: string; retentionInDays?: number };
  "aws:cloudwatch/metricAlarm:MetricAlarm": {
    namespace: string;
    metricName: string;
    dimensions: Record<string, string>;
    threshold: number;
    comparisonOperator: string;
    treatMissingData: string;
  };
  "aws:dynamodb/table:Table": {
    name: string;
    billingMode: string;
    deletionProtectionEnabled?: boolean;
    pointInTimeRecovery?: { enabled: boolean };
    streamEnabled?: boolean;
  };
  "aws:iam/role:Role": { name: string; assumeRolePolicy: string };
  "aws:iam/rolePolicy:RolePolicy": { name: string; role: string; policy: string };
  "aws:lambda/eventSourceMapping:EventSourceMapping": {
    eventSourceArn: string;
    functionName: string;
    batchSize: number;
    maximumBatchingWindowInSeconds: number;
    functionResponseTypes?: string[];
    scalingConfig?: { maximumConcurrency: number };
  };
  "aws:lambda/function:Function": {
    name: string;
    role: string;
    runtime: string;
    handler: string;
    architectures: string[];
    code: { archive: string };
    timeout: number;
    memorySize: number;
    environment: { variables: Record<string, string> };
    loggingConfig?: { logFormat: string; logGroup: string };
    tracingConfig?: { mode: string };
    reservedConcurrentExecutions?: number;
  };
  "aws:lambda/functionUrl:FunctionUrl": { functionName: string; authorizationType: string };
  "aws:lambda/permission:Permission": {
    function: string;
    action: string;
    principal: string;
    functionUrlAuthType?: string;
    invokedViaFunctionUrl?: boolean;
  };
  "aws:secretsmanager/secret:Secret": { name: string };
  "aws:sqs/queue:Queue": {
    name: string;
    visibilityTimeoutSeconds?: number;
    messageRetentionSeconds: number;
    redrivePolicy?: string;
    sqsManagedSseEnabled?: boolean;
  };
}

export interface Resource<T extends keyof Inputs> {
  readonly name: string;
  readonly protect: boolean;
  readonly arn: string;
  readonly inputs: Inputs[T];
}

export interface PolicyStatement {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

export function all<T extends keyof Inputs>({ resources }: Recording, type: T): readonly Resource<T>[] {
  return resources
    .filter((resource) => resource.type === type)
    .map(({ name, protect, outputs, inputs }) => ({
      name,
      protect,
      arn: String(outputs["arn"]),
      inputs: inputs as unknown as Inputs[T],
    }));
}

export function statementsOf(policy: string): readonly PolicyStatement[] {
  return (JSON.parse(policy) as { Statement: PolicyStatement[] }).Statement;
}

export interface Redrive {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: unknown;
}

export function redriveOf(queue: Resource<"aws:sqs/queue:Queue">): Redrive | undefined {
  const { redrivePolicy } = queue.inputs;
  return redrivePolicy === undefined ? undefined : (JSON.parse(redrivePolicy) as Redrive);
}

/** Dead letters are where some other queue's failures go. */
export function splitQueues(recording: Recording): {
  readonly working: readonly Resource<"aws:sqs/queue:Queue">[];
  readonly deadLetters: readonly Resource<"aws:sqs/queue:Queue">[];
} {
  const queues = all(recording, "aws:sqs/queue:Queue");
  const targets = new Set(queues.map((queue) => redriveOf(queue)?.deadLetterTargetArn));
  return {
    working: queues.filter((queue) => !targets.has(queue.arn)),
    deadLetters: queues.filter((queue) => targets.has(queue.arn)),
  };
}

// Sentences about all resources of a kind, read off the graph that the real program gives.

import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { type FunctionDefinition, functions as table } from "../functions.js";
import { all, type Inputs, redriveOf, splitQueues } from "./graph.js";
import { localSettings, record } from "./recorder.js";

/** The two that systems of record call; whoever else calls shows a role to AWS. */
const OPEN_TO_EVERYBODY = ["azure-devops-webhook", "github-webhook"];
/** Whoever may call one of the first and one of the second could decide about a request of its own. */
const ASKING = ["propose-change-set-tool"];
const DECIDING = ["decide-approval-tool"];

const recording = await record();
const functions = all(recording, "aws:lambda/function:Function");
const urls = all(recording, "aws:lambda/functionUrl:FunctionUrl");
const permissions = all(recording, "aws:lambda/permission:Permission");
const mappings = all(recording, "aws:lambda/eventSourceMapping:EventSourceMapping");
const logGroups = all(recording, "aws:cloudwatch/logGroup:LogGroup");
const alarms = all(recording, "aws:cloudwatch/metricAlarm:MetricAlarm");
const secrets = all(recording, "aws:secretsmanager/secret:Secret");
const { working, deadLetters } = splitQueues(recording);
const definitions: Readonly<Record<string, FunctionDefinition>> = table;

test("no resource is of a kind that these rules don't know", () => {
  // A secret's version, a queue's policy or a role's attachment would pass every rule below unseen.
  const known = {
    "aws:cloudwatch/logGroup:LogGroup": true,
    "aws:cloudwatch/metricAlarm:MetricAlarm": true,
    "aws:dynamodb/table:Table": true,
    "aws:iam/role:Role": true,
    "aws:iam/rolePolicy:RolePolicy": true,
    "aws:lambda/eventSourceMapping:EventSourceMapping": true,
    "aws:lambda/function:Function": true,
    "aws:lambda/functionUrl:FunctionUrl": true,
    "aws:lambda/permission:Permission": true,
    "aws:secretsmanager/secret:Secret": true,
    "aws:sqs/queue:Queue": true,
  } satisfies Record<keyof Inputs, true>;
  expect([...new Set(recording.resources.map(({ type }) => type))]).toEqual(Object.keys(known));
});

test("every resource belongs to a component", () => {
  expect(recording.resources.filter(({ parent }) => parent === null)).toEqual([]);
});

test("every deployed name starts with project and stack", () => {
  const names = recording.resources.map(({ inputs }) => inputs["name"]).filter((name) => name !== undefined);
  expect(names.filter((name) => !/^(\/aws\/lambda\/)?plumbline[-/]local[-/]/.test(String(name)))).toEqual([]);
});

test("every folder of functions/ is deployed, and nothing else is", () => {
  const folders = readdirSync(new URL("../../../functions", import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  expect(Object.keys(table).sort()).toEqual(folders);
  expect(functions.map(({ name }) => name)).toEqual(folders);
});

describe.each(functions)("function $name", ({ name, inputs }) => {
  test("is a Rust binary for arm64, named after its folder", () => {
    expect(inputs).toMatchObject({
      architectures: ["arm64"],
      code: { archive: `../../target/lambda/${name}/bootstrap.zip` },
      handler: "bootstrap",
      name: `plumbline-local-${name}`,
      runtime: "provided.al2023",
    });
  });

  test("has a log group of its own that forgets after 30 days", () => {
    const groups = logGroups.filter((group) => group.inputs.name === inputs.loggingConfig?.logGroup);
    expect(groups.map((group) => [group.name, group.inputs.retentionInDays])).toEqual([[name, 30]]);
  });

  test("is not traced by X-Ray", () => {
    expect(inputs.tracingConfig).toBeUndefined();
  });

  test("has a suffix that says what starts it", () => {
    const byUrl = urls.filter((url) => url.inputs.functionName === inputs.name).map(() => ["webhook"]);
    const byQueue = mappings
      .filter((mapping) => mapping.inputs.functionName === inputs.name)
      .map(() => ["reader", "writer"]);
    const started = [...byUrl, ...byQueue];
    const suffixes = started.length === 0 ? [["tool"]] : started;
    expect(suffixes).toHaveLength(1);
    expect(suffixes[0]).toContain(name.split("-").at(-1));
  });

  test("shares the account's concurrency unless the stack says otherwise", () => {
    expect(inputs.reservedConcurrentExecutions).toBeUndefined();
  });

  test("alarms on failures, on throttles and on each count that is worth a look", () => {
    const watched = alarms
      .filter(({ inputs: { dimensions } }) =>
        [inputs.name, name].some((own) => Object.values(dimensions).includes(own)),
      )
      .map(({ inputs: { namespace, metricName, dimensions, threshold } }) => ({
        namespace,
        metricName,
        dimensions,
        threshold,
      }));
    const expected = [
      ...["Errors", "Throttles"].map((metricName) => ({
        namespace: "AWS/Lambda",
        metricName,
        dimensions: { FunctionName: inputs.name },
        threshold: 0,
      })),
      ...(definitions[name]?.alarmedCounts ?? []).map((metricName) => ({
        namespace: "Plumbline",
        metricName,
        dimensions: { service: name },
        threshold: 0,
      })),
    ];
    expect(watched).toHaveLength(expected.length);
    expect(watched).toEqual(expect.arrayContaining(expected));
  });
});

describe("function URLs", () => {
  test("are for the webhooks only, which are open to everybody", () => {
    expect(urls.filter(({ inputs }) => inputs.authorizationType !== "NONE")).toEqual([]);
    const open = urls.map(({ inputs }) => inputs.functionName.replace("plumbline-local-", ""));
    expect(open.filter((name) => !OPEN_TO_EVERYBODY.includes(name))).toEqual([]);
  });

  test.each(urls.filter(({ inputs }) => inputs.authorizationType === "NONE"))(
    "that are open let in both ways of calling, and nothing past the URL: $name",
    ({ inputs: { functionName } }) => {
      const granted = permissions.filter(({ inputs }) => inputs.function === functionName).map(({ inputs }) => inputs);
      expect(granted).toHaveLength(2);
      expect(granted).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ action: "lambda:InvokeFunctionUrl", principal: "*", functionUrlAuthType: "NONE" }),
          expect.objectContaining({ action: "lambda:InvokeFunction", principal: "*", invokedViaFunctionUrl: true }),
        ]),
      );
    },
  );
});

describe("tools", () => {
  const tools = Object.entries(definitions).flatMap(([name, { trigger }]) =>
    trigger.kind === "invoke" ? [{ name, invokableBy: trigger.invokableBy }] : [],
  );

  test("are invoked by the roles of the groups that functions.ts names, and besides URLs that is all permissions are for", () => {
    const roleArns = JSON.parse(localSettings()["plumbline:toolInvokers"] ?? "{}") as Record<
      string,
      { roleArns: string[] }
    >;
    const expected = tools.flatMap(({ name, invokableBy }) =>
      invokableBy.flatMap((group) =>
        (roleArns[group]?.roleArns ?? []).map((principal) => ({
          action: "lambda:InvokeFunction",
          function: `plumbline-local-${name}`,
          principal,
        })),
      ),
    );
    const open = urls.map(({ inputs }) => inputs.functionName);
    const granted = permissions
      .filter(({ inputs }) => !open.includes(inputs.function))
      .map(({ inputs: { action, function: invoked, principal } }) => ({ action, function: invoked, principal }));
    expect(granted).toHaveLength(expected.length);
    expect(granted).toEqual(expect.arrayContaining(expected));
  });

  test.each(tools)("are invoked by roles, by none twice, and by somebody: $name", ({ name, invokableBy }) => {
    const principals = permissions
      .filter(({ inputs }) => inputs.function === `plumbline-local-${name}`)
      .map(({ inputs }) => inputs.principal);
    expect(principals.filter((principal) => !/^arn:aws:iam::\d{12}:role\/[\w/-]+$/.test(principal))).toEqual([]);
    expect(new Set(principals).size).toBe(principals.length);
    expect(new Set(invokableBy).size).toBe(invokableBy.length);
    expect(invokableBy).not.toEqual([]);
  });

  test("that ask and tools that decide have no caller in common", () => {
    const callers = (asked: readonly string[]) =>
      permissions
        .filter(({ inputs }) => asked.some((name) => inputs.function === `plumbline-local-${name}`))
        .map(({ inputs }) => inputs.principal);
    const deciding = callers(DECIDING);
    expect(callers(ASKING).filter((principal) => deciding.includes(principal))).toEqual([]);
  });
});

describe("secrets", () => {
  test("are in no environment: each function is told exactly this", () => {
    expect(Object.fromEntries(functions.map(({ name, inputs }) => [name, inputs.environment.variables]))).toEqual({
      "github-webhook": {
        BODY_BYTES_MAX: "6000000",
        GITHUB_SOURCES: JSON.stringify([
          { id: "acme", kind: "Hook", host: "github.com", tenantId: "t1", secretId: "plumbline/local/github/acme" },
          { id: "beta", kind: "Hook", host: "github.com", tenantId: "t2", secretId: "plumbline/local/github/beta" },
          { id: "app", kind: "App", host: "github.com", secretId: "plumbline/local/github/app" },
        ]),
        LOG_LEVEL: "info",
        OBSERVATIONS_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/000000000000/plumbline-local-observations",
        SECRET_REREAD_SECONDS: "30",
        SECRET_STALE_SECONDS: "900",
        SECRET_TTL_SECONDS: "300",
      },
      "mirror-writer": {
        DELIVERIES_TABLE: "plumbline-local-Deliveries",
        LOG_LEVEL: "info",
        PIPELINE_RUNS_TABLE: "plumbline-local-PipelineRuns",
        REPOSITORIES_TABLE: "plumbline-local-Repositories",
      },
    });
  });

  test("are named as the webhook asks for them", () => {
    const asked = functions.flatMap(({ inputs }) => {
      const sources: unknown = JSON.parse(inputs.environment.variables["GITHUB_SOURCES"] ?? "[]");
      return (sources as { secretId: string }[]).map(({ secretId }) => secretId);
    });
    expect(secretNames("github")).toEqual(asked.sort());
  });

  test("are one for each connection besides", () => {
    expect(secretNames("connections")).toEqual(["plumbline/local/connections/acme", "plumbline/local/connections/beta"]);
    expect(secretNames("github").length + secretNames("connections").length).toBe(secrets.length);
  });

  test.each(secrets)("have no value here and can't be deleted by the program: $name", ({ inputs, protect }) => {
    expect(Object.keys(inputs)).toEqual(["description", "name", "recoveryWindowInDays"]);
    expect(protect).toBe(true);
  });
});

function secretNames(kind: "connections" | "github"): readonly string[] {
  const names = secrets.map(({ inputs }) => inputs.name);
  return names.filter((name) => name.startsWith(`plumbline/local/${kind}/`)).sort();
}

describe.each(working)("queue $name", (queue) => {
  const redrive = redriveOf(queue);
  const consumers = mappings.filter(({ inputs }) => inputs.eventSourceArn === queue.arn);

  test("has dead letters that outlive its own messages", () => {
    const target = deadLetters.find(({ arn }) => arn === redrive?.deadLetterTargetArn);
    expect(target?.inputs.messageRetentionSeconds).toBeGreaterThan(queue.inputs.messageRetentionSeconds);
    // As a number: SQS's stand-ins ignore a redrive policy that says "5".
    expect(redrive?.maxReceiveCount).toBe(5);
  });

  test("hides a message for six times as long as its consumer may take", () => {
    expect(consumers).not.toEqual([]);
    for (const { inputs } of consumers) {
      const consumer = functions.find((candidate) => candidate.inputs.name === inputs.functionName);
      expect(consumer).toBeDefined();
      expect(queue.inputs.visibilityTimeoutSeconds).toBeGreaterThanOrEqual(6 * (consumer?.inputs.timeout ?? Infinity));
    }
  });

  test("alarms on its oldest message", () => {
    expect(alarms.map(({ inputs }) => inputs)).toContainEqual(
      expect.objectContaining({
        namespace: "AWS/SQS",
        metricName: "ApproximateAgeOfOldestMessage",
        dimensions: { QueueName: queue.inputs.name },
      }),
    );
  });
});

test.each(deadLetters)("alarms on the first message in $name", ({ inputs: { name } }) => {
  expect(alarms.map(({ inputs }) => inputs)).toContainEqual(
    expect.objectContaining({
      namespace: "AWS/SQS",
      metricName: "ApproximateNumberOfMessagesVisible",
      dimensions: { QueueName: name },
      threshold: 0,
    }),
  );
});

test.each([...working, ...deadLetters])("messages lie encrypted in $name", ({ inputs }) => {
  expect(inputs.sqsManagedSseEnabled).toBe(true);
});

test.each(alarms)("alarm $name rings above its threshold, and silence is good news", ({ inputs }) => {
  expect(inputs).toMatchObject({ comparisonOperator: "GreaterThanThreshold", treatMissingData: "notBreaching" });
});

test("every consumer answers message by message, in the batches that functions.ts declares", () => {
  const declared = Object.entries(definitions).flatMap(([name, { trigger }]) =>
    trigger.kind === "queue"
      ? [
          {
            eventSourceArn: working.find((queue) => queue.name === trigger.queue)?.arn,
            functionName: `plumbline-local-${name}`,
            batchSize: trigger.batchSize,
            maximumBatchingWindowInSeconds: trigger.batchWindowSeconds,
            functionResponseTypes: ["ReportBatchItemFailures"],
            scalingConfig: { maximumConcurrency: trigger.maximumConcurrency },
          },
        ]
      : [],
  );
  expect(mappings.map(({ inputs }) => inputs)).toEqual(declared);
});

test.each(all(recording, "aws:dynamodb/table:Table"))(
  "table $name can be restored, and can't be deleted by mistake",
  ({ inputs, protect }) => {
    expect(inputs).toMatchObject({
      billingMode: "PAY_PER_REQUEST",
      deletionProtectionEnabled: true,
      pointInTimeRecovery: { enabled: true },
    });
    expect(protect).toBe(true);
    // A stream costs and grants; it comes with its first consumer.
    expect(inputs.streamEnabled).toBeUndefined();
  },
);

test("the stack tells people what they need to connect GitHub", () => {
  expect(recording.outputs).toEqual({
    deadLettersUrls: {
      observations: "https://sqs.us-east-1.amazonaws.com/000000000000/plumbline-local-observations-dead-letters",
    },
    githubConnectionSecretArns: secretArns("connection-"),
    githubSecretArns: secretArns("github-"),
    githubWebhookUrls: Object.fromEntries(
      ["acme", "app", "beta"].map((id) => [id, `https://github-webhook.lambda-url.us-east-1.on.aws/github/${id}`]),
    ),
    queueUrls: { observations: "https://sqs.us-east-1.amazonaws.com/000000000000/plumbline-local-observations" },
    tableNames: Object.fromEntries(
      [
        "Approvals",
        "ChangeProposals",
        "Deliveries",
        "Identities",
        "PipelineRuns",
        "ProposalCommits",
        "Repositories",
        "ToolCalls",
      ].map((name) => [name, `plumbline-local-${name}`]),
    ),
  });
});

function secretArns(prefix: string): Record<string, string> {
  const own = secrets.filter(({ name }) => name.startsWith(prefix));
  return Object.fromEntries(own.map(({ name, arn }) => [name.slice(prefix.length), arn]));
}

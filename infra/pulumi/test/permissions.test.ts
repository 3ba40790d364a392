import { describe, expect, test } from "vitest";

import { all, statementsOf } from "./graph.js";
import { type Recording, record } from "./recorder.js";

/** Function → resource → every action it may take there. Written by hand: a new permission is a decision. */
const ALLOWED = {
  "github-webhook": {
    "Queue observations": ["sqs:SendMessage"],
    "Secret github-acme": ["secretsmanager:GetSecretValue"],
    "Secret github-app": ["secretsmanager:GetSecretValue"],
    "Secret github-beta": ["secretsmanager:GetSecretValue"],
    "LogGroup github-webhook": ["logs:CreateLogStream", "logs:PutLogEvents"],
  },
  "mirror-writer": {
    "Queue observations": ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
    "Table PipelineRuns": ["dynamodb:BatchGetItem", "dynamodb:PutItem"],
    "Table Repositories": ["dynamodb:BatchGetItem"],
    "Table Deliveries": ["dynamodb:PutItem"],
    "LogGroup mirror-writer": ["logs:CreateLogStream", "logs:PutLogEvents"],
  },
};

const recording = await record();
const policies = all(recording, "aws:iam/rolePolicy:RolePolicy");
const functions = all(recording, "aws:lambda/function:Function");
const roles = all(recording, "aws:iam/role:Role");
const STREAMS = ":*";

test("every function may do exactly what the table above says", () => {
  const granted = Object.fromEntries(policies.map(({ name, inputs }) => [name, actionsByResource(inputs.policy)]));
  expect(granted).toEqual(ALLOWED);
});

describe.each(policies)("the policy of $name", ({ inputs }) => {
  test("allows, and names whole actions", () => {
    for (const { Effect, Action } of statementsOf(inputs.policy)) {
      expect(Effect).toBe("Allow");
      expect(Action.filter((action) => action.includes("*"))).toEqual([]);
    }
  });

  test("names whole resources, but for the streams of a log group", () => {
    const patterns = statementsOf(inputs.policy).flatMap(({ Action, Resource }) =>
      Action.every((action) => action.startsWith("logs:"))
        ? Resource.map((resource) => (resource.endsWith(STREAMS) ? resource.slice(0, -STREAMS.length) : resource))
        : Resource,
    );
    expect(patterns.filter((resource) => resource.includes("*"))).toEqual([]);
  });
});

/** Queue → who may send. Whoever may send observations can write into any tenant's mirror. */
const SENDERS = {
  observations: ["github-webhook"],
};

test("only these functions may send to a queue, and to no dead letters", () => {
  const sends = /^(sqs:(Send|\*)|\*)/i;
  const senders = all(recording, "aws:sqs/queue:Queue").flatMap(({ name, arn }) => {
    const may = whoMay(sends, arn);
    return may.length === 0 ? [] : [[name, may] as const];
  });
  expect(Object.fromEntries(senders)).toEqual(SENDERS);
});

test("no function may write who is which person, or it could count itself as another one", () => {
  const identities = all(recording, "aws:dynamodb/table:Table").find(({ name }) => name === "Identities");
  expect(identities).toBeDefined();
  expect(whoMay(/^(?!dynamodb:(BatchGetItem|GetItem)$)/, identities?.arn ?? "")).toEqual([]);
});

test("no function may invoke another: a tool is called by the Factory, and past that call nobody says for whom", () => {
  const invoking = policies.filter(({ inputs }) =>
    statementsOf(inputs.policy).some(({ Action }) => Action.some((action) => /^lambda:|\*/i.test(action))),
  );
  expect(invoking.map(({ name }) => name)).toEqual([]);
});

test("every function has a role of its own, which only Lambda may take", () => {
  expect(functions.map(({ inputs }) => inputs.role)).toEqual(roles.map(({ arn }) => arn));
  expect(new Set(functions.map(({ inputs }) => inputs.role)).size).toBe(functions.length);
  for (const { inputs } of roles) {
    // No managed policy, no inline policy: the one below is all that a role has.
    expect(Object.keys(inputs)).toEqual(["assumeRolePolicy", "name"]);
    expect(JSON.parse(inputs.assumeRolePolicy)).toMatchObject({
      Statement: [{ Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" }, Action: "sts:AssumeRole" }],
    });
  }
  expect(policies.map(({ inputs }) => inputs.role)).toEqual(roles.map(({ inputs }) => inputs.name));
});

function actionsByResource(policy: string): Record<string, readonly string[]> {
  const found: Record<string, string[]> = {};
  for (const { Action, Resource } of statementsOf(policy)) {
    for (const resource of Resource) {
      const label = labelOf(recording, resource);
      found[label] = [...(found[label] ?? []), ...Action].sort();
    }
  }
  return found;
}

/** The functions whose policy allows such an action on the resource, or on anything wider. */
function whoMay(action: RegExp, arn: string): readonly string[] {
  return policies
    .filter(({ inputs }) =>
      statementsOf(inputs.policy).some(
        ({ Action, Resource }) =>
          Action.some((allowed) => action.test(allowed)) &&
          Resource.some((resource) => resource === arn || resource.startsWith(`${arn}/`) || resource === "*"),
      ),
    )
    .map(({ name }) => name);
}

/** An ARN that belongs to no resource of this program stays as it is, and so fails the comparison. */
function labelOf(recording: Recording, arn: string): string {
  const owned = recording.resources.find(
    ({ outputs, type }) =>
      arn === (type.endsWith(":LogGroup") ? `${String(outputs["arn"])}${STREAMS}` : outputs["arn"]),
  );
  if (owned !== undefined) {
    return `${owned.type.split(":").at(-1)} ${owned.name}`;
  }
  // An index has the ARN of its table and a path.
  const [table = "", index] = arn.split("/index/");
  return index === undefined ? arn : `${labelOf(recording, table)} index ${index}`;
}

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

test("only the webhook may send observations: whoever can, can write into any tenant's mirror", () => {
  const observations = all(recording, "aws:sqs/queue:Queue").find(({ name }) => name === "observations");
  const senders = policies.filter(({ inputs }) =>
    statementsOf(inputs.policy).some(
      ({ Action, Resource }) =>
        Action.some((action) => /^sqs:(Send|\*)/i.test(action) || action === "*") &&
        Resource.some((resource) => resource === observations?.arn || resource.includes("*")),
    ),
  );
  expect(observations).toBeDefined();
  expect(senders.map(({ name }) => name)).toEqual(["github-webhook"]);
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

/** An ARN that belongs to no resource of this program stays as it is, and so fails the comparison. */
function labelOf({ resources }: Recording, arn: string): string {
  const owned = resources.find(
    ({ outputs, type }) =>
      arn === (type.endsWith(":LogGroup") ? `${String(outputs["arn"])}${STREAMS}` : outputs["arn"]),
  );
  return owned === undefined ? arn : `${owned.type.split(":").at(-1)} ${owned.name}`;
}

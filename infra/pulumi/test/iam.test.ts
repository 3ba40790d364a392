import { expect, test } from "vitest";

import type { Grant } from "../functions.js";
import { type Arns, policyDocument, statement } from "../iam.js";
import { mapRecord } from "../records.js";
import { queues, tables } from "../stores.js";

const arns: Arns = {
  tables: mapRecord(tables, (_, name) => `table/${name}`),
  queues: mapRecord(queues, (_, name) => `queue:${name}`),
  githubSecrets: ["secret:github"],
  connectionSecrets: ["secret:connection"],
  logGroup: "log-group:own",
};

test.each<[Grant, readonly string[], readonly string[]]>([
  [{ can: "writeLogs" }, ["logs:CreateLogStream", "logs:PutLogEvents"], ["log-group:own:*"]],
  [{ can: "readGithubSecrets" }, ["secretsmanager:GetSecretValue"], ["secret:github"]],
  [{ can: "readConnections" }, ["secretsmanager:GetSecretValue"], ["secret:connection"]],
  [{ can: "send", queue: "observations" }, ["sqs:SendMessage"], ["queue:observations"]],
  [{ can: "read", table: "Approvals" }, ["dynamodb:BatchGetItem"], ["table/Approvals"]],
  [{ can: "get", table: "Approvals" }, ["dynamodb:GetItem"], ["table/Approvals"]],
  [{ can: "queryItems", table: "ProposalCommits" }, ["dynamodb:Query"], ["table/ProposalCommits"]],
  // Not the table: whoever may list an index need not be able to list everything.
  [{ can: "query", table: "PipelineRuns", index: "byCommit" }, ["dynamodb:Query"], ["table/PipelineRuns/index/byCommit"]],
  [{ can: "put", table: "Approvals" }, ["dynamodb:PutItem"], ["table/Approvals"]],
  [{ can: "update", table: "Approvals" }, ["dynamodb:UpdateItem"], ["table/Approvals"]],
  [{ can: "check", table: "Approvals" }, ["dynamodb:ConditionCheckItem"], ["table/Approvals"]],
])("%o allows its own actions on its own resource, and no more", (grant, actions, resources) => {
  expect(statement(grant, arns)).toEqual({ Effect: "Allow", Action: actions, Resource: resources });
});

test("an index that a table does not have is a type error", () => {
  // @ts-expect-error -- `tsc` says so; were it no error, the next line would be one.
  const grant: Grant = { can: "query", table: "PipelineRuns", index: "byWeather" };
  expect(grant.can).toBe("query");
});

test("without connections a policy says nothing about them, as AWS refuses a statement about nothing", () => {
  const document = policyDocument([{ can: "readConnections" }, { can: "writeLogs" }], { ...arns, connectionSecrets: [] });
  expect((JSON.parse(document) as { Statement: unknown[] }).Statement).toHaveLength(1);
});

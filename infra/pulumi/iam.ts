// Grant → statement. Pure: the only place where an action is named.

import type { Grant } from "./functions.js";
import type { QueueName, TableName } from "./stores.js";

/** A resource that is missing here is a type error in `statement`. */
export interface Arns {
  readonly tables: Readonly<Record<TableName, string>>;
  readonly queues: Readonly<Record<QueueName, string>>;
  readonly githubSecrets: readonly string[];
  readonly connectionSecrets: readonly string[];
  /** The function's own. */
  readonly logGroup: string;
}

export interface Statement {
  readonly Effect: "Allow";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
}

export function statement(grant: Grant, arns: Arns): Statement {
  switch (grant.can) {
    case "writeLogs":
      // The group is declared by this program, so nothing may create one. `:*` is how AWS names
      // the streams of a group; it is the one wildcard that the tests let through.
      return allow(["logs:CreateLogStream", "logs:PutLogEvents"], [`${arns.logGroup}:*`]);
    case "readGithubSecrets":
      return allow(["secretsmanager:GetSecretValue"], arns.githubSecrets);
    case "readConnections":
      return allow(["secretsmanager:GetSecretValue"], arns.connectionSecrets);
    case "send":
      return allow(["sqs:SendMessage"], [arns.queues[grant.queue]]);
    case "consume":
      // The event source mapping polls with the function's own role.
      return allow(["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"], [arns.queues[grant.queue]]);
    case "read":
      return allow(["dynamodb:BatchGetItem"], [arns.tables[grant.table]]);
    case "get":
      return allow(["dynamodb:GetItem"], [arns.tables[grant.table]]);
    case "queryItems":
      return allow(["dynamodb:Query"], [arns.tables[grant.table]]);
    case "query":
      return allow(["dynamodb:Query"], [`${arns.tables[grant.table]}/index/${grant.index}`]);
    case "put":
      return allow(["dynamodb:PutItem"], [arns.tables[grant.table]]);
    case "update":
      return allow(["dynamodb:UpdateItem"], [arns.tables[grant.table]]);
    case "check":
      return allow(["dynamodb:ConditionCheckItem"], [arns.tables[grant.table]]);
  }
}

export function policyDocument(grants: readonly Grant[], arns: Arns): string {
  return JSON.stringify({
    Version: "2012-10-17",
    // AWS refuses a statement about nothing, which a stack without connections would have.
    Statement: grants.map((grant) => statement(grant, arns)).filter(({ Resource }) => Resource.length > 0),
  });
}

/** Lets the Lambda service, and nobody else, take a function's role. */
export const assumedByLambda = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" }, Action: "sts:AssumeRole" }],
});

function allow(actions: readonly string[], resources: readonly string[]): Statement {
  return { Effect: "Allow", Action: actions, Resource: resources };
}

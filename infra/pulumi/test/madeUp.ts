// What AWS would make up: ids, ARNs and URLs, the same on every machine.

import type { JsonObject } from "./json.js";

const ACCOUNT = "000000000000";
const REGION = "us-east-1";

/**
 * `outputs.arn` is there always, so that whoever reads a policy can join it to a resource by equality.
 * What has no ARN of its own (a function URL, a permission, an inline policy) bears its owner's.
 */
export function madeUp(
  type: string,
  logicalName: string,
  inputs: Readonly<Record<string, unknown>>,
): { readonly id: string; readonly outputs: JsonObject } {
  const name = typeof inputs["name"] === "string" ? inputs["name"] : logicalName;
  const arn = (service: string, resource: string): string => `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`;
  switch (type) {
    case "aws:cloudwatch/logGroup:LogGroup":
      return { id: name, outputs: { arn: arn("logs", `log-group:${name}`) } };
    case "aws:cloudwatch/metricAlarm:MetricAlarm":
      return { id: name, outputs: { arn: arn("cloudwatch", `alarm:${name}`) } };
    case "aws:dynamodb/table:Table":
      return { id: name, outputs: { arn: arn("dynamodb", `table/${name}`) } };
    case "aws:iam/role:Role":
      return { id: name, outputs: { arn: roleArn(name) } };
    case "aws:iam/rolePolicy:RolePolicy":
      return { id: `${String(inputs["role"])}:${name}`, outputs: { arn: roleArn(String(inputs["role"])) } };
    case "aws:lambda/eventSourceMapping:EventSourceMapping":
      return { id: name, outputs: { arn: arn("lambda", `event-source-mapping:${name}`) } };
    case "aws:lambda/function:Function":
      return { id: name, outputs: { arn: arn("lambda", `function:${name}`) } };
    case "aws:lambda/functionUrl:FunctionUrl":
      return {
        id: String(inputs["functionName"]),
        outputs: {
          arn: arn("lambda", `function:${String(inputs["functionName"])}`),
          functionUrl: `https://${name}.lambda-url.${REGION}.on.aws/`,
        },
      };
    case "aws:lambda/permission:Permission":
      return {
        id: String(inputs["statementId"]),
        outputs: { arn: arn("lambda", `function:${String(inputs["function"])}`) },
      };
    case "aws:secretsmanager/secret:Secret": {
      // Secrets Manager ends every ARN in six characters of its own choice.
      const secretArn = arn("secretsmanager", `secret:${name}-000000`);
      return { id: secretArn, outputs: { arn: secretArn } };
    }
    case "aws:sqs/queue:Queue": {
      const url = `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${name}`;
      return { id: url, outputs: { arn: arn("sqs", name), url } };
    }
    default:
      throw new Error(`${type} is new: say in test/madeUp.ts what AWS would make up for it`);
  }
}

function roleArn(name: string): string {
  return `arn:aws:iam::${ACCOUNT}:role/${name}`;
}

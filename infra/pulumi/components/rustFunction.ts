import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

import type { FunctionDefinition } from "../functions.js";
import { type Arns, assumedByLambda, policyDocument } from "../iam.js";
import { alarm } from "./alarm.js";

export interface RustFunctionArgs {
  readonly deployedName: string;
  readonly definition: FunctionDefinition;
  readonly arns: pulumi.Input<Omit<Arns, "logGroup">>;
  readonly environment: Readonly<Record<string, pulumi.Input<string>>>;
  readonly reservedConcurrency: number | undefined;
  readonly alarmTopicArns: readonly string[];
}

const LOG_RETENTION_DAYS = 30;

/** Role, policy, log group, function and its alarms. It may do what its grants say, and nothing more. */
export class RustFunction extends pulumi.ComponentResource {
  public readonly functionName: pulumi.Output<string>;

  public constructor(name: string, args: RustFunctionArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:compute:RustFunction", name, {}, opts);
    const { definition, deployedName } = args;
    const logGroup = new aws.cloudwatch.LogGroup(
      name,
      { name: `/aws/lambda/${deployedName}`, retentionInDays: LOG_RETENTION_DAYS },
      { parent: this },
    );
    const role = new aws.iam.Role(name, { name: deployedName, assumeRolePolicy: assumedByLambda }, { parent: this });
    const policy = new aws.iam.RolePolicy(
      name,
      {
        name: deployedName,
        role: role.name,
        policy: pulumi
          .all([args.arns, logGroup.arn])
          .apply(([arns, ownLogGroup]) => policyDocument(definition.grants, { ...arns, logGroup: ownLogGroup })),
      },
      { parent: this },
    );
    const lambda = new aws.lambda.Function(
      name,
      {
        name: deployedName,
        architectures: ["arm64"],
        runtime: "provided.al2023",
        handler: "bootstrap",
        // What `cargo lambda build --profile deploy --arm64 --output-format zip` writes.
        code: new pulumi.asset.FileArchive(`../../target/lambda/${name}/bootstrap.zip`),
        role: role.arn,
        timeout: definition.timeoutSeconds,
        memorySize: definition.memoryMb,
        environment: { variables: args.environment },
        loggingConfig: { logFormat: "Text", logGroup: logGroup.name },
        ...(args.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: args.reservedConcurrency }),
      },
      // Without its policy the first calls would fail, and an event source mapping is refused.
      { parent: this, dependsOn: [policy] },
    );
    this.functionName = lambda.name;
    this.watch(name, args);
    this.registerOutputs({ functionName: this.functionName });
  }

  private watch(name: string, { definition, deployedName, alarmTopicArns: topicArns }: RustFunctionArgs): void {
    for (const metricName of ["Errors", "Throttles"]) {
      alarm(
        `${name}-${metricName}`,
        {
          deployedName: `${deployedName}-${metricName}`,
          description:
            metricName === "Errors"
              ? "An invocation failed or timed out. Its log says why."
              : "Lambda refused invocations before our code ran. Raise the reserved or the account's concurrency.",
          namespace: "AWS/Lambda",
          metricName,
          statistic: "Sum",
          above: 0,
          dimensions: { FunctionName: this.functionName },
          topicArns,
        },
        { parent: this },
      );
    }
    for (const metricName of definition.alarmedCounts) {
      alarm(
        `${name}-${metricName}`,
        {
          deployedName: `${deployedName}-${metricName}`,
          description: `${deployedName} counted ${metricName}. The log line beside the count names the source and the reason.`,
          namespace: "Plumbline",
          metricName,
          statistic: "Sum",
          above: 0,
          // A function counts under the name it was built with: it does not know its stack.
          dimensions: { service: name },
          topicArns,
        },
        { parent: this },
      );
    }
  }
}

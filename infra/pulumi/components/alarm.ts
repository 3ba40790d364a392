import * as aws from "@pulumi/aws";
import type * as pulumi from "@pulumi/pulumi";

export interface AlarmArgs {
  readonly deployedName: string;
  readonly description: string;
  readonly namespace: string;
  readonly metricName: string;
  readonly statistic: "Maximum" | "Sum";
  readonly above: number;
  readonly dimensions: Readonly<Record<string, pulumi.Input<string>>>;
  readonly topicArns: readonly string[];
}

/** Rings within a minute of the first value above the threshold. No data is good news: nothing was counted. */
export function alarm(name: string, args: AlarmArgs, opts: pulumi.CustomResourceOptions): aws.cloudwatch.MetricAlarm {
  return new aws.cloudwatch.MetricAlarm(
    name,
    {
      name: args.deployedName,
      alarmDescription: args.description,
      namespace: args.namespace,
      metricName: args.metricName,
      dimensions: args.dimensions,
      statistic: args.statistic,
      comparisonOperator: "GreaterThanThreshold",
      threshold: args.above,
      period: 60,
      evaluationPeriods: 1,
      treatMissingData: "notBreaching",
      alarmActions: [...args.topicArns],
    },
    opts,
  );
}

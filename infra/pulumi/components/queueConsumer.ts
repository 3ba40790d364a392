import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

export interface QueueConsumerArgs {
  readonly functionName: pulumi.Input<string>;
  readonly queueArn: pulumi.Input<string>;
  readonly batchSize: number;
  readonly batchWindowSeconds: number;
  readonly maximumConcurrency: number;
}

/** Hands a queue's messages to a function, which answers for each message of a batch by itself. */
export class QueueConsumer extends pulumi.ComponentResource {
  public constructor(name: string, args: QueueConsumerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:trigger:QueueConsumer", name, {}, opts);
    new aws.lambda.EventSourceMapping(
      name,
      {
        eventSourceArn: args.queueArn,
        functionName: args.functionName,
        batchSize: args.batchSize,
        maximumBatchingWindowInSeconds: args.batchWindowSeconds,
        functionResponseTypes: ["ReportBatchItemFailures"],
        scalingConfig: { maximumConcurrency: args.maximumConcurrency },
      },
      { parent: this },
    );
    this.registerOutputs({});
  }
}

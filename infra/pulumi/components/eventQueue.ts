import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

import { staleAfterSeconds } from "../limits.js";
import type { QueueDefinition } from "../stores.js";
import { alarm } from "./alarm.js";

export interface EventQueueArgs {
  readonly deployedName: string;
  readonly definition: QueueDefinition;
  readonly visibilityTimeoutSeconds: number;
  readonly alarmTopicArns: readonly string[];
}

const DAY_SECONDS = 24 * 60 * 60;
/** The most that SQS keeps. A dead letter's age counts from its first send, so less would lose evidence. */
const DEAD_LETTER_DAYS = 14;

/** A queue, its dead letters, and the two alarms that say that somebody has to look. */
export class EventQueue extends pulumi.ComponentResource {
  public readonly arn: pulumi.Output<string>;
  public readonly url: pulumi.Output<string>;
  public readonly deadLettersUrl: pulumi.Output<string>;

  public constructor(name: string, args: EventQueueArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:store:EventQueue", name, {}, opts);
    const { retentionDays, maxReceiveCount } = args.definition;
    const deadLetters = new aws.sqs.Queue(
      `${name}-dead-letters`,
      {
        name: `${args.deployedName}-dead-letters`,
        messageRetentionSeconds: DEAD_LETTER_DAYS * DAY_SECONDS,
        sqsManagedSseEnabled: true,
      },
      { parent: this },
    );
    const queue = new aws.sqs.Queue(
      name,
      {
        name: args.deployedName,
        visibilityTimeoutSeconds: args.visibilityTimeoutSeconds,
        messageRetentionSeconds: retentionDays * DAY_SECONDS,
        redrivePolicy: pulumi.jsonStringify({ deadLetterTargetArn: deadLetters.arn, maxReceiveCount }),
        sqsManagedSseEnabled: true,
      },
      { parent: this },
    );
    alarm(
      `${name}-dead-letters-depth`,
      {
        deployedName: `${args.deployedName}-dead-letters-depth`,
        description: "A message failed every try. Find the cause in the consumer's log, then redrive the dead letters.",
        namespace: "AWS/SQS",
        metricName: "ApproximateNumberOfMessagesVisible",
        statistic: "Maximum",
        above: 0,
        dimensions: { QueueName: deadLetters.name },
        topicArns: args.alarmTopicArns,
      },
      { parent: this },
    );
    alarm(
      `${name}-age`,
      {
        deployedName: `${args.deployedName}-age`,
        description:
          "A message waits longer than all its tries should take. Look for throttles or failures of the consumer.",
        namespace: "AWS/SQS",
        metricName: "ApproximateAgeOfOldestMessage",
        statistic: "Maximum",
        above: staleAfterSeconds(args.visibilityTimeoutSeconds, maxReceiveCount),
        dimensions: { QueueName: queue.name },
        topicArns: args.alarmTopicArns,
      },
      { parent: this },
    );
    this.arn = queue.arn;
    this.url = queue.url;
    this.deadLettersUrl = deadLetters.url;
    this.registerOutputs({ arn: this.arn, url: this.url, deadLettersUrl: this.deadLettersUrl });
  }
}

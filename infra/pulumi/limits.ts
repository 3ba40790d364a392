// The arithmetic between a queue and its consumers. Pure.

import type { FunctionDefinition } from "./functions.js";
import type { QueueName } from "./stores.js";

/** AWS's advice: time for Lambda to retry a throttled batch before the queue hands it to someone else. */
const VISIBILITY_PER_TIMEOUT = 6;

export function visibilitySeconds(queue: QueueName, functions: Readonly<Record<string, FunctionDefinition>>): number {
  const needs = Object.values(functions).map(({ trigger, timeoutSeconds }) =>
    trigger.kind === "queue" && trigger.queue === queue
      ? VISIBILITY_PER_TIMEOUT * timeoutSeconds + trigger.batchWindowSeconds
      : 0,
  );
  const longest = Math.max(0, ...needs);
  if (longest === 0) {
    throw new Error(
      `queue "${queue}" has no consumer: give a function in functions.ts the trigger {kind: "queue", queue: "${queue}"}`,
    );
  }
  return longest;
}

/** A message older than all its tries together is one that nobody is working on. */
export function staleAfterSeconds(visibilityTimeoutSeconds: number, maxReceiveCount: number): number {
  return visibilityTimeoutSeconds * maxReceiveCount;
}

import { expect, test } from "vitest";

import type { FunctionDefinition } from "../functions.js";
import { staleAfterSeconds, visibilitySeconds } from "../limits.js";

function consumer(timeoutSeconds: number, batchWindowSeconds: number): FunctionDefinition {
  return {
    trigger: { kind: "queue", queue: "observations", batchSize: 10, batchWindowSeconds, maximumConcurrency: 10 },
    grants: [],
    timeoutSeconds,
    memoryMb: 128,
    environment: {},
    alarmedCounts: [],
  };
}

test("a queue's visibility follows its slowest consumer and that one's batch window", () => {
  expect(visibilitySeconds("observations", { quick: consumer(10, 0), slow: consumer(20, 5) })).toBe(125);
});

test("a queue that nobody consumes is a mistake that names the queue", () => {
  expect(() => visibilitySeconds("observations", {})).toThrow('queue "observations" has no consumer');
});

test("a message is stale when all its tries are over", () => {
  expect(staleAfterSeconds(60, 5)).toBe(300);
});

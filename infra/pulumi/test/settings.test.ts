import { expect, test } from "vitest";

import { all } from "./graph.js";
import { localSettings, record } from "./recorder.js";

const topic = "arn:aws:sns:us-east-1:000000000000:on-call";
const recording = await record({
  ...localSettings(),
  "plumbline:reservedConcurrency": JSON.stringify({ "mirror-writer": 20 }),
  "plumbline:alarmTopicArns": JSON.stringify([topic]),
});

test("reserved concurrency goes to the functions that the stack names, and to no other", () => {
  const reserved = all(recording, "aws:lambda/function:Function").map(({ name, inputs }) => [
    name,
    inputs.reservedConcurrentExecutions,
  ]);
  const expected = reserved.map(([name]) => [name, name === "mirror-writer" ? 20 : undefined]);
  expect(reserved).toEqual(expected);
  expect(reserved).toContainEqual(["mirror-writer", 20]);
});

test("every alarm rings at the stack's topic", () => {
  const alarms = recording.resources.filter(({ type }) => type === "aws:cloudwatch/metricAlarm:MetricAlarm");
  expect(alarms).not.toEqual([]);
  expect(alarms.filter(({ inputs }) => JSON.stringify(inputs["alarmActions"]) !== JSON.stringify([topic]))).toEqual([]);
});

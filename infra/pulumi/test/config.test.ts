import { describe, expect, test } from "vitest";

import {
  githubSourcesVariable,
  parseAlarmTopicArns,
  parseGithubSources,
  parseReservedConcurrency,
  type GithubSource,
} from "../config.js";

const hook = { id: "acme", kind: "Hook", host: "github.com", tenantId: "t1" };
const app = { id: "app", kind: "App", host: "github.example.com" };

test("good sources pass as they are", () => {
  expect(parseGithubSources([hook, app])).toEqual([hook, app]);
});

describe("a bad source is refused by the key that is wrong", () => {
  test.each([
    ["githubSources", undefined, "at least one source"],
    ["githubSources", [], "at least one source"],
    ["githubSources", { acme: hook }, "expected a list"],
    ["githubSources[0]", ["acme"], "expected a mapping"],
    ["githubSources[1].id", [hook, { ...app, id: "App" }], 'found "App"'],
    ["githubSources[1].id", [hook, { ...app, id: "acme" }], "taken by another source"],
    ["githubSources[0].id", [{ ...hook, id: "a".repeat(64) }], "expected text"],
    ["githubSources[0].kind", [{ ...hook, kind: "hook" }], 'expected "Hook" or "App"'],
    ["githubSources[0].host", [{ ...hook, host: "https://github.com" }], "expected text"],
    ["githubSources[0].tenantId", [{ id: "acme", kind: "Hook", host: "github.com" }], "found nothing"],
    ["githubSources[0].tenantId", [{ ...hook, tenantId: "-t1" }], "expected text"],
    // An App serves several tenants, so one tenant here would be a mistake about isolation.
    ["githubSources[0].tenantId", [{ ...app, tenantId: "t1" }], "unknown"],
    ["githubSources[0].secret", [{ ...hook, secret: "hunter2" }], "unknown"],
  ])("%s", (key, value, problem) => {
    const parse = () => parseGithubSources(value);
    expect(parse).toThrow(`plumbline:${key}: `);
    expect(parse).toThrow(problem);
    // An error goes to terminals and build logs.
    expect(parse).not.toThrow("hunter2");
  });
});

describe("reserved concurrency", () => {
  test("is per function", () => {
    expect(parseReservedConcurrency({ "mirror-writer": 20 }, ["mirror-writer"])).toEqual({ "mirror-writer": 20 });
  });

  test.each([
    ["reservedConcurrency", 20, "expected a mapping"],
    ["reservedConcurrency.mirror-write", { "mirror-write": 20 }, "known here: mirror-writer"],
    ["reservedConcurrency.mirror-writer", { "mirror-writer": "20" }, "whole number"],
    ["reservedConcurrency.mirror-writer", { "mirror-writer": 0 }, "at least 1"],
  ])("is refused by the key that is wrong: %s", (key, value, problem) => {
    const parse = () => parseReservedConcurrency(value, ["mirror-writer"]);
    expect(parse).toThrow(`plumbline:${key}: `);
    expect(parse).toThrow(problem);
  });
});

test("an alarm topic is an SNS topic", () => {
  expect(parseAlarmTopicArns(["arn:aws:sns:eu-west-1:000000000000:alarms"])).toHaveLength(1);
  expect(() => parseAlarmTopicArns("alarms")).toThrow("plumbline:alarmTopicArns: ");
  expect(() => parseAlarmTopicArns(["alarms"])).toThrow("plumbline:alarmTopicArns[0]: ");
});

test("more sources than an environment can hold are refused before AWS does", () => {
  const githubSources: GithubSource[] = Array.from({ length: 40 }, (_, at) => ({
    id: `source-${at}`,
    kind: "Hook",
    host: "github.com",
    tenantId: "t1",
  }));
  const settings = { project: "plumbline", stack: "local", githubSources, reservedConcurrency: {}, alarmTopicArns: [] };
  expect(() => githubSourcesVariable(settings)).toThrow(/^plumbline:githubSources: 40 sources take \d+ bytes/);
});

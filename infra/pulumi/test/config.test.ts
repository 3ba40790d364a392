import { describe, expect, test } from "vitest";

import {
  callContextKeysVariable,
  githubConnectionsVariable,
  githubSourcesVariable,
  parseAlarmTopicArns,
  parseCallContextKeys,
  parseGithubConnections,
  parseGithubSources,
  parseReservedConcurrency,
  parseToolInvokers,
  type Settings,
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

const connection = { id: "acme", host: "github.com", tenantId: "t1" };

describe("a connection", () => {
  test.each([
    ["github.com", "https://api.github.com"],
    ["acme.ghe.com", "https://api.acme.ghe.com"],
    ["github.example.com", "https://github.example.com/api/v3"],
  ])("to %s asks at %s unless it says otherwise", (host, apiBaseUrl) => {
    expect(parseGithubConnections([{ ...connection, host }])).toEqual([{ ...connection, host, apiBaseUrl }]);
  });

  test.each([
    ["github.com", "https://api.github.com"],
    ["github.example.com", "https://github.example.com:8443/git/api/v3"],
    ["github.example.com", "https://api.github.example.com"],
  ])("to %s may ask at %s", (host, apiBaseUrl) => {
    expect(parseGithubConnections([{ ...connection, host, apiBaseUrl }])[0]?.apiBaseUrl).toBe(apiBaseUrl);
  });

  test.each([
    ["githubConnections", { acme: connection }, "expected a list"],
    ["githubConnections[0]", ["acme"], "expected a mapping"],
    ["githubConnections[0].id", [{ ...connection, id: "Acme" }], 'found "Acme"'],
    ["githubConnections[0].tenantId", [{ ...connection, tenantId: undefined }], "found nothing"],
    ["githubConnections[1].id", [connection, { ...connection, tenantId: "t2" }], "taken by another connection"],
    ["githubConnections[1].tenantId", [connection, { ...connection, id: "more" }], "t1 on github.com has another"],
    ["githubConnections[0].token", [{ ...connection, token: "hunter2" }], "unknown"],
    // The token would go to whatever answers there.
    ["githubConnections[0].host", [{ ...connection, host: "169.254.169.254" }], "expected text"],
    ["githubConnections[0].host", [{ ...connection, host: "localhost" }], "expected text"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: 7 }], "expected https://"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "http://api.github.com" }], "expected https://"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "https://evil.example" }], "api.github.com"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "https://github.com" }], "api.github.com"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "https://api.github.com.evil.example" }], "api."],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "https://api.github.com/" }], "slash"],
    ["githubConnections[0].apiBaseUrl", [{ ...connection, apiBaseUrl: "https://x:hunter2@api.github.com" }], "api."],
  ])("is refused by the key that is wrong: %s", (key, value, problem) => {
    const parse = () => parseGithubConnections(value);
    expect(parse).toThrow(`plumbline:${key}: `);
    expect(parse).toThrow(problem);
    expect(parse).not.toThrow("hunter2");
  });
});

/** RFC 8037, appendix A.1. */
const everybodys = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPJHURo";
const ed25519 = { kid: "2026-a", alg: "EdDSA", iss: "https://id.example.com", publicKey: base64url(32, 7) };
const p256 = { kid: "2026-b", alg: "ES256", iss: "https://id.example.com", publicKey: base64url(65, 4) };

function base64url(length: number, first: number): string {
  const bytes = Buffer.alloc(length, 9);
  bytes[0] = first;
  return bytes.toString("base64url");
}

describe("a call context key", () => {
  test("passes as it is", () => {
    expect(parseCallContextKeys([ed25519, p256], "production")).toEqual([ed25519, p256]);
  });

  test("that everybody can sign with is no key of a stack that is deployed", () => {
    const keys = [{ ...ed25519, publicKey: everybodys }];
    expect(parseCallContextKeys(keys, "local")).toEqual(keys);
    expect(() => parseCallContextKeys(keys, "production")).toThrow("plumbline:callContextKeys[0].publicKey: RFC 8037");
  });

  test.each([
    ["callContextKeys", ed25519, "expected a list"],
    ["callContextKeys[0].kid", [{ ...ed25519, kid: "a b" }], 'found "a b"'],
    ["callContextKeys[0].kid", [{ ...ed25519, kid: "" }], 'found ""'],
    ["callContextKeys[1].kid", [ed25519, { ...p256, kid: "2026-a" }], "taken by another key"],
    ["callContextKeys[0].alg", [{ ...ed25519, alg: "HS256" }], 'found "HS256"'],
    ["callContextKeys[0].alg", [{ ...ed25519, alg: "none" }], 'found "none"'],
    ["callContextKeys[0].iss", [{ ...ed25519, iss: undefined }], "found nothing"],
    ["callContextKeys[0].use", [{ ...ed25519, use: "sig" }], "unknown"],
    ["callContextKeys[0].publicKey", [{ ...ed25519, publicKey: undefined }], "32 bytes"],
    ["callContextKeys[0].publicKey", [{ ...ed25519, publicKey: base64url(33, 7) }], "32 bytes"],
    ["callContextKeys[0].publicKey", [{ ...ed25519, publicKey: `${ed25519.publicKey}=` }], "without padding"],
    ["callContextKeys[0].publicKey", [{ ...ed25519, publicKey: `${ed25519.publicKey} hunter2` }], "32 bytes"],
    ["callContextKeys[0].publicKey", [{ ...p256, publicKey: base64url(64, 4) }], "65 bytes"],
    ["callContextKeys[0].publicKey", [{ ...p256, publicKey: base64url(65, 2) }], "uncompressed"],
  ])("is refused by the key that is wrong: %s", (key, value, problem) => {
    const parse = () => parseCallContextKeys(value, "production");
    expect(parse).toThrow(`plumbline:${key}: `);
    expect(parse).toThrow(problem);
    expect(parse).not.toThrow("hunter2");
  });
});

describe("tool invokers", () => {
  const agent = "arn:aws:iam::000000000000:role/factory/agents";
  const approver = "arn:aws:iam::000000000000:role/approvals";

  test("are roles by group, and a group that is not named has none", () => {
    const value = { agents: { roleArns: [agent] }, approvers: { roleArns: [approver] } };
    expect(parseToolInvokers(value)).toEqual({ agents: [agent], approvers: [approver], services: [] });
    expect(parseToolInvokers({})).toEqual({ agents: [], approvers: [], services: [] });
  });

  test.each([
    ["toolInvokers", [agent], "expected a mapping"],
    ["toolInvokers.agent", { agent: { roleArns: [agent] } }, "known here: agents, approvers, services"],
    ["toolInvokers.agents", { agents: [agent] }, "expected a mapping"],
    ["toolInvokers.agents.roleArns", { agents: {} }, "expected a list"],
    ["toolInvokers.agents.roleArns[0]", { agents: { roleArns: ["*"] } }, "expected text"],
    ["toolInvokers.agents.roleArns[0]", { agents: { roleArns: ["000000000000"] } }, "expected text"],
    ["toolInvokers.agents.roleArns[0]", { agents: { roleArns: ["arn:aws:iam::000000000000:root"] } }, "expected text"],
    ["toolInvokers.agents.roleArns[0]", { agents: { roleArns: ["arn:aws:iam::000000000000:role/*"] } }, "expected text"],
    ["toolInvokers.agents.roleArns[1]", { agents: { roleArns: [agent, agent] } }, "in agents already"],
    // Such a role could approve what it asked for.
    [
      "toolInvokers.approvers.roleArns[0]",
      { agents: { roleArns: [agent] }, approvers: { roleArns: [agent] } },
      "in agents already",
    ],
  ])("are refused by the key that is wrong: %s", (key, value, problem) => {
    const parse = () => parseToolInvokers(value);
    expect(parse).toThrow(`plumbline:${key}: `);
    expect(parse).toThrow(problem);
  });
});

describe("more than an environment can hold is refused before AWS does", () => {
  const none: Settings = {
    project: "plumbline",
    stack: "local",
    githubSources: [],
    githubConnections: [],
    callContextKeys: [],
    toolInvokers: { agents: [], approvers: [], services: [] },
    reservedConcurrency: {},
    alarmTopicArns: [],
  };
  const forty = Array.from({ length: 40 }, (_, at) => at);

  test("sources", () => {
    const githubSources = forty.map((at) => ({ ...hook, kind: "Hook" as const, id: `source-${at}` }));
    expect(() => githubSourcesVariable({ ...none, githubSources })).toThrow(
      /^plumbline:githubSources: 40 sources take \d+ bytes/,
    );
  });

  test("connections", () => {
    const githubConnections = parseGithubConnections(
      forty.map((at) => ({ ...connection, id: `connection-${at}`, tenantId: `t${at}` })),
    );
    expect(() => githubConnectionsVariable({ ...none, githubConnections })).toThrow(
      /^plumbline:githubConnections: 40 connections take \d+ bytes/,
    );
  });

  test("keys", () => {
    const callContextKeys = parseCallContextKeys(
      forty.map((at) => ({ ...ed25519, kid: `key-${at}` })),
      "production",
    );
    expect(() => callContextKeysVariable({ ...none, callContextKeys })).toThrow(
      /^plumbline:callContextKeys: 40 keys take \d+ bytes/,
    );
  });
});

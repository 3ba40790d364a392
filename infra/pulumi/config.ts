// The stack's settings, parsed once into one typed object. Past this door nobody reads configuration.

import * as pulumi from "@pulumi/pulumi";

import { type InvokerGroup, invokerGroups } from "./functions.js";

export type GithubSource =
  /** A webhook of one tenant: its secret proves the tenant. */
  | { readonly id: string; readonly kind: "Hook"; readonly host: string; readonly tenantId: string }
  /** A GitHub App: its secret proves GitHub only, the tenant follows from the signed ids. */
  | { readonly id: string; readonly kind: "App"; readonly host: string };

/** How one tenant reads one host. What it reads with is a token in a secret of the connection's own. */
export interface GithubConnection {
  readonly id: string;
  readonly host: string;
  readonly tenantId: string;
  readonly apiBaseUrl: string;
}

/** A public key of an identity service that says for whom a tool is called. */
export interface CallContextKey {
  readonly kid: string;
  readonly alg: "EdDSA" | "ES256";
  readonly iss: string;
  /** Base64url: the 32 bytes of an Ed25519 key, or the 65 of an uncompressed P-256 point. */
  readonly publicKey: string;
}

export interface Settings {
  readonly project: string;
  readonly stack: string;
  readonly githubSources: readonly GithubSource[];
  readonly githubConnections: readonly GithubConnection[];
  readonly callContextKeys: readonly CallContextKey[];
  /** ARNs of IAM roles. */
  readonly toolInvokers: Readonly<Record<InvokerGroup, readonly string[]>>;
  /** Per function; a function that is not named here shares the account's concurrency. */
  readonly reservedConcurrency: Readonly<Record<string, number>>;
  /** Where alarms go. Without any, they are only seen in the console. */
  readonly alarmTopicArns: readonly string[];
}

// Lambda takes 4 KB of environment in all. The variables of a function that are not settings need well under 600 bytes;
// no function has sources beside connections or keys, and one may have connections and keys.
const GITHUB_SOURCES_BYTES_MAX = 3_000;
const GITHUB_CONNECTIONS_BYTES_MAX = 2_500;
const CALL_CONTEXT_KEYS_BYTES_MAX = 1_000;

/** RFC 8037 prints this key's private half, so whoever reads can sign with it: good for an example only. */
const EVERYBODYS_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPJHURo";
const LAPTOP_STACK = "local";

const ID = /^[a-z0-9-]{1,63}$/;
const TENANT_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** A domain name, not an address: a connection sends its token there. */
const DOMAIN = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function readSettings(functionNames: readonly string[]): Settings {
  const config = new pulumi.Config();
  return {
    project: pulumi.getProject(),
    stack: pulumi.getStack(),
    githubSources: parseGithubSources(read(config, "githubSources")),
    githubConnections: parseGithubConnections(read(config, "githubConnections") ?? []),
    callContextKeys: parseCallContextKeys(read(config, "callContextKeys") ?? [], pulumi.getStack()),
    toolInvokers: parseToolInvokers(read(config, "toolInvokers") ?? {}),
    reservedConcurrency: parseReservedConcurrency(read(config, "reservedConcurrency") ?? {}, functionNames),
    alarmTopicArns: parseAlarmTopicArns(read(config, "alarmTopicArns") ?? []),
  };
}

/** The name under which a thing is deployed: stacks of one account stay apart, and readers can tell them. */
export function deployedName(settings: Settings, name: string): string {
  return `${settings.project}-${settings.stack}-${name}`;
}

export function githubSecretName(settings: Settings, sourceId: string): string {
  return `${settings.project}/${settings.stack}/github/${sourceId}`;
}

export function connectionSecretName(settings: Settings, connectionId: string): string {
  return `${settings.project}/${settings.stack}/connections/${connectionId}`;
}

/** What the webhook reads: the sources, each with the *name* of its secret and nothing of its value. */
export function githubSourcesVariable(settings: Settings): string {
  const sources = settings.githubSources.map((source) => ({
    ...source,
    secretId: githubSecretName(settings, source.id),
  }));
  return variable("githubSources", sources, "sources", GITHUB_SOURCES_BYTES_MAX);
}

/** What reads GitHub is told: the connections, each with the *name* of its token's secret. */
export function githubConnectionsVariable(settings: Settings): string {
  const connections = settings.githubConnections.map((connection) => ({
    ...connection,
    secretId: connectionSecretName(settings, connection.id),
  }));
  return variable("githubConnections", connections, "connections", GITHUB_CONNECTIONS_BYTES_MAX);
}

/** What a tool is told: whose word about the caller counts. */
export function callContextKeysVariable(settings: Settings): string {
  return variable("callContextKeys", settings.callContextKeys, "keys", CALL_CONTEXT_KEYS_BYTES_MAX);
}

function variable(key: string, entries: readonly object[], what: string, bytesMax: number): string {
  const text = JSON.stringify(entries);
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMax) {
    throw wrong(key, `${entries.length} ${what} take ${bytes} bytes of a function's environment, the limit is ${bytesMax}`);
  }
  return text;
}

export function parseGithubSources(value: unknown): readonly GithubSource[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrong("githubSources", "expected a list of at least one source {id, kind, host, tenantId}");
  }
  const sources = value.map((source, at) => parseGithubSource(source, `githubSources[${at}]`));
  eachOnce(sources, ({ id }) => id, (id, at) => wrong(`githubSources[${at}].id`, `"${id}" is taken by another source`));
  return sources;
}

function parseGithubSource(value: unknown, key: string): GithubSource {
  const fields = asRecord(value, key);
  const id = match(fields["id"], `${key}.id`, ID);
  const host = match(fields["host"], `${key}.host`, /^[a-z0-9.-]{1,253}$/);
  switch (fields["kind"]) {
    case "Hook":
      onlyKeys(fields, key, ["id", "kind", "host", "tenantId"]);
      return {
        id,
        kind: "Hook",
        host,
        tenantId: match(fields["tenantId"], `${key}.tenantId`, TENANT_ID),
      };
    case "App":
      onlyKeys(fields, key, ["id", "kind", "host"]);
      return { id, kind: "App", host };
    default:
      throw wrong(`${key}.kind`, `expected "Hook" or "App", found ${show(fields["kind"])}`);
  }
}

export function parseGithubConnections(value: unknown): readonly GithubConnection[] {
  const connections = asList(value, "githubConnections", "connections {id, host, tenantId}").map((connection, at) =>
    parseGithubConnection(connection, `githubConnections[${at}]`),
  );
  eachOnce(
    connections,
    ({ id }) => id,
    (id, at) => wrong(`githubConnections[${at}].id`, `"${id}" is taken by another connection`),
  );
  // A repository says whose it is and on which host, and that must say with which token it is read.
  eachOnce(
    connections,
    ({ tenantId, host }) => `tenant ${tenantId} on ${host}`,
    (owner, at) => wrong(`githubConnections[${at}].tenantId`, `${owner} has another connection`),
  );
  return connections;
}

function parseGithubConnection(value: unknown, key: string): GithubConnection {
  const fields = asRecord(value, key);
  onlyKeys(fields, key, ["id", "host", "tenantId", "apiBaseUrl"]);
  const host = match(fields["host"], `${key}.host`, DOMAIN);
  return {
    id: match(fields["id"], `${key}.id`, ID),
    host,
    tenantId: match(fields["tenantId"], `${key}.tenantId`, TENANT_ID),
    apiBaseUrl:
      fields["apiBaseUrl"] === undefined
        ? defaultApiBaseUrl(host)
        : parseApiBaseUrl(fields["apiBaseUrl"], `${key}.apiBaseUrl`, host),
  };
}

/** github.com and the tenants of ghe.com answer at a host of their own, a server of one's own below a path. */
function defaultApiBaseUrl(host: string): string {
  return host === "github.com" || host.endsWith(".ghe.com") ? `https://api.${host}` : `https://${host}/api/v3`;
}

/** A token goes to the host that it is for, and to no other. */
function parseApiBaseUrl(value: unknown, key: string, host: string): string {
  const belongs = host === "github.com" ? ["api.github.com"] : [host, `api.${host}`];
  const url = typeof value === "string" ? /^https:\/\/([a-z0-9.-]+)(:[0-9]{1,5})?(\/[A-Za-z0-9_-]+)*$/.exec(value) : null;
  if (url?.[1] === undefined || !belongs.includes(url[1])) {
    // Not shown: a URL may bear a password.
    throw wrong(key, `expected https:// and ${belongs.join(" or ")}, then at most a port and a path without a slash at its end`);
  }
  return url[0];
}

export function parseCallContextKeys(value: unknown, stack: string): readonly CallContextKey[] {
  const keys = asList(value, "callContextKeys", "keys {kid, alg, iss, publicKey}").map((entry, at) =>
    parseCallContextKey(entry, `callContextKeys[${at}]`, stack),
  );
  eachOnce(keys, ({ kid }) => kid, (kid, at) => wrong(`callContextKeys[${at}].kid`, `"${kid}" is taken by another key`));
  return keys;
}

function parseCallContextKey(value: unknown, key: string, stack: string): CallContextKey {
  const fields = asRecord(value, key);
  onlyKeys(fields, key, ["kid", "alg", "iss", "publicKey"]);
  const { alg } = fields;
  if (alg !== "EdDSA" && alg !== "ES256") {
    throw wrong(`${key}.alg`, `expected "EdDSA" or "ES256", found ${show(alg)}`);
  }
  return {
    kid: match(fields["kid"], `${key}.kid`, /^[A-Za-z0-9._-]{1,64}$/),
    alg,
    iss: match(fields["iss"], `${key}.iss`, /^[A-Za-z0-9._:/-]{1,200}$/),
    publicKey: parsePublicKey(fields["publicKey"], `${key}.publicKey`, alg, stack),
  };
}

function parsePublicKey(value: unknown, key: string, alg: CallContextKey["alg"], stack: string): string {
  // Not shown when wrong: what somebody pastes here by mistake is the private half.
  const text = typeof value === "string" ? value : "";
  const bytes = Buffer.from(text, "base64url");
  const exact = bytes.toString("base64url") === text;
  switch (alg) {
    case "EdDSA":
      if (!exact || bytes.length !== 32) {
        throw wrong(key, "expected the 32 bytes of an Ed25519 public key in base64url without padding");
      }
      break;
    case "ES256":
      if (!exact || bytes.length !== 65 || bytes[0] !== 4) {
        throw wrong(key, "expected the 65 bytes of an uncompressed P-256 point in base64url without padding");
      }
      break;
  }
  if (text === EVERYBODYS_KEY && stack !== LAPTOP_STACK) {
    throw wrong(key, "RFC 8037 prints the private half of this key, so anybody could call in anybody's name");
  }
  return text;
}

export function parseToolInvokers(value: unknown): Readonly<Record<InvokerGroup, readonly string[]>> {
  const fields = asRecord(value, "toolInvokers");
  onlyKeys(fields, "toolInvokers", invokerGroups);
  const listed = invokerGroups.flatMap((group) =>
    parseRoleArns(fields[group], `toolInvokers.${group}`).map((roleArn, at) => ({ group, roleArn, at })),
  );
  // One group decides what another one asks for. A role in both would decide about its own request.
  const groups = new Map<string, InvokerGroup>();
  for (const { group, roleArn, at } of listed) {
    const taken = groups.get(roleArn);
    if (taken !== undefined) {
      throw wrong(`toolInvokers.${group}.roleArns[${at}]`, `${roleArn} is in ${taken} already`);
    }
    groups.set(roleArn, group);
  }
  const of = (wanted: InvokerGroup) => listed.filter(({ group }) => group === wanted).map(({ roleArn }) => roleArn);
  return { agents: of("agents"), approvers: of("approvers"), services: of("services") };
}

function parseRoleArns(value: unknown, key: string): readonly string[] {
  if (value === undefined) {
    return [];
  }
  const fields = asRecord(value, key);
  onlyKeys(fields, key, ["roleArns"]);
  // A role and nothing wider: not an account, not `*`.
  return asList(fields["roleArns"], `${key}.roleArns`, "ARNs of IAM roles").map((arn, at) =>
    match(arn, `${key}.roleArns[${at}]`, /^arn:aws[a-z-]*:iam::\d{12}:role\/([\w+=,.@-]+\/)*[\w+=,.@-]{1,64}$/),
  );
}

export function parseReservedConcurrency(
  value: unknown,
  functionNames: readonly string[],
): Readonly<Record<string, number>> {
  const fields = asRecord(value, "reservedConcurrency");
  onlyKeys(fields, "reservedConcurrency", functionNames);
  return Object.fromEntries(
    Object.entries(fields).map(([name, reserved]) => {
      // 0 would be a function that never runs.
      if (typeof reserved !== "number" || !Number.isInteger(reserved) || reserved < 1) {
        throw wrong(`reservedConcurrency.${name}`, `expected a whole number of at least 1, found ${show(reserved)}`);
      }
      return [name, reserved];
    }),
  );
}

export function parseAlarmTopicArns(value: unknown): readonly string[] {
  return asList(value, "alarmTopicArns", "SNS topic ARNs").map((arn, at) =>
    match(arn, `alarmTopicArns[${at}]`, /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]+$/),
  );
}

function read(config: pulumi.Config, key: string): unknown {
  try {
    return config.getObject<unknown>(key);
  } catch {
    throw wrong(key, "this is not structured configuration; edit Pulumi.<stack>.yaml instead of `pulumi config set`");
  }
}

function asList(value: unknown, key: string, of: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw wrong(key, `expected a list of ${of}, found ${show(value)}`);
  }
  return value;
}

function eachOnce<T>(
  entries: readonly T[],
  identity: (entry: T) => string,
  twice: (identity: string, at: number) => Error,
): void {
  const identities = entries.map(identity);
  for (const [at, found] of identities.entries()) {
    if (identities.indexOf(found) !== at) {
      throw twice(found, at);
    }
  }
}

function asRecord(value: unknown, key: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrong(key, `expected a mapping, found ${show(value)}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function onlyKeys(fields: Readonly<Record<string, unknown>>, key: string, known: readonly string[]): void {
  for (const name of Object.keys(fields)) {
    if (!known.includes(name)) {
      throw wrong(`${key}.${name}`, `unknown; known here: ${known.join(", ")}`);
    }
  }
}

function match(value: unknown, key: string, pattern: RegExp): string {
  if (typeof value !== "string" || !pattern.test(value)) {
    throw wrong(key, `expected text that matches ${pattern.source}, found ${show(value)}`);
  }
  return value;
}

function wrong(key: string, problem: string): pulumi.RunError {
  return new pulumi.RunError(`plumbline:${key}: ${problem}`);
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

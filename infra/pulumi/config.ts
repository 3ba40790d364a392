// The stack's settings, parsed once into one typed object. Past this door nobody reads configuration.

import * as pulumi from "@pulumi/pulumi";

export type GithubSource =
  /** A webhook of one tenant: its secret proves the tenant. */
  | { readonly id: string; readonly kind: "Hook"; readonly host: string; readonly tenantId: string }
  /** A GitHub App: its secret proves GitHub only, the tenant follows from the signed ids. */
  | { readonly id: string; readonly kind: "App"; readonly host: string };

export interface Settings {
  readonly project: string;
  readonly stack: string;
  readonly githubSources: readonly GithubSource[];
  /** Per function; a function that is not named here shares the account's concurrency. */
  readonly reservedConcurrency: Readonly<Record<string, number>>;
  /** Where alarms go. Without any, they are only seen in the console. */
  readonly alarmTopicArns: readonly string[];
}

/** Lambda takes 4 KB of environment in all; the rest of a function's variables needs well under 1 KB. */
const GITHUB_SOURCES_BYTES_MAX = 3_000;

export function readSettings(functionNames: readonly string[]): Settings {
  const config = new pulumi.Config();
  return {
    project: pulumi.getProject(),
    stack: pulumi.getStack(),
    githubSources: parseGithubSources(read(config, "githubSources")),
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

/** What the webhook reads: the sources, each with the *name* of its secret and nothing of its value. */
export function githubSourcesVariable(settings: Settings): string {
  const variable = JSON.stringify(
    settings.githubSources.map((source) => ({ ...source, secretId: githubSecretName(settings, source.id) })),
  );
  const bytes = Buffer.byteLength(variable);
  if (bytes > GITHUB_SOURCES_BYTES_MAX) {
    throw wrong(
      "githubSources",
      `${settings.githubSources.length} sources take ${bytes} bytes of a function's environment, the limit is ${GITHUB_SOURCES_BYTES_MAX}`,
    );
  }
  return variable;
}

export function parseGithubSources(value: unknown): readonly GithubSource[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrong("githubSources", "expected a list of at least one source {id, kind, host, tenantId}");
  }
  const sources = value.map((source, at) => parseGithubSource(source, `githubSources[${at}]`));
  for (const [at, { id }] of sources.entries()) {
    if (sources.findIndex((other) => other.id === id) !== at) {
      throw wrong(`githubSources[${at}].id`, `"${id}" is taken by another source`);
    }
  }
  return sources;
}

function parseGithubSource(value: unknown, key: string): GithubSource {
  const fields = asRecord(value, key);
  const id = match(fields["id"], `${key}.id`, /^[a-z0-9-]{1,63}$/);
  const host = match(fields["host"], `${key}.host`, /^[a-z0-9.-]{1,253}$/);
  switch (fields["kind"]) {
    case "Hook":
      onlyKeys(fields, key, ["id", "kind", "host", "tenantId"]);
      return {
        id,
        kind: "Hook",
        host,
        tenantId: match(fields["tenantId"], `${key}.tenantId`, /^[a-z0-9][a-z0-9-]{0,62}$/),
      };
    case "App":
      onlyKeys(fields, key, ["id", "kind", "host"]);
      return { id, kind: "App", host };
    default:
      throw wrong(`${key}.kind`, `expected "Hook" or "App", found ${show(fields["kind"])}`);
  }
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
  if (!Array.isArray(value)) {
    throw wrong("alarmTopicArns", `expected a list of SNS topic ARNs, found ${show(value)}`);
  }
  return value.map((arn, at) =>
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

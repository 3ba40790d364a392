// Builds what the tables of stores.ts and functions.ts describe.

import * as pulumi from "@pulumi/pulumi";

import { EventQueue } from "./components/eventQueue.js";
import { FunctionDoor } from "./components/functionDoor.js";
import { MirrorTable } from "./components/mirrorTable.js";
import { QueueConsumer } from "./components/queueConsumer.js";
import { RustFunction } from "./components/rustFunction.js";
import { SourceSecret } from "./components/sourceSecret.js";
import { ToolDoor } from "./components/toolDoor.js";
import {
  callContextKeysVariable,
  connectionSecretName,
  deployedName,
  githubConnectionsVariable,
  githubSecretName,
  githubSourcesVariable,
  type Settings,
} from "./config.js";
import { type EnvironmentValue, type FunctionDefinition, functions } from "./functions.js";
import { visibilitySeconds } from "./limits.js";
import { mapRecord } from "./records.js";
import {
  type QueueDefinition,
  type QueueName,
  queues,
  type TableDefinition,
  type TableName,
  tables,
} from "./stores.js";

export interface Stores {
  readonly tables: Readonly<Record<TableName, MirrorTable>>;
  readonly queues: Readonly<Record<QueueName, EventQueue>>;
  /** By source id. */
  readonly githubSecrets: Readonly<Record<string, SourceSecret>>;
  /** By connection id. */
  readonly connectionSecrets: Readonly<Record<string, SourceSecret>>;
}

export function buildStores(settings: Settings): Stores {
  return {
    tables: mapRecord<TableName, TableDefinition, MirrorTable>(
      tables,
      (definition, name) => new MirrorTable(name, { deployedName: deployedName(settings, name), definition }),
    ),
    queues: mapRecord<QueueName, QueueDefinition, EventQueue>(
      queues,
      (definition, name) =>
        new EventQueue(name, {
          deployedName: deployedName(settings, name),
          definition,
          visibilityTimeoutSeconds: visibilitySeconds(name, functions),
          alarmTopicArns: settings.alarmTopicArns,
        }),
    ),
    githubSecrets: Object.fromEntries(
      settings.githubSources.map(({ id }) => [
        id,
        new SourceSecret(`github-${id}`, {
          deployedName: githubSecretName(settings, id),
          description: `Webhook secret of the GitHub source ${id}`,
        }),
      ]),
    ),
    connectionSecrets: Object.fromEntries(
      settings.githubConnections.map(({ id }) => [
        id,
        new SourceSecret(`connection-${id}`, {
          deployedName: connectionSecretName(settings, id),
          description: `Token with which the connection ${id} reads GitHub`,
        }),
      ]),
    ),
  };
}

/** Builds a function and what starts it. The result is its URL, if it has one. */
export function buildFunction(
  name: string,
  definition: FunctionDefinition,
  settings: Settings,
  stores: Stores,
): pulumi.Output<string> | undefined {
  const { functionName } = new RustFunction(name, {
    deployedName: deployedName(settings, name),
    definition,
    arns: pulumi.output({
      tables: mapRecord(stores.tables, (table) => table.arn),
      queues: mapRecord(stores.queues, (queue) => queue.arn),
      githubSecrets: Object.values(stores.githubSecrets).map((secret) => secret.arn),
      connectionSecrets: Object.values(stores.connectionSecrets).map((secret) => secret.arn),
    }),
    environment: mapRecord(definition.environment, (value) => environmentVariable(value, settings, stores)),
    reservedConcurrency: settings.reservedConcurrency[name],
    alarmTopicArns: settings.alarmTopicArns,
  });
  const { trigger } = definition;
  switch (trigger.kind) {
    case "url":
      return new FunctionDoor(name, { functionName }).url;
    case "queue":
      new QueueConsumer(name, { ...trigger, functionName, queueArn: stores.queues[trigger.queue].arn });
      return undefined;
    case "invoke":
      new ToolDoor(name, {
        functionName,
        invokers: trigger.invokableBy.map((group) => ({ group, roleArns: settings.toolInvokers[group] })),
      });
      return undefined;
  }
}

function environmentVariable(value: EnvironmentValue, settings: Settings, stores: Stores): pulumi.Input<string> {
  if (typeof value === "string") {
    return value;
  }
  if ("urlOf" in value) {
    return stores.queues[value.urlOf].url;
  }
  if ("nameOf" in value) {
    return stores.tables[value.nameOf].tableName;
  }
  switch (value.setting) {
    case "githubSources":
      return githubSourcesVariable(settings);
    case "githubConnections":
      return githubConnectionsVariable(settings);
    case "callContextKeys":
      return callContextKeysVariable(settings);
  }
}

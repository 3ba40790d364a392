import * as pulumi from "@pulumi/pulumi";

import { readSettings } from "./config.js";
import { functions } from "./functions.js";
import { buildFunction, buildStores } from "./platform.js";
import { mapRecord } from "./records.js";

const settings = readSettings(Object.keys(functions));
const stores = buildStores(settings);
const urls = mapRecord(functions, (definition, name) => buildFunction(name, definition, settings, stores));

/** What to enter as "Payload URL" at GitHub, by source. */
export const githubWebhookUrls = Object.fromEntries(
  settings.githubSources.map(({ id }) => [id, pulumi.interpolate`${urls["github-webhook"]}github/${id}`]),
);
export const queueUrls = mapRecord(stores.queues, (queue) => queue.url);
export const deadLettersUrls = mapRecord(stores.queues, (queue) => queue.deadLettersUrl);
export const tableNames = mapRecord(stores.tables, (table) => table.tableName);
/** Where to put each source's secret, by source. */
export const githubSecretArns = mapRecord(stores.githubSecrets, (secret) => secret.arn);
/** Where to put each connection's token, by connection. */
export const githubConnectionSecretArns = mapRecord(stores.connectionSecrets, (secret) => secret.arn);

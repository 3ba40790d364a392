import * as pulumi from "@pulumi/pulumi";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Plain JSON with sorted keys, and a file named by its path relative to the program. */
export async function deterministic(inputs: object): Promise<JsonObject> {
  const entries = await Promise.all(
    Object.entries(inputs)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([key, value]) => [key, await json(value)] as const),
  );
  return Object.fromEntries(entries);
}

async function json(value: unknown): Promise<Json> {
  if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") {
    return value;
  }
  if (Array.isArray(value)) {
    return Promise.all(value.map(json));
  }
  if (value instanceof pulumi.asset.FileArchive) {
    return { archive: await value.path };
  }
  if (typeof value === "object" && !pulumi.Resource.isInstance(value)) {
    return deterministic(value);
  }
  throw new Error(`stack.json has no form for ${String(value)}`);
}

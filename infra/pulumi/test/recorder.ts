// Runs the real program as the Pulumi CLI would, with AWS played by mocks, and keeps what it registers.

import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";

import { deterministic, type Json, type JsonObject } from "./json.js";
import { madeUp } from "./madeUp.js";

export const PROJECT = "plumbline";
export const STACK = "local";

export interface RecordedResource {
  readonly type: string;
  readonly name: string;
  readonly parent: string | null;
  readonly id: string;
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
  /** An option, not an input: it guards the resource against the program itself, so stack.json has no use for it. */
  readonly protect: boolean;
}

export interface Recording {
  readonly resources: readonly RecordedResource[];
  readonly outputs: Json;
}

interface Registration {
  readonly resource: pulumi.Resource;
  readonly parent: pulumi.Resource | undefined;
  readonly protect: boolean;
}

type Played = Omit<RecordedResource, "parent" | "protect">;

/** The settings of the stack `local`, as the CLI would read them. */
export function localSettings(): Record<string, string> {
  const { config } = parse(readFileSync(new URL("../Pulumi.local.yaml", import.meta.url), "utf8")) as {
    config: Record<string, unknown>;
  };
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

/** One program per process: Pulumi's runtime and the modules it loads are global. */
export async function record(settings: Record<string, string> = localSettings()): Promise<Recording> {
  const registrations: Registration[] = [];
  const played: Promise<Played>[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource({ type, name, inputs, custom }) {
        if (custom !== true) {
          return { id: "", state: {} };
        }
        const { id, outputs } = madeUp(type, name, inputs);
        played.push(deterministic(inputs).then((known) => ({ type, name, id, inputs: known, outputs })));
        return { id, state: { ...inputs, ...outputs } };
      },
      call({ token }) {
        throw new Error(`the program asks AWS for ${token}; the local stack could not answer that`);
      },
    },
    PROJECT,
    STACK,
  );
  pulumi.runtime.setAllConfig(settings);
  const outputs = await pulumi.runtime.runInPulumiStack(async () => {
    pulumi.runtime.registerStackTransformation(({ resource, opts }) => {
      registrations.push({ resource, parent: opts.parent, protect: opts.protect === true });
      return undefined;
    });
    return { ...(await import("../index.js")) };
  });
  const known = await resolved(outputs);
  const byKey = new Map<string, Pick<RecordedResource, "parent" | "protect">>();
  for (const { resource, parent, protect } of registrations) {
    // Waiting for each URN is what makes the record complete.
    const key = nameOf(await resolved(resource.urn));
    byKey.set(key, {
      parent: parent === undefined ? null : stackIsNobody(nameOf(await resolved(parent.urn))),
      protect,
    });
  }
  const resources = (await Promise.all(played)).map((resource) => {
    const options = byKey.get(`${resource.type}::${resource.name}`);
    if (options === undefined) {
      throw new Error(`${resource.type}::${resource.name} was registered without passing the stack's transformation`);
    }
    return { ...resource, ...options };
  });
  return { resources: resources.sort(byTypeAndName), outputs: known as Json };
}

/** What infra/stack.json holds. */
export function renderStack({ resources }: Recording): string {
  const rows = resources.map(({ type, name, parent, id, inputs, outputs }) => ({
    type,
    name,
    parent,
    id,
    inputs,
    outputs,
  }));
  return `${JSON.stringify({ project: PROJECT, stack: STACK, resources: rows }, undefined, 2)}\n`;
}

/** `urn:pulumi:<stack>::<project>::<parent type>$<type>::<name>` → `<type>::<name>`. */
function nameOf(urn: string): string {
  const [type = "", name = ""] = urn.split("::").slice(2);
  return `${type.split("$").at(-1)}::${name}`;
}

function stackIsNobody(parent: string): string | null {
  return parent.startsWith("pulumi:pulumi:Stack::") ? null : parent;
}

function byTypeAndName(a: RecordedResource, b: RecordedResource): number {
  const [left, right] = [`${a.type}\n${a.name}`, `${b.type}\n${b.name}`];
  // Not localeCompare: the order must not follow the machine's language.
  return left < right ? -1 : Number(left > right);
}

function resolved<T>(value: pulumi.Input<T>): Promise<pulumi.Unwrap<T>> {
  return new Promise((resolve) => {
    pulumi.output(value).apply(resolve);
  });
}

// Runs the real program as the Pulumi CLI would, with AWS played by mocks, and keeps what it registers.

import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";

import { deterministic, type JsonObject } from "./json.js";
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
  readonly outputs: JsonObject;
}

interface Registration {
  readonly resource: pulumi.Resource;
  readonly parent: pulumi.Resource | undefined;
  readonly protect: boolean;
}

type Options = Pick<RecordedResource, "parent" | "protect">;
type Played = Omit<RecordedResource, keyof Options>;

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
  // What fails inside an `apply` or a mock has no caller: without this, the run would wait for ever.
  const failed = new Promise<never>((_, reject) => process.once("unhandledRejection", reject));
  return Promise.race([failed, run(settings)]);
}

async function run(settings: Record<string, string>): Promise<Recording> {
  const played = await playAws();
  pulumi.runtime.setAllConfig(settings);
  const registrations: Registration[] = [];
  const outputs = await pulumi.runtime.runInPulumiStack(async () => {
    pulumi.runtime.registerStackTransformation(({ resource, opts }) => {
      registrations.push({ resource, parent: opts.parent, protect: opts.protect === true });
      return undefined;
    });
    return { ...(await import("../index.js")) };
  });
  // Waiting for each resource's URN is what makes the record complete.
  const options = new Map(await Promise.all(registrations.map(optionsOf)));
  const resources = (await Promise.all(played)).map((resource) => {
    const own = options.get(`${resource.type}::${resource.name}`);
    if (own === undefined) {
      throw new Error(`${resource.type}::${resource.name} was registered without passing the stack's transformation`);
    }
    return { ...resource, ...own };
  });
  return { resources: resources.sort(byTypeAndName), outputs: await deterministic(await resolved(outputs ?? {})) };
}

/** The returned list grows while the program runs. */
async function playAws(): Promise<readonly Promise<Played>[]> {
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
  return played;
}

async function optionsOf({ resource, parent, protect }: Registration): Promise<readonly [string, Options]> {
  const owner = parent === undefined ? undefined : nameOf(await resolved(parent.urn));
  const isComponent = owner !== undefined && !owner.startsWith("pulumi:pulumi:Stack::");
  return [nameOf(await resolved(resource.urn)), { parent: isComponent ? owner : null, protect }];
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

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

import { record, renderStack } from "./recorder.js";

const FILE = new URL("../../stack.json", import.meta.url);

const stack = renderStack(await record());

test("infra/stack.json is what the program gives", () => {
  if (process.env["MODE"] === "write") {
    writeFileSync(FILE, stack);
  }
  const found = existsSync(FILE) ? readFileSync(FILE, "utf8") : "";
  expect(found, "infra/stack.json is stale: run npm run stack in infra/pulumi").toBe(stack);
});

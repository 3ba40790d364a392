import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

import type { InvokerGroup } from "../functions.js";

export interface ToolDoorArgs {
  readonly functionName: pulumi.Input<string>;
  readonly invokers: readonly { readonly group: InvokerGroup; readonly roleArns: readonly string[] }[];
}

/** Lets exactly these roles invoke a tool. It has no URL: who isn't one of them can't reach it. */
export class ToolDoor extends pulumi.ComponentResource {
  public constructor(name: string, args: ToolDoorArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:trigger:ToolDoor", name, {}, opts);
    for (const { group, roleArns } of args.invokers) {
      for (const roleArn of roleArns) {
        // Named after the role, not after its place in the list: a role that is added must not move the others'.
        const invoker = `${group}-${uniqueRoleName(roleArn)}`;
        new aws.lambda.Permission(
          `${name}-${invoker}`,
          {
            statementId: invoker.replace(/[^A-Za-z0-9_-]/g, "_"),
            action: "lambda:InvokeFunction",
            function: args.functionName,
            principal: roleArn,
          },
          { parent: this },
        );
      }
    }
    this.registerOutputs({});
  }
}

/** A role's name is unique in its account, whatever its path. */
function uniqueRoleName(roleArn: string): string {
  const [account = "", role = ""] = roleArn.split(":").slice(4);
  return `${account}-${role.split("/").at(-1) ?? role}`;
}

import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

export interface FunctionDoorArgs {
  readonly functionName: pulumi.Input<string>;
}

/** A URL that anybody may call. Who calls is proven by the function: a webhook's signature, not IAM. */
export class FunctionDoor extends pulumi.ComponentResource {
  public readonly url: pulumi.Output<string>;

  public constructor(name: string, args: FunctionDoorArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:trigger:FunctionDoor", name, {}, opts);
    const door = new aws.lambda.FunctionUrl(
      name,
      { functionName: args.functionName, authorizationType: "NONE", invokeMode: "BUFFERED" },
      { parent: this },
    );
    // A URL needs both: with the first alone every call is answered 403. The flag on the second
    // keeps the rest of AWS from invoking the function directly, past its URL.
    new aws.lambda.Permission(
      `${name}-url`,
      {
        statementId: "call-url",
        action: "lambda:InvokeFunctionUrl",
        function: args.functionName,
        principal: "*",
        functionUrlAuthType: "NONE",
      },
      { parent: this },
    );
    new aws.lambda.Permission(
      `${name}-invoke`,
      {
        statementId: "invoke-via-url",
        action: "lambda:InvokeFunction",
        function: args.functionName,
        principal: "*",
        invokedViaFunctionUrl: true,
      },
      { parent: this },
    );
    this.url = door.functionUrl;
    this.registerOutputs({ url: this.url });
  }
}

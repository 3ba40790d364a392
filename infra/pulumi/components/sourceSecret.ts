import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

export interface SourceSecretArgs {
  readonly deployedName: string;
  readonly description: string;
}

/** A place for a secret. Its value never passes through this program, or it would lie in the stack's state. */
export class SourceSecret extends pulumi.ComponentResource {
  public readonly arn: pulumi.Output<string>;

  public constructor(name: string, args: SourceSecretArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:store:SourceSecret", name, {}, opts);
    const secret = new aws.secretsmanager.Secret(
      name,
      { name: args.deployedName, description: args.description, recoveryWindowInDays: 30 },
      { parent: this, protect: true },
    );
    this.arn = secret.arn;
    this.registerOutputs({ arn: this.arn });
  }
}

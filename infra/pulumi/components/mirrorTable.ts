import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

import type { TableDefinition } from "../stores.js";

export interface MirrorTableArgs {
  readonly deployedName: string;
  readonly definition: TableDefinition;
}

/** A table that can be restored to any second of the last 35 days and can't be deleted by mistake. */
export class MirrorTable extends pulumi.ComponentResource {
  public readonly arn: pulumi.Output<string>;
  public readonly tableName: pulumi.Output<string>;

  public constructor(name: string, args: MirrorTableArgs, opts?: pulumi.ComponentResourceOptions) {
    super("plumbline:store:MirrorTable", name, {}, opts);
    const { hashKey, rangeKey, expiryAttribute } = args.definition;
    const table = new aws.dynamodb.Table(
      name,
      {
        name: args.deployedName,
        billingMode: "PAY_PER_REQUEST",
        hashKey,
        ...(rangeKey === undefined ? {} : { rangeKey }),
        attributes: keyAttributes(args.definition).map((attribute) => ({ name: attribute, type: "S" })),
        // Not `keySchemas`: the provider has been seen to find a change in it on every preview
        // (hashicorp/terraform-provider-aws#46513).
        globalSecondaryIndexes: Object.entries(args.definition.indexes ?? {}).map(([index, keys]) => ({
          name: index,
          hashKey: keys.hashKey,
          rangeKey: keys.rangeKey,
          projectionType: "KEYS_ONLY",
        })),
        ...(expiryAttribute === undefined ? {} : { ttl: { attributeName: expiryAttribute, enabled: true } }),
        pointInTimeRecovery: { enabled: true },
        deletionProtectionEnabled: true,
      },
      { parent: this, protect: true },
    );
    this.arn = table.arn;
    this.tableName = table.name;
    this.registerOutputs({ arn: this.arn, tableName: this.tableName });
  }
}

/** DynamoDB wants exactly the attributes that some key names, each once. */
function keyAttributes({ hashKey, rangeKey, indexes }: TableDefinition): readonly string[] {
  const ofIndexes = Object.values(indexes ?? {}).flatMap((keys) => [keys.hashKey, keys.rangeKey]);
  return [...new Set([hashKey, ...(rangeKey === undefined ? [] : [rangeKey]), ...ofIndexes])];
}

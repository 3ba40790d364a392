//! What `mirror-writer` reads from its environment.

use lambda_entry::{AwsSettings, ConfigError, Environment};
use mirror_store::Tables;

/// The function's configuration.
pub(crate) struct Config {
    /// Where AWS is.
    pub(crate) aws: AwsSettings,
    /// The tables' deployed names.
    pub(crate) tables: Tables,
}

impl Config {
    pub(crate) fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: AwsSettings::from_environment(environment)?,
            tables: Tables {
                pipeline_runs: environment.required("PIPELINE_RUNS_TABLE")?.to_owned(),
                repositories: environment.required("REPOSITORIES_TABLE")?.to_owned(),
                deliveries: environment.required("DELIVERIES_TABLE")?.to_owned(),
            },
        })
    }
}

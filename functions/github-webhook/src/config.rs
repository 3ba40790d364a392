//! What `github-webhook` reads from its environment.

use std::time::Duration;

use github_webhook::Sources;
use jiff::SignedDuration;
use lambda_entry::{AwsSettings, ConfigError, Environment};
use secrets::CachePolicy;

/// GitHub closes after ten seconds, Lambda ends the function after eight: answer 503 before either.
const ANSWER_WITHIN: Duration = Duration::from_secs(7);

/// The function's configuration.
pub(crate) struct Config {
    /// Where AWS is.
    pub(crate) aws: AwsSettings,
    /// Where observations go.
    pub(crate) queue_url: String,
    /// Who may send.
    pub(crate) sources: Sources,
    /// How long secrets are kept.
    pub(crate) cache: CachePolicy,
    /// The largest body, in bytes.
    pub(crate) body_bytes_max: usize,
    /// How long one answer may take.
    pub(crate) answer_within: Duration,
}

impl Config {
    pub(crate) fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let seconds = |name| {
            environment
                .parsed(name, "a number of seconds")
                .map(|seconds: u32| SignedDuration::from_secs(i64::from(seconds)))
        };
        let name = "GITHUB_SOURCES";
        let sources = Sources::parse(environment.required(name)?)
            .map_err(|error| ConfigError::Invalid { name, expected: error.to_string() })?;
        Ok(Self {
            aws: AwsSettings::from_environment(environment)?,
            queue_url: environment.required("OBSERVATIONS_QUEUE_URL")?.to_owned(),
            sources,
            cache: CachePolicy {
                ttl: seconds("SECRET_TTL_SECONDS")?,
                stale: seconds("SECRET_STALE_SECONDS")?,
                reread: seconds("SECRET_REREAD_SECONDS")?,
            },
            body_bytes_max: environment.parsed("BODY_BYTES_MAX", "a number of bytes")?,
            answer_within: ANSWER_WITHIN,
        })
    }
}

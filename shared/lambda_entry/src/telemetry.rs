//! Logs as JSON lines through `tracing`, and metrics in CloudWatch's embedded format.

use std::io::Write;

use jiff::Timestamp;
use serde_json::json;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::environment::{ConfigError, Environment};

/// The namespace of all metrics.
const METRIC_NAMESPACE: &str = "Plumbline";

/// The crates whose lines are logged. The AWS SDK logs requests with their bodies at its finer levels, so it is never
/// let in, whatever the level.
const OUR_TARGETS: [&str; 4] = ["lambda_entry", "mirror_store", "queues", "secrets"];

/// Something that is counted. A closed list: a metric per outside word would have no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// A signature was missing, malformed or wrong, or the source is unknown.
    Rejected,
    /// A delivery was taken.
    Accepted,
    /// A delivery of an event that is not understood.
    Ignored,
    /// A verified delivery could not be read.
    Quarantined,
    /// A stored secret is empty, too short or malformed: the source is down until somebody mends it.
    SecretUnusable,
    /// The secret store did not answer.
    SecretStoreUnavailable,
    /// The queue did not answer.
    QueueUnavailable,
    /// A sender reached for what is not its own.
    SecurityEvents,
    /// A message stays on the queue.
    MessageFailed,
}

impl Metric {
    /// The metric's name in CloudWatch.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "Rejected",
            Self::Accepted => "Accepted",
            Self::Ignored => "Ignored",
            Self::Quarantined => "Quarantined",
            Self::SecretUnusable => "SecretUnusable",
            Self::SecretStoreUnavailable => "SecretStoreUnavailable",
            Self::QueueUnavailable => "QueueUnavailable",
            Self::SecurityEvents => "SecurityEvents",
            Self::MessageFailed => "MessageFailed",
        }
    }
}

/// Logs and metrics of one function.
#[derive(Debug, Clone, Copy)]
pub struct Telemetry {
    service: &'static str,
}

impl Telemetry {
    /// Starts logging for a function: its own crate and ours, from `LOG_LEVEL` on (`info` when it is not set).
    /// `module` is the function's crate as Rust names it. Called once, at the start of `main`.
    pub fn start(
        service: &'static str,
        module: &'static str,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let level = match environment.optional("LOG_LEVEL") {
            None => LevelFilter::INFO,
            Some(_) => {
                environment.parsed("LOG_LEVEL", "one of error, warn, info, debug, trace, off")?
            }
        };
        let targets = OUR_TARGETS.into_iter().chain([module]);
        let filter =
            targets.fold(Targets::new(), |filter, target| filter.with_target(target, level));
        // JSON escapes what a sender may put into a name: line breaks, escape sequences.
        let lines = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_span_events(FmtSpan::NONE)
            .with_writer(std::io::stdout);
        tracing_subscriber::registry().with(filter).with(lines).init();
        Ok(Self { service })
    }

    /// Telemetry that only counts, for tests of handlers.
    #[must_use]
    pub const fn without_logs(service: &'static str) -> Self {
        Self { service }
    }

    /// Counts something: one line in CloudWatch's embedded metric format, with the function as only dimension.
    pub fn count(&self, metric: Metric, count: u64, now: Timestamp) {
        if count == 0 {
            return;
        }
        let line = self.metric_line(metric, count, now);
        // A log that can't be written has nobody to be told.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }

    fn metric_line(&self, metric: Metric, count: u64, now: Timestamp) -> String {
        let name = metric.as_str();
        json!({
            "_aws": {
                "Timestamp": now.as_millisecond(),
                "CloudWatchMetrics": [{
                    "Namespace": METRIC_NAMESPACE,
                    "Dimensions": [["service"]],
                    "Metrics": [{ "Name": name, "Unit": "Count" }],
                }],
            },
            "service": self.service,
            name: count,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_one_line_of_the_embedded_format() {
        let now = Timestamp::from_millisecond(1_800_000_000_123).unwrap();
        let line = Telemetry::without_logs("github-webhook").metric_line(Metric::Accepted, 2, now);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["Accepted"], 2);
        assert_eq!(line["service"], "github-webhook");
        assert_eq!(line["_aws"]["Timestamp"], 1_800_000_000_123_i64);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Namespace"], "Plumbline");
        assert_eq!(directive["Dimensions"], json!([["service"]]));
    }
}

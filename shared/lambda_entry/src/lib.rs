//! What every function's `main.rs` needs: configuration from the environment, AWS clients, logs and metrics, the clock,
//! the batch format of SQS, and the door of tools.
//!
//! Everything is read and built once, during initialisation, and handed down. Nothing here knows whether it runs on AWS
//! or on a laptop: the endpoints come from the AWS SDKs' own environment variables.

mod aws;
mod batch;
mod clock;
mod environment;
mod telemetry;
pub mod tool;

pub use aws::{Aws, AwsSettings};
pub use batch::{BatchFailure, BatchReply, SqsEvent, SqsMessage};
pub use clock::now;
pub use environment::{ConfigError, Environment};
pub use telemetry::{Metric, Telemetry};

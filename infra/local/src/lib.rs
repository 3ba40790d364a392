//! The local stack: runs the infrastructure that `stack.json` describes in one process on a laptop.
//!
//! Tables, queues and secrets are embedded engines; each function is its own process that speaks the
//! real Runtime API and, through the real AWS SDK, the real protocols. Functions contain no line of code
//! for any of this: what runs here is what would be deployed.
//!
//! Everything listens on 127.0.0.1 only. The AWS endpoint asks for an access key of this very start, and
//! holds each function to its own role's policy.
#![expect(
    clippy::disallowed_methods,
    reason = "a long-running server: it reads clocks, sleeps between retries, and its tasks outlive requests"
)]

mod announcement;
mod authorize;
mod aws;
mod batch;
mod connections;
mod door;
mod dynamodb;
mod error;
mod faults;
mod files;
mod function_url;
mod guard;
mod http;
pub mod identity;
mod lambda;
mod logs;
mod mapping;
mod options;
mod parts;
mod plan;
mod policy;
mod running;
mod secrets;
mod sqs;
mod stack;
mod stack_file;
mod state;
pub mod tools;

pub use aws::CallCounts;
pub use error::StackError;
pub use faults::{Effect, Fault, Faults, Matching};
pub use guard::{Caller, Credentials};
pub use logs::{LogLine, LogOptions, Logs};
pub use options::{Description, PORT, STATE_DIRECTORY, StackOptions, State};
pub use policy::{Policy, Statement};
pub use running::{Connection, NotRunning, QueueAddress, RUNNING_FILE, Running, Source, Urls};
pub use sqs::QueueDepth;
pub use stack::{InvokeError, Stack, Stopped};
pub use stack_file::{
    BatchReply, Function, Index, Infrastructure, Key, Mapping, Queue, Secret, SecretContent, Table,
    Trigger,
};

/// The account of all ARNs.
pub const ACCOUNT_ID: &str = "000000000000";

/// The region of all ARNs.
pub const REGION: &str = "us-east-1";

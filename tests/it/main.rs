//! The integration tests: one binary for the workspace.
//!
//! They drive the real function binaries through the local stack: real HTTP at the door, the real Runtime API, the real
//! AWS SDK against the embedded services. Nothing sleeps; what must happen is awaited, with a deadline. The binaries must
//! have been built, which `./test` does first.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy's allow-in-tests does not reach the helpers of an integration test"
)]

mod architecture;
mod commands;
mod conformance;
mod cost;
mod crash;
mod deployment;
mod ingest;
mod mirror;
mod pull_requests;
mod support;

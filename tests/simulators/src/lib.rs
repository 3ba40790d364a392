//! Simulated systems of record: from one state follow both the deliveries they send and the answers they give.
//!
//! Written from what the systems document, not from what Plumbline does with it: nothing here may name a crate of ours, so that a
//! test that compares the two compares with something independent.

pub mod git;
pub mod github;

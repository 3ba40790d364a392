//! The mirrors in DynamoDB: `PipelineRuns` (an item per run's attempt and one per stage, in the run's collection),
//! `Repositories`, and the ledger `Deliveries`.
//!
//! Item formats outlive a deployment: each item bears a `formatVersion`, and a version that this code does not know is
//! left alone. Every write is a `PutItem` on the condition that the revision is still the one that was read.

mod attributes;
mod deliveries;
mod keys;
mod parts;
mod proposals;
mod repositories;
mod runs;
mod store;

#[cfg(test)]
mod formats;
#[cfg(test)]
mod proposal_formats;

pub use deliveries::{delivery_item, read_delivery};
pub use proposals::{commit_item, proposal_item, read_commit, read_proposal};
pub use repositories::{read_registration, registration_item};
pub use runs::{read_run, read_stage, run_item, stage_item};
pub use store::{MirrorStore, Tables};

pub use attributes::Item;

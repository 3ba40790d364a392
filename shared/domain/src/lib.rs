//! The pure core: identities, observations, the fold, aggregates, states, events and due times.
//!
//! Nothing here performs I/O, reads a clock, or knows a provider's JSON or a table's items. A decision is a
//! plain function over plain data; whoever calls it brings the time and carries the result out.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod approval;
pub mod change_proposal;
pub mod delivery;
pub mod due;
pub mod events;
pub mod fold;
pub mod ids;
pub mod observation;
pub mod pipeline_run;
pub mod proposal_events;
pub mod provenance;
pub mod pull_request;
pub mod registration;
pub mod review;
pub mod stage;
pub mod trailers;
pub mod words;

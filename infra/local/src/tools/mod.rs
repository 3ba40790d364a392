//! What a person or a test does with a running stack: send deliveries as GitHub sends them, read what became of them,
//! and play a story whose end is known.

mod clients;
mod error;
mod hookshot;
mod lambda;
mod records;
mod repository;
pub mod stories;

pub use clients::{Clients, Mirrors, Scanned};
pub use error::ToolError;
pub use hookshot::{Answered, ContentType, Hookshot, Outgoing, event_of};
pub use lambda::{Invocation, invoke};
pub use records::{
    Announcement, BOOKKEEPING_FIELDS, Bookkeeping, DELIVERY_FIELDS, DeliveryRecord, Detail,
    RUN_FIELDS, RunRecord, STAGE_FIELDS, StageOfRun, StageRecord, delivery_records, run_records,
    stage_records,
};
pub use repository::RepositoryFilter;

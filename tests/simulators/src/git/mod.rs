//! Git's objects with the names that Git gives them, and what follows from a history: ancestry, merges, differences.

mod history;
mod merge;
mod objects;
mod store;

pub(crate) use merge::merge;
pub use merge::{Change, Difference, MergeConflict};
pub use objects::{BadPath, BadSha, Commit, Files, Sha, Signature, blob_sha, tree_sha};
pub use store::Objects;

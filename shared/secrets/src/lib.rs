//! Webhook secrets: the store behind them, what a stored secret looks like, and a cache that neither asks too often nor
//! goes on with what was withdrawn.

mod cache;
mod document;
mod store;

pub use cache::{CachePolicy, Fetched, SecretCache};
pub use document::SecretDocument;
pub use store::SecretsManager;

//! Lambda on a laptop: every function is its own process, which speaks the Runtime API as on AWS.

pub(crate) mod invoke;
pub(crate) mod pool;
pub(crate) mod runtime_api;
pub(crate) mod sandbox;
pub(crate) mod watchdog;

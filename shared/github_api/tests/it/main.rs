//! How GitHub is read, against servers on this machine that answer what each test scripts.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy's allow-in-tests skips helper functions"
)]

mod authentication;
mod faults;
mod lists;
mod proposal;
mod reads;
mod redirects;
mod server;
mod world;

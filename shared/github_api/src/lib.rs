//! Reads GitHub's REST API: repositories, branches, pull requests with their reviews and commits, attempts of runs.
//!
//! One [`GitHub`] speaks for one connection of one tenant, and to one origin, which is fixed when it is made: a link, a
//! redirect or a name that leads elsewhere is a [`Foreign`] answer, and no request goes there. Every answer must be about
//! what was asked. Nothing that could not be read to its end is told as if it were whole.
//!
//! Facts about the API are GitHub's documentation of version `2022-11-28`, which still tells `merge_commit_sha`.
//!
//! It stands on hyper and rustls as the AWS clients do, and on no other HTTP client: one TLS stack, one cryptography
//! (ring), no process-wide provider that somebody must install first.

mod app;
mod client;
mod connection;
mod error;
mod installation;
mod limits;
mod links;
mod proposal;
mod reads;
mod time;
mod transport;
mod wire;

pub use client::{Answer, GitHub, Limits};
pub use connection::{ApiBaseUrl, Auth, ConnectError, Connection, Secret};
pub use error::{Foreign, NoAccess, ReadError};
pub use installation::InstallationSeen;
pub use proposal::read_proposal;
pub use wire::repository::{Permission, RepositorySeen};

//! GitHub's REST API over HTTP on loopback, as version 2022-11-28 answers.

mod answer;
mod authorization;
mod faults;
mod handlers;
mod installations;
mod jwt;
mod paging;
mod pulls;
mod route;
mod server;

pub use faults::Fault;
pub use route::Route;
pub use server::{Request, Server};

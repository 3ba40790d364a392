//! GitHub's dialect: what a delivery must look like to be believed, and what its body says in our own words.
//!
//! Everything here is a plain function over bytes. Nothing reads a clock, a secret store or a network, so that the
//! whole way from a delivery's bytes to an observation can be tested with nothing but the bytes. The types hold the
//! order of the steps: [`events::read`] takes a [`Verified`](verify::Verified) body, and only
//! [`verify::verify`] makes one.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod body;
pub mod events;
pub mod headers;
pub mod json;
pub mod verify;

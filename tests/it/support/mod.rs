//! What the tests share: a world to send deliveries to, and bodies to send.

pub(crate) mod bodies;
pub(crate) mod world;

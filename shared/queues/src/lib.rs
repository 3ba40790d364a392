//! The observations queue: its message format, which outlives a deployment, and its sender over SQS.

mod sender;
mod wire;

pub use sender::ObservationSender;
pub use wire::{DecodeError, MESSAGE_BYTES_MAX, decode, encode};

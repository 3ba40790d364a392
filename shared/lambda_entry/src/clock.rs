//! The one clock.

use jiff::{Timestamp, Unit};

/// The time, to the microsecond: what a table keeps and a message carries must be equal. Only a function's shell calls
/// this; the core takes `now` as an argument.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the shell reads the clock, and here is where")]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Microsecond).unwrap_or(now)
}

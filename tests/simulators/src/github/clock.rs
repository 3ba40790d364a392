//! The time of the simulated GitHub, in whole seconds: the resolution of nearly everything it tells.

use jiff::{SignedDuration, Timestamp};

/// A clock that stands still, or that runs with the machine's at a distance.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    Standing(Timestamp),
    Following { ahead_seconds: i64 },
}

impl Clock {
    pub(crate) fn standing(now: Timestamp) -> Self {
        Self::Standing(whole(now))
    }

    pub(crate) fn following() -> Self {
        Self::Following { ahead_seconds: 0 }
    }

    pub(crate) fn now(self) -> Timestamp {
        match self {
            Self::Standing(now) => now,
            Self::Following { ahead_seconds } => whole(later(machine(), ahead_seconds)),
        }
    }

    pub(crate) fn advance(&mut self, seconds: i64) {
        match self {
            Self::Standing(now) => *now = later(*now, seconds),
            Self::Following { ahead_seconds } => *ahead_seconds += seconds,
        }
    }

    pub(crate) fn set(&mut self, to: Timestamp) {
        match self {
            Self::Standing(now) => *now = whole(to),
            Self::Following { ahead_seconds } => {
                *ahead_seconds = to.as_second() - machine().as_second();
            }
        }
    }
}

/// So many seconds after `time`, or the end of time.
pub(crate) fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}

fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[expect(clippy::disallowed_methods, reason = "who follows the machine's clock must read it")]
fn machine() -> Timestamp {
    Timestamp::now()
}

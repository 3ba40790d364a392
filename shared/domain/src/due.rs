//! When a subject must be read next.

use jiff::{SignedDuration, Timestamp};

use crate::fold::AskReason;

/// Minutes after the last word, for a subject that is live: 1, 2, 5, 10, 20, then every 30.
const LADDER_MINUTES: [i64; 6] = [1, 2, 5, 10, 20, 30];

/// When a subject must be read, and how often it was asked for without being settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// Not before this time.
    pub at: Timestamp,
    /// Reads that were asked for and did not settle the subject. The first is due at once, later ones climb the ladder:
    /// a word that nobody knows must not become a tight loop.
    pub asks: u32,
}

/// When a subject is due after an observation was folded at `now`. `None` when nothing more is to be learned.
#[must_use]
pub fn after_fold(
    before: Option<Due>,
    live: Live,
    ask_again: Option<AskReason>,
    now: Timestamp,
) -> Option<Due> {
    let asks = before.map_or(0, |due| due.asks);
    if ask_again.is_some() {
        return Some(Due { at: later(now, ladder(asks)), asks: asks.saturating_add(1) });
    }
    match live {
        Live::Yes => Some(Due { at: later(now, ladder(1)), asks: 0 }),
        Live::No => None,
    }
}

/// Whether more is expected of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// It can still change.
    Yes,
    /// It has ended, and nothing about it is open.
    No,
}

/// The wait before ask number `asks`, counted from zero: none, then the ladder.
fn ladder(asks: u32) -> SignedDuration {
    let rung = usize::try_from(asks).unwrap_or(usize::MAX);
    let Some(rung) = rung.checked_sub(1) else { return SignedDuration::ZERO };
    let minutes = LADDER_MINUTES.get(rung).or(LADDER_MINUTES.last()).copied().unwrap_or_default();
    SignedDuration::from_mins(minutes)
}

/// `now + wait`, at the end of time at the latest.
fn later(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes_until_due(before: Option<u32>, live: Live, ask: Option<AskReason>) -> Option<i64> {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let before = before.map(|asks| Due { at: now, asks });
        after_fold(before, live, ask, now).map(|due| due.at.duration_since(now).as_mins())
    }

    #[test]
    fn the_first_ask_is_due_at_once_and_later_ones_climb_the_ladder() {
        let ask = Some(AskReason::UnknownWord);
        let waits: Vec<_> =
            (0..9).map(|asks| minutes_until_due(Some(asks), Live::Yes, ask).unwrap()).collect();
        assert_eq!(waits, [0, 1, 2, 5, 10, 20, 30, 30, 30]);
        assert_eq!(minutes_until_due(None, Live::No, ask), Some(0));
        assert_eq!(minutes_until_due(Some(u32::MAX), Live::Yes, ask), Some(30));
    }

    #[test]
    fn a_live_subject_is_due_a_minute_after_its_last_word() {
        assert_eq!(minutes_until_due(None, Live::Yes, None), Some(1));
        assert_eq!(minutes_until_due(Some(7), Live::Yes, None), Some(1));
    }

    #[test]
    fn a_subject_that_ended_is_due_no_more() {
        assert_eq!(minutes_until_due(Some(7), Live::No, None), None);
    }

    #[test]
    fn a_due_time_at_the_end_of_time_does_not_overflow() {
        let due = after_fold(None, Live::Yes, None, Timestamp::MAX).unwrap();
        assert_eq!(due.at, Timestamp::MAX);
    }
}

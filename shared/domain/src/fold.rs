//! The fold: how observations of one subject become its mirror.
//!
//! A mirror is an element of a join-semilattice and an observation is folded in by a join. So the fold is commutative,
//! associative and idempotent: any order, duplication and batching of the same observations gives the same mirror. That
//! is what lets deliveries come late, twice and shuffled over a cheap queue.
//!
//! There is one join for every kind of subject. What a kind brings is its [`Content`]: its words, which of them end it,
//! and when two contents contradict each other.

use std::fmt;

use jiff::Timestamp;

use crate::delivery::Outcome;
use crate::observation::{Doubt, SETTLED_AFTER};
use crate::pipeline_run::{NativeWords, PipelineRunState};

/// Whether a state can still change within its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finality {
    /// More is to come.
    Live,
    /// Within this subject nothing more comes; a live observation never replaces a final one.
    Final,
}

/// The total order of observations inside one subject; the fields compare in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// A final observation outranks every live one.
    pub finality: Finality,
    /// The provider's own time.
    pub at: Timestamp,
    /// When a settled read started: it beats deliveries and unsettled reads of the same time, and an earlier settled read.
    pub settled: Option<Timestamp>,
    /// For jobs: when their deployment was updated.
    pub deployment_at: Option<Timestamp>,
}

/// What a version says. `Ord` is the fixed order that decides between contents of one version.
pub trait Content: Clone + Ord {
    /// What a settled read confirms or disputes, and by which two ends are told apart.
    type Words: Clone + Ord + fmt::Debug;

    /// The provider's words.
    fn words(&self) -> &Self::Words;

    /// Whether the words end the subject for ever. The words alone decide: equal words are equally final.
    fn finality(&self) -> Finality;

    /// Whether a word is not known, or words contradict each other; only a read can tell.
    fn is_unknown(&self) -> bool;

    /// Whether the words are an end that can be undone. In the order of versions it is live, so what undoes it is not held
    /// back; and nothing more is expected once a settled read has confirmed it.
    fn is_undoable_end(&self) -> bool {
        false
    }

    /// Whether two contents of one version contradict each other. Labels that change by themselves do not count; what
    /// does count must be compared by equality, or the fold would depend on its order.
    fn contradicts(&self, other: &Self) -> bool;
}

/// The latest settled read of a subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confirmation<W> {
    /// When it started.
    pub started_at: Timestamp,
    /// What it said.
    pub words: W,
}

/// One observation of one subject, reduced to what folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting<C: Content> {
    /// Its place in the subject's order.
    pub version: Version,
    /// What it says.
    pub content: C,
    /// Present when it is a settled read.
    pub confirmation: Option<Confirmation<C::Words>>,
    /// Whether it answers a question of ours.
    pub is_read: bool,
    /// Why a read should follow.
    pub doubt: Option<Doubt>,
}

/// Whether all final observations of a subject told the same end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ends {
    /// They did, or there was none.
    Agreed,
    /// They did not.
    Changed,
}

/// The mirror of one subject: what was seen last by the subject's own order, and what makes it doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror<C: Content> {
    /// The greatest version seen.
    pub version: Version,
    /// What it said.
    pub content: C,
    /// Whether that version was seen with another content too.
    pub contested: bool,
    /// The earliest time of a final observation: when the subject ended, as far as the provider tells.
    pub ended_at: Option<Timestamp>,
    /// The latest live observation that claims to be newer than the final one.
    pub live_after_final: Option<Timestamp>,
    /// Whether final observations agreed about the end.
    pub ends: Ends,
    /// The latest settled read.
    pub confirmation: Option<Confirmation<C::Words>>,
}

/// Something that the system of record should not have done, and did. The observation is applied all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Irregular {
    /// A live word is newer than the final one.
    LiveAfterFinal,
    /// The end was told in two ways.
    FinalChanged,
    /// A settled read contradicts the final that deliveries told; decisions must not rest on it.
    Disputed,
}

impl Irregular {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LiveAfterFinal => "LiveAfterFinal",
            Self::FinalChanged => "FinalChanged",
            Self::Disputed => "Disputed",
        }
    }
}

/// Why the system of record must be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AskReason {
    /// One version, two contents.
    Contested,
    /// A word that we do not know, or words that contradict each other.
    UnknownWord,
    /// A read told less than a delivery had proven before.
    ReadOlderThanProven,
    /// Action and body disagree.
    ActionDisagrees,
    /// A settled read contradicts the final.
    Disputed,
    /// The version lies in the future; only a read can tell.
    FutureVersion,
    /// A branch or pull request bears a proposal's name, and its commits have not been read.
    Unproven,
}

impl AskReason {
    /// The word that is logged.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contested => "Contested",
            Self::UnknownWord => "UnknownWord",
            Self::ReadOlderThanProven => "ReadOlderThanProven",
            Self::ActionDisagrees => "ActionDisagrees",
            Self::Disputed => "Disputed",
            Self::FutureVersion => "FutureVersion",
            Self::Unproven => "Unproven",
        }
    }
}

/// What a fold gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded<C: Content> {
    /// The mirror after the fold.
    pub next: Mirror<C>,
    /// Whether it differs from the mirror before.
    pub changed: bool,
    /// What became of each observation, in the order in which they were given.
    pub outcomes: Vec<Outcome>,
    /// Why the system of record must be asked, if it must.
    pub ask_again: Option<AskReason>,
}

impl<C: Content> Mirror<C> {
    /// The mirror of a subject of which this is all that was seen.
    #[must_use]
    pub fn of(sighting: &Sighting<C>) -> Self {
        let ended_at = match sighting.version.finality {
            Finality::Final => Some(sighting.version.at),
            Finality::Live => None,
        };
        Self {
            version: sighting.version,
            content: sighting.content.clone(),
            contested: false,
            ended_at,
            live_after_final: None,
            ends: Ends::Agreed,
            confirmation: sighting.confirmation.clone(),
        }
    }

    /// The least mirror that knows what both know.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let ended_at = [self.ended_at, other.ended_at].into_iter().flatten().min();
        let two_ends =
            self.is_final() && other.is_final() && self.content.words() != other.content.words();
        let ends = if two_ends { Ends::Changed } else { self.ends.max(other.ends) };
        let latest_live = self.latest_live().max(other.latest_live());
        let confirmation = self.confirmation.clone().max(other.confirmation.clone());
        let contested = match self.version.cmp(&other.version) {
            std::cmp::Ordering::Less => other.contested,
            std::cmp::Ordering::Greater => self.contested,
            std::cmp::Ordering::Equal => {
                self.contested || other.contested || self.content.contradicts(&other.content)
            }
        };
        let (version, content) = (self.version, self.content).max((other.version, other.content));
        let live_after_final = match version.finality {
            Finality::Final => latest_live.filter(|live| *live > version.at),
            // The version itself is the latest live one.
            Finality::Live => None,
        };
        Self { version, content, contested, ended_at, live_after_final, ends, confirmation }
    }

    /// Whether the subject has ended.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.version.finality == Finality::Final
    }

    /// Whether nothing more is expected: the subject has ended for ever, or a settled read has confirmed an end that could
    /// be undone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_final() || (self.content.is_undoable_end() && self.is_confirmed())
    }

    /// Whether the latest settled read says the same: only then may a decision rest on the mirror.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        !self.contested
            && self.confirmation.as_ref().is_some_and(|read| {
                read.words == *self.content.words()
                    && read.started_at.duration_since(self.version.at) >= SETTLED_AFTER
            })
    }

    /// Whether a settled read contradicts the final: the state stays, no decision may rest on it.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        self.is_final()
            && self.confirmation.as_ref().is_some_and(|read| {
                read.words != *self.content.words()
                    && read.started_at.duration_since(self.version.at) >= SETTLED_AFTER
            })
    }

    /// What the system of record did out of order. The same observations give the same list in any order.
    #[must_use]
    pub fn irregular(&self) -> Vec<Irregular> {
        [
            (self.live_after_final.is_some(), Irregular::LiveAfterFinal),
            (self.ends == Ends::Changed, Irregular::FinalChanged),
            (self.is_disputed(), Irregular::Disputed),
        ]
        .into_iter()
        .filter_map(|(holds, irregular)| holds.then_some(irregular))
        .collect()
    }

    /// Why the mirror as it stands must be settled by a read.
    #[must_use]
    pub fn needs_a_read(&self) -> Option<AskReason> {
        if self.contested {
            return Some(AskReason::Contested);
        }
        if self.is_disputed() {
            return Some(AskReason::Disputed);
        }
        self.content.is_unknown().then_some(AskReason::UnknownWord)
    }

    fn latest_live(&self) -> Option<Timestamp> {
        match self.version.finality {
            Finality::Live => Some(self.version.at),
            Finality::Final => self.live_after_final,
        }
    }
}

impl<C: Content<Words = NativeWords>> Mirror<C> {
    /// The state that the words mean.
    #[must_use]
    pub fn state(&self) -> PipelineRunState {
        self.content.words().reading().state
    }
}

/// Folds observations into a mirror. `None` only when there is neither a mirror nor an observation.
pub fn fold<C: Content>(
    current: Option<&Mirror<C>>,
    sightings: &[Sighting<C>],
) -> Option<Folded<C>> {
    let mut next = current.cloned();
    let mut outcomes = Vec::with_capacity(sightings.len());
    let mut ask = None;
    for sighting in sightings {
        let (joined, outcome) = step(next, sighting);
        ask = ask.or_else(|| reason_to_ask(&joined, sighting));
        outcomes.push(outcome);
        next = Some(joined);
    }
    let next = next?;
    let changed = current != Some(&next);
    let ask_again = if changed { next.needs_a_read().or(ask) } else { ask };
    Some(Folded { next, changed, outcomes, ask_again })
}

fn step<C: Content>(current: Option<Mirror<C>>, sighting: &Sighting<C>) -> (Mirror<C>, Outcome) {
    let seen = Mirror::of(sighting);
    let Some(before) = current else { return (seen, Outcome::Applied) };
    let (version, content, contested) = (before.version, before.content.clone(), before.contested);
    let joined = before.join(seen);
    let outcome = if joined.contested && !contested {
        Outcome::Contested
    } else if (joined.version, &joined.content) != (version, &content) {
        Outcome::Applied
    } else if contested
        && joined.version == sighting.version
        && content.contradicts(&sighting.content)
    {
        Outcome::Contested
    } else {
        Outcome::NoOp
    };
    (joined, outcome)
}

/// Reasons that lie in the observation and not in the mirror.
fn reason_to_ask<C: Content>(joined: &Mirror<C>, sighting: &Sighting<C>) -> Option<AskReason> {
    if sighting.is_read && sighting.version < joined.version {
        return Some(AskReason::ReadOlderThanProven);
    }
    match sighting.doubt {
        Some(Doubt::ActionDisagrees) if !joined.is_final() => Some(AskReason::ActionDisagrees),
        Some(Doubt::ActionDisagrees) | None => None,
    }
}

//! A pull request as it was seen: whole snapshots, ordered by the provider's `updated_at`.
//!
//! Only `merged` ends a pull request for ever. Closed without a merge is an end that can be undone: in the order of
//! versions it is live, so that a reopening is not held back, and one settled read confirms it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::fold::{Content, Finality, Mirror, Sighting};
use crate::ids::{AccountId, CommitId, PullRequestNumber, RepositoryId};
use crate::observation::{self, Doubt, Origin};
use crate::words::{Text, Word};

/// Labels that are kept. GitHub admits a hundred; they decide nothing here, and every byte of an item is paid for.
pub const LABELS_MAX: usize = 32;

/// Whether a pull request was merged, as far as a snapshot tells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Merge {
    /// The snapshot has no word for it: the shape that is embedded in reviews. Absent is never false.
    NotTold,
    /// Told: not merged.
    No,
    /// Told: merged.
    Yes {
        /// The commit that the merge made: the merge commit, the squashed commit, or the tip after a rebase. A read that tells
        /// none disputes a delivery that told one, so reads must use a version of the API that tells it.
        commit: Option<CommitId>,
    },
}

impl Merge {
    /// What a snapshot tells by `merged`, by `merged_at`, and by a merge commit.
    ///
    /// A `merge_commit_sha` means nothing unless the merge is told: on an open pull request it is a test merge, and it stays
    /// on one that was closed without merging. A list tells by `merged_at` alone: where that is present and null, its
    /// reader says [`Merge::No`]. Words that contradict each other tell nothing.
    #[must_use]
    pub fn told(
        merged: Option<bool>,
        merged_at: Option<Timestamp>,
        merge_commit: Option<CommitId>,
    ) -> Self {
        match (merged, merged_at) {
            (Some(true), _) | (None, Some(_)) => Self::Yes { commit: merge_commit },
            (Some(false), None) => Self::No,
            (None, None) | (Some(false), Some(_)) => Self::NotTold,
        }
    }
}

/// What a pull request's words mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullRequestState {
    /// It waits for reviews, checks, a merge.
    Open,
    /// Closed without a merge; it can be reopened.
    Closed,
    /// Merged, for ever.
    Merged,
    /// A word that we do not know, or words that contradict each other.
    Unknown,
}

impl PullRequestState {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Closed => "Closed",
            Self::Merged => "Merged",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a decision about a pull request rests on, and what a settled read therefore must confirm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PullRequestWords {
    /// The native state: GitHub's `open` or `closed`.
    pub state: Word,
    /// Whether it was merged, and into which commit.
    pub merge: Merge,
    /// The commit that would be merged, or was.
    pub head: CommitId,
    /// The branch that it goes into. A pull request can be retargeted without moving its head.
    pub base_branch: Text,
}

impl PullRequestWords {
    /// Reads GitHub's words, exactly as it writes them.
    #[must_use]
    pub fn reading(&self) -> PullRequestState {
        match (self.state.as_str(), &self.merge) {
            ("open", Merge::No) => PullRequestState::Open,
            ("closed", Merge::No) => PullRequestState::Closed,
            ("closed", Merge::Yes { .. }) => PullRequestState::Merged,
            // Open and merged, closed in we do not know which way, a word of tomorrow.
            _ => PullRequestState::Unknown,
        }
    }
}

/// Whether the host merges by itself once its rules are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AutoMerge {
    /// Somebody must merge.
    Off,
    /// The host does.
    On,
}

/// The labels of a pull request: sorted, each once, at most [`LABELS_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Labels(Vec<Text>);

impl Labels {
    /// Takes the names, cut like every text from outside.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<Text> = names.into_iter().map(Text::new).collect();
        Self(names.into_iter().take(LABELS_MAX).collect())
    }

    /// The labels, sorted.
    #[must_use]
    pub fn as_slice(&self) -> &[Text] {
        &self.0
    }
}

/// What a snapshot says of a pull request. The order of the fields is the fixed order of contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PullRequestContent {
    /// State, merge, head and target.
    pub words: PullRequestWords,
    /// The repository that the head lives in: another one for a fork, none when the fork is gone.
    pub head_repository: Option<RepositoryId>,
    /// The branch that is proposed.
    pub head_branch: Text,
    /// The target's commit as the snapshot knew it. It moves with the target, whether or not anything happens here.
    pub base_commit: Option<CommitId>,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether the host merges by itself.
    pub auto_merge: AutoMerge,
    /// Who opened it; none when the account is gone.
    pub author: Option<AccountId>,
    /// Who merged it; none when nobody did, or the account is gone.
    pub merged_by: Option<AccountId>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// When it was closed, by a merge or without.
    pub closed_at: Option<Timestamp>,
    /// Its labels.
    pub labels: Labels,
}

impl PullRequestContent {
    /// The commit that the merge made: only once really merged.
    #[must_use]
    pub fn merged_commit(&self) -> Option<&CommitId> {
        match (self.words.reading(), &self.words.merge) {
            (PullRequestState::Merged, Merge::Yes { commit }) => commit.as_ref(),
            _ => None,
        }
    }
}

impl Content for PullRequestContent {
    type Words = PullRequestWords;

    fn words(&self) -> &PullRequestWords {
        &self.words
    }

    fn finality(&self) -> Finality {
        match self.words.reading() {
            PullRequestState::Merged => Finality::Final,
            PullRequestState::Open | PullRequestState::Closed | PullRequestState::Unknown => {
                Finality::Live
            }
        }
    }

    fn is_unknown(&self) -> bool {
        self.words.reading() == PullRequestState::Unknown
    }

    fn is_undoable_end(&self) -> bool {
        self.words.reading() == PullRequestState::Closed
    }

    fn contradicts(&self, other: &Self) -> bool {
        // Opening and labelling often share a second, and the target moves by itself: neither decides anything.
        let essence = |content: &Self| {
            let mut content = content.clone();
            content.labels = Labels::default();
            content.base_commit = None;
            content
        };
        essence(self) != essence(other)
    }
}

impl Mirror<PullRequestContent> {
    /// What the words mean.
    #[must_use]
    pub fn reading(&self) -> PullRequestState {
        self.content.words.reading()
    }
}

/// What was seen of one pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestFact {
    /// Which one.
    pub number: PullRequestNumber,
    /// The provider's `updated_at`.
    pub updated_at: Timestamp,
    /// What it said.
    pub content: PullRequestContent,
}

impl PullRequestFact {
    /// The snapshot as something that folds.
    ///
    /// None when it does not tell whether it was merged: such a snapshot (reviews embed it) observes nothing. It is a
    /// hint that asks for a read, or every reviewed and merged pull request would look closed without a merge.
    #[must_use]
    pub fn sighting(
        &self,
        origin: &Origin,
        doubt: Option<Doubt>,
    ) -> Option<Sighting<PullRequestContent>> {
        match self.content.words.merge {
            Merge::NotTold => None,
            Merge::No | Merge::Yes { .. } => {
                Some(observation::sighting(&self.content, (self.updated_at, None), origin, doubt))
            }
        }
    }

    /// Whether the version lies too far in the future to be believed (see [`observation::FUTURE_TOLERANCE`]).
    #[must_use]
    pub fn is_from_the_future(&self, origin: &Origin) -> bool {
        observation::is_from_the_future(self.updated_at, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::new(&digit.to_string().repeat(40)).unwrap()
    }

    fn reading(state: &str, merge: Merge) -> PullRequestState {
        let (state, head, base_branch) = (Word::new(state), commit('a'), Text::new("main"));
        PullRequestWords { state, merge, head, base_branch }.reading()
    }

    #[test]
    fn every_pair_of_words_has_its_state() {
        use PullRequestState as S;
        let yes = || Merge::Yes { commit: Some(commit('b')) };
        for (state, not_told, no, merged) in [
            ("open", S::Unknown, S::Open, S::Unknown),
            ("closed", S::Unknown, S::Closed, S::Merged),
            ("locked", S::Unknown, S::Unknown, S::Unknown),
            ("OPEN", S::Unknown, S::Unknown, S::Unknown),
        ] {
            assert_eq!(reading(state, Merge::NotTold), not_told, "{state}");
            assert_eq!(reading(state, Merge::No), no, "{state}");
            assert_eq!(reading(state, yes()), merged, "{state}");
        }
    }

    #[test]
    fn absent_is_never_false_and_a_commit_without_a_merge_means_nothing() {
        let at = Some(Timestamp::UNIX_EPOCH);
        let sha = || Some(commit('b'));
        let yes = Merge::Yes { commit: sha() };
        assert_eq!(Merge::told(Some(true), at, sha()), yes);
        assert_eq!(Merge::told(Some(true), None, sha()), yes);
        assert_eq!(Merge::told(None, at, sha()), yes);
        assert_eq!(Merge::told(Some(false), None, sha()), Merge::No);
        assert_eq!(Merge::told(None, None, sha()), Merge::NotTold);
        assert_eq!(Merge::told(Some(false), at, sha()), Merge::NotTold);
    }

    #[test]
    fn labels_are_sorted_and_bounded() {
        let names: Vec<String> = (0..200).rev().map(|n| format!("label {n:03}")).collect();
        let labels = Labels::new(names.iter().map(String::as_str).chain(["label 000"]));
        assert_eq!(labels.as_slice().len(), LABELS_MAX);
        assert!(labels.as_slice().is_sorted());
        assert_eq!(labels.as_slice()[0].as_str(), "label 000");
    }
}

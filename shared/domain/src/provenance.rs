//! Which commits are the Factory's.
//!
//! Trailers are text that anybody with push access can copy. What proves a commit is its content: the declared tree on the
//! declared parent, in the declared repository. Ids of commits and trees are hashes, so who pushed, signed or squashed
//! does not matter.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ids::{CommitId, PullRequestNumber, RepositoryId, Sha256Digest, TreeId};
use crate::trailers::{FactoryTrailers, TrailerFault};

/// What names a seen commit: its id, and the repository in which it was read. A fork's commits can be shown under the
/// repository that was forked, so the same id read elsewhere is another sight.
pub type CommitKey = (RepositoryId, CommitId);

/// What was read of a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenCommit {
    /// Its tree.
    pub tree: TreeId,
    /// Its parents, in their order.
    pub parents: Vec<CommitId>,
    /// What its message says of the Factory.
    pub trailers: FactoryTrailers,
    /// The pull requests in whose list of commits it was read.
    pub listed_in: BTreeSet<PullRequestNumber>,
}

impl SeenCommit {
    /// The least that knows what both know. A commit's content never changes, so two contents of one id come from a host
    /// that lies; which of them stays does not depend on the order.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let content =
            |commit: &Self| (commit.tree.clone(), commit.parents.clone(), commit.trailers.clone());
        let (tree, parents, trailers) = content(&self).max(content(&other));
        let listed_in = self.listed_in.into_iter().chain(other.listed_in).collect();
        Self { tree, parents, trailers, listed_in }
    }
}

/// What makes a commit the Factory's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The repository that the Factory pushes to.
    pub repository: &'a RepositoryId,
    /// The commit on which the change set was made.
    pub base: &'a CommitId,
    /// The tree of the base with the change set applied.
    pub tree: &'a TreeId,
    /// The Factory run.
    pub run: Uuid,
    /// The change set's digest.
    pub change_set: &'a Sha256Digest,
}

/// Why a commit is somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foreign {
    /// It was read in another repository.
    OtherRepository,
    /// It names no run and no change set.
    NoTrailers,
    /// It names this proposal, and holds something else: trailers are easily copied.
    OtherTree,
    /// It holds what was proposed, on another parent or on several.
    OtherParent,
}

/// Why a commit's trailers do not name the proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WrongTrailers {
    /// The Factory does not write such trailers.
    Fault(TrailerFault),
    /// They name another run or another change set.
    OtherProposal,
}

/// Whose commit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// The Factory's, by its content.
    Factory,
    /// It claims to be the Factory's, by trailers that are not this proposal's.
    WrongTrailers(WrongTrailers),
    /// Somebody else's. People may add commits; they are kept, and marked.
    Foreign(Foreign),
}

impl Provenance {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Factory => "Factory",
            Self::WrongTrailers(WrongTrailers::OtherProposal) => "WrongTrailers:OtherProposal",
            Self::WrongTrailers(WrongTrailers::Fault(fault)) => match fault {
                TrailerFault::MalformedRun => "WrongTrailers:MalformedRun",
                TrailerFault::MalformedChangeSet => "WrongTrailers:MalformedChangeSet",
                TrailerFault::TwoRuns => "WrongTrailers:TwoRuns",
                TrailerFault::TwoChangeSets => "WrongTrailers:TwoChangeSets",
                TrailerFault::NoRun => "WrongTrailers:NoRun",
                TrailerFault::NoChangeSet => "WrongTrailers:NoChangeSet",
            },
            Self::Foreign(Foreign::OtherRepository) => "Foreign:OtherRepository",
            Self::Foreign(Foreign::NoTrailers) => "Foreign:NoTrailers",
            Self::Foreign(Foreign::OtherTree) => "Foreign:OtherTree",
            Self::Foreign(Foreign::OtherParent) => "Foreign:OtherParent",
        }
    }
}

impl Claim<'_> {
    /// The Factory's commits among these: those that hold what was proposed on the base, or on another one of them.
    #[must_use]
    pub fn factory_commits<'a>(
        &self,
        commits: &'a BTreeMap<CommitKey, SeenCommit>,
    ) -> BTreeSet<&'a CommitId> {
        let mut children: BTreeMap<&CommitId, Vec<&CommitId>> = BTreeMap::new();
        for (key, commit) in commits {
            if let (Ok(()), [parent]) = (self.by_itself(key, commit), commit.parents.as_slice()) {
                children.entry(parent).or_default().push(&key.1);
            }
        }
        let mut found = BTreeSet::new();
        let mut tips: Vec<&CommitId> = children.remove(self.base).unwrap_or_default();
        while let Some(tip) = tips.pop() {
            found.insert(tip);
            tips.extend(children.remove(tip).unwrap_or_default());
        }
        found
    }

    /// Whose a commit is, given the Factory's commits.
    #[must_use]
    pub fn judge(
        &self,
        key: &CommitKey,
        commit: &SeenCommit,
        factory: &BTreeSet<&CommitId>,
    ) -> Provenance {
        match self.by_itself(key, commit) {
            Err(verdict) => verdict,
            Ok(()) if factory.contains(&key.1) => Provenance::Factory,
            Ok(()) => Provenance::Foreign(Foreign::OtherParent),
        }
    }

    /// What can be told of a commit without its parents.
    fn by_itself(&self, key: &CommitKey, commit: &SeenCommit) -> Result<(), Provenance> {
        if key.0 != *self.repository {
            return Err(Provenance::Foreign(Foreign::OtherRepository));
        }
        match &commit.trailers {
            FactoryTrailers::Absent => return Err(Provenance::Foreign(Foreign::NoTrailers)),
            FactoryTrailers::Wrong(fault) => {
                return Err(Provenance::WrongTrailers(WrongTrailers::Fault(*fault)));
            }
            FactoryTrailers::Found { run, change_set } => {
                if *run != self.run || change_set != self.change_set {
                    return Err(Provenance::WrongTrailers(WrongTrailers::OtherProposal));
                }
            }
        }
        if commit.tree != *self.tree {
            return Err(Provenance::Foreign(Foreign::OtherTree));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit_id(n: u8) -> CommitId {
        CommitId::new(&format!("{n:040x}")).unwrap()
    }

    fn tree(n: u8) -> TreeId {
        TreeId::new(&format!("{n:040x}")).unwrap()
    }

    fn digest(n: u8) -> Sha256Digest {
        Sha256Digest::new(&format!("sha256:{n:064x}")).unwrap()
    }

    fn repository(n: u64) -> RepositoryId {
        RepositoryId::from_number(n).unwrap()
    }

    fn found(run: u128, change_set: u8) -> FactoryTrailers {
        FactoryTrailers::Found { run: Uuid::from_u128(run), change_set: digest(change_set) }
    }

    type Sight = (u64, u8, u8, Vec<u8>, FactoryTrailers);

    /// Commits as (repository, id, tree, parents, trailers), judged: base 1, tree 2, run 3, change set 4, repository 11.
    fn judged(sights: &[Sight]) -> Vec<Provenance> {
        let commits: Vec<(CommitKey, SeenCommit)> = sights
            .iter()
            .map(|(home, id, holds, parents, trailers)| {
                let commit = SeenCommit {
                    tree: tree(*holds),
                    parents: parents.iter().copied().map(commit_id).collect(),
                    trailers: trailers.clone(),
                    listed_in: BTreeSet::new(),
                };
                ((repository(*home), commit_id(*id)), commit)
            })
            .collect();
        let claim = Claim {
            repository: &repository(11),
            base: &commit_id(1),
            tree: &tree(2),
            run: Uuid::from_u128(3),
            change_set: &digest(4),
        };
        let map = commits.iter().cloned().collect();
        let factory = claim.factory_commits(&map);
        commits.iter().map(|(key, commit)| claim.judge(key, commit, &factory)).collect()
    }

    #[test]
    fn the_declared_tree_on_the_base_is_the_factorys() {
        assert_eq!(judged(&[(11, 10, 2, vec![1], found(3, 4))]), [Provenance::Factory]);
    }

    #[test]
    fn a_chain_of_factory_commits_is_the_factorys_whichever_was_read_first() {
        let chain = [
            (11, 30, 2, vec![20], found(3, 4)),
            (11, 20, 2, vec![10], found(3, 4)),
            (11, 10, 2, vec![1], found(3, 4)),
        ];
        assert_eq!(judged(&chain), [Provenance::Factory; 3]);
        let other_parent = Provenance::Foreign(Foreign::OtherParent);
        assert_eq!(judged(&chain[..2]), [other_parent; 2], "nothing ties them to the base");
    }

    #[test]
    fn copied_trailers_prove_nothing() {
        let other_tree = Provenance::Foreign(Foreign::OtherTree);
        assert_eq!(judged(&[(11, 10, 9, vec![1], found(3, 4))]), [other_tree]);
    }

    #[test]
    fn each_condition_is_needed() {
        let one = |sight| judged(&[sight])[0].as_str();
        assert_eq!(one((77, 10, 2, vec![1], found(3, 4))), "Foreign:OtherRepository");
        assert_eq!(one((11, 10, 2, vec![1], FactoryTrailers::Absent)), "Foreign:NoTrailers");
        assert_eq!(one((11, 10, 2, vec![9], found(3, 4))), "Foreign:OtherParent");
        assert_eq!(one((11, 10, 2, vec![], found(3, 4))), "Foreign:OtherParent");
        assert_eq!(one((11, 10, 2, vec![1, 9], found(3, 4))), "Foreign:OtherParent");
        assert_eq!(one((11, 10, 2, vec![1], found(9, 4))), "WrongTrailers:OtherProposal");
        assert_eq!(one((11, 10, 2, vec![1], found(3, 9))), "WrongTrailers:OtherProposal");
        let twice = FactoryTrailers::Wrong(TrailerFault::TwoRuns);
        assert_eq!(one((11, 10, 2, vec![1], twice)), "WrongTrailers:TwoRuns");
    }

    #[test]
    fn what_people_add_on_top_is_foreign_and_does_not_carry_the_chain_on() {
        let verdicts = judged(&[
            (11, 10, 2, vec![1], found(3, 4)),
            (11, 20, 9, vec![10], FactoryTrailers::Absent),
            (11, 30, 2, vec![20], found(3, 4)),
        ]);
        let words: Vec<_> = verdicts.iter().map(|verdict| verdict.as_str()).collect();
        assert_eq!(words, ["Factory", "Foreign:NoTrailers", "Foreign:OtherParent"]);
    }

    #[test]
    fn the_same_commit_read_in_a_fork_takes_nothing_away() {
        let verdicts =
            judged(&[(77, 10, 2, vec![1], found(3, 4)), (11, 10, 2, vec![1], found(3, 4))]);
        let fork = Provenance::Foreign(Foreign::OtherRepository);
        assert_eq!(verdicts, [fork, Provenance::Factory]);
    }
}

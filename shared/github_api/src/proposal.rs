//! Everything that a change proposal needs, in one go.

use std::collections::{BTreeMap, BTreeSet};

use domain::change_proposal::{Declared, PULL_REQUESTS_MAX, ProposalSighting};
use domain::ids::{CommitId, PullRequestNumber};
use domain::provenance::{CommitKey, SeenCommit};
use domain::trailers::FactoryTrailers;
use jiff::Timestamp;

use crate::client::{Answer, GitHub};
use crate::error::ReadError;

/// How many commits below a tip are looked at for where they come from. The Factory pushes one commit, rarely some.
const ANCESTORS_MAX: usize = 8;

/// Reads the branch of a proposal, its pull requests, their reviews and commits, and the commits that tie them to it. What
/// goes from another branch is read no further: it feeds nothing.
///
/// `known` are pull requests that the proposal knows: GitHub finds none by a branch that is gone with its fork or was renamed.
/// Each part bears the time when its own question was sent, by `clock` or by the answer's `Date`, whichever is earlier.
///
/// # Errors
/// [`ReadError`], and then nothing is told: the next read tells it all. A pull request that is [`ReadError::Gone`] is left
/// out.
pub async fn read_proposal(
    github: &GitHub,
    declared: &Declared,
    known: &BTreeSet<PullRequestNumber>,
    clock: &impl Fn() -> Timestamp,
) -> Result<Vec<ProposalSighting>, ReadError> {
    let home = &declared.repository.id;
    let Answer { value: repository, .. } = github.repository(home, clock()).await?;
    let branch = github.branch(home, &declared.branch, clock()).await?;
    let listed = github.pull_requests_of_branch(&repository, &declared.branch, clock()).await?;
    let numbers: BTreeSet<PullRequestNumber> = known.iter().copied().chain(listed.value).collect();
    let mut tips: BTreeSet<CommitId> = branch.head().cloned().into_iter().collect();
    let mut sightings = vec![ProposalSighting::Branch(branch)];
    let mut commits = BTreeMap::new();
    for number in numbers.into_iter().take(PULL_REQUESTS_MAX) {
        let Answer { started_at, value: fact } =
            match github.pull_request(home, number, clock()).await {
                Err(ReadError::Gone) => continue,
                answer => answer?,
            };
        let Some(sighting) = fact.sighting(&github.origin(started_at), None) else { continue };
        sightings.push(ProposalSighting::PullRequest { number, sighting: Box::new(sighting) });
        if !declared.is_its_branch(&fact.content) {
            continue;
        }
        let reviews = github.reviews(home, number, clock()).await?;
        sightings.push(ProposalSighting::Reviews { number, reviews });
        for (key, seen) in github.commits_of_pull_request(home, number, clock()).await? {
            learn(&mut commits, key, seen);
        }
        tips.insert(fact.content.words.head);
    }
    for tip in tips {
        read_down(github, declared, tip, &mut commits, clock).await?;
    }
    if !commits.is_empty() {
        sightings.push(ProposalSighting::Commits(commits));
    }
    Ok(sightings)
}

/// Reads a tip that no list told, and below it as long as the commits claim to be the proposal's: whose they are depends on
/// what they stand on.
async fn read_down(
    github: &GitHub,
    declared: &Declared,
    tip: CommitId,
    commits: &mut BTreeMap<CommitKey, SeenCommit>,
    clock: &impl Fn() -> Timestamp,
) -> Result<(), ReadError> {
    let home = &declared.repository.id;
    let mut next = Some(tip);
    for _ in 0..=ANCESTORS_MAX {
        let Some(id) = next.take().filter(|id| *id != declared.base_commit) else { break };
        let key = (home.clone(), id);
        if !commits.contains_key(&key) {
            let Some(seen) = github.commit(home, &key.1, clock()).await? else { break };
            learn(commits, key.clone(), seen);
        }
        let Some(seen) = commits.get(&key) else { break };
        if let ([parent], true) = (seen.parents.as_slice(), claims_to_be_its(declared, seen)) {
            next = Some(parent.clone());
        }
    }
    Ok(())
}

fn claims_to_be_its(declared: &Declared, seen: &SeenCommit) -> bool {
    match &seen.trailers {
        FactoryTrailers::Found { run, change_set } => {
            *run == declared.run && *change_set == declared.change_set.sha256
        }
        FactoryTrailers::Absent | FactoryTrailers::Wrong(_) => false,
    }
}

fn learn(commits: &mut BTreeMap<CommitKey, SeenCommit>, key: CommitKey, seen: SeenCommit) {
    let seen = match commits.remove(&key) {
        Some(before) => before.join(seen),
        None => seen,
    };
    commits.insert(key, seen);
}

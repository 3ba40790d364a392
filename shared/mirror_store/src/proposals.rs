//! Items of `ChangeProposals`, and of `ProposalCommits`: what was read of a commit grows without bound beside a proposal,
//! and never changes, so each commit is an item of its own.

use std::collections::{BTreeMap, BTreeSet};

use domain::change_proposal::{
    Branch, ChangeProposal, ChangeSetRef, Declared, Observed, ProposalState, PullRequest,
    Transition,
};
use domain::fold::{Confirmation, Irregular, Mirror};
use domain::ids::{
    AccountId, AgentReleaseId, ArtifactRef, CommitId, ProposalId, PullRequestNumber, RepositoryId,
    ReviewId, Revision, Sha256Digest, TreeId,
};
use domain::proposal_events::ProposalAnnounced;
use domain::provenance::{CommitKey, Provenance, SeenCommit};
use domain::pull_request::{AutoMerge, Labels, Merge, PullRequestContent, PullRequestWords};
use domain::review::{ReviewContent, ReviewWords, ReviewerKind, Reviews};
use domain::trailers::{FactoryTrailers, TrailerFault};
use domain::words::{Text, Word};
use ports::UnreadableItem;
use uuid::Uuid;

use crate::attributes::{Flag, Item, Reader, Writer, unreadable};
use crate::keys;
use crate::parts::{
    read_due, read_marks, read_owner, read_repository, read_system, sortable, write_due,
    write_marks, write_owner, write_repository,
};

/// The pull requests in whose list of commits a commit was read.
const LISTED_IN: &str = "listedIn";

/// A proposal's item, without its commits. What follows from facts is written beside them for whoever reads the table; it
/// is derived again when it is read here.
#[must_use]
pub fn proposal_item(proposal: &ChangeProposal) -> Item {
    let declared = &proposal.declared;
    let state = proposal.state();
    let mut item = Writer::new(&[
        ("pk", keys::proposal_partition(declared.id)),
        ("sk", keys::PROPOSAL.to_owned()),
        ("projectKey", keys::project(&declared.owner)),
        ("stateKey", format!("{state}#{}", declared.id)),
    ]);
    write_declared(&mut item, declared);
    item.text("state", state);
    write_derived(&mut item, proposal);
    write_branch(&mut item, &proposal.observed.branch);
    let mut pull_requests = Writer::default();
    for (number, seen) in &proposal.observed.pull_requests {
        pull_requests.map(&number.to_string(), pull_request_map(seen));
    }
    item.map("pullRequests", pull_requests);
    if let Some(announced) = &proposal.announced {
        item.text("announcedState", announced.state);
        item.optional("announcedFrom", announced.from);
        item.flag("announcedOpened", announced.opened.into());
        item.number("announcedRevision", announced.revision.0);
    }
    write_due(&mut item, keys::proposal_due_shard(declared.id), proposal.due);
    item.number("revision", proposal.revision.0);
    item.finish()
}

/// Reads a proposal's item; `commits` are its rows in `ProposalCommits`.
pub fn read_proposal(
    item: &Item,
    commits: BTreeMap<CommitKey, SeenCommit>,
) -> Result<ChangeProposal, UnreadableItem> {
    let item = Reader::new(item)?;
    let mut pull_requests = BTreeMap::new();
    for (number, map) in item.maps("pullRequests")? {
        let number = number.parse().ok().and_then(|number| PullRequestNumber::new(number).ok());
        let number = number.ok_or_else(|| unreadable("pullRequests", "names no number"))?;
        pull_requests.insert(number, read_pull_request(&map)?);
    }
    let announced = match item.parsed_optional("announcedState", ProposalState::from_word)? {
        None => None,
        Some(state) => Some(ProposalAnnounced {
            state,
            from: item.parsed_optional("announcedFrom", ProposalState::from_word)?,
            opened: item.flag("announcedOpened")?,
            revision: Revision(item.number("announcedRevision")?),
        }),
    };
    Ok(ChangeProposal {
        declared: read_declared(&item)?,
        observed: Observed { branch: read_branch(&item)?, pull_requests, commits },
        announced,
        due: read_due(&item)?,
        revision: Revision(item.number("revision")?),
    })
}

/// The row of a commit that was read on a proposal's branch or in its pull requests, with the verdict on whose it is.
#[must_use]
pub fn commit_item(
    proposal: ProposalId,
    key: &CommitKey,
    commit: &SeenCommit,
    provenance: Provenance,
) -> Item {
    let mut item =
        Writer::new(&[("pk", keys::proposal_partition(proposal)), ("sk", keys::commit(key))]);
    item.text("proposalId", proposal);
    item.text("repositoryId", &key.0);
    item.text("commit", &key.1);
    item.text("tree", &commit.tree);
    item.list("parents", commit.parents.iter().map(ToString::to_string));
    match &commit.trailers {
        FactoryTrailers::Absent => (),
        FactoryTrailers::Wrong(fault) => item.text("trailerFault", fault.as_str()),
        FactoryTrailers::Found { run, change_set } => {
            item.text("runId", run.hyphenated());
            item.text("changeSetSha256", change_set);
        }
    }
    item.list(LISTED_IN, commit.listed_in.iter().map(ToString::to_string));
    item.text("provenance", provenance.as_str());
    item.finish()
}

/// Reads a commit's row. Its provenance is derived again from all rows.
pub fn read_commit(item: &Item) -> Result<(CommitKey, SeenCommit), UnreadableItem> {
    let item = Reader::new(item)?;
    let key = (
        item.parsed("repositoryId", |id| RepositoryId::parse(id).ok())?,
        item.parsed("commit", |id| CommitId::new(id).ok())?,
    );
    let parents = item.list("parents")?.into_iter().map(|id| CommitId::new(id).ok());
    let parents: Option<Vec<_>> = parents.collect();
    let number = |text: &str| text.parse().ok().and_then(|n| PullRequestNumber::new(n).ok());
    let listed_in: Option<BTreeSet<_>> = item.list(LISTED_IN)?.into_iter().map(number).collect();
    let fault = item.parsed_optional("trailerFault", TrailerFault::from_word)?;
    let trailers = match (fault, item.parsed_optional("runId", |id| Uuid::try_parse(id).ok())?) {
        (Some(fault), _) => FactoryTrailers::Wrong(fault),
        (None, None) => FactoryTrailers::Absent,
        (None, Some(run)) => FactoryTrailers::Found {
            run,
            change_set: item.parsed("changeSetSha256", |text| Sha256Digest::new(text).ok())?,
        },
    };
    let seen = SeenCommit {
        tree: item.parsed("tree", |id| TreeId::new(id).ok())?,
        parents: parents.ok_or_else(|| unreadable("parents", "is not of its form"))?,
        trailers,
        listed_in: listed_in.ok_or_else(|| unreadable(LISTED_IN, "is not of its form"))?,
    };
    Ok((key, seen))
}

fn write_declared(item: &mut Writer, declared: &Declared) {
    item.text("proposalId", declared.id);
    write_owner(item, &declared.owner);
    item.text("runId", declared.run.hyphenated());
    item.text("attemptId", declared.attempt.hyphenated());
    item.text("agentReleaseId", &declared.agent_release);
    item.text("changeSetRef", &declared.change_set.artifact);
    item.text("changeSetSha256", &declared.change_set.sha256);
    item.text("system", declared.system.as_str());
    write_repository(item, &declared.repository);
    item.text("branch", &declared.branch);
    item.text("baseCommit", &declared.base_commit);
    item.text("expectedTree", &declared.expected_tree);
}

fn read_declared(item: &Reader<'_>) -> Result<Declared, UnreadableItem> {
    let uuid = |text: &str| Uuid::try_parse(text).ok();
    Ok(Declared {
        id: ProposalId(item.parsed("proposalId", uuid)?),
        owner: read_owner(item)?,
        run: item.parsed("runId", uuid)?,
        attempt: item.parsed("attemptId", uuid)?,
        agent_release: item.parsed("agentReleaseId", |text| AgentReleaseId::new(text).ok())?,
        change_set: ChangeSetRef {
            artifact: item.parsed("changeSetRef", |text| ArtifactRef::new(text).ok())?,
            sha256: item.parsed("changeSetSha256", |text| Sha256Digest::new(text).ok())?,
        },
        system: read_system(item)?,
        repository: read_repository(item)?,
        branch: Text::new(item.text("branch")?),
        base_commit: item.parsed("baseCommit", |id| CommitId::new(id).ok())?,
        expected_tree: item.parsed("expectedTree", |id| TreeId::new(id).ok())?,
    })
}

/// What SPEC's readers of the table look for.
fn write_derived(item: &mut Writer, proposal: &ChangeProposal) {
    let leading = proposal.leading();
    item.optional("pullRequestRef", leading.map(|leading| leading.number));
    item.optional("mergedCommit", proposal.merged_commit());
    item.optional("updatedAt", leading.map(|leading| leading.mirror.version.at));
    item.flag("mergedWithoutApproval", proposal.merged_without_approval().into());
    let transition = proposal.announced.map(|announced| announced.transition());
    item.flag("irregularTransition", Flag::from(transition == Some(Transition::Irregular)));
    item.texts("irregular", proposal.irregular().into_iter().map(Irregular::as_str));
    item.flag("confirmed", proposal.is_confirmed().into());
}

fn write_branch(item: &mut Writer, branch: &Branch) {
    if let Some((found_at, head)) = &branch.found {
        item.text("branchFoundAt", sortable(*found_at));
        item.text("branchHead", head);
    }
    item.optional("branchAbsentAt", branch.absent_at);
}

fn read_branch(item: &Reader<'_>) -> Result<Branch, UnreadableItem> {
    let found = match item.optional_time("branchFoundAt")? {
        None => None,
        Some(at) => Some((at, item.parsed("branchHead", |id| CommitId::new(id).ok())?)),
    };
    Ok(Branch { found, absent_at: item.optional_time("branchAbsentAt")? })
}

fn pull_request_map(seen: &PullRequest) -> Writer {
    let mut map = Writer::default();
    if let Some(mirror) = &seen.mirror {
        write_content(&mut map, &mirror.content);
        write_marks(&mut map, mirror);
        map.optional("endedAt", mirror.ended_at);
        if let Some(read) = &mirror.confirmation {
            map.text("readAt", read.started_at);
            write_words(&mut map, "read", &read.words);
        }
    }
    let mut reviews = Writer::default();
    for (id, mirror) in &seen.reviews.registers {
        reviews.map(&id.to_string(), review_map(mirror));
    }
    map.map("reviews", reviews);
    map.optional("reviewsReadAt", seen.reviews.read_at);
    map.flag("reviewsTruncated", seen.reviews.truncated.into());
    map
}

fn read_pull_request(map: &Reader<'_>) -> Result<PullRequest, UnreadableItem> {
    let mirror = match map.optional_text("state")? {
        // Its reviews were read before anything else was seen of it.
        None => None,
        Some(_) => {
            let confirmation = match map.optional_time("readAt")? {
                None => None,
                Some(started_at) => {
                    Some(Confirmation { started_at, words: read_words(map, "read")? })
                }
            };
            let content = read_content(map)?;
            Some(read_marks(map, content, map.optional_time("endedAt")?, confirmation)?)
        }
    };
    let mut registers = BTreeMap::new();
    for (id, review) in map.maps("reviews")? {
        let id = id.parse().map_err(|_| unreadable("reviews", "names no id"))?;
        registers.insert(ReviewId(id), read_review(&review)?);
    }
    let reviews = Reviews {
        registers,
        read_at: map.optional_time("reviewsReadAt")?,
        truncated: map.flag("reviewsTruncated")?,
    };
    Ok(PullRequest { mirror, reviews })
}

fn write_content(map: &mut Writer, content: &PullRequestContent) {
    map.text("state", content.words.reading().as_str());
    write_words(map, "native", &content.words);
    map.optional("headRepositoryId", content.head_repository.as_ref());
    map.text("headBranch", &content.head_branch);
    map.optional("baseCommit", content.base_commit.as_ref());
    map.flag("draft", content.draft.into());
    map.flag("autoMerge", Flag::from(content.auto_merge == AutoMerge::On));
    map.optional("authorId", content.author.as_ref());
    map.optional("mergedById", content.merged_by.as_ref());
    map.optional("mergedAt", content.merged_at);
    map.optional("closedAt", content.closed_at);
    map.list("labels", content.labels.as_slice().iter().map(ToString::to_string));
}

fn read_content(map: &Reader<'_>) -> Result<PullRequestContent, UnreadableItem> {
    let account = |text: &str| AccountId::parse(text).ok();
    Ok(PullRequestContent {
        words: read_words(map, "native")?,
        head_repository: map
            .parsed_optional("headRepositoryId", |id| RepositoryId::parse(id).ok())?,
        head_branch: Text::new(map.text("headBranch")?),
        base_commit: map.parsed_optional("baseCommit", |id| CommitId::new(id).ok())?,
        draft: map.flag("draft")?,
        auto_merge: if map.flag("autoMerge")? { AutoMerge::On } else { AutoMerge::Off },
        author: map.parsed_optional("authorId", account)?,
        merged_by: map.parsed_optional("mergedById", account)?,
        merged_at: map.optional_time("mergedAt")?,
        closed_at: map.optional_time("closedAt")?,
        labels: Labels::new(map.list("labels")?),
    })
}

/// The words of a snapshot, or of the read that confirms it. A merge is `no`, `notTold`, or `yes`.
fn write_words(map: &mut Writer, prefix: &str, words: &PullRequestWords) {
    let name = |field: &str| format!("{prefix}{field}");
    map.text(&name("State"), &words.state);
    let merge = match &words.merge {
        Merge::NotTold => "notTold",
        Merge::No => "no",
        Merge::Yes { .. } => "yes",
    };
    map.text(&name("Merge"), merge);
    if let Merge::Yes { commit: Some(commit) } = &words.merge {
        map.text(&name("MergeCommit"), commit);
    }
    map.text(&name("Head"), &words.head);
    map.text(&name("BaseBranch"), &words.base_branch);
}

fn read_words(map: &Reader<'_>, prefix: &str) -> Result<PullRequestWords, UnreadableItem> {
    let name = |field: &str| format!("{prefix}{field}");
    let commit = map.parsed_optional(&name("MergeCommit"), |id| CommitId::new(id).ok())?;
    Ok(PullRequestWords {
        state: Word::new(map.text(&name("State"))?),
        merge: map.parsed(&name("Merge"), |word| match word {
            "notTold" => Some(Merge::NotTold),
            "no" => Some(Merge::No),
            "yes" => Some(Merge::Yes { commit }),
            _ => None,
        })?,
        head: map.parsed(&name("Head"), |id| CommitId::new(id).ok())?,
        base_branch: Text::new(map.text(&name("BaseBranch"))?),
    })
}

fn review_map(mirror: &Mirror<ReviewContent>) -> Writer {
    let mut map = Writer::default();
    let content = &mirror.content;
    map.text("verdict", content.words.reading().as_str());
    map.text("nativeVerdict", &content.words.verdict);
    map.flag("dismissed", content.words.dismissed.into());
    map.text("submittedAt", content.submitted_at);
    map.optional("commit", content.commit.as_ref());
    map.optional("reviewerId", content.reviewer.as_ref());
    map.text("reviewerKind", content.kind.as_str());
    write_marks(&mut map, mirror);
    map.optional("endedAt", mirror.ended_at);
    if let Some(read) = &mirror.confirmation {
        map.text("readAt", read.started_at);
        map.text("readVerdict", &read.words.verdict);
        map.flag("readDismissed", read.words.dismissed.into());
    }
    map
}

fn read_review(map: &Reader<'_>) -> Result<Mirror<ReviewContent>, UnreadableItem> {
    let words = |verdict, dismissed| -> Result<ReviewWords, UnreadableItem> {
        Ok(ReviewWords { verdict: Word::new(map.text(verdict)?), dismissed: map.flag(dismissed)? })
    };
    let content = ReviewContent {
        words: words("nativeVerdict", "dismissed")?,
        submitted_at: map.time("submittedAt")?,
        commit: map.parsed_optional("commit", |id| CommitId::new(id).ok())?,
        reviewer: map.parsed_optional("reviewerId", |id| AccountId::parse(id).ok())?,
        kind: map.parsed("reviewerKind", ReviewerKind::from_word)?,
    };
    let confirmation = match map.optional_time("readAt")? {
        None => None,
        Some(started_at) => {
            Some(Confirmation { started_at, words: words("readVerdict", "readDismissed")? })
        }
    };
    read_marks(map, content, map.optional_time("endedAt")?, confirmation)
}

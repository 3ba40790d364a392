//! One literal of every item of a change proposal: what was stored stays readable.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::change_proposal::{
    Branch, ChangeProposal, ChangeSetRef, Declared, ProposalSighting, ProposalState,
};
use domain::ids::{
    AccountId, AgentReleaseId, ArtifactRef, CommitId, Host, ProjectId, ProposalId,
    PullRequestNumber, RepositoryId, RepositoryKey, ReviewId, Sha256Digest, SystemOfRecord,
    TenantId, TreeId,
};
use domain::observation::Origin;
use domain::pipeline_run::Owner;
use domain::provenance::{CommitKey, Foreign, Provenance, SeenCommit};
use domain::pull_request::{
    AutoMerge, Labels, Merge, PullRequestContent, PullRequestFact, PullRequestWords,
};
use domain::review::{ReviewContent, ReviewWords, ReviewerKind, Reviews};
use domain::trailers::{FactoryTrailers, TrailerFault};
use domain::words::{Text, Word};
use jiff::Timestamp;
use uuid::Uuid;

use crate::attributes::Item;
use crate::{commit_item, proposal_item, read_commit, read_proposal};

const HEAD: char = 'a';

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn commit(digit: char) -> CommitId {
    CommitId::new(&digit.to_string().repeat(40)).unwrap()
}

fn repository_id() -> RepositoryId {
    RepositoryId::from_number(712_345_678_901).unwrap()
}

fn number(number: u64) -> PullRequestNumber {
    PullRequestNumber::new(number).unwrap()
}

fn digest() -> Sha256Digest {
    Sha256Digest::new(&format!("sha256:{}", "d".repeat(64))).unwrap()
}

fn proposed() -> ChangeProposal {
    let declared = Declared {
        id: ProposalId(Uuid::from_u128(1)),
        owner: Owner {
            tenant: TenantId::new("t1").unwrap(),
            project: ProjectId::new("storefront").unwrap(),
        },
        run: Uuid::from_u128(2),
        attempt: Uuid::from_u128(3),
        agent_release: AgentReleaseId::new("delivery-agent@4.2.0").unwrap(),
        change_set: ChangeSetRef {
            artifact: ArtifactRef::new("artifact://change-sets/41").unwrap(),
            sha256: digest(),
        },
        system: SystemOfRecord::GitHub,
        repository: RepositoryKey { host: Host::new("github.com").unwrap(), id: repository_id() },
        branch: Text::new("factory/delivery-date"),
        base_commit: commit('b'),
        expected_tree: TreeId::new(&"e".repeat(40)).unwrap(),
    };
    ChangeProposal::propose(declared, time("2026-11-30T10:00:00Z"))
}

fn read_at(text: &str) -> Origin {
    Origin::Read { connection: "acme".to_owned(), started_at: time(text) }
}

fn content(state: &str, merge: Merge) -> PullRequestContent {
    PullRequestContent {
        words: PullRequestWords {
            state: Word::new(state),
            merge,
            head: commit(HEAD),
            base_branch: Text::new("main"),
        },
        head_repository: Some(repository_id()),
        head_branch: Text::new("factory/delivery-date"),
        base_commit: Some(commit('b')),
        draft: true,
        auto_merge: AutoMerge::On,
        author: Some(AccountId::from_number(5).unwrap()),
        merged_by: Some(AccountId::from_number(6).unwrap()),
        merged_at: Some(time("2026-11-30T10:05:00Z")),
        closed_at: Some(time("2026-11-30T10:05:00Z")),
        labels: Labels::new(["checkout"]),
    }
}

fn snapshot(content: PullRequestContent, at: &str, read: &str) -> ProposalSighting {
    let fact = PullRequestFact { number: number(41), updated_at: time(at), content };
    let sighting = Box::new(fact.sighting(&read_at(read), None).unwrap());
    ProposalSighting::PullRequest { number: number(41), sighting }
}

fn reviews(read: &str) -> ProposalSighting {
    let review = |verdict: &str, reviewer: Option<u64>, kind| ReviewContent {
        words: ReviewWords { verdict: Word::new(verdict), dismissed: verdict == "DISMISSED" },
        submitted_at: time("2026-11-30T10:03:00Z"),
        commit: reviewer.map(|_| commit(HEAD)),
        reviewer: reviewer.map(|id| AccountId::from_number(id).unwrap()),
        kind,
    };
    let list = [
        (ReviewId(3_065_773_662), review("APPROVED", Some(6), ReviewerKind::Person)),
        (ReviewId(3_065_773_663), review("DISMISSED", None, ReviewerKind::Ghost)),
    ];
    ProposalSighting::Reviews {
        number: number(41),
        reviews: Reviews::read(&read_at(read), &list).unwrap(),
    }
}

fn commits() -> BTreeMap<CommitKey, SeenCommit> {
    let seen = |parent, trailers, listed: &[u64]| SeenCommit {
        tree: TreeId::new(&"e".repeat(40)).unwrap(),
        parents: vec![commit(parent)],
        trailers,
        listed_in: listed.iter().copied().map(number).collect(),
    };
    let found = FactoryTrailers::Found { run: Uuid::from_u128(2), change_set: digest() };
    let wrong = FactoryTrailers::Wrong(TrailerFault::TwoRuns);
    BTreeMap::from([
        ((repository_id(), commit(HEAD)), seen('b', found, &[41, 42])),
        ((repository_id(), commit('c')), seen(HEAD, wrong, &[])),
        ((repository_id(), commit('d')), seen('c', FactoryTrailers::Absent, &[41])),
    ])
}

/// A proposal of which everything was seen: merged, and told otherwise before and after.
fn seen() -> ChangeProposal {
    let merged = Merge::Yes { commit: Some(commit('f')) };
    let mut proposal = proposed();
    for sighting in [
        ProposalSighting::Branch(Branch::found(time("2026-11-30T10:01:00.25Z"), commit(HEAD))),
        ProposalSighting::Branch(Branch::absent(time("2026-11-30T10:20:00Z"))),
        ProposalSighting::Commits(commits()),
        snapshot(content("closed", merged), "2026-11-30T10:05:00Z", "2026-11-30T10:09:00Z"),
        reviews("2026-11-30T10:09:00Z"),
        // A settled read that contradicts what was merged.
        snapshot(content("open", Merge::No), "2026-11-30T10:06:00Z", "2026-11-30T10:30:00Z"),
    ] {
        let advanced = proposal.advance(&[sighting], time("2026-11-30T10:31:00Z"));
        proposal = advanced.write.expect("each tells something");
    }
    proposal
}

/// An item as one line per attribute, sorted; of a map, one line per path.
fn told(item: &Item) -> String {
    fn tell(lines: &mut Vec<String>, path: &str, value: &AttributeValue) {
        match value {
            AttributeValue::S(text) => lines.push(format!("{path} S {text}")),
            AttributeValue::N(number) => lines.push(format!("{path} N {number}")),
            AttributeValue::Bool(holds) => lines.push(format!("{path} BOOL {holds}")),
            AttributeValue::L(values) => {
                let texts: Vec<_> = values.iter().map(|v| v.as_s().unwrap().as_str()).collect();
                lines.push(format!("{path} L {}", texts.join(",")));
            }
            AttributeValue::M(map) if map.is_empty() => lines.push(format!("{path} M ")),
            AttributeValue::M(map) => {
                map.iter().for_each(|(name, value)| tell(lines, &format!("{path}.{name}"), value));
            }
            other => panic!("{other:?}"),
        }
    }
    let mut lines = Vec::new();
    item.iter().for_each(|(name, value)| tell(&mut lines, name, value));
    lines.sort();
    lines.join("\n")
}

/// An item from what [`told`] gives.
fn item(told: &str) -> Item {
    let mut item = Item::new();
    for line in told.lines() {
        let [path, kind, text] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let value = match kind {
            "S" => AttributeValue::S(text.to_owned()),
            "N" => AttributeValue::N(text.to_owned()),
            "BOOL" => AttributeValue::Bool(text == "true"),
            "M" => AttributeValue::M(Item::new()),
            _ => AttributeValue::L(
                text.split(',')
                    .filter(|text| !text.is_empty())
                    .map(|text| AttributeValue::S(text.to_owned()))
                    .collect(),
            ),
        };
        let mut map = &mut item;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                map.insert(name.to_owned(), value);
                break;
            }
            let inner = map.entry(name.to_owned()).or_insert(AttributeValue::M(Item::new()));
            let AttributeValue::M(inner) = inner else { panic!("{line}") };
            map = inner;
        }
    }
    item
}

const PROPOSED_V1: &str = include_str!("literals/proposed_v1.txt");
const SEEN_V1: &str = include_str!("literals/seen_v1.txt");
const COMMIT_V1: &str = include_str!("literals/commit_v1.txt");

#[test]
fn version_1_of_a_proposal_stays_readable() {
    for (proposal, literal) in [(proposed(), PROPOSED_V1), (seen(), SEEN_V1)] {
        let commits = proposal.observed.commits.clone();
        assert_eq!(told(&proposal_item(&proposal)), literal.trim_end());
        assert_eq!(read_proposal(&item(literal), commits).unwrap(), proposal);
    }
}

#[test]
fn what_follows_from_facts_stands_beside_them() {
    let proposal = seen();
    assert_eq!(proposal.state(), ProposalState::Merged);
    for line in [
        "state S Merged",
        "pullRequestRef S 41",
        "irregular L LiveAfterFinal,Disputed",
        "irregularTransition BOOL true",
    ] {
        assert!(SEEN_V1.lines().any(|known| known == line), "{line}");
    }
    assert!(PROPOSED_V1.lines().any(|known| known == "state S Proposed"));
    assert!(!PROPOSED_V1.contains("mergedCommit"));
}

#[test]
fn version_1_of_a_commit_stays_readable() {
    let proposal = seen();
    let verdicts = proposal.provenance();
    for (key, commit) in &proposal.observed.commits {
        let row = commit_item(proposal.declared.id, key, commit, verdicts[key]);
        assert_eq!(read_commit(&row).unwrap(), (key.clone(), commit.clone()));
    }
    let key = (repository_id(), commit(HEAD));
    let factory = commit_item(proposal.declared.id, &key, &commits()[&key], Provenance::Factory);
    assert_eq!(told(&factory), COMMIT_V1.trim_end());
    assert_eq!(read_commit(&item(COMMIT_V1)).unwrap(), (key.clone(), commits()[&key].clone()));
    let foreign = Provenance::Foreign(Foreign::OtherTree);
    let foreign = commit_item(proposal.declared.id, &key, &commits()[&key], foreign);
    assert!(told(&foreign).contains("provenance S Foreign:OtherTree"));
}

#[test]
fn a_damaged_proposal_is_named() {
    for (from, to, place) in [
        ("expectedTree S eee", "expectedTree S xee", "expectedTree is not of its form"),
        ("runId S 0000", "runId S z000", "runId is not of its form"),
        ("changeSetSha256 S sha256:", "changeSetSha256 S ", "changeSetSha256 is not of its form"),
        ("formatVersion N 1", "formatVersion N 2", "formatVersion is not known here"),
        ("announcedState S Merged", "announcedState S Gone", "announcedState is not of its form"),
        ("nativeMerge S yes", "nativeMerge S maybe", "nativeMerge is not of its form"),
        (".reviewerKind S Person", ".reviewerKind S Cat", "reviewerKind is not of its form"),
        ("branchHead S aaa", "branchHead S zaa", "branchHead is not of its form"),
    ] {
        let damaged = SEEN_V1.replacen(from, to, 1);
        assert_ne!(damaged, SEEN_V1, "{from}");
        let error = read_proposal(&item(&damaged), BTreeMap::new()).unwrap_err();
        assert_eq!(error.place, place, "{to}");
    }
    let zero = SEEN_V1.replace("pullRequests.41.", "pullRequests.0.");
    let error = read_proposal(&item(&zero), BTreeMap::new()).unwrap_err();
    assert_eq!(error.place, "pullRequests names no number");
    for (from, to, place) in [
        ("parents L bbb", "parents L xbb", "parents is not of its form"),
        ("listedIn L 41", "listedIn L 0", "listedIn is not of its form"),
        ("commit S aaa", "commit S ", "commit is not of its form"),
    ] {
        let damaged = COMMIT_V1.replacen(from, to, 1);
        assert_ne!(damaged, COMMIT_V1, "{from}");
        assert_eq!(read_commit(&item(&damaged)).unwrap_err().place, place, "{to}");
    }
}

#[test]
fn no_two_commits_of_a_proposal_share_a_row() {
    let keys: BTreeSet<_> = commits().keys().map(crate::keys::commit).collect();
    assert_eq!(keys.len(), 3);
}

//! All that a proposal needs, in one go, and what follows from it.

use std::cell::Cell;
use std::collections::BTreeSet;

use domain::change_proposal::{
    ChangeProposal, ChangeSetRef, Declared, ProposalSighting, ProposalState,
};
use domain::ids::{
    AgentReleaseId, ArtifactRef, Host, ProjectId, ProposalId, PullRequestNumber, RepositoryKey,
    Sha256Digest, SystemOfRecord, TenantId, TreeId,
};
use domain::pipeline_run::Owner;
use github_api::{ReadError, read_proposal};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::server::{Reply, Script, Server};
use crate::world::*;

const BRANCH: &str = "GET /repositories/11/branches/factory%2Fx";
const PULLS: &str = "GET /repositories/11/pulls?state=all&head=acme:factory%2Fx&sort=created&direction=asc&per_page=100";

fn declared() -> Declared {
    Declared {
        id: ProposalId(Uuid::from_u128(1)),
        owner: Owner {
            tenant: TenantId::new("t1").expect("a tenant"),
            project: ProjectId::new("p1").expect("a project"),
        },
        run: Uuid::from_u128(3),
        attempt: Uuid::from_u128(4),
        agent_release: AgentReleaseId::new("agent@1").expect("a release"),
        change_set: ChangeSetRef {
            artifact: ArtifactRef::new("s3://x").expect("a reference"),
            sha256: digest(),
        },
        system: SystemOfRecord::GitHub,
        repository: RepositoryKey { host: Host::new("github.com").expect("a host"), id: home() },
        branch: branch(),
        base_commit: commit_id('b'),
        expected_tree: TreeId::new(&sha('c')).expect("a tree"),
    }
}

fn digest() -> Sha256Digest {
    Sha256Digest::new(&format!("sha256:{}", "0a".repeat(32))).expect("a digest")
}

/// The Factory's commit of this id on this parent.
fn factory(id: char, parent: char) -> Value {
    let message =
        format!("t\n\nFactory-Run: {}\nFactory-Change-Set: {}\n", Uuid::from_u128(3), digest());
    commit(id, 'c', &[parent], &message)
}

fn branch_at(head: char) -> Reply {
    Reply::json(&json!({ "name": "factory/x", "commit": { "sha": sha(head) } }))
}

fn pull(number: u64) -> String {
    format!("GET /repositories/11/pulls/{number}")
}

fn part(number: u64, part: &str) -> String {
    format!("GET /repositories/11/pulls/{number}/{part}?per_page=100")
}

fn commit_line(digit: char) -> String {
    format!("GET /repositories/11/commits/{}?per_page=1", sha(digit))
}

/// A script in which pull request 7 goes from the branch with these commits, approved.
fn with_pull_request(script: Script, commits: &Value) -> Script {
    let list = json!([pull_request(7, 'a')]);
    script
        .on(PULLS, Reply::json(&list))
        .on(&pull(7), Reply::json(&pull_request(7, 'a')))
        .on(&part(7, "reviews"), Reply::json(&json!([review(1, "APPROVED", &person())])))
        .on(&part(7, "commits"), Reply::json(commits))
}

async fn ask(server: &Server, known: &[u64]) -> Result<Vec<ProposalSighting>, ReadError> {
    let known: BTreeSet<PullRequestNumber> = known.iter().copied().map(number).collect();
    read_proposal(&github(server), &declared(), &known, &now).await
}

/// The proposal after what was read of it.
fn folded(sightings: &[ProposalSighting]) -> ChangeProposal {
    let proposal = ChangeProposal::propose(declared(), now());
    proposal.advance(sightings, now()).write.expect("something new")
}

#[tokio::test]
async fn one_read_of_an_approved_pull_request_tells_the_state_for_sure() {
    let script = with_pull_request(answering(), &json!([factory('a', 'b')]));
    let server = Server::start(script.on(BRANCH, branch_at('a')));
    let proposal = folded(&ask(&server, &[]).await.unwrap());
    assert_eq!(proposal.state(), ProposalState::Approved);
    assert!(proposal.is_confirmed());
    assert_eq!(proposal.leading().unwrap().number, number(7));
    let expected = [
        REPOSITORY.to_owned(),
        BRANCH.to_owned(),
        PULLS.to_owned(),
        pull(7),
        part(7, "reviews"),
        part(7, "commits"),
    ];
    assert_eq!(server.lines(), expected, "nothing is asked that is known");
}

#[tokio::test]
async fn a_branch_without_a_pull_request_is_read_down_to_its_base() {
    let script = answering()
        .on(BRANCH, branch_at('a'))
        .on(PULLS, Reply::json(&json!([])))
        .on(&commit_line('a'), Reply::json(&factory('a', 'd')))
        .on(&commit_line('d'), Reply::json(&factory('d', 'b')));
    let server = Server::start(script);
    let proposal = folded(&ask(&server, &[]).await.unwrap());
    assert_eq!(proposal.state(), ProposalState::BranchCreated);
    assert!(!server.lines().contains(&commit_line('b')), "the base is nobody's question");
}

#[tokio::test]
async fn what_is_below_a_commit_of_somebody_else_is_not_asked_for() {
    let script = answering()
        .on(BRANCH, branch_at('a'))
        .on(PULLS, Reply::json(&json!([])))
        .on(&commit_line('a'), Reply::json(&commit('a', 'e', &['d'], "theirs")));
    let server = Server::start(script);
    let proposal = folded(&ask(&server, &[]).await.unwrap());
    assert_eq!(proposal.state(), ProposalState::Proposed);
    assert!(!server.lines().contains(&commit_line('d')));
}

#[tokio::test]
async fn a_chain_of_claims_without_an_end_is_followed_for_a_while_only() {
    let digits: Vec<char> = "123456789acdef".chars().collect();
    let mut script =
        answering().on(BRANCH, branch_at(digits[0])).on(PULLS, Reply::json(&json!([])));
    for pair in digits.windows(2) {
        script = script.on(&commit_line(pair[0]), Reply::json(&factory(pair[0], pair[1])));
    }
    let server = Server::start(script);
    ask(&server, &[]).await.unwrap();
    let asked = server.lines().iter().filter(|line| line.contains("/commits/")).count();
    assert_eq!(asked, 9);
}

#[tokio::test]
async fn a_head_beyond_the_list_of_commits_is_read_by_itself() {
    let script = with_pull_request(answering(), &json!([factory('d', 'b')]))
        .on(BRANCH, Reply::missing())
        .on(&commit_line('a'), Reply::json(&commit('a', 'e', &['d'], "theirs")));
    let server = Server::start(script);
    let proposal = folded(&ask(&server, &[]).await.unwrap());
    assert!(proposal.observed.commits.contains_key(&(home(), commit_id('a'))));
    assert_eq!(proposal.state(), ProposalState::Approved, "one of its commits is the Factory's");
}

#[tokio::test]
async fn a_known_pull_request_of_another_branch_is_read_no_further_and_a_gone_one_is_left_out() {
    let other = with(pull_request(3, 'f'), "/head/ref", "factory/y".into());
    let script = with_pull_request(answering(), &json!([factory('a', 'b')]))
        .on(BRANCH, branch_at('a'))
        .on(&pull(3), Reply::json(&other));
    let server = Server::start(script);
    let sightings = ask(&server, &[3, 5, 7]).await.unwrap();
    assert_eq!(folded(&sightings).state(), ProposalState::Approved);
    let lines = server.lines();
    assert!(lines.contains(&pull(3)) && lines.contains(&pull(5)));
    assert!(!lines.contains(&part(3, "reviews")) && !lines.contains(&part(3, "commits")));
    assert_eq!(lines.iter().filter(|line| **line == pull(7)).count(), 1);
}

#[tokio::test]
async fn a_read_that_fails_anywhere_tells_nothing() {
    let broken = |line: &str| {
        let script = with_pull_request(Script::default(), &json!([]));
        let script = script
            .on(BRANCH, branch_at('a'))
            .on(&commit_line('a'), Reply::json(&factory('a', 'b')));
        let mut rest = script.without(line).on(line, Reply::of(502, &json!({})));
        if line != REPOSITORY {
            rest = rest.on(REPOSITORY, Reply::json(&repository()));
        }
        Server::start(rest)
    };
    for line in [
        REPOSITORY.to_owned(),
        BRANCH.to_owned(),
        PULLS.to_owned(),
        pull(7),
        part(7, "reviews"),
        part(7, "commits"),
        commit_line('a'),
    ] {
        assert_eq!(failure(ask(&broken(&line), &[]).await), "unavailable", "{line}");
    }
}

#[tokio::test]
async fn each_part_bears_the_time_of_its_own_question() {
    let script = with_pull_request(answering(), &json!([factory('a', 'b')]));
    let server = Server::start(script.on(BRANCH, branch_at('a')));
    let ticks = Cell::new(0);
    let clock = || -> Timestamp {
        ticks.set(ticks.get() + 1);
        later(ticks.get() - 1)
    };
    let seen =
        read_proposal(&github(&server), &declared(), &BTreeSet::new(), &clock).await.unwrap();
    let times: Vec<_> = seen
        .iter()
        .map(|sighting| match sighting {
            ProposalSighting::Branch(branch) => {
                ("branch", branch.found.as_ref().map(|found| found.0))
            }
            ProposalSighting::PullRequest { sighting, .. } => {
                ("pull request", sighting.confirmation.as_ref().map(|read| read.started_at))
            }
            ProposalSighting::Reviews { reviews, .. } => ("reviews", reviews.read_at),
            ProposalSighting::Commits(_) => ("commits", None),
        })
        .collect();
    let expected = [
        ("branch", Some(later(1))),
        ("pull request", Some(later(3))),
        ("reviews", Some(later(4))),
        ("commits", None),
    ];
    assert_eq!(times, expected);
}

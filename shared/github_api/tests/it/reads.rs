//! What each read tells, and that it is about what was asked.

use std::collections::BTreeSet;

use domain::change_proposal::Branch;
use domain::ids::{Host, ReviewId};
use domain::observation::Fact;
use domain::provenance::SeenCommit;
use domain::pull_request::Merge;
use domain::review::{Overall, ReviewerKind};
use domain::trailers::{FactoryTrailers, TrailerFault};
use domain::words::Text;
use github::events::{Reading, read};
use github::headers::Headers;
use github::verify::{LiveSecrets, WebhookSecret, sign, verify};
use github_api::Permission;
use serde_json::{Value, json};

use crate::server::{Reply, Script, Server};
use crate::world::*;

const BRANCH: &str = "GET /repositories/11/branches/factory%2Fx";
const PULLS: &str = "GET /repositories/11/pulls?state=all&head=acme:factory%2Fx&sort=created&direction=asc&per_page=100";
const PULL: &str = "GET /repositories/11/pulls/7";
const REVIEWS: &str = "GET /repositories/11/pulls/7/reviews?per_page=100";
const COMMITS: &str = "GET /repositories/11/pulls/7/commits?per_page=100";
const RUN: &str = "GET /repositories/11/actions/runs/880/attempts/2";

fn commit_line(digit: char) -> String {
    format!("GET /repositories/11/commits/{}?per_page=1", sha(digit))
}

/// The fact that a delivery of this body tells.
fn delivered(event: &str, body: &Value) -> Fact {
    let body = body.to_string();
    let secret = WebhookSecret::new("It's a Secret to Everybody").unwrap();
    let signature = sign(body.as_bytes(), &secret);
    let headers = Headers::from_iter([
        ("X-GitHub-Event", event),
        ("Content-Type", "application/json"),
        ("X-Hub-Signature-256", &signature),
    ]);
    let secrets = LiveSecrets { current: secret, previous: None };
    let verified = verify(body.as_bytes(), &headers.signature().unwrap(), &secrets).unwrap();
    match read(&verified, &headers, &Host::new("github.com").unwrap()) {
        Reading::Observed(seen) => seen.fact,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_repository_tells_its_name_and_what_one_may_do_there() {
    let server = Server::start(answering());
    let seen = github(&server).repository(&home(), now()).await.unwrap().value;
    assert_eq!((seen.full_name.as_str(), seen.owner()), ("acme/api", "acme"));
    assert_eq!(seen.default_branch, Some(Text::new("main")));
    assert!(!seen.archived);
    let may = [Permission::Push, Permission::Triage, Permission::Pull];
    assert_eq!(seen.permissions, BTreeSet::from(may));
}

#[tokio::test]
async fn a_read_started_when_both_clocks_agree_that_it_had() {
    for (date, expected) in [
        ("Mon, 30 Nov 2026 23:59:50 GMT", later(-10)),
        ("Tue, 01 Dec 2026 00:00:10 GMT", now()),
        ("yesterday", now()),
    ] {
        let script =
            Script::default().on(REPOSITORY, Reply::json(&repository()).header("date", date));
        let server = Server::start(script);
        let seen = github(&server).repository(&home(), now()).await.unwrap();
        assert_eq!(seen.started_at, expected, "{date}");
    }
}

#[tokio::test]
async fn an_answer_of_another_repository_or_without_a_name_is_refused() {
    for (body, expected) in [
        (with(repository(), "/id", 12.into()), "mismatch of id"),
        (with(repository(), "/id", 0.into()), "unreadable id is zero"),
        (without(repository(), "", "id"), "unreadable id is missing"),
        (without(repository(), "", "full_name"), "unreadable full_name is missing"),
        (json!([]), "unreadable the body at line 1 column 0"),
    ] {
        let server = Server::start(Script::default().on(REPOSITORY, Reply::json(&body)));
        assert_eq!(failure(github(&server).repository(&home(), now()).await), expected);
    }
}

#[tokio::test]
async fn a_branch_is_found_with_its_head() {
    let body = json!({ "name": "factory/x", "commit": { "sha": sha('a') } });
    let server = Server::start(Script::default().on(BRANCH, Reply::json(&body)));
    let seen = github(&server).branch(&home(), &branch(), now()).await.unwrap();
    assert_eq!(seen, Branch::found(now(), commit_id('a')));
}

#[tokio::test]
async fn a_branch_is_absent_only_from_a_repository_that_answers() {
    let absent = Reply::missing().header("date", "Mon, 30 Nov 2026 23:59:50 GMT");
    let server = Server::start(answering().on(BRANCH, absent));
    let seen = github(&server).branch(&home(), &branch(), now()).await.unwrap();
    assert_eq!(seen, Branch::absent(later(-10)));

    for (reply, expected) in [
        (Reply::missing(), "no access: NoRepository"),
        (Reply::of(403, &json!({})), "refused 403"),
        (Reply::of(502, &json!({})), "unavailable"),
    ] {
        let server = Server::start(Script::default().on(REPOSITORY, reply));
        let failed = github(&server).branch(&home(), &branch(), now()).await;
        assert_eq!(failure(failed), expected);
    }
}

#[tokio::test]
async fn a_branch_that_was_renamed_is_absent_and_another_one_is_a_mismatch() {
    let other = Reply::json(&json!({ "name": "main", "commit": { "sha": sha('a') } }));
    let moved = Reply::new(301, "").header("location", "/main");
    let script = Script::default().on(BRANCH, moved).on("GET /main", other.clone());
    let server = Server::start(script);
    let seen = github(&server).branch(&home(), &branch(), now()).await.unwrap();
    assert_eq!(seen, Branch::absent(now()));
    let server = Server::start(Script::default().on(BRANCH, other));
    let failed = github(&server).branch(&home(), &branch(), now()).await;
    assert_eq!(failure(failed), "mismatch of name");
}

#[tokio::test]
async fn only_pull_requests_from_this_very_branch_are_listed() {
    let list = json!([
        pull_request(9, 'a'),
        pull_request(7, 'a'),
        with(pull_request(3, 'a'), "/head/repo/id", 12.into()),
        with(pull_request(4, 'a'), "/head/repo", Value::Null),
        with(pull_request(5, 'a'), "/head/ref", "factory/y".into()),
        pull_request(7, 'a'),
    ]);
    let server = Server::start(answering().on(PULLS, Reply::json(&list)));
    let github = github(&server);
    let seen = github.repository(&home(), now()).await.unwrap().value;
    let listed = github.pull_requests_of_branch(&seen, &branch(), now()).await.unwrap();
    assert_eq!(listed.value, [number(7), number(9)]);

    let foreign = json!([with(pull_request(7, 'a'), "/base/repo/id", 12.into())]);
    let server = Server::start(Script::default().on(PULLS, Reply::json(&foreign)));
    let failed =
        crate::world::github(&server).pull_requests_of_branch(&seen, &branch(), now()).await;
    assert_eq!(failure(failed), "mismatch of base.repo.id");
}

#[tokio::test]
async fn a_pull_request_that_is_read_is_the_one_that_is_delivered() {
    for action in ["closed", "opened", "auto_merge_enabled", "synchronize", "labeled"] {
        let body = sample(&format!("pull_request.{action}.json"));
        let Fact::PullRequest(expected) = delivered("pull_request", &body) else {
            panic!("{action}")
        };
        let id = body["repository"]["id"].as_u64().unwrap();
        let repository = domain::ids::RepositoryId::from_number(id).unwrap();
        let line = format!("GET /repositories/{id}/pulls/{}", expected.number);
        let server = Server::start(Script::default().on(&line, Reply::json(&body["pull_request"])));
        let seen = github(&server).pull_request(&repository, expected.number, now()).await.unwrap();
        assert_eq!(seen.value, *expected, "{action}");
    }
}

#[tokio::test]
async fn a_pull_request_of_somebody_else_or_without_its_words_is_refused() {
    let body = || pull_request(7, 'a');
    for (body, expected) in [
        (with(body(), "/number", 8.into()), "mismatch of number"),
        (with(body(), "/base/repo/id", 12.into()), "mismatch of base.repo.id"),
        (with(body(), "/base/repo", Value::Null), "unreadable base.repo.id is missing"),
        (without(body(), "", "merged"), "unreadable merged is missing"),
        (without(body(), "", "updated_at"), "unreadable updated_at is missing"),
        (without(body(), "/head", "sha"), "unreadable head.sha is missing"),
        (with(body(), "/head/sha", "c0ffee".into()), "unreadable head.sha is no commit"),
        (without(body(), "", "state"), "unreadable state is missing"),
    ] {
        let server = Server::start(Script::default().on(PULL, Reply::json(&body)));
        let failed = github(&server).pull_request(&home(), number(7), now()).await;
        assert_eq!(failure(failed), expected);
    }
}

#[tokio::test]
async fn a_test_merge_decides_nothing_whatever_it_is() {
    let odd = with(pull_request(7, 'a'), "/merge_commit_sha", "none yet".into());
    let server = Server::start(Script::default().on(PULL, Reply::json(&odd)));
    let seen = github(&server).pull_request(&home(), number(7), now()).await.unwrap();
    assert_eq!(seen.value.content.words.merge, Merge::No);
}

#[tokio::test]
async fn what_a_repository_that_answers_does_not_have_is_gone() {
    for missing in [Reply::missing(), Reply::of(410, &json!({}))] {
        let script = |script: Script| script.on(PULL, missing.clone()).on(RUN, missing.clone());
        let (run, attempt) = run();
        let github = github(&Server::start(script(answering())));
        assert_eq!(failure(github.pull_request(&home(), number(7), now()).await), "gone");
        assert_eq!(failure(github.run_attempt(&home(), run, attempt, now()).await), "gone");
        let github = crate::world::github(&Server::start(script(Script::default())));
        let expected = "no access: NoRepository";
        assert_eq!(failure(github.pull_request(&home(), number(7), now()).await), expected);
        assert_eq!(failure(github.run_attempt(&home(), run, attempt, now()).await), expected);
        assert_eq!(failure(github.reviews(&home(), number(7), now()).await), expected);
    }
}

#[tokio::test]
async fn reviews_tell_who_reviewed_and_drafts_are_none() {
    let list = json!([
        review(1, "APPROVED", &person()),
        without(review(2, "PENDING", &person()), "", "submitted_at"),
        review(3, "CHANGES_REQUESTED", &Value::Null),
        review(4, "APPROVED", &json!({ "id": 41, "login": "ci[bot]", "type": "Bot" })),
        review(5, "DISMISSED", &json!({ "id": 10137, "login": "ghost", "type": "User" })),
        with(
            review(6, "SHRUGGED", &json!({ "id": 9, "type": "Mannequin" })),
            "/commit_id",
            Value::Null
        ),
    ]);
    let server = Server::start(Script::default().on(REVIEWS, Reply::json(&list)));
    let reviews = github(&server).reviews(&home(), number(7), now()).await.unwrap();
    let told: Vec<_> = reviews
        .registers
        .iter()
        .map(|(ReviewId(id), mirror)| {
            let content = &mirror.content;
            let reviewer = content.reviewer.as_ref().map(ToString::to_string).unwrap_or_default();
            let commit = content.commit.is_some();
            (*id, content.words.verdict.to_string(), reviewer, content.kind, commit)
        })
        .collect();
    let row = |id, verdict: &str, reviewer: &str, kind, commit| {
        (id, verdict.to_owned(), reviewer.to_owned(), kind, commit)
    };
    let expected = [
        row(1, "APPROVED", "6", ReviewerKind::Person, true),
        row(3, "CHANGES_REQUESTED", "", ReviewerKind::Ghost, true),
        row(4, "APPROVED", "41", ReviewerKind::Bot, true),
        row(5, "DISMISSED", "", ReviewerKind::Ghost, true),
        row(6, "SHRUGGED", "9", ReviewerKind::Ghost, false),
    ];
    assert_eq!(told, expected);
    assert_eq!(reviews.read_at, Some(now()));
    assert_eq!(reviews.overall(&commit_id('a'), None), Overall::ChangesRequested);
}

#[tokio::test]
async fn a_review_without_what_decides_is_refused() {
    let body = || review(1, "APPROVED", &person());
    for (body, expected) in [
        (without(body(), "", "state"), "unreadable state is missing"),
        (without(body(), "", "submitted_at"), "unreadable submitted_at is missing"),
        (without(body(), "", "id"), "unreadable id is missing"),
        (without(body(), "/user", "id"), "unreadable user.id is missing"),
    ] {
        let server = Server::start(Script::default().on(REVIEWS, Reply::json(&json!([body]))));
        let failed = github(&server).reviews(&home(), number(7), now()).await;
        assert_eq!(failure(failed), expected);
    }
}

#[tokio::test]
async fn commits_of_a_pull_request_know_where_they_were_listed() {
    let message = format!("t\n\nFactory-Change-Set: sha256:{}\n", "0a".repeat(32));
    let list = json!([commit('a', 'c', &['b'], &message), commit('d', 'e', &['a', 'f'], "merge")]);
    let server = Server::start(Script::default().on(COMMITS, Reply::json(&list)));
    let seen = github(&server).commits_of_pull_request(&home(), number(7), now()).await.unwrap();
    let ids: Vec<_> = seen.keys().cloned().collect();
    assert_eq!(ids, [(home(), commit_id('a')), (home(), commit_id('d'))]);
    let first = &seen[&ids[0]];
    assert_eq!(first.tree.as_str(), sha('c'));
    assert_eq!(first.parents, [commit_id('b')]);
    assert_eq!(first.trailers, FactoryTrailers::Wrong(TrailerFault::NoRun));
    assert_eq!(first.listed_in, BTreeSet::from([number(7)]));
    assert_eq!(seen[&ids[1]].parents, [commit_id('a'), commit_id('f')]);
}

#[tokio::test]
async fn a_commit_is_the_one_that_was_asked_for() {
    let ask = async |script: Script| {
        let server = Server::start(script);
        github(&server).commit(&home(), &commit_id('a'), now()).await
    };
    let line = commit_line('a');
    let body = || commit('a', 'c', &['b'], "t");
    let seen = ask(Script::default().on(&line, Reply::json(&body()))).await.unwrap().unwrap();
    let SeenCommit { trailers, listed_in, .. } = seen;
    assert_eq!((trailers, listed_in), (FactoryTrailers::Absent, BTreeSet::new()));

    assert_eq!(ask(answering()).await.unwrap(), None);
    for status in [409, 422] {
        let missing = Reply::of(status, &json!({ "message": "No commit found for SHA" }));
        assert_eq!(ask(Script::default().on(&line, missing)).await.unwrap(), None);
    }
    assert_eq!(failure(ask(Script::default()).await), "no access: NoRepository");
    for (body, expected) in [
        (commit('d', 'c', &['b'], "t"), "mismatch of sha"),
        (without(body(), "", "parents"), "unreadable parents is missing"),
        (without(body(), "/commit", "tree"), "unreadable commit.tree is missing"),
        (without(body(), "/commit", "message"), "unreadable commit.message is missing"),
        (
            with(body(), "/commit/tree/sha", sha('0').into()),
            "unreadable commit.tree.sha is no tree",
        ),
    ] {
        assert_eq!(failure(ask(Script::default().on(&line, Reply::json(&body))).await), expected);
    }
}

#[tokio::test]
async fn a_run_that_is_read_is_the_one_that_is_delivered() {
    for action in ["completed", "in_progress", "requested"] {
        let body = sample(&format!("workflow_run.{action}.json"));
        let Fact::Run(expected) = delivered("workflow_run", &body) else { panic!("{action}") };
        let id = body["repository"]["id"].as_u64().unwrap();
        let repository = domain::ids::RepositoryId::from_number(id).unwrap();
        let (run, attempt) = (expected.run, expected.attempt);
        let line = format!("GET /repositories/{id}/actions/runs/{run}/attempts/{attempt}");
        let server = Server::start(Script::default().on(&line, Reply::json(&body["workflow_run"])));
        let seen = github(&server).run_attempt(&repository, run, attempt, now()).await.unwrap();
        assert_eq!(seen.value, *expected, "{action}");
    }
}

#[tokio::test]
async fn a_run_of_somebody_else_or_without_its_words_is_refused() {
    let (run, attempt) = run();
    for (body, expected) in [
        (with(workflow_run(), "/id", 881.into()), "mismatch of id"),
        (with(workflow_run(), "/run_attempt", 1.into()), "mismatch of run_attempt"),
        (without(workflow_run(), "", "run_attempt"), "mismatch of run_attempt"),
        (with(workflow_run(), "/repository/id", 12.into()), "mismatch of repository.id"),
        (without(workflow_run(), "", "repository"), "unreadable repository is missing"),
        (without(workflow_run(), "", "status"), "unreadable status is missing"),
        (without(workflow_run(), "", "updated_at"), "unreadable updated_at is missing"),
    ] {
        let server = Server::start(Script::default().on(RUN, Reply::json(&body)));
        let failed = github(&server).run_attempt(&home(), run, attempt, now()).await;
        assert_eq!(failure(failed), expected);
    }
    let unknown = with(workflow_run(), "/conclusion", "of_tomorrow".into());
    let server = Server::start(Script::default().on(RUN, Reply::json(&unknown)));
    let seen = github(&server).run_attempt(&home(), run, attempt, now()).await.unwrap();
    assert_eq!(seen.value.content.words.result.unwrap().as_str(), "of_tomorrow");
}

//! What a `pull_request` body must say, and what must not be read out of it.

use domain::observation::{Fact, Subject};
use domain::pull_request::{AutoMerge, Merge, PullRequestState};
use serde_json::json;

use super::{P, pull_request_fact, reason, seen, with};

const SHA: &str = "0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708";

#[test]
fn what_is_needed_is_named_where_it_is_missing() {
    for (field, place) in [
        ("number", "pull_request.number is missing"),
        ("updated_at", "pull_request.updated_at is missing"),
        ("state", "pull_request.state is missing"),
        ("head", "pull_request.head is missing"),
        ("head.ref", "pull_request.head.ref is missing"),
        ("head.sha", "pull_request.head.sha is missing"),
        ("base", "pull_request.base is missing"),
        ("base.ref", "pull_request.base.ref is missing"),
    ] {
        let body = with(P, &format!("pull_request.{field}"), None);
        assert_eq!(reason("pull_request", &body), format!("Unreadable: {place}"), "{field}");
    }
}

#[test]
fn the_shape_that_reviews_embed_is_no_pull_request() {
    let simple = with(P, "pull_request.merged", None);
    assert_eq!(reason("pull_request", &simple), "ShapeMismatch: no pull_request.merged");
    let closed = with(&simple, "pull_request.state", json!("closed"));
    let closed = with(&closed, "pull_request.merged_at", json!(null));
    assert_eq!(reason("pull_request", &closed), "ShapeMismatch: no pull_request.merged");
    let review = with(P, "review", json!({"id": 1}));
    assert_eq!(reason("pull_request", &review), "ShapeMismatch: review belongs to another event");
}

#[test]
fn a_merge_commit_means_nothing_unless_merged() {
    let test_merge = with(P, "pull_request.merge_commit_sha", json!(SHA));
    assert_eq!(pull_request_fact(&test_merge).content.words.merge, Merge::No);
    let junk = with(P, "pull_request.merge_commit_sha", json!("not yet"));
    assert_eq!(pull_request_fact(&junk).content.words.merge, Merge::No);
    let closed = with(&test_merge, "pull_request.state", json!("closed"));
    let fact = pull_request_fact(&closed);
    assert_eq!(fact.content.words.reading(), PullRequestState::Closed);
    assert_eq!(fact.content.merged_commit(), None);
    let merged = with(&closed, "pull_request.merged", json!(true));
    let fact = pull_request_fact(&merged);
    assert_eq!(fact.content.words.reading(), PullRequestState::Merged);
    assert_eq!(fact.content.merged_commit().map(ToString::to_string).as_deref(), Some(SHA));
    let no_commit = with(&merged, "pull_request.merge_commit_sha", json!(""));
    let expected = "Unreadable: pull_request.merge_commit_sha is no commit";
    assert_eq!(reason("pull_request", &no_commit), expected);
}

#[test]
fn what_is_gone_is_nobody_and_nowhere() {
    let gone = with(P, "pull_request.user", json!(null));
    let gone = with(&gone, "pull_request.head.repo", json!(null));
    let gone = with(&gone, "pull_request.base.sha", json!(null));
    let content = pull_request_fact(&gone).content;
    assert_eq!((content.author, content.head_repository, content.base_commit), (None, None, None));
    for field in ["user.id", "head.repo.id"] {
        let zero = with(P, &format!("pull_request.{field}"), json!(0));
        let expected = format!("Unreadable: pull_request.{field} is zero");
        assert_eq!(reason("pull_request", &zero), expected);
    }
}

#[test]
fn a_base_in_another_repository_is_nobodys() {
    let foreign = with(P, "pull_request.base.repo.id", json!(22));
    let expected = "ShapeMismatch: pull_request.base.repo.id is not repository.id";
    assert_eq!(reason("pull_request", &foreign), expected);
    let fork = with(P, "pull_request.head.repo.id", json!(77));
    let fact = pull_request_fact(&fork);
    assert_eq!(fact.content.head_repository.map(|id| id.to_string()).as_deref(), Some("77"));
}

#[test]
fn a_word_of_tomorrow_is_kept_and_unknown() {
    let locked = with(P, "pull_request.state", json!("frozen"));
    let words = pull_request_fact(&locked).content.words;
    assert_eq!((words.state.as_str(), words.reading()), ("frozen", PullRequestState::Unknown));
}

#[test]
fn auto_merge_is_on_when_its_object_is_there() {
    let on = with(P, "pull_request.auto_merge", json!({"merge_method": "squash"}));
    assert_eq!(pull_request_fact(&on).content.auto_merge, AutoMerge::On);
    let off = with(P, "pull_request.auto_merge", json!(null));
    assert_eq!(pull_request_fact(&off).content.auto_merge, AutoMerge::Off);
}

#[test]
fn a_pull_request_is_its_own_subject() {
    let Fact::PullRequest(fact) = seen("pull_request", P).fact else { panic!("a pull request") };
    let number = fact.number;
    assert_eq!(Subject::PullRequest { number }.to_string(), "pull request 7");
}

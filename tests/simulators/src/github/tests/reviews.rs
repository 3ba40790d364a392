//! Reviews in webhooks and in REST.

use serde_json::{Value, json};

use super::{Client, Scene, column};
use crate::github::{Refusal, ReviewSpec, ReviewState};

#[test]
fn a_review_is_told_in_lower_case_with_the_simple_shape() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let head = scene.tip("topic");
    scene.github.advance_clock(7);
    let spec = ReviewSpec::new(ReviewState::ChangesRequested);
    let id = scene.github.review(scene.repository, number, spec, &scene.bob).unwrap();
    let told = scene.last("pull_request_review.submitted");
    assert_eq!(told["review"]["id"], id);
    assert_eq!(told["review"]["state"], "changes_requested");
    assert_eq!(told["review"]["body"], Value::Null);
    assert_eq!(told["review"]["commit_id"], head.to_string());
    assert_eq!(told["review"]["user"]["login"], "bob");
    assert_eq!(told["review"]["submitted_at"], "2026-03-01T12:00:07Z");
    let pull = told["pull_request"].as_object().unwrap();
    assert_eq!(pull["updated_at"], "2026-03-01T12:00:07Z");
    assert!(pull.contains_key("merged_at"));
    for absent in ["merged", "mergeable", "merged_by", "commits", "additions"] {
        assert!(!pull.contains_key(absent), "{absent}");
    }
}

#[test]
fn a_dismissed_review_counts_no_more_and_only_judgements_are_dismissed() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (github, repository, bob) = (&scene.github, scene.repository, &scene.bob);
    let review = |state| github.review(repository, number, ReviewSpec::new(state), bob).unwrap();
    let approval = review(ReviewState::Approved);
    let comment = review(ReviewState::Commented);
    github.dismiss_review(repository, number, approval, &scene.ada).unwrap();
    let told = scene.last("pull_request_review.dismissed");
    assert_eq!(
        (&told["review"]["state"], &told["sender"]["login"]),
        (&json!("dismissed"), &json!("ada"))
    );
    let dismiss = |id| github.dismiss_review(repository, number, id, &scene.ada);
    assert_eq!(dismiss(approval), Err(Refusal::ReviewState(approval)));
    assert_eq!(dismiss(comment), Err(Refusal::ReviewState(comment)));
    assert_eq!(dismiss(7), Err(Refusal::NoSuchReview(7)));
}

#[test]
fn authors_do_not_judge_their_own() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let review =
        |state| scene.github.review(scene.repository, number, ReviewSpec::new(state), &scene.ada);
    assert_eq!(review(ReviewState::Approved), Err(Refusal::OwnPullRequest(number)));
    assert_eq!(review(ReviewState::ChangesRequested), Err(Refusal::OwnPullRequest(number)));
    assert!(review(ReviewState::Commented).is_ok());
}

#[tokio::test]
async fn a_pending_review_is_its_authors_until_it_is_submitted() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (github, repository) = (&scene.github, scene.repository);
    scene.taken();
    let spec = ReviewSpec::new(ReviewState::Pending).body("hm");
    let id = github.review(repository, number, spec, &scene.bob).unwrap();
    assert!(scene.taken().is_empty());
    let path = "/repos/acme/api/pulls/1/reviews";
    let author = Client::new(github, &scene.bob).read(path).await;
    assert_eq!(column(&author, "state"), ["PENDING"]);
    assert!(author[0].get("submitted_at").is_none());
    let other = Client::new(github, &scene.ada);
    assert_eq!(other.read(path).await, json!([]));
    github.submit_review(repository, number, id, ReviewState::Approved).unwrap();
    assert_eq!(scene.events(), ["pull_request_review.submitted"]);
    assert_eq!(column(&other.read(path).await, "state"), ["APPROVED"]);
    let again = github.submit_review(repository, number, id, ReviewState::Approved);
    assert_eq!(again, Err(Refusal::ReviewState(id)));
}

#[tokio::test]
async fn reviews_are_listed_as_written_and_outlive_their_authors() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let first = scene.tip("topic");
    let (github, repository) = (&scene.github, scene.repository);
    let approve = ReviewSpec::new(ReviewState::Approved).body("good");
    github.review(repository, number, approve, &scene.bob).unwrap();
    let second = scene.push("topic", "b.txt", "2");
    let old = ReviewSpec::new(ReviewState::Commented).of_commit(first);
    github.review(repository, number, old, &scene.ada).unwrap();
    github.delete_user(&scene.bob).unwrap();
    let client = Client::new(github, &scene.ada);
    let reviews = client.read("/repos/acme/api/pulls/1/reviews").await;
    assert_eq!(column(&reviews, "state"), ["APPROVED", "COMMENTED"]);
    assert_eq!(column(&reviews, "body"), ["good", ""]);
    assert_eq!(column(&reviews, "commit_id"), [first.to_string(), first.to_string()]);
    assert_eq!(reviews[0]["user"], Value::Null);
    assert_eq!(reviews[1]["user"]["login"], "ada");
    assert_ne!(first, second);
}

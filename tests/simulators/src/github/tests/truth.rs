//! Webhooks, REST and the truth agree.

use super::{Client, Scene};
use crate::github::{Method, Outcome, ReviewSpec, ReviewState};

#[tokio::test]
async fn what_is_told_is_what_is_so() {
    let scene = Scene::new();
    let (github, repository) = (&scene.github, scene.repository);
    let number = scene.open("topic");
    let spec = ReviewSpec::new(ReviewState::Approved);
    let review = github.review(repository, number, spec, &scene.bob).unwrap();
    github.add_label(repository, number, "risky", &scene.ada).unwrap();
    scene.open("other");
    let head = scene.tip("topic");
    github.advance_clock(9);
    let commit = github.merge(repository, number, Method::Rebase, &scene.bob).unwrap();
    let truth = github.pull_request(repository, number).unwrap();
    let told = Client::new(github, &scene.ada).read("/repos/acme/api/pulls/1").await;
    let merged = Outcome::Merged { at: github.now(), by: Some(scene.bob.id), commit };
    assert_eq!(truth.outcome, merged);
    assert_eq!((truth.head_sha, truth.head_repository), (head, Some(repository)));
    assert_eq!(told["head"]["sha"], truth.head_sha.to_string());
    assert_eq!(told["base"]["sha"], truth.base_sha.to_string());
    assert_eq!(told["updated_at"], truth.updated_at.to_string());
    assert_eq!(told["id"], truth.id);
    assert!(truth.labels.contains("risky") && !truth.is_draft && truth.auto_merge.is_none());
    assert_eq!((truth.reviews[0].id, truth.reviews[0].author), (review, Some(scene.bob.id)));
    let all = github.pull_requests(repository).unwrap();
    assert_eq!(all.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(all[1].outcome, Outcome::Open);
    assert_eq!(github.branches(repository).unwrap()["main"], commit);
    assert_eq!(github.full_name(repository).unwrap(), "acme/api");
}

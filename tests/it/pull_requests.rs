//! Pull requests through the real binaries: whose they are, and that what the Factory did not propose is not mirrored.

use serde_json::{Value, json};

use crate::support::bodies::{OTHER_REPOSITORY, REPOSITORY, pull_request};
use crate::support::world::{Post, World, optional_text, text};

#[tokio::test]
async fn a_pull_request_that_nobody_proposed_is_not_mirrored() {
    let world = World::start().await;
    let mut deliveries = Vec::new();
    for (action, at) in [("opened", 0), ("synchronize", 60), ("reopened", 120)] {
        let body = pull_request(REPOSITORY, action, at).to_string();
        deliveries.push(world.accept("pull_request", &body).await);
    }
    world.settle().await;
    for delivery in deliveries {
        assert_eq!(world.outcome(&delivery).await, "not mirrored");
        let row = &world.ledger(&delivery).await[0];
        assert_eq!(text(row, "subject"), "pull request 41");
        assert_eq!(text(row, "tenantId"), "t1");
    }
    assert!(world.items("PipelineRuns").await.is_empty());
    world.finish().await;
}

#[tokio::test]
async fn a_valid_secret_of_one_tenant_tells_nothing_of_anothers_pull_requests() {
    let world = World::start().await;
    let body = pull_request(REPOSITORY, "opened", 0).to_string();
    let post = Post::of("pull_request", &body).from("beta");
    let id = post.id.clone();
    assert_eq!(world.post(post).await.status, 202);
    let unknown = pull_request(99, "opened", 0).to_string();
    let unknown = world.accept("pull_request", &unknown).await;
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "out of scope");
    assert_eq!(optional_text(&world.ledger(&id).await[0], "tenantId"), Some("t2"));
    assert_eq!(world.logged("mirror-writer", "security_event"), 1);
    assert_eq!(world.outcome(&unknown).await, "unregistered");
    world.finish().await;
}

#[tokio::test]
async fn what_is_no_pull_request_is_quarantined_with_its_reason() {
    let world = World::start().await;
    let with = |path: &str, value: Value| {
        let mut body = pull_request(REPOSITORY, "opened", 0);
        *body.pointer_mut(path).expect("the path") = value;
        body.to_string()
    };
    // The shape that reviews embed, another repository's base, a head that is no commit, a version of the year 9999.
    let no_merged = with("/pull_request/merged", json!(null));
    let foreign_base = with("/pull_request/base/repo/id", json!(OTHER_REPOSITORY));
    let no_commit = with("/pull_request/head/sha", json!("HEAD"));
    let future = with("/pull_request/updated_at", json!("9999-12-31T23:59:59Z"));
    for (body, reason) in [
        (no_merged, "quarantined: ShapeMismatch"),
        (foreign_base, "quarantined: ShapeMismatch"),
        (no_commit, "quarantined: Unreadable"),
        (future, "quarantined: FutureVersion"),
    ] {
        let id = world.accept("pull_request", &body).await;
        world.settle().await;
        assert_eq!(world.outcome(&id).await, reason);
    }
    world.finish().await;
}

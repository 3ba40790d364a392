//! Merges by button, by push and by queue.

use serde_json::{Value, json};

use super::Scene;
use crate::{
    git::Sha,
    github::{
        CommitSpec, DequeueReason, GitHub, MergeSpec, Method, Refusal, Selection, permissions,
        world::Access,
    },
};

impl Scene {
    fn merged(&self, number: u64, method: Method) -> Sha {
        self.github.merge(self.repository, number, method, &self.bob).unwrap()
    }

    fn message(&self, sha: Sha) -> String {
        self.github.read_commit(self.repository, sha).unwrap().message
    }

    fn tree(&self, sha: Sha) -> Sha {
        self.github.read_commit(self.repository, sha).unwrap().tree
    }
}

#[test]
fn a_merge_has_both_as_parents_and_is_told_as_closed() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (main, head) = (scene.tip("main"), scene.tip("topic"));
    scene.github.advance_clock(60);
    scene.taken();
    let sha = scene.merged(number, Method::Merge);
    let commit = scene.github.read_commit(scene.repository, sha).unwrap();
    assert_eq!(commit.parents, [main, head]);
    assert_eq!(commit.message, "Merge pull request #1 from acme/topic\n\nPropose topic");
    assert_eq!((commit.author.name.as_str(), commit.committer.name.as_str()), ("bob", "GitHub"));
    assert_eq!(commit.tree, scene.tree(head));
    assert_eq!(scene.tip("main"), sha);
    let taken = scene.taken();
    let names: Vec<String> = taken.iter().map(super::name).collect();
    assert_eq!(names, ["push", "pull_request.closed"]);
    let pull = &taken[1].json()["pull_request"];
    assert_eq!(pull["merged"], true);
    assert_eq!(pull["merge_commit_sha"], sha.to_string());
    assert_eq!(pull["merged_by"]["login"], "bob");
    for field in ["merged_at", "closed_at", "updated_at"] {
        assert_eq!(pull[field], "2026-03-01T12:01:00Z", "{field}");
    }
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&Value::Null, &json!("unknown")));
    assert_eq!(pull["base"]["sha"], main.to_string());
    assert_eq!(pull["commits"], 1);
    let again = scene.github.merge(scene.repository, number, Method::Merge, &scene.bob);
    assert_eq!(again, Err(Refusal::NotOpen(number)));
}

#[test]
fn a_squash_of_one_commit_keeps_its_words_and_trailers() {
    let scene = Scene::new();
    let main = scene.tip("main");
    let message = "Add it\n\nWhy.\n\nFactory-Proposal: p-1";
    let spec = CommitSpec::on(main, message).file("a.txt", "1").by(&scene.ada);
    let head = scene.github.commit(scene.repository, spec).unwrap();
    scene.github.push(scene.repository, "topic", head, &scene.ada).unwrap();
    let number = scene.propose("topic");
    let sha = scene.merged(number, Method::Squash);
    let commit = scene.github.read_commit(scene.repository, sha).unwrap();
    assert_eq!(commit.message, "Add it (#1)\n\nWhy.\n\nFactory-Proposal: p-1");
    assert_eq!((commit.parents, commit.tree), (vec![main], scene.tree(head)));
    assert_eq!(commit.author.name, "ada");
}

#[test]
fn a_squash_of_several_lists_them_and_names_the_other_authors() {
    let scene = Scene::new();
    let first = scene.push("topic", "a.txt", "1");
    let spec = CommitSpec::on(first, "Second\n\nFactory-Proposal: p-1").file("b.txt", "2");
    let head = scene.github.commit(scene.repository, spec.by(&scene.bob)).unwrap();
    scene.github.push(scene.repository, "topic", head, &scene.bob).unwrap();
    let number = scene.propose("topic");
    let sha = scene.merged(number, Method::Squash);
    let bob = format!("{}+bob@users.noreply.github.com", scene.bob.id);
    let expected = format!(
        "Propose topic (#1)\n\n* Change a.txt\n\n* Second\n\nFactory-Proposal: p-1\n\n---------\n\nCo-authored-by: bob <{bob}>"
    );
    assert_eq!(scene.message(sha), expected);
}

#[test]
fn a_merge_takes_the_words_that_it_is_given() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let spec = MergeSpec::new(Method::Squash).words("Title", "Body\n\nFactory-Proposal: p-9");
    let merged = scene.github.merge_with(scene.repository, number, &spec, &scene.bob);
    assert_eq!(scene.message(merged.unwrap()), "Title\n\nBody\n\nFactory-Proposal: p-9");
}

#[test]
fn a_rebase_makes_new_commits_with_the_same_authors_and_words() {
    let scene = Scene::new();
    scene.push("topic", "a.txt", "1");
    let head = scene.push("topic", "b.txt", "2");
    let number = scene.propose("topic");
    let main = scene.push("main", "c.txt", "3");
    let sha = scene.merged(number, Method::Rebase);
    let last = scene.github.read_commit(scene.repository, sha).unwrap();
    let first = scene.github.read_commit(scene.repository, last.parents[0]).unwrap();
    assert_eq!(first.parents, [main]);
    assert_eq!((first.title(), last.title()), ("Change a.txt", "Change b.txt"));
    assert_eq!((last.author.name.as_str(), last.committer.name.as_str()), ("ada", "GitHub"));
    assert_ne!(last.tree, scene.tree(head), "c.txt is there as well");
    assert_eq!(scene.tip("main"), sha);

    // Nothing to move: they are new commits all the same.
    let number = scene.open("other");
    let head = scene.tip("other");
    let sha = scene.merged(number, Method::Rebase);
    assert_ne!(sha, head);
    assert_eq!(scene.tree(sha), scene.tree(head));
}

#[test]
fn what_conflicts_is_refused_and_changes_nothing() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let main = scene.push("main", "topic.txt", "other\n");
    scene.taken();
    for method in [Method::Merge, Method::Squash, Method::Rebase] {
        let refused = scene.github.merge(scene.repository, number, method, &scene.bob);
        assert!(matches!(refused, Err(Refusal::Conflict(_))), "{method:?}");
    }
    // The queue tells that it was queued before it tries; what is refused is not told at all.
    let refused = scene.github.enqueue(scene.repository, number, Method::Merge, &scene.bob);
    assert!(matches!(refused, Err(Refusal::Conflict(_))));
    assert_eq!(scene.tip("main"), main);
    assert!(scene.taken().is_empty());
}

#[test]
fn a_push_that_brings_the_head_along_merges() {
    let scene = Scene::new();
    scene.open("topic");
    let head = scene.tip("topic");
    scene.taken();
    scene.github.push(scene.repository, "main", head, &scene.bob).unwrap();
    let told = scene.last("pull_request.closed");
    assert_eq!(told["pull_request"]["merged"], true);
    assert_eq!(told["pull_request"]["merge_commit_sha"], head.to_string());
    assert_eq!(told["pull_request"]["merged_by"]["login"], "bob");

    scene.open("other");
    let spec = CommitSpec::on(scene.tip("main"), "Merge by hand");
    let spec = spec.and_parent(scene.tip("other")).file("other.txt", "1\n").by(&scene.bob);
    let merge = scene.github.commit(scene.repository, spec).unwrap();
    let spec = CommitSpec::on(merge, "One more").file("d.txt", "4").by(&scene.bob);
    let after = scene.github.commit(scene.repository, spec).unwrap();
    scene.github.push(scene.repository, "main", after, &scene.bob).unwrap();
    let told = scene.last("pull_request.closed");
    assert_eq!(told["pull_request"]["merge_commit_sha"], merge.to_string());
}

/// An App that hears of merge groups.
fn install(scene: &Scene) {
    let may = permissions(&[("merge_queues", Access::Read)]);
    let app = scene.github.register_app(&scene.acme, "plumb", may, b"").unwrap();
    scene.github.install(app.id, &scene.acme, Selection::All).unwrap();
}

fn groups(github: &GitHub) -> Vec<(String, Value)> {
    let taken = github.take_deliveries();
    let groups = taken.iter().filter(|delivery| delivery.event == "merge_group");
    groups.map(|it| (it.action(), it.json()["merge_group"]["head_ref"].clone())).collect()
}

#[test]
fn a_queued_pull_request_has_a_branch_of_its_own_and_is_merged_by_its_commit() {
    let scene = Scene::new();
    install(&scene);
    let (github, repository, bob) = (&scene.github, scene.repository, &scene.bob);
    let number = scene.open("topic");
    let main = scene.tip("main");
    scene.taken();
    let group = github.enqueue(repository, number, Method::Squash, bob).unwrap();
    assert_eq!(group.branch, format!("gh-readonly-queue/main/pr-1-{main}"));
    assert_eq!((group.base_sha, scene.tip(&group.branch)), (main, group.head_sha));
    let expected = ["pull_request.enqueued", "create", "push", "merge_group.checks_requested"];
    assert_eq!(scene.events(), expected);
    let again = github.enqueue(repository, number, Method::Squash, bob);
    assert_eq!(again, Err(Refusal::Queue(number)));
    assert_eq!(github.merge_group(repository, number), Ok(group.head_sha));
    let taken = scene.taken();
    let names: Vec<String> = taken.iter().map(super::name).collect();
    let expected = [
        "pull_request.dequeued",
        "push",
        "pull_request.closed",
        "merge_group.destroyed",
        "delete",
        "push",
    ];
    assert_eq!(names, expected);
    assert_eq!(taken[0].json()["reason"], "MERGE");
    let pull = &taken[2].json()["pull_request"];
    assert_eq!(pull["merge_commit_sha"], group.head_sha.to_string());
    assert_eq!(pull["merged_by"]["login"], "github-merge-queue[bot]");
    assert_eq!(taken[3].json()["reason"], "merged");
    assert_eq!(scene.tip("main"), group.head_sha);
    assert!(github.branch(repository, &group.branch).is_err());
}

#[test]
fn what_leaves_the_queue_lets_those_behind_it_be_queued_anew() {
    let scene = Scene::new();
    install(&scene);
    let (github, repository, bob) = (&scene.github, scene.repository, &scene.bob);
    let (first, second) = (scene.open("first"), scene.open("second"));
    let main = scene.tip("main");
    let one = github.enqueue(repository, first, Method::Merge, bob).unwrap();
    let two = github.enqueue(repository, second, Method::Merge, bob).unwrap();
    assert_eq!(two.base_sha, one.head_sha);
    assert_eq!(github.merge_group(repository, second), Err(Refusal::Queue(second)));
    scene.taken();
    github.dequeue(repository, first, DequeueReason::CiFailure, bob).unwrap();
    let reference = |branch: &str| json!(format!("refs/heads/{branch}"));
    let anew = format!("gh-readonly-queue/main/pr-2-{main}");
    let expected = [
        ("destroyed".to_owned(), reference(&one.branch)),
        ("destroyed".to_owned(), reference(&two.branch)),
        ("checks_requested".to_owned(), reference(&anew)),
    ];
    assert_eq!(groups(github), expected);
    github.merge_group(repository, second).unwrap();
    github.merge(repository, first, Method::Merge, bob).unwrap();
}

#[test]
fn new_commits_take_a_pull_request_out_of_the_queue() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (github, repository) = (&scene.github, scene.repository);
    let group = github.enqueue(repository, number, Method::Merge, &scene.bob).unwrap();
    scene.taken();
    scene.push("topic", "more.txt", "2");
    let told = scene.last("pull_request.dequeued");
    assert_eq!(told["reason"], "MANUAL");
    assert!(github.branch(repository, &group.branch).is_err());
    assert_eq!(github.merge_group(repository, number), Err(Refusal::Queue(number)));
}

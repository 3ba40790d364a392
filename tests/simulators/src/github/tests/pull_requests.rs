//! The life of a pull request, as webhooks tell it.

use serde_json::{Value, json};

use super::Scene;
use crate::github::{CommitSpec, Method, PullRequestSpec, Refusal};

#[test]
fn an_opened_pull_request_has_no_trial_merge_yet() {
    let scene = Scene::new();
    let head = scene.push("topic", "a.txt", "1\n");
    scene.taken();
    let number = scene.propose("topic");
    let told = scene.last("pull_request.opened");
    let pull = &told["pull_request"];
    assert_eq!((told["number"].as_u64(), number), (Some(1), 1));
    assert_eq!(pull["state"], "open");
    assert_eq!(pull["merged"], false);
    assert_eq!(pull["merge_commit_sha"], Value::Null);
    assert_eq!(pull["mergeable"], Value::Null);
    assert_eq!(pull["mergeable_state"], "unknown");
    assert_eq!(pull["head"]["sha"], head.to_string());
    assert_eq!(pull["head"]["label"], "acme:topic");
    assert_eq!(pull["base"]["ref"], "main");
    assert_eq!(pull["body"], Value::Null);
    assert_eq!(pull["commits"], 1);
    assert_eq!(pull["additions"], 1);
    assert_eq!(pull["updated_at"], "2026-03-01T12:00:00Z");
    assert_eq!(told["sender"]["login"], "ada");
    assert_eq!(told["repository"]["full_name"], "acme/api");
    assert_eq!(told["organization"]["login"], "acme");
}

#[test]
fn a_push_to_the_head_gives_the_pull_request_its_commits() {
    let scene = Scene::new();
    scene.open("topic");
    let before = scene.tip("topic");
    scene.github.advance_clock(5);
    scene.taken();
    let after = scene.push("topic", "b.txt", "2\n");
    let taken = scene.taken();
    let names: Vec<String> = taken.iter().map(super::name).collect();
    assert_eq!(names, ["push", "pull_request.synchronize"]);
    let told = taken[1].json();
    assert_eq!(told["before"], before.to_string());
    assert_eq!(told["after"], after.to_string());
    assert_eq!(told["pull_request"]["updated_at"], "2026-03-01T12:00:05Z");
    // Of the head before: GitHub makes the next one after the event.
    assert!(told["pull_request"]["merge_commit_sha"].is_string());
}

#[test]
fn a_push_that_loses_commits_must_be_forced_and_says_so() {
    let scene = Scene::new();
    scene.open("topic");
    let (main, before) = (scene.tip("main"), scene.tip("topic"));
    let spec = CommitSpec::on(main, "Rewrite").file("c.txt", "3").by(&scene.ada);
    let other = scene.github.commit(scene.repository, spec).unwrap();
    scene.taken();
    let refused = scene.github.push(scene.repository, "topic", other, &scene.ada);
    assert_eq!(refused, Err(Refusal::NotFastForward("topic".to_owned())));
    assert!(scene.taken().is_empty());
    scene.github.force_push(scene.repository, "topic", other, &scene.ada).unwrap();
    let taken = scene.taken();
    assert_eq!(taken[0].json()["forced"], true);
    assert_eq!(taken[0].json()["before"], before.to_string());
    assert_eq!(taken[1].json()["pull_request"]["head"]["sha"], other.to_string());
}

#[test]
fn a_head_with_nothing_left_to_propose_closes_its_pull_request() {
    let scene = Scene::new();
    scene.open("topic");
    scene.taken();
    let main = scene.tip("main");
    scene.github.force_push(scene.repository, "topic", main, &scene.ada).unwrap();
    assert_eq!(scene.events(), ["push", "pull_request.synchronize", "pull_request.closed"]);
}

#[test]
fn nothing_is_proposed_twice_or_without_commits() {
    let scene = Scene::new();
    scene.open("topic");
    let open = |spec| scene.github.open_pull_request(scene.repository, spec, &scene.ada);
    assert_eq!(open(PullRequestSpec::new("topic", "main")), Err(Refusal::AlreadyOpen(1)));
    assert!(matches!(
        open(PullRequestSpec::new("main", "topic")),
        Err(Refusal::NothingToMerge { .. })
    ));
    assert!(matches!(open(PullRequestSpec::new("none", "main")), Err(Refusal::NoSuchBranch(_))));
    // A refused one takes no number.
    assert_eq!(scene.open("other"), 2);
}

#[test]
fn deleting_the_head_closes_and_only_a_kept_head_reopens() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let head = scene.tip("topic");
    scene.taken();
    scene.github.delete_branch(scene.repository, "topic", &scene.ada).unwrap();
    let taken = scene.taken();
    let names: Vec<String> = taken.iter().map(super::name).collect();
    assert_eq!(names, ["delete", "push", "pull_request.closed"]);
    let pushed = taken[1].json();
    assert_eq!((&pushed["deleted"], &pushed["head_commit"]), (&json!(true), &Value::Null));
    assert_eq!(pushed["after"], "0".repeat(40));
    let pull = &taken[2].json()["pull_request"];
    assert_eq!((&pull["merged"], &pull["state"]), (&json!(false), &json!("closed")));
    // It keeps the trial merge: nothing proves that it was merged.
    assert!(pull["merge_commit_sha"].is_string());
    let reopen = || scene.github.reopen(scene.repository, number, &scene.ada);
    assert_eq!(reopen(), Err(Refusal::NotReopenable(number)));
    scene.github.push(scene.repository, "topic", head, &scene.ada).unwrap();
    scene.taken();
    reopen().unwrap();
    assert_eq!(scene.events(), ["pull_request.reopened"]);
    assert_eq!(reopen(), Err(Refusal::NotReopenable(number)));
}

#[test]
fn a_head_that_was_rewritten_while_closed_does_not_reopen() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (github, repository, ada) = (&scene.github, scene.repository, &scene.ada);
    let told = scene.tip("topic");
    github.close(repository, number, ada).unwrap();
    let more = scene.push("topic", "b.txt", "2");
    // A closed pull request does not follow its head.
    assert_eq!(github.pull_request(repository, number).unwrap().head_sha, told);
    let spec = CommitSpec::on(scene.tip("main"), "Rewrite").file("c.txt", "3").by(ada);
    let other = github.commit(repository, spec).unwrap();
    github.force_push(repository, "topic", other, ada).unwrap();
    assert_eq!(github.reopen(repository, number, ada), Err(Refusal::NotReopenable(number)));
    github.force_push(repository, "topic", more, ada).unwrap();
    github.reopen(repository, number, ada).unwrap();
    assert_eq!(github.pull_request(repository, number).unwrap().head_sha, more);
}

#[test]
fn what_was_based_on_a_merged_branch_follows_it_and_else_is_closed() {
    let scene = Scene::new();
    let first = scene.open("first");
    scene.github.push(scene.repository, "second", scene.tip("first"), &scene.ada).unwrap();
    scene.push("second", "b.txt", "2");
    let spec = PullRequestSpec::new("second", "first");
    let second = scene.github.open_pull_request(scene.repository, spec, &scene.ada).unwrap();
    scene.github.merge(scene.repository, first, Method::Merge, &scene.bob).unwrap();
    scene.taken();
    scene.github.delete_branch(scene.repository, "first", &scene.ada).unwrap();
    let told = scene.last("pull_request.edited");
    assert_eq!(told["number"], second);
    assert_eq!(told["changes"]["base"]["ref"]["from"], "first");
    assert_eq!(told["pull_request"]["base"]["ref"], "main");

    scene.github.push(scene.repository, "third", scene.tip("second"), &scene.ada).unwrap();
    scene.push("third", "c.txt", "3");
    let spec = PullRequestSpec::new("third", "second");
    let third = scene.github.open_pull_request(scene.repository, spec, &scene.ada).unwrap();
    scene.taken();
    scene.github.delete_branch(scene.repository, "second", &scene.ada).unwrap();
    let closed: Vec<Value> = scene.taken().iter().map(|it| it.json()["number"].clone()).collect();
    assert_eq!(closed, [Value::Null, Value::Null, json!(second), json!(third)]);
}

#[test]
fn a_retargeted_pull_request_tells_its_former_base() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let main = scene.tip("main");
    scene.github.push(scene.repository, "release", main, &scene.ada).unwrap();
    scene.taken();
    scene.github.retarget(scene.repository, number, "release", &scene.bob).unwrap();
    let told = scene.last("pull_request.edited");
    assert_eq!(
        told["changes"],
        json!({ "base": { "ref": { "from": "main" }, "sha": { "from": main.to_string() } } })
    );
    assert_eq!(told["pull_request"]["base"]["label"], "acme:release");
    let refused = scene.github.retarget(scene.repository, number, "topic", &scene.bob);
    assert!(matches!(refused, Err(Refusal::NothingToMerge { .. })));
    // A refused change leaves all as it was.
    let again = scene.github.retarget(scene.repository, number, "main", &scene.bob);
    assert_eq!(again, Ok(()));
    assert_eq!(scene.last("pull_request.edited")["changes"]["base"]["ref"]["from"], "release");
}

#[test]
fn texts_labels_and_drafts_are_told() {
    let scene = Scene::new();
    scene.push("topic", "a.txt", "1");
    let (github, repository, ada) = (&scene.github, scene.repository, &scene.ada);
    let spec = PullRequestSpec::new("topic", "main").draft().body("Why");
    let number = github.open_pull_request(repository, spec, ada).unwrap();
    let opened = scene.last("pull_request.opened");
    assert_eq!(opened["pull_request"]["draft"], true);
    assert_eq!(opened["pull_request"]["title"], "Change a.txt");
    assert_eq!(github.merge(repository, number, Method::Merge, ada), Err(Refusal::Draft(number)));
    github.mark_ready(repository, number, ada).unwrap();
    github.convert_to_draft(repository, number, ada).unwrap();
    github.mark_ready(repository, number, ada).unwrap();
    github.add_label(repository, number, "risky", ada).unwrap();
    github.add_label(repository, number, "risky", ada).unwrap();
    let labeled = scene.last("pull_request.labeled");
    assert_eq!(labeled["label"]["name"], "risky");
    assert_eq!(labeled["pull_request"]["labels"][0]["name"], "risky");
    github.remove_label(repository, number, "risky", ada).unwrap();
    github.retitle(repository, number, "Other", ada).unwrap();
    let edited = scene.last("pull_request.edited");
    assert_eq!(edited["changes"], json!({ "title": { "from": "Change a.txt" } }));
    github.rewrite(repository, number, "", ada).unwrap();
    assert_eq!(scene.last("pull_request.edited")["pull_request"]["body"], Value::Null);
    github.enable_auto_merge(repository, number, Method::Squash, ada).unwrap();
    let enabled = scene.last("pull_request.auto_merge_enabled");
    assert_eq!(enabled["pull_request"]["auto_merge"]["merge_method"], "squash");
    github.disable_auto_merge(repository, number, ada).unwrap();
    let disabled = scene.last("pull_request.auto_merge_disabled");
    assert_eq!(disabled["pull_request"]["auto_merge"], Value::Null);
    github.close(repository, number, ada).unwrap();
    assert_eq!(github.close(repository, number, ada), Err(Refusal::NotOpen(number)));
}

#[test]
fn a_fork_that_is_gone_leaves_label_branch_and_commit() {
    let scene = Scene::new();
    let (github, repository, bob) = (&scene.github, scene.repository, &scene.bob);
    let fork = github.fork(repository, bob).unwrap();
    let main = github.branch(fork, "main").unwrap();
    let spec = CommitSpec::on(main, "From outside").file("f.txt", "f").by(bob);
    let head = github.commit(fork, spec).unwrap();
    github.push(fork, "patch", head, bob).unwrap();
    // The fork has no hook: only the pull request is told.
    scene.taken();
    let spec = PullRequestSpec::new("patch", "main").from_fork(fork);
    github.open_pull_request(repository, spec, bob).unwrap();
    let opened = scene.last("pull_request.opened");
    assert_eq!(opened["pull_request"]["head"]["label"], "bob:patch");
    assert_eq!(opened["pull_request"]["head"]["repo"]["id"], fork.number());
    assert_eq!(opened["pull_request"]["base"]["repo"]["id"], repository.number());
    github.delete_repository(fork, bob).unwrap();
    let closed = scene.last("pull_request.closed");
    let side = &closed["pull_request"]["head"];
    assert_eq!(side["repo"], Value::Null);
    assert_eq!((&side["label"], &side["ref"]), (&json!("bob:patch"), &json!("patch")));
    assert_eq!(side["sha"], head.to_string());
}

#[test]
fn an_archived_repository_takes_no_changes() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let (github, repository, ada) = (&scene.github, scene.repository, &scene.ada);
    github.archive(repository, ada).unwrap();
    scene.taken();
    let archived = Refusal::Archived(repository);
    assert_eq!(github.close(repository, number, ada), Err(archived.clone()));
    assert_eq!(github.merge(repository, number, Method::Merge, ada), Err(archived.clone()));
    let main = scene.tip("main");
    assert_eq!(github.push(repository, "more", main, ada), Err(archived));
    assert!(scene.taken().is_empty());
    github.unarchive(repository, ada).unwrap();
    github.close(repository, number, ada).unwrap();
}

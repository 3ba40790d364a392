//! What REST answers to an account.

use reqwest::Method as Http;
use serde_json::{Value, json};

use super::{Client, Scene, column};
use crate::github::{CommitSpec, Method, Permission, PullRequestSpec, RepositorySpec, Route};

#[tokio::test]
async fn a_pull_request_alone_tells_more_than_in_a_list() {
    let scene = Scene::new();
    let number = scene.open("topic");
    let client = Client::new(&scene.github, &scene.ada);
    let path = "/repos/acme/api/pulls/1";
    let open = client.read(path).await;
    assert_eq!((&open["mergeable"], &open["mergeable_state"]), (&json!(true), &json!("clean")));
    // The trial merge: a commit that proves nothing.
    let trial = open["merge_commit_sha"].as_str().unwrap().parse().unwrap();
    let trial = scene.github.read_commit(scene.repository, trial).unwrap();
    assert_eq!(trial.parents, [scene.tip("main"), scene.tip("topic")]);
    scene.push("main", "topic.txt", "conflict");
    let dirty = client.read(path).await;
    assert_eq!((&dirty["mergeable"], &dirty["mergeable_state"]), (&json!(false), &json!("dirty")));
    scene.github.close(scene.repository, number, &scene.ada).unwrap();
    let other = scene.open("other");
    let sha = scene.github.merge(scene.repository, other, Method::Squash, &scene.bob).unwrap();
    let listed = client.read("/repos/acme/api/pulls?state=all").await;
    assert_eq!(column(&listed, "number"), [2, 1]);
    assert_eq!(listed[0]["merge_commit_sha"], sha.to_string());
    assert_eq!(listed[0]["merged_at"], "2026-03-01T12:00:00Z");
    assert_eq!(listed[1]["merged_at"], Value::Null);
    assert!(listed[0].get("merged").is_none() && listed[0].get("merged_by").is_none());
    let merged = client.read("/repos/acme/api/pulls/2").await;
    assert_eq!((&merged["merged"], &merged["merged_by"]["login"]), (&json!(true), &json!("bob")));
    assert_eq!(client.get("/repos/acme/api/pulls/9").await.status, 404);
}

#[tokio::test]
async fn pull_requests_are_listed_by_state_head_base_and_order() {
    let scene = Scene::new();
    let (github, repository) = (&scene.github, scene.repository);
    for branch in ["a", "b", "c"] {
        scene.open(branch);
        github.advance_clock(10);
    }
    github.retitle(repository, 1, "Newest", &scene.ada).unwrap();
    github.close(repository, 2, &scene.ada).unwrap();
    let fork = github.fork(repository, &scene.bob).unwrap();
    let spec = PullRequestSpec::new("c", "a").from_fork(fork);
    github.open_pull_request(repository, spec, &scene.bob).unwrap();
    let client = Client::new(github, &scene.ada);
    for (query, expected) in [
        ("", vec![4, 3, 1]),
        ("?state=closed", vec![2]),
        ("?state=all&sort=created&direction=asc", vec![1, 2, 3, 4]),
        ("?state=all&sort=updated&direction=desc", vec![4, 2, 1, 3]),
        ("?state=all&sort=updated", vec![3, 1, 2, 4]),
        ("?head=acme:c", vec![3]),
        ("?head=bob%3Ac", vec![4]),
        ("?head=nobody:c", vec![]),
        ("?base=a", vec![4]),
    ] {
        let listed = client.read(&format!("/repos/acme/api/pulls{query}")).await;
        assert_eq!(column(&listed, "number"), expected, "{query}");
    }
}

#[tokio::test]
async fn pages_lead_to_the_next_by_the_repositorys_number() {
    let scene = Scene::new();
    for branch in ["a", "b", "c"] {
        scene.open(branch);
    }
    let client = Client::new(&scene.github, &scene.ada);
    let first = client.get("/repos/acme/api/pulls?per_page=2&state=all").await;
    let next = format!(
        "<{}/repositories/{}/pulls?page=2&per_page=2&state=all>; rel=\"next\"",
        client.server.url(),
        scene.repository
    );
    assert!(first.header("link").starts_with(&next), "{}", first.header("link"));
    let path = format!("/repositories/{}/pulls?page=2&per_page=2&state=all", scene.repository);
    let second = client.get(&path).await;
    assert_eq!(column(&second.json, "number"), [1]);
    assert!(!second.header("link").contains("next"));
}

#[tokio::test]
async fn branches_and_references_hold_slashes() {
    let scene = Scene::new();
    let sha = scene.push("feat/x", "a.txt", "1");
    let client = Client::new(&scene.github, &scene.ada);
    let branch = client.read("/repos/acme/api/branches/feat%2Fx").await;
    assert_eq!(
        (&branch["name"], &branch["commit"]["sha"]),
        (&json!("feat/x"), &json!(sha.to_string()))
    );
    let reference = client.read("/repos/acme/api/git/ref/heads/feat/x").await;
    assert_eq!(reference["ref"], "refs/heads/feat/x");
    assert_eq!(reference["object"]["sha"], sha.to_string());
    let missing = client.get("/repos/acme/api/branches/feat").await;
    assert_eq!((missing.status, missing.message()), (404, "Branch not found"));
    let missing = client.get("/repos/acme/api/git/ref/heads/feat").await;
    assert_eq!((missing.status, missing.message()), (404, "Not Found"));
}

#[tokio::test]
async fn commits_tell_tree_parents_and_message_byte_for_byte() {
    let scene = Scene::new();
    let main = scene.tip("main");
    let message = "Add\n\nFactory-Proposal: p-1\n\n";
    let spec = CommitSpec::on(main, message).file("a.txt", "1\n2\n").by(&scene.ada);
    let sha = scene.github.commit(scene.repository, spec).unwrap();
    let commit = scene.github.read_commit(scene.repository, sha).unwrap();
    let client = Client::new(&scene.github, &scene.ada);
    let plain = client.read(&format!("/repos/acme/api/git/commits/{sha}")).await;
    assert_eq!(plain["message"], message);
    assert_eq!(plain["tree"]["sha"], commit.tree.to_string());
    assert_eq!(column(&plain["parents"], "sha"), [main.to_string()]);
    assert_eq!(plain["author"]["date"], "2026-03-01T12:00:00Z");
    let told = client.read(&format!("/repos/acme/api/commits/{sha}")).await;
    assert_eq!(told["commit"]["message"], message);
    assert_eq!(told["commit"]["tree"]["sha"], commit.tree.to_string());
    assert_eq!(told["author"]["login"], "ada");
    assert_eq!(told["stats"], json!({ "additions": 2, "deletions": 0, "total": 2 }));
    assert_eq!(told["files"][0]["filename"], "a.txt");
    let by_branch = client.read("/repos/acme/api/commits/main").await;
    assert_eq!(by_branch["sha"], main.to_string());
    let unknown = "1".repeat(40);
    let missing = client.get(&format!("/repos/acme/api/commits/{unknown}")).await;
    assert_eq!(missing.status, 422);
    assert_eq!(missing.message(), format!("No commit found for SHA: {unknown}"));
    let missing = client.get(&format!("/repos/acme/api/git/commits/{unknown}")).await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn a_pull_requests_commits_are_listed_oldest_first_and_cut() {
    let scene = Scene::new();
    let mut expected = Vec::new();
    for number in 0..252 {
        expected.push(scene.push("topic", "a.txt", &number.to_string()).to_string());
    }
    scene.propose("topic");
    let client = Client::new(&scene.github, &scene.ada);
    let mut listed = Vec::new();
    for page in 1..=4 {
        let path = format!("/repos/acme/api/pulls/1/commits?per_page=100&page={page}");
        listed.extend(column(&client.read(&path).await, "sha"));
    }
    expected.truncate(250);
    assert_eq!(listed, expected);
    assert_eq!(client.read("/repos/acme/api/pulls/1").await["commits"], 252);
}

#[tokio::test]
async fn a_comparison_says_who_is_ahead() {
    let scene = Scene::new();
    let main = scene.tip("main");
    let head = scene.push("topic", "a.txt", "1");
    let client = Client::new(&scene.github, &scene.ada);
    let compare = async |both: &str| {
        let told = client.read(&format!("/repos/acme/api/compare/{both}")).await;
        let counts = (told["ahead_by"].as_u64().unwrap(), told["behind_by"].as_u64().unwrap());
        (told["status"].as_str().unwrap().to_owned(), counts, told)
    };
    let (status, counts, told) = compare("main...topic").await;
    assert_eq!((status.as_str(), counts), ("ahead", (1, 0)));
    assert_eq!(column(&told["commits"], "sha"), [head.to_string()]);
    assert_eq!(told["merge_base_commit"]["sha"], main.to_string());
    assert_eq!(column(&told["files"], "filename"), ["a.txt"]);
    let (status, counts, _) = compare(&format!("{head}...{main}")).await;
    assert_eq!((status.as_str(), counts), ("behind", (0, 1)));
    assert_eq!(compare("main...main").await.0, "identical");
    scene.push("main", "b.txt", "2");
    let (status, counts, _) = compare("acme:main...topic").await;
    assert_eq!((status.as_str(), counts), ("diverged", (1, 1)));
    assert_eq!(client.get("/repos/acme/api/compare/main...none").await.status, 404);
}

#[tokio::test]
async fn a_commit_leads_to_the_pull_request_that_brought_it() {
    let scene = Scene::new();
    let (github, repository) = (&scene.github, scene.repository);
    let number = scene.open("topic");
    let head = scene.tip("topic");
    let client = Client::new(github, &scene.ada);
    let pulls = async |sha: String| {
        let told = client.read(&format!("/repos/acme/api/commits/{sha}/pulls")).await;
        column(&told, "number")
    };
    assert_eq!(pulls(head.to_string()).await, [1]);
    let sha = github.merge(repository, number, Method::Squash, &scene.bob).unwrap();
    assert_eq!(pulls(sha.to_string()).await, [1]);
    // Not in the default branch, and of no open pull request any more.
    assert_eq!(pulls(head.to_string()).await, [Value::Null; 0]);
    scene.open("other");
    github.close(repository, 2, &scene.ada).unwrap();
    assert_eq!(pulls("other".to_owned()).await, [Value::Null; 0]);
    let number = scene.open("third");
    let head = scene.tip("third");
    github.merge(repository, number, Method::Merge, &scene.bob).unwrap();
    assert_eq!(pulls(head.to_string()).await, [3]);
}

#[tokio::test]
async fn who_shows_no_good_token_is_told_so() {
    let scene = Scene::new();
    let mut client = Client::new(&scene.github, &scene.ada);
    let url = format!("{}/repos/acme/api", client.server.url());
    let bare = reqwest::Client::new().get(&url).header("user-agent", "test");
    let reply = client.send(bare).await;
    assert_eq!((reply.status, reply.message()), (401, "Requires authentication"));
    let nobody = reqwest::Client::new().get(&url).bearer_auth(&client.token);
    assert_eq!(client.send(nobody).await.status, 403);
    let request = client.request(Http::GET, "/repos/acme/api");
    let wrong = client.send(request.header("x-github-api-version", "2021-01-01")).await;
    assert_eq!(wrong.status, 400);
    let request = client.request(Http::GET, "/repos/acme/api");
    assert_eq!(client.send(request.header("x-github-api-version", "2022-11-28")).await.status, 200);
    assert_eq!(client.server.requests()[3].api_version.as_deref(), Some("2022-11-28"));
    scene.github.revoke_token(&client.token);
    let reply = client.get("/repos/acme/api").await;
    assert_eq!((reply.status, reply.message()), (401, "Bad credentials"));
    client.token = "nonsense".to_owned();
    assert_eq!(client.get("/nothing").await.status, 401);
}

#[tokio::test]
async fn permissions_are_those_of_the_tokens_account() {
    let scene = Scene::new();
    let github = &scene.github;
    let secret = RepositorySpec::new("secret").private();
    let secret = github.create_repository(&scene.acme, secret).unwrap();
    let held = async |user, path: &str| {
        let reply = Client::new(github, user).get(path).await;
        (reply.status, reply.json["permissions"].clone())
    };
    let expected = |admin: bool, maintain: bool, push: bool| json!({ "admin": admin, "maintain": maintain, "push": push, "triage": push, "pull": true });
    let path = "/repos/acme/api";
    assert_eq!(held(&scene.acme, path).await, (200, expected(true, true, true)));
    assert_eq!(held(&scene.bob, path).await, (200, expected(false, true, true)));
    assert_eq!(held(&scene.ada, path).await, (200, expected(false, false, true)));
    github.revoke(scene.repository, &scene.ada).unwrap();
    assert_eq!(held(&scene.ada, path).await, (200, expected(false, false, false)));
    let path = "/repos/acme/secret";
    assert_eq!(held(&scene.ada, path).await.0, 404);
    github.grant(secret, &scene.ada, Permission::Read).unwrap();
    assert_eq!(held(&scene.ada, path).await, (200, expected(false, false, false)));
}

#[tokio::test]
async fn each_answer_tells_the_time_and_what_is_left_of_the_hour() {
    let scene = Scene::new();
    scene.github.limit_rate(2);
    let client = Client::new(&scene.github, &scene.ada);
    let first = client.get("/repos/acme/api").await;
    assert_eq!(first.header("date"), "Sun, 01 Mar 2026 12:00:00 GMT");
    assert_eq!(first.header("x-ratelimit-limit"), "2");
    assert_eq!(first.header("x-ratelimit-remaining"), "1");
    let reset = scene.github.now().as_second() + 3_600;
    assert_eq!(first.header("x-ratelimit-reset"), reset.to_string());
    assert_eq!(first.header("x-ratelimit-resource"), "core");
    // What has not changed costs nothing.
    let tag = first.header("etag").to_owned();
    let again = client.request(Http::GET, "/repos/acme/api").header("if-none-match", &tag);
    let again = client.send(again).await;
    assert_eq!((again.status, again.header("x-ratelimit-remaining")), (304, "1"));
    scene.push("main", "a.txt", "1");
    scene.github.advance_clock(10);
    scene.push("main", "a.txt", "2");
    let again = client.request(Http::GET, "/repos/acme/api").header("if-none-match", &tag);
    assert_eq!(client.send(again).await.status, 200);
    let over = client.get("/repos/acme/api").await;
    assert_eq!((over.status, over.header("x-ratelimit-remaining")), (403, "0"));
    assert!(over.message().contains("rate limit"));
    scene.github.advance_clock(3_600);
    assert_eq!(client.get("/repos/acme/api").await.status, 200);
    assert_eq!(client.server.count(Route::Repository), 5);
}

#[tokio::test]
async fn a_deleted_author_is_the_ghost() {
    let scene = Scene::new();
    scene.open("topic");
    scene.github.delete_user(&scene.ada).unwrap();
    let client = Client::new(&scene.github, &scene.bob);
    let pull = client.read("/repos/acme/api/pulls/1").await;
    assert_eq!((&pull["user"]["login"], &pull["user"]["id"]), (&json!("ghost"), &json!(10_137)));
}

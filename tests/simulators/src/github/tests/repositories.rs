//! Names, owners and ends of repositories.

use serde_json::json;

use super::{Client, Scene};
use crate::github::{AccountKind, Refusal, RepositorySpec};

#[tokio::test]
async fn a_former_name_leads_to_the_number_until_it_is_taken() {
    let scene = Scene::new();
    scene.open("topic");
    let (github, repository) = (&scene.github, scene.repository);
    github.rename(repository, "gateway", &scene.ada).unwrap();
    let told = scene.last("repository.renamed");
    assert_eq!(told["changes"], json!({ "repository": { "name": { "from": "api" } } }));
    assert_eq!(told["repository"]["full_name"], "acme/gateway");
    let client = Client::new(github, &scene.ada);
    let moved = client.get("/repos/Acme/API/pulls/1?per_page=5").await;
    assert_eq!((moved.status, moved.message()), (301, "Moved Permanently"));
    let path = format!("/repositories/{repository}/pulls/1?per_page=5");
    assert_eq!(moved.header("location"), format!("{}{path}", client.server.url()));
    assert_eq!(client.read(&path).await["number"], 1);
    let bare = client.get("/repos/acme/api").await;
    let path = format!("{}/repositories/{repository}", client.server.url());
    assert_eq!(bare.header("location"), path);
    let other = github.create_repository(&scene.acme, RepositorySpec::new("api")).unwrap();
    assert_eq!(client.read("/repos/acme/api").await["id"], other.number());
    assert_eq!(client.get("/repos/acme/api/pulls/1").await.status, 404);
    let taken = github.rename(repository, "API", &scene.ada);
    assert_eq!(taken, Err(Refusal::NameTaken("acme/API".to_owned())));
    // Once taken, the name leads to the first one no more, also when the second one is gone.
    github.delete_repository(other, &scene.ada).unwrap();
    assert_eq!(client.get("/repos/acme/api").await.status, 404);
}

#[tokio::test]
async fn a_name_leads_to_nothing_for_those_who_do_not_see_what_bears_it() {
    let scene = Scene::new();
    let github = &scene.github;
    let secret = RepositorySpec::new("secret").private();
    let secret = github.create_repository(&scene.acme, secret).unwrap();
    github.rename(secret, "hidden", &scene.ada).unwrap();
    let client = Client::new(github, &scene.ada);
    for path in ["/repos/acme/secret", "/repos/acme/hidden", &format!("/repositories/{secret}")] {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
    let owner = Client::new(github, &scene.acme);
    assert_eq!(owner.get("/repos/acme/secret").await.status, 301);
}

#[tokio::test]
async fn a_transfer_keeps_the_number() {
    let scene = Scene::new();
    let (github, repository) = (&scene.github, scene.repository);
    let beta = github.create_user("beta", AccountKind::Organization).unwrap();
    github.transfer(repository, &beta, &scene.ada).unwrap();
    let told = scene.last("repository.transferred");
    assert_eq!(told["changes"]["owner"]["from"]["organization"]["login"], "acme");
    assert_eq!(told["repository"]["owner"]["login"], "beta");
    let client = Client::new(github, &scene.ada);
    assert_eq!(client.get("/repos/acme/api").await.status, 301);
    let told = client.read("/repos/beta/api").await;
    assert_eq!(
        (&told["id"], &told["full_name"]),
        (&json!(repository.number()), &json!("beta/api"))
    );
}

#[tokio::test]
async fn a_deleted_repository_is_found_by_no_name_and_no_number() {
    let scene = Scene::new();
    scene.github.delete_repository(scene.repository, &scene.ada).unwrap();
    let client = Client::new(&scene.github, &scene.ada);
    for path in ["/repos/acme/api", &format!("/repositories/{}", scene.repository)] {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
    assert!(scene.github.create_repository(&scene.acme, RepositorySpec::new("api")).is_ok());
    let gone = scene.github.branch(scene.repository, "main");
    assert_eq!(gone, Err(Refusal::NoSuchRepository(scene.repository)));
}

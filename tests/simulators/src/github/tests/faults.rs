//! What goes wrong on demand.

use std::time::Duration;

use super::{Client, Scene, column};
use crate::github::{Fault, Route};

#[tokio::test]
async fn what_is_planned_goes_wrong_once_and_in_order() {
    let scene = Scene::new();
    let client = Client::new(&scene.github, &scene.ada);
    let limited = Fault::Answer {
        status: 403,
        headers: vec![("retry-after".to_owned(), "30".to_owned())],
        body: r#"{"message":"You have exceeded a secondary rate limit"}"#.to_owned(),
    };
    let html = Fault::Answer { status: 502, headers: Vec::new(), body: "<html>".to_owned() };
    client.server.fail_next(Route::Repository, limited);
    client.server.fail_next(Route::Repository, html);
    // Another question is not concerned.
    assert_eq!(client.get("/repos/acme/api/pulls").await.status, 200);
    let first = client.get("/repos/acme/api").await;
    assert_eq!((first.status, first.header("retry-after")), (403, "30"));
    assert!(first.message().contains("secondary"));
    assert_eq!(client.get("/repos/acme/api").await.status, 502);
    assert_eq!(client.get("/repos/acme/api").await.status, 200);
    assert_eq!(client.server.count(Route::Repository), 3);
}

#[tokio::test]
async fn a_connection_is_closed_or_left_hanging() {
    let scene = Scene::new();
    let client = Client::new(&scene.github, &scene.ada);
    client.server.fail_next(Route::Repository, Fault::CloseConnection);
    let request = client.request(reqwest::Method::GET, "/repos/acme/api");
    assert!(request.send().await.is_err());
    client.server.fail_next(Route::Repository, Fault::Hang);
    let request = client.request(reqwest::Method::GET, "/repos/acme/api");
    let waited = request.timeout(Duration::from_millis(50)).send().await;
    assert!(waited.is_err_and(|error| error.is_timeout()));
    assert_eq!(client.get("/repos/acme/api").await.status, 200);
}

#[tokio::test]
async fn a_server_that_hangs_ends_with_what_held_it() {
    let scene = Scene::new();
    let client = Client::new(&scene.github, &scene.ada);
    client.server.fail_next(Route::Repository, Fault::Hang);
    let request = client.request(reqwest::Method::GET, "/repos/acme/api");
    let asking = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(request.send()).is_err()
    });
    while client.server.count(Route::Repository) == 0 {
        tokio::task::yield_now().await;
    }
    drop(client);
    assert!(asking.join().unwrap());
}

#[tokio::test]
async fn a_client_is_led_elsewhere() {
    let scene = Scene::new();
    let client = Client::new(&scene.github, &scene.ada);
    let elsewhere = "http://127.0.0.1:1/steal".to_owned();
    client.server.fail_next(Route::Pulls, Fault::ForeignLink(elsewhere.clone()));
    let reply = client.get("/repos/acme/api/pulls").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("link"), "<http://127.0.0.1:1/steal>; rel=\"next\"");
    let redirect = Fault::Redirect { status: 307, to: elsewhere.clone() };
    client.server.fail_next(Route::Pulls, redirect);
    let reply = client.get("/repos/acme/api/pulls").await;
    assert_eq!((reply.status, reply.header("location")), (307, elsewhere.as_str()));
}

#[tokio::test]
async fn answers_that_lag_tell_what_was() {
    let scene = Scene::new();
    let (github, repository) = (&scene.github, scene.repository);
    scene.open("first");
    let client = Client::new(github, &scene.ada);
    let open = async || column(&client.read("/repos/acme/api/pulls").await, "number");
    github.lag_rest(10);
    scene.open("second");
    // The webhook is out, and REST does not know yet.
    assert_eq!(scene.last("pull_request.opened")["number"], 2);
    assert_eq!(open().await, [1]);
    github.advance_clock(5);
    github.close(repository, 1, &scene.ada).unwrap();
    assert_eq!(open().await, [1]);
    github.advance_clock(5);
    assert_eq!(open().await, [2, 1]);
    github.advance_clock(5);
    assert_eq!(open().await, [2]);
    github.close(repository, 2, &scene.ada).unwrap();
    assert_eq!(open().await, [2]);
    github.lag_rest(0);
    assert_eq!(open().await, [0; 0]);
}

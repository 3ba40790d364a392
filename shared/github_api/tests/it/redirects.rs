//! Redirects are followed on the connection's own origin, and not for long.

use crate::server::{Reply, Script, Server};
use crate::world::*;

fn to(status: u16, location: &str) -> Reply {
    Reply::new(status, "").header("location", location)
}

#[tokio::test]
async fn a_redirect_at_home_is_followed_whatever_its_kind() {
    for status in [301, 302, 307, 308] {
        let server = Server::scripted(|server| {
            let location = format!("{}/moved", server.url());
            Script::default()
                .on(REPOSITORY, to(status, &location))
                .on("GET /moved", Reply::json(&repository()))
        });
        let seen = github(&server).repository(&home(), now()).await.unwrap();
        assert_eq!(seen.value.full_name.as_str(), "acme/api");
        let tokens: Vec<_> =
            server.seen().iter().map(|s| s.headers["authorization"].clone()).collect();
        assert_eq!(tokens, [format!("Bearer {TOKEN}"), format!("Bearer {TOKEN}")]);
    }
}

#[tokio::test]
async fn a_redirect_elsewhere_is_foreign_and_gets_no_request() {
    let evil = Server::start(Script::default());
    for location in [
        evil.url(),
        evil.url().replace("http:", "https:"),
        evil.url().trim_start_matches("http:").to_owned(),
    ] {
        let server = Server::start(Script::default().on(REPOSITORY, to(301, &location)));
        let failed = github(&server).repository(&home(), now()).await;
        assert_eq!(failure(failed), "foreign location", "{location}");
    }
    assert_eq!(evil.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn three_redirects_are_followed_and_no_fourth() {
    let script = || {
        Script::default()
            .on(REPOSITORY, to(301, "/1"))
            .on("GET /1", to(302, "/2"))
            .on("GET /2", to(307, "/3"))
    };
    let server = Server::start(script().on("GET /3", Reply::json(&repository())));
    assert!(github(&server).repository(&home(), now()).await.is_ok());
    let server = Server::start(script().on("GET /3", to(301, "/4")));
    let failed = github(&server).repository(&home(), now()).await;
    assert_eq!(failure(failed), "over 3 redirects");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_unreadable() {
    let server = Server::start(Script::default().on(REPOSITORY, Reply::new(301, "")));
    let failed = github(&server).repository(&home(), now()).await;
    assert_eq!(failure(failed), "unreadable location is missing");
}

#[tokio::test]
async fn somebody_else_under_the_old_name_is_not_the_repository() {
    let stranger = with(repository(), "/id", 12.into());
    let script = Script::default()
        .on(REPOSITORY, to(301, "/repos/acme/api"))
        .on("GET /repos/acme/api", Reply::json(&stranger));
    let server = Server::start(script);
    let failed = github(&server).repository(&home(), now()).await;
    assert_eq!(failure(failed), "mismatch of id");
}

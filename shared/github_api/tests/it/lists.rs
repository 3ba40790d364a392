//! Lists are read to their end, on the connection's own origin, or not told.

use serde_json::json;

use crate::server::{Reply, Script, Server};
use crate::world::*;

const REVIEWS: &str = "GET /repositories/11/pulls/7/reviews?per_page=100";

fn page(ids: std::ops::Range<u64>) -> Reply {
    Reply::json(&ids.map(|id| review(id, "COMMENTED", &person())).collect())
}

#[tokio::test]
async fn every_page_is_read_and_what_comes_twice_counts_once() {
    let server = Server::scripted(|server| {
        let second =
            format!("{}/repositories/11/pulls/7/reviews?per_page=100&page=2", server.url());
        Script::default()
            .on(REVIEWS, page(1..4).next(&second).header("date", "Tue, 01 Dec 2026 00:00:09 GMT"))
            .on(&format!("{REVIEWS}&page=2"), page(3..6).next("/third?page=3"))
            .on("GET /third?page=3", page(6..7))
    });
    let reviews = github(&server).reviews(&home(), number(7), now()).await.unwrap();
    let ids: Vec<u64> = reviews.registers.keys().map(|id| id.0).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(reviews.read_at, Some(now()), "when the first page was asked for");
    assert_eq!(server.seen().len(), 3);
}

/// T29.
#[tokio::test]
async fn a_next_page_elsewhere_is_foreign_and_gets_no_request() {
    let evil = Server::start(Script::default());
    let link = format!("{}/x?page=2", evil.url());
    let script = Script::default().on(REVIEWS, page(1..3).next(&link));
    let server = Server::start(script);
    let failed = github(&server).reviews(&home(), number(7), now()).await;
    assert_eq!(failure(failed), "foreign link");
    assert_eq!(evil.lines(), Vec::<String>::new());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_next_page_that_was_read_before_ends_the_read_with_an_error() {
    let script = Script::default()
        .on(REVIEWS, page(1..3).next("/two"))
        .on("GET /two", page(3..5).next("/repositories/11/pulls/7/reviews?per_page=100"));
    let server = Server::start(script);
    let failed = github(&server).reviews(&home(), number(7), now()).await;
    assert_eq!(failure(failed), "unreadable link repeats a page");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_list_without_an_end_is_too_large() {
    let script = Script::default()
        .on(REVIEWS, page(1..2).next("/2"))
        .on("GET /2", page(2..3).next("/3"))
        .on("GET /3", page(3..4).next("/4"));
    let server = Server::start(script);
    let failed = at(&server.url(), little()).reviews(&home(), number(7), now()).await;
    assert_eq!(failure(failed), "over 3 pages of a list");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_list_that_breaks_off_tells_nothing() {
    for (second, expected) in [
        (Reply::of(502, &json!({})), "unavailable"),
        (Reply::json(&json!({ "message": "no list" })), "unreadable the body at line 1 column 0"),
        (
            Reply::new(200, "<html>").header("content-type", "text/html"),
            "no access: Unauthenticated",
        ),
        (Reply::missing(), "gone"),
    ] {
        let script = answering().on(REVIEWS, page(1..3).next("/two")).on("GET /two", second);
        let server = Server::start(script);
        let failed = github(&server).reviews(&home(), number(7), now()).await;
        assert_eq!(failure(failed), expected);
    }
}

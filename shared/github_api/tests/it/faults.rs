//! What goes wrong on the way, and what GitHub refuses.

use serde_json::json;

use crate::server::{Reply, Script, Server};
use crate::world::*;

async fn check(reply: Reply) -> String {
    let server = Server::start(Script::default().on(REPOSITORY, reply));
    failure(at(&server.url(), little()).repository(&home(), now()).await)
}

#[tokio::test]
async fn each_kind_of_refusal_says_what_to_do_next() {
    let refusal = |status| Reply::of(status, &json!({ "message": "…" }));
    for (reply, expected) in [
        (refusal(401), "no access: Unauthenticated"),
        (refusal(403), "refused 403"),
        (refusal(403).header("retry-after", "90"), "limited until 00:01:30"),
        (
            refusal(403).header("retry-after", "Tue, 01 Dec 2026 00:03:00 GMT"),
            "limited until 00:03:00",
        ),
        (
            refusal(403)
                .header("x-ratelimit-remaining", "0")
                .header("x-ratelimit-reset", &later(600).as_second().to_string()),
            "limited until 00:10:00",
        ),
        (
            Reply::of(403, &json!({ "message": "You have exceeded a secondary rate limit." }))
                .header("x-ratelimit-remaining", "4000"),
            "limited until 00:01:00",
        ),
        (refusal(429), "limited until 00:01:00"),
        (refusal(404), "no access: NoRepository"),
        (refusal(410), "gone"),
        (refusal(451), "refused 451"),
        (refusal(500), "unavailable"),
        (refusal(503), "unavailable"),
        (refusal(400), "unreadable status 400"),
        (refusal(409), "unreadable status 409"),
        (Reply::of(203, &repository()), "no access: Unauthenticated"),
        (
            Reply::new(200, "<html>").header("content-type", "text/html; charset=utf-8"),
            "no access: Unauthenticated",
        ),
        (Reply::new(200, "{}"), "unreadable content-type"),
        (
            Reply::json(&repository()).header("content-encoding", "gzip"),
            "unreadable content-encoding",
        ),
    ] {
        assert_eq!(check(reply).await, expected);
    }
}

#[tokio::test]
async fn a_limit_silences_its_connection_until_it_is_over_and_no_other() {
    let script = Script::default()
        .on(REPOSITORY, Reply::of(403, &json!({})).header("retry-after", "120"))
        .on(REPOSITORY, Reply::json(&repository()));
    let server = Server::start(script);
    let paused = github(&server);
    assert_eq!(failure(paused.repository(&home(), now()).await), "limited until 00:02:00");
    assert_eq!(failure(paused.repository(&home(), later(119)).await), "limited until 00:02:00");
    assert_eq!(server.seen().len(), 1);
    assert!(github(&server).repository(&home(), later(119)).await.is_ok());
    assert!(paused.repository(&home(), later(120)).await.is_ok());
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn the_last_answer_before_a_limit_counts_and_no_further_one_is_asked_for() {
    let last = Reply::json(&repository())
        .header("x-ratelimit-remaining", "0")
        .header("x-ratelimit-reset", &later(300).as_second().to_string());
    let server = Server::start(Script::default().on(REPOSITORY, last));
    let github = github(&server);
    assert!(github.repository(&home(), now()).await.is_ok());
    assert_eq!(failure(github.repository(&home(), now()).await), "limited until 00:05:00");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn who_does_not_answer_in_time_is_unavailable() {
    for reply in [Reply::silence(), Reply::stall()] {
        let server = Server::start(Script::default().on(REPOSITORY, reply));
        let failed = at(&server.url(), small()).repository(&home(), now()).await;
        assert_eq!(failure(failed), "unavailable");
        assert_eq!(server.lines(), [REPOSITORY]);
    }
}

#[tokio::test]
async fn who_is_not_there_or_breaks_off_is_unavailable() {
    let nobody = at("http://127.0.0.1:1", little());
    assert_eq!(failure(nobody.repository(&home(), now()).await), "unavailable");
    let cut = Reply::cut(&repository().to_string()).header("content-type", "application/json");
    assert_eq!(check(cut).await, "unavailable");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_not_read() {
    assert_eq!(check(Reply::endless(200)).await, "over 100000 bytes of a body");
    let announced = Reply::json(&json!({ "full_name": "x".repeat(100_000) }));
    assert_eq!(check(announced).await, "over 100000 bytes of a body");
    let fits = with(repository(), "/default_branch", "x".repeat(90_000).into());
    let server = Server::start(Script::default().on(REPOSITORY, Reply::json(&fits)));
    assert!(at(&server.url(), little()).repository(&home(), now()).await.is_ok());
}

#[tokio::test]
async fn a_refusal_counts_however_long_it_talks() {
    assert_eq!(check(Reply::endless(403)).await, "refused 403");
    assert_eq!(check(Reply::endless(404)).await, "no access: NoRepository");
}

#[tokio::test]
async fn nothing_is_said_in_the_clear_to_an_origin_by_https() {
    let server = Server::start(answering());
    let url = server.url().replace("http:", "https:");
    assert_eq!(failure(at(&url, small()).repository(&home(), now()).await), "unavailable");
    assert_eq!(server.lines(), Vec::<String>::new());
}

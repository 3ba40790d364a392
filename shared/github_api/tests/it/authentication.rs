//! As whom is asked: a token, or an App's installation.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::RepositoryId;
use github_api::ReadError;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::server::{Reply, Script, Server};
use crate::world::*;

const INSTALLED: &str = "GET /repositories/11/installation";

fn token(token: &str, expires_at: &str) -> Reply {
    Reply::of(201, &json!({ "token": token, "expires_at": expires_at }))
}

/// The claims of the word that a request bears, if the App's public key verifies it.
fn claims(authorization: &str) -> Value {
    let jwt = authorization.strip_prefix("Bearer ").unwrap();
    let (signed, signature) = jwt.rsplit_once('.').unwrap();
    let public = include_bytes!("../keys/app-public.der");
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let claims = signed.split_once('.').unwrap().1;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

#[tokio::test]
async fn a_request_says_who_asks_and_for_which_version() {
    let server = Server::start(answering());
    github(&server).repository(&home(), now()).await.unwrap();
    let headers = server.seen().remove(0).headers;
    for (name, value) in [
        ("authorization", "Bearer ghp_CANARY"),
        ("accept", "application/vnd.github+json"),
        ("x-github-api-version", "2022-11-28"),
        ("user-agent", "plumbline"),
    ] {
        assert_eq!(headers[name], value);
    }
}

#[tokio::test]
async fn an_app_asks_for_a_token_of_one_repository_that_reads_only() {
    let long = format!("ghs_{}", "x".repeat(5_000));
    let server = Server::start(answering().on(MINT, token(&long, "2026-12-01T01:00:00Z")));
    app(&server).repository(&home(), now()).await.unwrap();
    let [mint, read] = server.seen().try_into().unwrap();
    let expected = json!({
        "iat": now().as_second() - 60,
        "exp": now().as_second() + 540,
        "iss": "Iv1.abc",
    });
    assert_eq!(claims(&mint.headers["authorization"]), expected);
    let wanted = json!({
        "repository_ids": [11],
        "permissions": { "actions": "read", "contents": "read", "metadata": "read", "pull_requests": "read" },
    });
    assert_eq!(serde_json::from_str::<Value>(&mint.body).unwrap(), wanted);
    assert_eq!(read.headers["authorization"], format!("Bearer {long}"));
}

#[tokio::test]
async fn a_token_serves_until_five_minutes_before_it_expires() {
    let script = answering()
        .on(MINT, token("first", "2026-12-01T01:00:00Z"))
        .on(MINT, token("second", "2026-12-01T02:00:00Z"));
    let server = Server::start(script);
    let github = app(&server);
    for seconds in [0, 60, 3_299, 3_300, 3_600] {
        github.repository(&home(), later(seconds)).await.unwrap();
    }
    let bearers: Vec<_> = server
        .seen()
        .into_iter()
        .filter(|seen| seen.line == REPOSITORY)
        .map(|seen| seen.headers["authorization"].clone())
        .collect();
    let (first, second) = ("Bearer first", "Bearer second");
    assert_eq!(bearers, [first, first, first, second, second]);
}

#[tokio::test]
async fn each_repository_has_a_token_of_its_own() {
    let script = answering()
        .on(MINT, token("eleven", "2026-12-01T01:00:00Z"))
        .on(MINT, token("twelve", "2026-12-01T01:00:00Z"))
        .on("GET /repositories/12", Reply::json(&with(repository(), "/id", 12.into())));
    let server = Server::start(script);
    let github = app(&server);
    let twelve = RepositoryId::from_number(12).unwrap();
    for id in [&home(), &twelve, &home()] {
        github.repository(id, now()).await.unwrap();
    }
    let told: Vec<_> = server
        .seen()
        .iter()
        .filter(|seen| seen.line != MINT)
        .map(|seen| format!("{} {}", seen.line, seen.headers["authorization"]))
        .collect();
    let expected = [
        "GET /repositories/11 Bearer eleven",
        "GET /repositories/12 Bearer twelve",
        "GET /repositories/11 Bearer eleven",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_refused_token_of_an_installation_is_renewed_once() {
    let refused = || Reply::of(401, &json!({ "message": "Bad credentials" }));
    let minting = |script: Script| script.on(MINT, token("t", "2026-12-01T01:00:00Z"));
    let script =
        Script::default().on(REPOSITORY, refused()).on(REPOSITORY, Reply::json(&repository()));
    let server = Server::start(minting(script));
    assert!(app(&server).repository(&home(), now()).await.is_ok());
    assert_eq!(server.lines(), [MINT, REPOSITORY, MINT, REPOSITORY]);

    let server = Server::start(minting(Script::default().on(REPOSITORY, refused())));
    let failed = app(&server).repository(&home(), now()).await;
    assert_eq!(failure(failed), "no access: Unauthenticated");
    assert_eq!(server.lines(), [MINT, REPOSITORY, MINT, REPOSITORY]);
}

#[tokio::test]
async fn a_refused_token_that_nobody_can_renew_is_not_tried_again() {
    let server = Server::start(Script::default().on(REPOSITORY, Reply::of(401, &json!({}))));
    let failed = github(&server).repository(&home(), now()).await;
    assert_eq!(failure(failed), "no access: Unauthenticated");
    assert_eq!(server.lines(), [REPOSITORY]);
}

#[tokio::test]
async fn an_installation_that_gives_no_token_has_no_access() {
    for (reply, expected) in [
        (Reply::of(403, &json!({ "message": "suspended" })), "no access: NoInstallation"),
        (Reply::missing(), "no access: NoInstallation"),
        (Reply::of(422, &json!({})), "no access: NoInstallation"),
        (Reply::of(401, &json!({})), "no access: Unauthenticated"),
        (Reply::of(403, &json!({})).header("retry-after", "90"), "limited until 00:01:30"),
        (Reply::of(500, &json!({})), "unavailable"),
        (
            Reply::of(201, &json!({ "expires_at": "2026-12-01T01:00:00Z" })),
            "unreadable token is missing",
        ),
        (Reply::of(201, &json!({ "token": "t" })), "unreadable expires_at is missing"),
        (token("a\nb", "2026-12-01T01:00:00Z"), "unreadable token"),
    ] {
        let server = Server::start(answering().on(MINT, reply));
        let failed = app(&server).repository(&home(), now()).await;
        assert_eq!(failure(failed), expected);
        assert!(!server.lines().contains(&REPOSITORY.to_owned()), "{expected}");
    }
}

#[tokio::test]
async fn an_installation_proves_control_only_if_it_is_the_connections_own() {
    let installation =
        |id: u64| Reply::json(&json!({ "id": id, "app_id": 5, "suspended_at": null }));
    let server = Server::start(Script::default().on(INSTALLED, installation(INSTALLATION)));
    let seen = app(&server).installation_of(&home(), now()).await.unwrap();
    assert_eq!((seen.value.id, seen.value.app_id), (INSTALLATION, Some(5)));
    assert_eq!(seen.value.suspended_at, None);
    assert_eq!(claims(&server.seen()[0].headers["authorization"])["iss"], "Iv1.abc");

    for (reply, expected) in [
        (installation(78), "mismatch of installation.id"),
        (Reply::missing(), "no access: NoRepository"),
        (Reply::json(&json!({})), "unreadable installation.id is missing"),
    ] {
        let server = Server::start(Script::default().on(INSTALLED, reply));
        let failed = app(&server).installation_of(&home(), now()).await;
        assert_eq!(failure(failed), expected);
    }
}

#[tokio::test]
async fn a_token_has_no_installation_and_asks_for_none() {
    let server = Server::start(Script::default());
    let failed = github(&server).installation_of(&home(), now()).await;
    assert_eq!(failure(failed), "no access: NotAnApp");
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn no_error_and_no_client_shows_a_credential() {
    let unheard = at("http://127.0.0.1:1", little());
    let error = unheard.repository(&home(), now()).await.unwrap_err();
    assert!(matches!(error, ReadError::Unavailable(_)));
    let server = Server::start(Script::default().on(REPOSITORY, Reply::of(403, &json!({}))));
    let refused = github(&server).repository(&home(), now()).await.unwrap_err();
    for shown in [format!("{error:?}"), format!("{refused:?}"), format!("{unheard:?}")] {
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}

//! How an App proves itself, and what its tokens reach.

use reqwest::Method as Http;
use serde_json::{Value, json};

use super::{Client, Reply, Scene, column};
use crate::github::{
    AppKey, RegisteredApp, RepositoryId, RepositorySpec, Selection, Server, permissions,
    world::Access,
};

/// An App on one repository of two, and a client that shows its JWT.
struct Installed {
    scene: Scene,
    app: RegisteredApp,
    installation: u64,
    other: RepositoryId,
    client: Client,
}

impl Installed {
    fn new() -> Self {
        let scene = Scene::new();
        let other = RepositorySpec::new("other").private();
        let other = scene.github.create_repository(&scene.acme, other).unwrap();
        let may = permissions(&[("contents", Access::Read), ("pull_requests", Access::Read)]);
        let key = AppKey.public_der();
        let app = scene.github.register_app(&scene.acme, "plumb", may, &key).unwrap();
        let selection = Selection::Selected([scene.repository].into());
        let installation = scene.github.install(app.id, &scene.acme, selection).unwrap();
        let server = Server::start(&scene.github).unwrap();
        let mut installed = Self {
            scene,
            app,
            installation,
            other,
            client: Client { server, token: String::new() },
        };
        installed.show_jwt();
        installed
    }

    fn now(&self) -> i64 {
        self.scene.github.now().as_second()
    }

    fn show_jwt(&mut self) {
        self.client.token = AppKey.jwt(&self.app.client_id, self.now() - 60, self.now() + 540);
    }

    async fn ask_token(&self, body: &Value) -> Reply {
        let path = format!("/app/installations/{}/access_tokens", self.installation);
        self.client.send(self.client.request(Http::POST, &path).json(body)).await
    }

    /// Shows a token of the installation from now on.
    async fn show_token(&mut self, body: &Value) {
        let reply = self.ask_token(body).await;
        assert_eq!(reply.status, 201, "{}", reply.json);
        self.client.token = reply.json["token"].as_str().unwrap().to_owned();
    }
}

#[tokio::test]
async fn a_jwt_proves_the_app_by_client_id_or_number() {
    let mut installed = Installed::new();
    let path = format!("/app/installations/{}", installed.installation);
    let told = installed.client.read(&path).await;
    assert_eq!(told["id"], installed.installation);
    assert_eq!(told["account"]["login"], "acme");
    assert_eq!((&told["app_id"], &told["app_slug"]), (&json!(installed.app.id), &json!("plumb")));
    assert_eq!(told["repository_selection"], "selected");
    assert_eq!(
        told["permissions"],
        json!({ "contents": "read", "metadata": "read", "pull_requests": "read" })
    );
    assert_eq!(installed.client.read("/app").await["slug"], "plumb");
    let all = installed.client.read("/app/installations").await;
    assert_eq!(column(&all, "id"), [installed.installation]);
    installed.client.token =
        AppKey.jwt(&installed.app.id.to_string(), installed.now(), installed.now() + 600);
    assert_eq!(installed.client.get("/app").await.status, 200);
    assert_eq!(installed.client.get("/app/installations/7").await.status, 404);
}

#[tokio::test]
async fn a_jwt_that_is_late_long_foreign_or_forged_proves_nothing() {
    let mut installed = Installed::new();
    let (issuer, now) = (installed.app.client_id.clone(), installed.now());
    let claims =
        |issued: i64, expires: i64| json!({ "iss": issuer, "iat": issued, "exp": expires });
    let rs256 = json!({ "alg": "RS256" });
    let good = AppKey.signed(&rs256, &claims(now, now + 60));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let tampered = AppKey.signed(&rs256, &claims(now, now + 61));
    let tampered = tampered.rsplit_once('.').unwrap().0;
    let cases = [
        (AppKey.signed(&rs256, &claims(now - 700, now)), 401, "too far in the past"),
        (AppKey.signed(&rs256, &claims(now, now + 601)), 401, "too far in the future"),
        (AppKey.signed(&rs256, &claims(now + 1, now + 60)), 401, "Issued at"),
        (AppKey.signed(&rs256, &json!({ "iss": issuer, "iat": now })), 401, "exp"),
        (AppKey.signed(&json!({ "alg": "none" }), &claims(now, now + 60)), 401, "decoded"),
        (AppKey.jwt("nobody", now, now + 60), 404, "Integration not found"),
        (format!("{tampered}.{signature}"), 401, "decoded"),
        (format!("{signed}."), 401, "decoded"),
        ("no-jwt".to_owned(), 401, "decoded"),
    ];
    for (token, status, message) in cases {
        installed.client.token = token;
        let reply = installed.client.get("/app").await;
        assert_eq!(reply.status, status, "{message}");
        assert!(reply.message().contains(message), "{} for {message}", reply.message());
    }
    installed.client.token = good;
    assert_eq!(installed.client.get("/app").await.status, 200);
}

#[tokio::test]
async fn a_repository_tells_the_installation_that_reaches_it() {
    let installed = Installed::new();
    let path = format!("/repositories/{}/installation", installed.scene.repository);
    assert_eq!(installed.client.read(&path).await["id"], installed.installation);
    assert_eq!(
        installed.client.read("/repos/acme/api/installation").await["id"],
        installed.installation
    );
    let path = format!("/repositories/{}/installation", installed.other);
    assert_eq!(installed.client.get(&path).await.status, 404);
}

#[tokio::test]
async fn an_installations_token_is_odd_and_good_for_an_hour() {
    let mut installed = Installed::new();
    let reply = installed.ask_token(&json!({})).await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.json["expires_at"], "2026-03-01T13:00:00Z");
    assert_eq!(reply.json["repository_selection"], "selected");
    let token = reply.json["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("ghs_") && 200 < token.len() && token.contains(['.', '+', '=']));
    installed.client.token = token;
    let told = installed.client.read("/repos/acme/api").await;
    assert_eq!(told["permissions"]["pull"], false);
    let listed = installed.client.read("/installation/repositories").await;
    assert_eq!(column(&listed["repositories"], "name"), ["api"]);
    assert_eq!(listed["total_count"], 1);
    installed.scene.github.advance_clock(3_599);
    assert_eq!(installed.client.get("/repos/acme/api").await.status, 200);
    installed.scene.github.advance_clock(1);
    let late = installed.client.get("/repos/acme/api").await;
    assert_eq!((late.status, late.message()), (401, "Bad credentials"));
    assert_eq!(installed.client.get("/app").await.status, 401, "no JWT");
}

#[tokio::test]
async fn a_token_reaches_what_it_was_asked_for_and_nothing_else() {
    let mut installed = Installed::new();
    let github = installed.scene.github.clone();
    installed.scene.open("topic");
    github
        .select_repository(installed.installation, installed.other, &installed.scene.ada)
        .unwrap();
    let body = json!({
        "repository_ids": [installed.other.number()],
        "permissions": { "pull_requests": "read" },
    });
    installed.show_token(&body).await;
    let listed = installed.client.read("/installation/repositories").await;
    assert_eq!(column(&listed["repositories"], "name"), ["other"]);
    assert_eq!(installed.client.get("/repos/acme/other/pulls").await.status, 200);
    let denied = installed.client.get("/repos/acme/other/branches/main").await;
    assert_eq!((denied.status, denied.message()), (403, "Resource not accessible by integration"));
    // The other one is public: it is known, and not this token's.
    let denied = installed.client.get("/repos/acme/api/pulls").await;
    assert_eq!(denied.status, 403);
    github
        .deselect_repository(installed.installation, installed.other, &installed.scene.ada)
        .unwrap();
    assert_eq!(installed.client.get("/repos/acme/other/pulls").await.status, 404);
}

#[tokio::test]
async fn what_an_installation_has_not_its_tokens_cannot_have() {
    let mut installed = Installed::new();
    let body = json!({ "repository_ids": [installed.other.number()] });
    let reply = installed.ask_token(&body).await;
    assert_eq!(reply.status, 422);
    assert!(reply.message().starts_with("There is at least one repository"));
    for asked in [json!({ "contents": "write" }), json!({ "issues": "read" })] {
        assert_eq!(installed.ask_token(&json!({ "permissions": asked })).await.status, 422);
    }
    installed.show_token(&json!({ "repositories": ["api"] })).await;
    assert_eq!(installed.client.get("/repos/acme/api/branches/main").await.status, 200);
    assert_eq!(installed.client.get("/repos/acme/api/actions/runs/1").await.status, 403);
    let less = permissions(&[("pull_requests", Access::Read)]);
    let github = &installed.scene.github;
    github.accept_permissions(installed.installation, less, &installed.scene.ada).unwrap();
    assert_eq!(installed.client.get("/repos/acme/api/branches/main").await.status, 403);
}

#[tokio::test]
async fn a_suspended_or_removed_installation_gets_and_keeps_no_tokens() {
    let mut installed = Installed::new();
    let (github, ada) = (installed.scene.github.clone(), installed.scene.ada.clone());
    let jwt = installed.client.token.clone();
    installed.show_token(&json!({})).await;
    let token = installed.client.token.clone();
    github.suspend(installed.installation, &ada).unwrap();
    let reply = installed.client.get("/repos/acme/api").await;
    assert_eq!((reply.status, reply.message()), (403, "This installation has been suspended"));
    installed.client.token.clone_from(&jwt);
    assert_eq!(installed.ask_token(&json!({})).await.status, 403);
    let path = format!("/app/installations/{}", installed.installation);
    assert!(installed.client.read(&path).await["suspended_at"].is_string());
    github.unsuspend(installed.installation, &ada).unwrap();
    assert_eq!(installed.ask_token(&json!({})).await.status, 201);
    github.uninstall(installed.installation, &ada).unwrap();
    assert_eq!(installed.ask_token(&json!({})).await.status, 404);
    assert_eq!(installed.client.get(&path).await.status, 404);
    installed.client.token = token;
    assert_eq!(installed.client.get("/repos/acme/api").await.status, 401);
}

#[tokio::test]
async fn a_person_has_no_installation() {
    let scene = Scene::new();
    let client = Client::new(&scene.github, &scene.ada);
    assert_eq!(client.get("/installation/repositories").await.status, 403);
}

#[test]
fn the_private_key_is_handed_out_as_githubs_are() {
    let pem = AppKey.private_pem();
    assert!(pem.starts_with("-----BEGIN RSA ") && pem.ends_with("-----\n"));
    assert_eq!(pem.lines().count(), 27);
}

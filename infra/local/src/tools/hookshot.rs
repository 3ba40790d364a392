//! Plays GitHub: signs a body and posts it with the headers that GitHub sends.

use std::{fmt::Write as _, path::Path, time::Duration};

use github::verify::{WebhookSecret, sign};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use sha1::Sha1;

use super::ToolError;
use crate::Source;

/// GitHub gives up after ten seconds; somebody who debugs a function may be slower.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Hook ids have nine digits at present.
const HOOK_ID_MIN: u64 = 100_000_000;
const HOOK_IDS: u64 = 900_000_000;

/// How a hook is set to send bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// As they are.
    Json,
    /// In the field `payload` of a form.
    Form,
}

/// One delivery to be made.
#[derive(Debug, Clone)]
pub struct Outgoing<'a> {
    /// The event's name: `X-GitHub-Event`.
    pub event: &'a str,
    /// `X-GitHub-Delivery`.
    pub delivery_id: &'a str,
    /// The body, before it is put into a form.
    pub body: &'a str,
    /// How it is sent.
    pub content_type: ContentType,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The answer's body.
    pub body: String,
}

/// Posts deliveries.
#[derive(Debug, Clone)]
pub struct Hookshot {
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Body {
    repository: Option<Numbered>,
    installation: Option<Numbered>,
}

#[derive(Deserialize)]
struct Numbered {
    id: Option<u64>,
}

impl Hookshot {
    /// Something to post with.
    ///
    /// # Errors
    /// When this machine has no usable HTTP client.
    pub fn new() -> Result<Self, ToolError> {
        // Straight to this machine, whatever proxies the environment names; a redirect is an answer like any other.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ANSWER_WITHIN)
            .build();
        Ok(Self { http: http.map_err(|error| ToolError::Unusable(error.into()))? })
    }

    /// Signs a delivery with `secret`, and posts it to a source.
    ///
    /// # Errors
    /// When the secret can sign nothing, or nobody answers.
    pub async fn send(
        &self,
        source: &Source,
        secret: &str,
        outgoing: &Outgoing<'_>,
    ) -> Result<Answered, ToolError> {
        let body = outgoing.bytes();
        let mut request = self.http.post(&source.url);
        for (name, value) in headers(source, secret, outgoing, &body)? {
            request = request.header(name, value);
        }
        let unanswered = |error: reqwest::Error| ToolError::unavailable(&source.url, error);
        let answer = request.body(body).send().await.map_err(unanswered)?;
        let status = answer.status().as_u16();
        Ok(Answered { status, body: answer.text().await.map_err(unanswered)? })
    }
}

impl Outgoing<'_> {
    /// What is posted, and signed.
    fn bytes(&self) -> String {
        match self.content_type {
            ContentType::Json => self.body.to_owned(),
            ContentType::Form => {
                format!("payload={}", utf8_percent_encode(self.body, NON_ALPHANUMERIC))
            }
        }
    }
}

/// The event that a sample file's name tells: what stands before the first dot.
#[must_use]
pub fn event_of(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?;
    name.split('.').next().filter(|event| !event.is_empty())
}

/// The headers of <https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers>.
fn headers(
    source: &Source,
    secret: &str,
    outgoing: &Outgoing<'_>,
    body: &str,
) -> Result<Vec<(&'static str, String)>, ToolError> {
    let webhook_secret = WebhookSecret::new(secret)?;
    let content_type = match outgoing.content_type {
        ContentType::Json => "application/json",
        ContentType::Form => "application/x-www-form-urlencoded",
    };
    let mut headers = vec![
        ("Accept", "*/*".to_owned()),
        ("Content-Type", content_type.to_owned()),
        ("User-Agent", "GitHub-Hookshot/0000000".to_owned()),
        ("X-GitHub-Delivery", outgoing.delivery_id.to_owned()),
        ("X-GitHub-Event", outgoing.event.to_owned()),
        ("X-GitHub-Hook-ID", hook_id(&source.id).to_string()),
        ("X-Hub-Signature", legacy_signature(secret, body)),
        ("X-Hub-Signature-256", sign(body.as_bytes(), &webhook_secret)),
    ];
    let (target_type, target_id) = installation_target(source, outgoing.body);
    headers.push(("X-GitHub-Hook-Installation-Target-Type", target_type.to_owned()));
    if let Some(id) = target_id {
        headers.push(("X-GitHub-Hook-Installation-Target-ID", id.to_string()));
    }
    Ok(headers)
}

/// The SHA-1 signature that GitHub sends along, so that reading the wrong header shows on a laptop.
fn legacy_signature(secret: &str, body: &str) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(body.as_bytes());
    let digest = mac.finalize().into_bytes();
    digest.iter().fold("sha1=".to_owned(), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a hook is installed on: a repository, or what a GitHub App has access to.
fn installation_target(source: &Source, body: &str) -> (&'static str, Option<u64>) {
    let body = serde_json::from_str::<Body>(body).ok();
    let id = |numbered: Option<Numbered>| numbered.and_then(|numbered| numbered.id);
    match (source.kind.as_str(), body) {
        ("App", body) => ("integration", body.and_then(|body| id(body.installation))),
        (_, body) => ("repository", body.and_then(|body| id(body.repository))),
    }
}

/// A made-up hook id that is the same whenever a source sends: the ledger tells a source's hooks apart.
fn hook_id(source: &str) -> u64 {
    let mixed = source
        .bytes()
        .fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)) % HOOK_IDS);
    HOOK_ID_MIN + mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "It's a Secret to Everybody";

    fn source(kind: &str) -> Source {
        Source {
            id: "acme".to_owned(),
            kind: kind.to_owned(),
            provider: "github".to_owned(),
            host: "github.com".to_owned(),
            tenant_id: None,
            url: "http://127.0.0.1:1/github/acme".to_owned(),
            secret_id: "s".to_owned(),
            secret: SECRET.to_owned(),
        }
    }

    fn header(name: &str, kind: &str, body: &str, content_type: ContentType) -> Option<String> {
        let outgoing = Outgoing { event: "push", delivery_id: "d", body, content_type };
        let headers = headers(&source(kind), SECRET, &outgoing, &outgoing.bytes()).unwrap();
        headers.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    #[test]
    fn signatures_are_those_that_github_publishes() {
        assert_eq!(
            header("X-Hub-Signature-256", "Hook", "Hello, World!", ContentType::Json).unwrap(),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
        // HMAC-SHA1 of the same, computed with OpenSSL.
        assert_eq!(
            header("X-Hub-Signature", "Hook", "Hello, World!", ContentType::Json).unwrap(),
            "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"
        );
    }

    #[test]
    fn a_form_is_signed_as_it_is_sent() {
        let outgoing = Outgoing {
            event: "push",
            delivery_id: "d",
            body: r#"{"yo":true}"#,
            content_type: ContentType::Form,
        };
        assert_eq!(outgoing.bytes(), "payload=%7B%22yo%22%3Atrue%7D");
        let headers =
            headers(&source("Hook"), "0123456789abcdef", &outgoing, &outgoing.bytes()).unwrap();
        assert!(headers.contains(&(
            "X-Hub-Signature-256",
            "sha256=30f622d549ca623f1c553f7e395a80c9487b43b9feaf9af4a1811381ddf5a94d".to_owned()
        )));
        assert!(
            headers.contains(&("Content-Type", "application/x-www-form-urlencoded".to_owned()))
        );
    }

    #[test]
    fn a_hook_is_installed_on_a_repository_and_an_app_on_what_it_may_see() {
        let body = r#"{"repository":{"id":11},"installation":{"id":7}}"#;
        let target = |kind, body| {
            ["X-GitHub-Hook-Installation-Target-Type", "X-GitHub-Hook-Installation-Target-ID"]
                .map(|name| header(name, kind, body, ContentType::Json))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(target("Hook", body), [some("repository"), some("11")]);
        assert_eq!(target("App", body), [some("integration"), some("7")]);
        assert_eq!(target("Hook", "not JSON"), [some("repository"), None]);
    }

    #[test]
    fn a_secret_that_can_prove_nothing_is_refused() {
        let outgoing =
            Outgoing { event: "push", delivery_id: "d", body: "", content_type: ContentType::Json };
        assert!(headers(&source("Hook"), "short", &outgoing, "").is_err());
    }

    #[test]
    fn a_file_is_named_after_its_event() {
        for (file, event) in [
            ("events/github/workflow_run.completed.json", Some("workflow_run")),
            ("ping.json", Some("ping")),
            ("ping", Some("ping")),
            (".json", None),
            ("..", None),
        ] {
            assert_eq!(event_of(Path::new(file)), event, "{file}");
        }
    }

    #[test]
    fn the_hook_id_of_a_source_never_changes() {
        assert_eq!(hook_id("acme"), hook_id("acme"));
        assert_ne!(hook_id("acme"), hook_id("beta"));
        assert_eq!(hook_id(&"z".repeat(63)).to_string().len(), 9);
    }
}

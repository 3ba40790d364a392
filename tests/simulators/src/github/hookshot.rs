//! Deliveries over HTTP, signed as GitHub signs them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::github::deliveries::{Delivery, Hook};

/// `X-Hub-Signature-256` of a body.
#[must_use]
pub fn sign(secret: &[u8], body: &[u8]) -> String {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    mac.update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256={hex}")
}

impl Delivery {
    /// The headers of this delivery, `Content-Type` and `User-Agent` included. A hook without a secret signs nothing.
    #[must_use]
    pub fn headers(&self, secret: Option<&[u8]>) -> Vec<(&'static str, String)> {
        let (id, kind, target) = match self.hook {
            Hook::Repository { id, repository } => (id, "repository", repository.number()),
            Hook::Organization { id, organization } => (id, "organization", organization),
            Hook::App { id, app } => (id, "integration", app),
        };
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", "GitHub-Hookshot/0a1b2c3".to_owned()),
            ("x-github-event", self.event.clone()),
            ("x-github-delivery", self.guid.clone()),
            ("x-github-hook-id", id.to_string()),
            ("x-github-hook-installation-target-type", kind.to_owned()),
            ("x-github-hook-installation-target-id", target.to_string()),
        ];
        if let Some(secret) = secret {
            headers.push(("x-hub-signature-256", sign(secret, &self.body)));
        }
        headers
    }
}

/// Sends a delivery, signed by the secret, and gives the status of the answer. A delivery may be sent as often as one likes.
///
/// # Errors
/// When nothing answers.
pub async fn post(url: &str, secret: &[u8], delivery: &Delivery) -> Result<u16, reqwest::Error> {
    let mut request = reqwest::Client::new().post(url);
    for (name, value) in delivery.headers(Some(secret)) {
        request = request.header(name, value);
    }
    Ok(request.body(delivery.body.clone()).send().await?.status().as_u16())
}

//! Signs call contexts: for the local stack and for tests, which have no identity service. Whoever holds the private key
//! is the identity service, so nothing here opens a door that a key has not opened.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::{Actor, ActorKind, IdempotencyKey, TenantId};
use jiff::Timestamp;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::call_context::LIFE_SECONDS_MAX;
use super::document::input_sha256;
use super::keys::{Algorithm, CallContextKeys, Key, KeysError};

/// An issuer of call contexts with an Ed25519 key.
pub struct CallContextIssuer {
    name: String,
    kid: String,
    key: Ed25519KeyPair,
    public: Key,
}

/// Who may call which tool.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// The one tool.
    pub tool: &'a str,
    /// Whose data the call may touch.
    pub tenant: &'a TenantId,
    /// Who acts.
    pub actor: &'a Actor,
    /// What kind of actor that is.
    pub kind: ActorKind,
    /// The token's id, unique per issuer.
    pub jti: &'a str,
}

impl CallContextIssuer {
    /// An issuer of this name whose key bears this name and is made from this seed (RFC 8032's private key).
    ///
    /// # Errors
    /// [`KeysError`] when a name is empty, too long, or no printable ASCII.
    pub fn from_seed(iss: &str, kid: &str, seed: &[u8; 32]) -> Result<Self, KeysError> {
        let key = Ed25519KeyPair::from_seed_unchecked(seed)
            .map_err(|_| KeysError::new("the seed must have 32 bytes"))?;
        let public = Key::ed25519(kid, iss, key.public_key().as_ref())?;
        Ok(Self { name: iss.to_owned(), kid: kid.to_owned(), key, public })
    }

    /// What verifies this issuer's tokens.
    #[must_use]
    pub fn keys(&self) -> CallContextKeys {
        CallContextKeys::from(self.public.clone())
    }

    /// The public key, in base64url without padding.
    #[must_use]
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.public_key().as_ref())
    }

    /// The value of `CALL_CONTEXT_KEYS` that believes this issuer and nobody else.
    #[must_use]
    pub fn keys_json(&self) -> String {
        json!([{
            "kid": self.kid,
            "alg": Algorithm::EdDsa.as_str(),
            "iss": self.name,
            "publicKey": self.public_key(),
        }])
        .to_string()
    }

    /// A call context for one call, good for five minutes from `now` on.
    #[must_use]
    pub fn sign(
        &self,
        grant: &Grant<'_>,
        input: &Value,
        key: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> String {
        let issued = now.as_second();
        let claims = json!({
            "iss": self.name,
            "aud": grant.tool,
            "tenant": grant.tenant.as_str(),
            "actor": grant.actor.as_str(),
            "actorKind": grant.kind.as_str(),
            "inputSha256": input_sha256(input, key),
            "iat": issued,
            "exp": issued.saturating_add(LIFE_SECONDS_MAX),
            "jti": grant.jti,
        });
        let header = json!({ "alg": Algorithm::EdDsa.as_str(), "kid": self.kid, "typ": "JWT" });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&header), part(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes()).as_ref());
        format!("{message}.{signature}")
    }

    /// The whole payload of one call.
    #[must_use]
    pub fn payload(
        &self,
        grant: &Grant<'_>,
        input: &Value,
        key: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> Vec<u8> {
        let context = self.sign(grant, input, key, now);
        let mut payload = json!({ "callContext": context, "input": input });
        if let (Some(key), Some(payload)) = (key, payload.as_object_mut()) {
            payload.insert("idempotencyKey".to_owned(), key.as_str().into());
        }
        payload.to_string().into_bytes()
    }
}

impl fmt::Debug for CallContextIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContextIssuer").field("kid", &self.kid).finish_non_exhaustive()
    }
}

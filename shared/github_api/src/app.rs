//! A GitHub App's key, and the short-lived word by which the App proves itself.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

use crate::connection::{ConnectError, Secret};

/// Clocks differ, and a word from the future is refused: GitHub advises to date it a minute back.
const ISSUED_BEFORE: SignedDuration = SignedDuration::from_secs(60);
/// GitHub takes at most ten minutes from its own now.
const EXPIRES_AFTER: SignedDuration = SignedDuration::from_mins(9);

/// An App's RSA key.
pub(crate) struct AppKey(RsaKeyPair);

impl std::fmt::Debug for AppKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppKey(redacted)")
    }
}

impl AppKey {
    /// Reads PEM: `RSA PRIVATE KEY` is PKCS#1, `PRIVATE KEY` is PKCS#8.
    pub(crate) fn from_pem(pem: &Secret) -> Result<Self, ConnectError> {
        let pem = pem.expose();
        let key = match (block(pem, "RSA PRIVATE KEY"), block(pem, "PRIVATE KEY")) {
            (Some(der), _) => RsaKeyPair::from_der(&der).ok(),
            (None, Some(der)) => RsaKeyPair::from_pkcs8(&der).ok(),
            (None, None) => None,
        };
        key.map(Self).ok_or(ConnectError::PrivateKey)
    }

    /// A JWT for ten minutes from now, by RS256. None when the machine has no randomness.
    pub(crate) fn jwt(&self, issuer: &str, now: Timestamp) -> Option<String> {
        // Older servers take an App's id as a number only.
        let issuer = issuer.parse::<u64>().map_or_else(|_| json!(issuer), |id| json!(id));
        let issued_at = now.as_second().saturating_sub(ISSUED_BEFORE.as_secs());
        let expires_at = now.as_second().saturating_add(EXPIRES_AFTER.as_secs());
        let claims = json!({ "iat": issued_at, "exp": expires_at, "iss": issuer });
        let header = json!({ "alg": "RS256", "typ": "JWT" });
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let mut jwt = format!("{}.{}", part(header), part(claims));
        let mut signature = vec![0; self.0.public().modulus_len()];
        let random = SystemRandom::new();
        self.0.sign(&RSA_PKCS1_SHA256, &random, jwt.as_bytes(), &mut signature).ok()?;
        jwt.push('.');
        jwt.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Some(jwt)
    }
}

/// The bytes of a PEM block (RFC 7468).
fn block(pem: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    const PKCS1: &str = include_str!("../tests/keys/app-pkcs1.pem");
    const PKCS8: &str = include_str!("../tests/keys/app-pkcs8.pem");
    const EC: &str = include_str!("../tests/keys/ec.pem");
    const PUBLIC: &[u8] = include_bytes!("../tests/keys/app-public.der");

    fn key(pem: &str) -> Result<AppKey, ConnectError> {
        AppKey::from_pem(&Secret::new(pem))
    }

    /// The claims of a word, if the App's public key verifies it.
    fn claims(jwt: &str) -> Value {
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, PUBLIC);
        public.verify(signed.as_bytes(), &signature).unwrap();
        let part = |part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        assert_eq!(part(header), json!({ "alg": "RS256", "typ": "JWT" }));
        part(claims)
    }

    #[test]
    fn the_apps_word_verifies_whatever_form_its_key_has() {
        let now = Timestamp::from_second(1_796_083_200).unwrap();
        let windows = PKCS1.replace('\n', "\r\n");
        for pem in [PKCS1, PKCS8, &windows] {
            let jwt = key(pem).unwrap().jwt("Iv1.abc", now).unwrap();
            let expected = json!({ "iat": 1_796_083_140, "exp": 1_796_083_740, "iss": "Iv1.abc" });
            assert_eq!(claims(&jwt), expected);
        }
    }

    #[test]
    fn an_issuer_of_digits_is_a_number() {
        let jwt = key(PKCS1).unwrap().jwt("1234", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(claims(&jwt)["iss"], 1234);
    }

    #[test]
    fn what_is_no_rsa_key_is_refused() {
        let swapped = PKCS1.replace("RSA PRIVATE KEY", "PRIVATE KEY");
        let cut = PKCS1.replace("-----END RSA PRIVATE KEY-----", "");
        for bad in ["", "-----BEGIN PRIVATE KEY-----", EC, &swapped, &cut] {
            assert_eq!(key(bad).err(), Some(ConnectError::PrivateKey));
        }
    }
}

//! Whose call contexts are believed.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use serde::Deserialize;

use super::document;
use super::typed;
use crate::environment::{ConfigError, Environment};

/// The variable that holds the keys.
const VARIABLE: &str = "CALL_CONTEXT_KEYS";
/// Most keys at a time: an issuer needs two while it changes them.
const KEYS_MAX: usize = 16;
/// Longest name of a key.
const KID_LENGTH_MAX: usize = 128;
/// Longest name of an issuer.
const ISSUER_LENGTH_MAX: usize = 256;

/// Why a text is no list of keys. Names the place and the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeysError(String);

impl KeysError {
    pub(super) fn new(rule: &str) -> Self {
        Self(rule.to_owned())
    }
}

/// The public keys of the Factory's identity service.
#[derive(Clone, Default)]
pub struct CallContextKeys {
    keys: Vec<Key>,
}

#[derive(Clone)]
pub(super) struct Key {
    kid: String,
    algorithm: Algorithm,
    issuer: String,
    public_key: Vec<u8>,
}

/// How a key signs. The key says so; a token's own word is only compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Algorithm {
    /// Ed25519 (RFC 8037).
    #[serde(rename = "EdDSA")]
    EdDsa,
    /// ECDSA over P-256 with SHA-256 (RFC 7518).
    #[serde(rename = "ES256")]
    Es256,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenKey {
    kid: String,
    alg: Algorithm,
    iss: String,
    public_key: String,
}

impl Algorithm {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
        }
    }
}

impl Key {
    pub(super) fn ed25519(kid: &str, issuer: &str, public_key: &[u8]) -> Result<Self, KeysError> {
        Self::new(kid, Algorithm::EdDsa, issuer, public_key.to_vec()).map_err(KeysError)
    }

    fn new(
        kid: &str,
        algorithm: Algorithm,
        issuer: &str,
        public_key: Vec<u8>,
    ) -> Result<Self, String> {
        check_name("kid", kid, KID_LENGTH_MAX)?;
        check_name("iss", issuer, ISSUER_LENGTH_MAX)?;
        let fits = match algorithm {
            Algorithm::EdDsa => public_key.len() == 32,
            // An uncompressed point (SEC 1, 2.3.3).
            Algorithm::Es256 => public_key.len() == 65 && public_key.first() == Some(&4),
        };
        if !fits {
            let form = match algorithm {
                Algorithm::EdDsa => "32 bytes",
                Algorithm::Es256 => "an uncompressed point of 65 bytes",
            };
            return Err(format!("publicKey must be {form} in base64url without padding"));
        }
        Ok(Self { kid: kid.to_owned(), algorithm, issuer: issuer.to_owned(), public_key })
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whether the key's owner signed this.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::EdDsa => UnparsedPublicKey::new(&ED25519, &self.public_key)
                .verify(message, signature)
                .is_ok(),
            Algorithm::Es256 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.public_key)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

fn check_name(field: &str, text: &str, length_max: usize) -> Result<(), String> {
    let fits = (1..=length_max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let rule =
        || format!("{field} must be 1 to {length_max} printable ASCII characters without spaces");
    if fits { Ok(()) } else { Err(rule()) }
}

impl CallContextKeys {
    /// Reads `[{"kid", "alg": "EdDSA" | "ES256", "iss", "publicKey"}]`; the key is base64url without padding, of 32 bytes
    /// (Ed25519) or of an uncompressed P-256 point. An empty list believes nobody.
    ///
    /// # Errors
    /// [`KeysError`] names the place and the rule.
    pub fn parse(json: &str) -> Result<Self, KeysError> {
        let document = document::parse(json.as_bytes());
        let written = document.and_then(|document| typed::read::<Vec<WrittenKey>>(&document, &[]));
        let written = written
            .map_err(|error| KeysError(error.message().replacen("payload", "the list", 1)))?;
        if KEYS_MAX < written.len() {
            return Err(KeysError(format!("the list must have at most {KEYS_MAX} keys")));
        }
        let mut keys = Vec::<Key>::new();
        for (index, written) in written.into_iter().enumerate() {
            let at = |rule: String| KeysError(format!("[{index}].{rule}"));
            // What is no base64url has no right length either.
            let public_key = URL_SAFE_NO_PAD.decode(&written.public_key).unwrap_or_default();
            let key = Key::new(&written.kid, written.alg, &written.iss, public_key).map_err(at)?;
            if keys.iter().any(|other| other.kid == key.kid) {
                return Err(at("kid must name one key only".to_owned()));
            }
            keys.push(key);
        }
        Ok(Self { keys })
    }

    /// The keys in the variable `CALL_CONTEXT_KEYS`.
    ///
    /// # Errors
    /// [`ConfigError`] names the variable, the place in it, and the rule.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Self::parse(environment.required(VARIABLE)?).map_err(|error| ConfigError::Invalid {
            name: VARIABLE,
            expected: format!("a list of public keys: {error}"),
        })
    }

    pub(super) fn find(&self, kid: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.kid == kid)
    }
}

impl From<Key> for CallContextKeys {
    fn from(key: Key) -> Self {
        Self { keys: vec![key] }
    }
}

impl fmt::Debug for CallContextKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.iter().map(|key| &key.kid)).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key() -> Value {
        let public_key = URL_SAFE_NO_PAD.encode([7; 32]);
        json!({ "kid": "a", "alg": "EdDSA", "iss": "https://id.example", "publicKey": public_key })
    }

    fn with(field: &str, value: &str) -> String {
        let mut key = key();
        key[field] = json!(value);
        json!([self::key(), key]).to_string()
    }

    #[test]
    fn keys_of_both_algorithms_are_read() {
        let mut point = [0; 65];
        point[0] = 4;
        let es256 = json!({
            "kid": "b", "alg": "ES256", "iss": "i", "publicKey": URL_SAFE_NO_PAD.encode(point)
        });
        let keys = CallContextKeys::parse(&json!([key(), es256]).to_string()).unwrap();
        assert_eq!(keys.find("a").unwrap().algorithm(), Algorithm::EdDsa);
        assert_eq!(keys.find("b").unwrap().algorithm(), Algorithm::Es256);
        assert!(keys.find("c").is_none());
        assert!(CallContextKeys::parse("[]").unwrap().find("a").is_none());
    }

    #[test]
    fn an_unusable_key_is_named_by_its_place() {
        let short = URL_SAFE_NO_PAD.encode([7; 31]);
        let padded = format!("{}=", URL_SAFE_NO_PAD.encode([7; 32]));
        for (bad, expected) in [
            ("", "the list is not JSON at line 1 column 0"),
            ("{}", "the list must be a list"),
            (r#"[["a","EdDSA","i","k"]]"#, "[0] must be an object"),
            (r#"[{"kid":"a"}]"#, "[0].alg is missing"),
            (r#"[{"kid":"a","kid":"b"}]"#, "[0].kid is given twice"),
            (&with("private", "canary"), "[1].private is not known"),
            (&with("alg", "none"), "[1].alg must be one of EdDSA, ES256"),
            (&with("alg", "HS256"), "[1].alg must be one of EdDSA, ES256"),
            (
                &with("kid", ""),
                "[1].kid must be 1 to 128 printable ASCII characters without spaces",
            ),
            (
                &with("iss", "a b"),
                "[1].iss must be 1 to 256 printable ASCII characters without spaces",
            ),
            (
                &with("publicKey", &short),
                "[1].publicKey must be 32 bytes in base64url without padding",
            ),
            (
                &with("publicKey", &padded),
                "[1].publicKey must be 32 bytes in base64url without padding",
            ),
            (&with("iss", "other"), "[1].kid must name one key only"),
            (
                &with("alg", "ES256"),
                "[1].publicKey must be an uncompressed point of 65 bytes in base64url without padding",
            ),
        ] {
            assert_eq!(CallContextKeys::parse(bad).unwrap_err().to_string(), expected, "{bad}");
        }
    }

    #[test]
    fn a_start_with_unusable_keys_names_the_variable() {
        let error = |text| {
            let environment = Environment::of(&[(VARIABLE, text)]);
            CallContextKeys::from_environment(&environment).unwrap_err().to_string()
        };
        assert_eq!(error(""), "environment variable CALL_CONTEXT_KEYS is not set");
        assert_eq!(
            error("{}"),
            "environment variable CALL_CONTEXT_KEYS is not a list of public keys: the list must be a list"
        );
    }
}

//! The identity service of the local stack: signs call contexts for whoever can read `running.json`.
//!
//! Its key is made at the first start and kept with the state, so that what was signed before a restart stays signed. No
//! deployed stack knows it.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ids::{Actor, ActorKind, IdempotencyKey, TenantId};
use jiff::Timestamp;
use lambda_entry::tool::{CallContextIssuer, Grant, KeysError};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{error::StackError, files::Files};

/// The variable by which functions are told whose call contexts to believe.
pub(crate) const KEYS_VARIABLE: &str = "CALL_CONTEXT_KEYS";

/// The file with the private key.
pub(crate) const IDENTITY_FILE: &str = "identity.pem";

const ISSUER: &str = "https://identity.plumbline.local";

/// What precedes the seed in an Ed25519 key by PKCS#8 version 1 (RFC 8410, 7): all that OpenSSL writes and reads.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";

/// The issuer of a running stack, as `running.json` tells it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// `iss` of its tokens.
    pub issuer: String,
    /// Name of its key.
    pub kid: String,
    /// What verifies its tokens: 32 bytes in base64url without padding.
    pub public_key: String,
    /// What signs them: PKCS#8 in PEM.
    pub private_key: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Identity")
            .field("issuer", &self.issuer)
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acting {
    /// Whose data the call may touch.
    pub tenant: TenantId,
    /// Who it is.
    pub actor: Actor,
    /// What kind of actor that is.
    pub kind: ActorKind,
}

/// What is asked of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The input, right or wrong.
    pub input: Value,
    /// What names the intended effect of a writing tool.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Why an identity cannot sign.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The private key has another form.
    #[error("expected an Ed25519 private key in PKCS#8, as PEM")]
    PrivateKey,
    /// The issuer or the key has an unusable name.
    #[error(transparent)]
    Name(#[from] KeysError),
}

/// Signs call contexts.
#[derive(Debug)]
pub struct Issuer {
    signer: CallContextIssuer,
    identity: Identity,
}

impl Issuer {
    /// The issuer that `running.json` tells of.
    ///
    /// # Errors
    /// [`IdentityError`] when its key or names are unusable.
    pub fn new(identity: &Identity) -> Result<Self, IdentityError> {
        let seed = seed_of(&identity.private_key).ok_or(IdentityError::PrivateKey)?;
        let signer = CallContextIssuer::from_seed(&identity.issuer, &identity.kid, &seed)?;
        Ok(Self { signer, identity: identity.clone() })
    }

    /// The issuer of this state, or a new one where there is none yet or none is kept.
    pub(crate) fn open(files: &Files) -> Result<Self, StackError> {
        let Some(state) = files.state() else { return Self::from_seed(&random_seed()?) };
        let what = || format!("file {}", state.file(IDENTITY_FILE).display());
        if let Some(pem) = state.read(IDENTITY_FILE)? {
            let unusable = || StackError::io(what())(invalid(IdentityError::PrivateKey));
            return Self::from_seed(&seed_of(&pem).ok_or_else(unusable)?);
        }
        let issuer = Self::from_seed(&random_seed()?)?;
        state.write(IDENTITY_FILE, &issuer.identity.private_key)?;
        Ok(issuer)
    }

    fn from_seed(seed: &[u8; 32]) -> Result<Self, StackError> {
        let unusable = || StackError::io("issuer's key")(invalid(IdentityError::PrivateKey));
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| unusable())?;
        // Another key has another name, so a token of a state that was removed is refused and not taken for a forgery.
        let digest = digest(&SHA256, pair.public_key().as_ref());
        let kid: String =
            digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let kid = format!("local-{kid}");
        let signer = CallContextIssuer::from_seed(ISSUER, &kid, seed).map_err(|_| unusable())?;
        let identity = Identity {
            issuer: ISSUER.to_owned(),
            kid,
            public_key: signer.public_key(),
            private_key: pem_of(seed),
        };
        Ok(Self { signer, identity })
    }

    /// What `running.json` tells of it.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The value of `CALL_CONTEXT_KEYS` that believes this issuer and nobody else.
    #[must_use]
    pub fn keys(&self) -> String {
        self.signer.keys_json()
    }

    /// A call context for one call of `tool`, good for five minutes from `now` on.
    #[must_use]
    pub fn sign(&self, tool: &str, acting: &Acting, asked: &Asked, now: Timestamp) -> String {
        let jti = Uuid::new_v4().to_string();
        let grant = grant(tool, acting, &jti);
        self.signer.sign(&grant, &asked.input, asked.idempotency_key.as_ref(), now)
    }

    /// The whole payload of one call of `tool`.
    #[must_use]
    pub fn payload(&self, tool: &str, acting: &Acting, asked: &Asked, now: Timestamp) -> Vec<u8> {
        let jti = Uuid::new_v4().to_string();
        let grant = grant(tool, acting, &jti);
        self.signer.payload(&grant, &asked.input, asked.idempotency_key.as_ref(), now)
    }
}

fn grant<'a>(tool: &'a str, acting: &'a Acting, jti: &'a str) -> Grant<'a> {
    Grant { tool, tenant: &acting.tenant, actor: &acting.actor, kind: acting.kind, jti }
}

fn invalid(error: IdentityError) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, error)
}

fn random_seed() -> Result<[u8; 32], StackError> {
    let mut seed = [0; 32];
    let filled = SystemRandom::new().fill(&mut seed);
    let failed = |_| StackError::io("this machine's random numbers")(std::io::Error::other("none"));
    filled.map(|()| seed).map_err(failed)
}

fn pem_of(seed: &[u8; 32]) -> String {
    let der = [PKCS8_PREFIX.as_slice(), seed].concat();
    format!("{PEM_BEGIN}\n{}\n{PEM_END}\n", STANDARD.encode(der))
}

fn seed_of(pem: &str) -> Option<[u8; 32]> {
    let body = pem.trim().strip_prefix(PEM_BEGIN)?.strip_suffix(PEM_END)?;
    let body: String = body.split_whitespace().collect();
    let der = STANDARD.decode(body).ok()?;
    der.strip_prefix(&PKCS8_PREFIX)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use lambda_entry::tool::{CallContextKeys, ErrorCode, read_call};
    use serde_json::json;

    use super::*;
    use crate::options::State;

    #[derive(Debug, Deserialize)]
    struct Input {
        run: u64,
    }

    fn acting() -> Acting {
        Acting {
            tenant: TenantId::new("t1").unwrap(),
            actor: Actor::new("person:alice").unwrap(),
            kind: ActorKind::Agent,
        }
    }

    fn asked() -> Asked {
        Asked { input: json!({ "run": 7 }), idempotency_key: IdempotencyKey::new("k").ok() }
    }

    fn issuer(seed: u8) -> Issuer {
        Issuer::from_seed(&[seed; 32]).unwrap()
    }

    #[test]
    fn what_the_issuer_signs_is_believed_by_whoever_is_told_its_keys() {
        let issuer = Issuer::new(issuer(1).identity()).unwrap();
        let keys = CallContextKeys::parse(&issuer.keys()).unwrap();
        let now = lambda_entry::now();
        let payload = issuer.payload("a-tool", &acting(), &asked(), now);
        let call = read_call::<Input>(&payload, "a-tool", &keys, now).unwrap();
        assert_eq!(call.input.run, 7);
        assert_eq!(call.caller.actor().as_str(), "person:alice");
        assert_eq!(call.caller.kind(), ActorKind::Agent);
        assert_eq!(call.required_key().unwrap().as_str(), "k");
        let others = CallContextKeys::parse(&self::issuer(2).keys()).unwrap();
        let refused = read_call::<Input>(&payload, "a-tool", &others, now).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Unauthenticated);
    }

    #[test]
    fn no_two_tokens_are_the_same() {
        let (issuer, now) = (issuer(1), lambda_entry::now());
        let sign = || issuer.sign("a-tool", &acting(), &asked(), now);
        assert_ne!(sign(), sign());
    }

    #[test]
    fn the_private_key_is_what_openssl_writes() {
        // RFC 8410, 10.3.
        let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let seed = seed_of(pem).unwrap();
        assert_eq!(pem_of(&seed), pem);
        let issuer = Issuer::from_seed(&seed).unwrap();
        assert_eq!(issuer.identity().public_key, "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE");
        for bad in ["", "canary", &pem.replace("MC4C", "MC4D"), &pem.replace("IEIN", "IE")] {
            let identity = Identity { private_key: bad.to_owned(), ..issuer.identity().clone() };
            let error = Issuer::new(&identity).unwrap_err().to_string();
            assert_eq!(error, "expected an Ed25519 private key in PKCS#8, as PEM");
        }
    }

    #[test]
    fn an_identity_never_prints_its_private_key() {
        let identity = issuer(1).identity().clone();
        let line = identity.private_key.lines().nth(1).unwrap().to_owned();
        assert!(!format!("{identity:?} {:?}", issuer(1)).contains(&line));
    }

    #[test]
    fn a_state_keeps_its_key_and_an_ephemeral_stack_has_a_new_one() {
        let folder =
            std::env::temp_dir().join(format!("plumbline-identity-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let open = || Issuer::open(&Files::open(&State::Directory(folder.clone())).unwrap());
        let first = open().unwrap().identity().clone();
        assert_eq!(*open().unwrap().identity(), first);
        std::fs::write(folder.join(IDENTITY_FILE), "canary").unwrap();
        let StackError::Io { what, .. } = open().unwrap_err() else { panic!("another error") };
        assert!(what.ends_with(IDENTITY_FILE), "{what}");
        std::fs::remove_dir_all(&folder).unwrap();
        let nowhere = Files::open(&State::Ephemeral { running: None }).unwrap();
        let new = || Issuer::open(&nowhere).unwrap().identity().kid.clone();
        assert_ne!(new(), new());
    }
}

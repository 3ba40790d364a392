//! The call context: a compact JWS (RFC 7515) in which the identity service says who calls which tool with which input.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::{Actor, ActorKind, TenantId};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::document;
use super::error::{ErrorCode, ToolError};
use super::keys::{CallContextKeys, Key};

/// The payload's field that holds it.
pub(super) const FIELD: &str = "callContext";
/// Longest token; ours have some 600 characters.
const TOKEN_LENGTH_MAX: usize = 4096;
/// Longest life of a token: it is made for one call.
pub(super) const LIFE_SECONDS_MAX: i64 = 5 * 60;
/// How far two clocks may differ.
const SKEW_SECONDS: i64 = 30;
/// Longest id of a token.
const JTI_LENGTH_MAX: usize = 128;
/// The last second of the year 9999.
const SECONDS_MAX: i64 = 253_402_300_799;

/// Who calls, proven by a call context. Nothing else makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    tenant: TenantId,
    actor: Actor,
    kind: ActorKind,
    jti: String,
}

impl Caller {
    /// Whose data the call may touch.
    #[must_use]
    pub const fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Who acts.
    #[must_use]
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// What kind of actor that is.
    #[must_use]
    pub const fn kind(&self) -> ActorKind {
        self.kind
    }

    /// The id of the call context: what the log of the identity service knows the call by.
    #[must_use]
    pub fn jti(&self) -> &str {
        &self.jti
    }
}

/// What a call context says, believed.
pub(super) struct CallContext {
    pub(super) caller: Caller,
    /// The digest of the only input that the context is good for.
    pub(super) input_sha256: String,
}

/// Believes a token or refuses it: first the signature, then each claim's form, then whether it is meant for this tool and
/// this time.
pub(super) fn verify(
    token: Option<&Value>,
    tool: &str,
    keys: &CallContextKeys,
    now: Timestamp,
) -> Result<CallContext, ToolError> {
    let token = token.and_then(Value::as_str).ok_or_else(unauthenticated)?;
    let (key, claims) = signed_claims(token, keys).ok_or_else(unauthenticated)?;
    let claims = document::parse(&claims).ok();
    let claims = claims.as_ref().and_then(Value::as_object).ok_or_else(|| {
        let message = "callContext must hold a JSON object that gives each claim once";
        ToolError::new(ErrorCode::CallContextInvalid, message).at(FIELD)
    })?;
    let claims = Claims(claims);
    claims.take("iss", "be the issuer of its key", |iss| (iss == key.issuer()).then_some(()))?;
    let audience = claims.take("aud", "name exactly one tool", |aud| Some(aud.to_owned()))?;
    let caller = claims.caller()?;
    let input_sha256 =
        claims.take("inputSha256", "be 64 lower-case hexadecimal digits", |text| {
            let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            (text.len() == 64 && text.bytes().all(is_digit)).then(|| text.to_owned())
        })?;
    let period = claims.period()?;
    if audience != tool {
        let message = "callContext.aud names another tool";
        return Err(ToolError::new(ErrorCode::WrongAudience, message).at("callContext.aud"));
    }
    period.check(now)?;
    Ok(CallContext { caller, input_sha256 })
}

/// Nobody is told which part was wrong: whoever made the token knows, and nobody else needs to.
fn unauthenticated() -> ToolError {
    let message = "callContext must be signed by a known key";
    ToolError::new(ErrorCode::Unauthenticated, message).at(FIELD)
}

/// The bytes of the claims, if a known key has signed them.
fn signed_claims<'k>(token: &str, keys: &'k CallContextKeys) -> Option<(&'k Key, Vec<u8>)> {
    if TOKEN_LENGTH_MAX < token.len() {
        return None;
    }
    let (message, signature) = token.rsplit_once('.')?;
    let (header, claims) = message.split_once('.')?;
    let header = document::parse(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    let header = header.as_object()?;
    // Whoever sends an extension demands that it is understood (RFC 7515, 4.1.11), or brings a key of their own.
    if header.keys().any(|name| !matches!(name.as_str(), "alg" | "kid" | "typ")) {
        return None;
    }
    let key = keys.find(header.get("kid")?.as_str()?)?;
    if header.get("alg")?.as_str()? != key.algorithm().as_str() {
        return None;
    }
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    if !key.has_signed(message.as_bytes(), &signature) {
        return None;
    }
    Some((key, URL_SAFE_NO_PAD.decode(claims).ok()?))
}

struct Claims<'c>(&'c Map<String, Value>);

impl Claims<'_> {
    fn take<T>(
        &self,
        name: &str,
        rule: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ToolError> {
        let claim = self.present(name)?;
        claim.as_str().and_then(read).ok_or_else(|| invalid(name, &format!("must {rule}")))
    }

    fn present(&self, name: &str) -> Result<&Value, ToolError> {
        self.0.get(name).ok_or_else(|| invalid(name, "is missing"))
    }

    fn caller(&self) -> Result<Caller, ToolError> {
        let printable = |text: &str| {
            let fits = (1..=JTI_LENGTH_MAX).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_graphic());
            fits.then(|| text.to_owned())
        };
        let tenant = self.take("tenant", "be a tenant's id", |text| TenantId::new(text).ok())?;
        let actor =
            self.take("actor", "be 1 to 128 printable ASCII characters without spaces", |text| {
                Actor::new(text).ok()
            })?;
        let kind = self.take("actorKind", "be one of person, agent, service", |text| {
            ActorKind::parse(text).ok()
        })?;
        let rule = "be 1 to 128 printable ASCII characters without spaces";
        let jti = self.take("jti", rule, printable)?;
        Ok(Caller { tenant, actor, kind, jti })
    }

    fn seconds(&self, name: &str) -> Result<i64, ToolError> {
        let seconds = self.present(name)?.as_i64();
        let seconds = seconds.filter(|seconds| (0..=SECONDS_MAX).contains(seconds));
        seconds.ok_or_else(|| invalid(name, "must be whole seconds since 1970"))
    }

    fn period(&self) -> Result<Period, ToolError> {
        let issued = self.seconds("iat")?;
        let not_before = match self.0.get("nbf") {
            Some(_) => self.seconds("nbf")?,
            None => issued,
        };
        let expires = self.seconds("exp")?;
        if expires <= issued || issued.saturating_add(LIFE_SECONDS_MAX) < expires {
            return Err(invalid("exp", "must be within 5 minutes after iat"));
        }
        Ok(Period { issued, not_before, expires })
    }
}

fn invalid(claim: &str, rule: &str) -> ToolError {
    let field = format!("{FIELD}.{claim}");
    ToolError::new(ErrorCode::CallContextInvalid, format!("{field} {rule}")).at(field)
}

/// When a token is good.
struct Period {
    issued: i64,
    not_before: i64,
    expires: i64,
}

impl Period {
    fn check(&self, now: Timestamp) -> Result<(), ToolError> {
        let now = now.as_second();
        let latest = now.saturating_add(SKEW_SECONDS);
        for (claim, second) in [("iat", self.issued), ("nbf", self.not_before)] {
            if latest < second {
                let field = format!("{FIELD}.{claim}");
                let message = format!("{field} lies in the future");
                return Err(ToolError::new(ErrorCode::NotYetValid, message).at(field));
            }
        }
        if self.expires.saturating_add(SKEW_SECONDS) <= now {
            let message = "callContext.exp has passed: get a new call context";
            return Err(
                ToolError::new(ErrorCode::CallContextExpired, message).at("callContext.exp")
            );
        }
        Ok(())
    }
}

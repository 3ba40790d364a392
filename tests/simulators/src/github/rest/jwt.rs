//! The JWTs by which an App proves itself: RS256, at most ten minutes long.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::Value;

use crate::github::{
    rest::answer::Answer,
    world::{App, World},
};

/// Documented: `exp` is no more than ten minutes in the future.
const LIFE_SECONDS_MAX: i64 = 600;

/// The App that signed a JWT.
pub(crate) fn verify<'a>(world: &'a World, token: &str, now: Timestamp) -> Result<&'a App, Answer> {
    let undecodable = || Answer::refused(401, "A JSON web token could not be decoded");
    let (signed, signature) = token.rsplit_once('.').ok_or_else(undecodable)?;
    let (header, claims) = signed.split_once('.').ok_or_else(undecodable)?;
    let (header, claims) =
        (decoded(header).ok_or_else(undecodable)?, decoded(claims).ok_or_else(undecodable)?);
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| undecodable())?;
    if header.get("alg").and_then(Value::as_str) != Some("RS256") {
        return Err(undecodable());
    }
    let app =
        issuer(world, &claims).ok_or_else(|| Answer::refused(404, "Integration not found"))?;
    let is_signed = app.keys.iter().any(|key| {
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        key.verify(signed.as_bytes(), &signature).is_ok()
    });
    if !is_signed {
        return Err(undecodable());
    }
    must_be_timely(&claims, now.as_second())?;
    Ok(app)
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// `iss` is the client id, or the App's number as text or as a number.
fn issuer<'a>(world: &'a World, claims: &Value) -> Option<&'a App> {
    let issuer = claims.get("iss")?;
    let issuer = issuer.as_str().map_or_else(|| issuer.to_string(), str::to_owned);
    let mut apps = world.apps.values();
    apps.find(|app| app.client_id == issuer || app.id.to_string() == issuer).map(AsRef::as_ref)
}

fn must_be_timely(claims: &Value, now: i64) -> Result<(), Answer> {
    let time = |name: &str| claims.get(name).and_then(Value::as_i64);
    let refused = |message: &str| Err(Answer::refused(401, message));
    match time("iat") {
        Some(issued) if issued <= now => {}
        Some(_) | None => {
            return refused(
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            );
        }
    }
    match time("exp") {
        None => refused(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ),
        Some(expires) if expires <= now => {
            refused("'Expiration time' claim ('exp') is too far in the past")
        }
        Some(expires) if now + LIFE_SECONDS_MAX < expires => {
            refused("'Expiration time' claim ('exp') is too far in the future")
        }
        Some(_) => Ok(()),
    }
}

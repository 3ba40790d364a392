//! Who sent a delivery: HMAC-SHA256 over the body's exact bytes, and nothing else.
//!
//! GitHub still sends a SHA-1 signature beside it. It is not read, neither from its own header nor by a value's prefix,
//! so that nobody can choose the weaker proof.

use std::fmt;
use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Shortest secret that proves anything: 128 bits, if they are random. An empty secret would let everybody sign.
const SECRET_BYTES_MIN: usize = 16;
/// What every signature starts with.
const SIGNATURE_PREFIX: &str = "sha256=";
/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;
/// What a source that does not exist is "verified" with. Not a secret: its verdict is thrown away.
const NOBODYS_SECRET: [u8; 32] = *b"the secret of a source unknown..";

/// The secret of one webhook or GitHub App. Its content can be used, and neither printed nor stored.
#[derive(Clone)]
pub struct WebhookSecret(Box<[u8]>);

/// Why a text is no webhook secret: the source can't verify anything, its caller answers 503 and raises an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Shorter than 16 bytes, or empty.
    #[error("the webhook secret is shorter than 16 bytes")]
    TooShort,
}

/// The secrets that are live at one source: while a secret is being rotated, the one before counts too.
#[derive(Debug, Clone)]
pub struct LiveSecrets {
    /// The secret in force.
    pub current: WebhookSecret,
    /// The secret before, if its time is not over.
    pub previous: Option<WebhookSecret>,
}

/// The value of `X-Hub-Signature-256`, well-formed but not yet verified.
#[derive(Clone)]
pub struct Signature([u8; DIGEST_BYTES]);

/// Why a delivery is not believed. The caller answers 401 to each of them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no `X-Hub-Signature-256`. Its absence never means that no check is wanted.
    #[error("the delivery is not signed")]
    Missing,
    /// The header is not exactly `sha256=` and 64 lower-case hexadecimal digits.
    #[error("the signature is malformed")]
    Malformed,
    /// No live secret made this signature over this body.
    #[error("the signature does not fit the body")]
    Mismatch,
}

/// A body whose sender proved to know the source's secret. There is no other way to get one than [`verify`].
#[derive(Clone, Copy)]
pub struct Verified<'a> {
    body: &'a [u8],
}

impl WebhookSecret {
    /// Takes a secret exactly as it is: GitHub's key are the text's UTF-8 bytes, white space included.
    pub fn new(secret: &str) -> Result<Self, SecretError> {
        let bytes = secret.as_bytes();
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(SecretError::TooShort);
        }
        Ok(Self(bytes.into()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(redacted)")
    }
}

impl Signature {
    /// Reads a header's value: exactly `sha256=` and 64 lower-case hexadecimal digits, as GitHub writes it. Anything
    /// else is refused, be it the same digest in another spelling: two spellings of one proof invite a third.
    pub fn parse(header: Option<&str>) -> Result<Self, SignatureError> {
        let value = header.ok_or(SignatureError::Missing)?;
        let digits = value.strip_prefix(SIGNATURE_PREFIX).ok_or(SignatureError::Malformed)?;
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let pairs: &[[u8; 2]; DIGEST_BYTES] =
            pairs.try_into().map_err(|_| SignatureError::Malformed)?;
        if !rest.is_empty() {
            return Err(SignatureError::Malformed);
        }
        let mut digest = [0; DIGEST_BYTES];
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(digest))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(redacted)")
    }
}

impl Verified<'_> {
    /// SHA-256 of the body's exact bytes, 64 lower-case hexadecimal digits: evidence of what was received.
    #[must_use]
    pub fn body_sha256(&self) -> String {
        hex(&Sha256::digest(self.body))
    }
}

impl<'a> Verified<'a> {
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.body
    }
}

impl fmt::Debug for Verified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({} bytes)", self.body.len())
    }
}

/// Verifies that one of the live secrets signed these exact bytes. The time it takes tells neither which digit is wrong
/// nor how many secrets are live.
pub fn verify<'a>(
    body: &'a [u8],
    signature: &Signature,
    secrets: &LiveSecrets,
) -> Result<Verified<'a>, SignatureError> {
    let second = secrets.previous.as_ref().unwrap_or(&secrets.current);
    let fits = [&secrets.current, second].map(|secret| fits(body, signature, &secret.0));
    if fits.contains(&true) { Ok(Verified { body }) } else { Err(SignatureError::Mismatch) }
}

/// The answer to a source that does not exist. It takes the time that [`verify`] takes, so that nobody can find out by
/// a clock which sources there are.
#[must_use]
pub fn verify_nothing(body: &[u8], signature: &Signature) -> SignatureError {
    for secret in [&NOBODYS_SECRET, &NOBODYS_SECRET] {
        std::hint::black_box(fits(body, signature, secret));
    }
    SignatureError::Mismatch
}

/// The header value that GitHub would send with this body: for whoever plays GitHub.
#[must_use]
pub fn sign(body: &[u8], secret: &WebhookSecret) -> String {
    let digest = mac(body, &secret.0).map(|mac| mac.finalize().into_bytes()).unwrap_or_default();
    format!("{SIGNATURE_PREFIX}{}", hex(&digest))
}

fn fits(body: &[u8], signature: &Signature, secret: &[u8]) -> bool {
    mac(body, secret).is_some_and(|mac| mac.verify_slice(&signature.0).is_ok())
}

/// The MAC of a body. HMAC takes keys of any length, so there always is one.
fn mac(body: &[u8], secret: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(body);
    Some(mac)
}

const fn nibble(digit: u8) -> Result<u8, SignatureError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(SignatureError::Malformed),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

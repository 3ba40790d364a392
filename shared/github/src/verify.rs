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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// GitHub's published example.
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const DIGEST: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secret(text: &str) -> WebhookSecret {
        WebhookSecret::new(text).unwrap()
    }

    fn only(text: &str) -> LiveSecrets {
        LiveSecrets { current: secret(text), previous: None }
    }

    fn check(secrets: &LiveSecrets, body: &[u8], header: &str) -> Result<(), SignatureError> {
        let signature = Signature::parse(Some(header))?;
        verify(body, &signature, secrets).map(|_| ())
    }

    #[test]
    fn published_vectors_verify() {
        assert_eq!(check(&only(SECRET), BODY, &format!("sha256={DIGEST}")), Ok(()));
        for (secret, body, digest) in [
            (
                "0123456789abcdef",
                "{\"yo\":true}",
                "b1f8020f5b4cd42042f807dd939015c4a418bc1ff7f604dd55b0a19b5d953d9b",
            ),
            (
                "0123456789abcdef",
                "payload=%7B%22yo%22%3Atrue%7D",
                "30f622d549ca623f1c553f7e395a80c9487b43b9feaf9af4a1811381ddf5a94d",
            ),
            (SECRET, "{}", "50b0123e6e44430d2c43ecca0ee520d961ffd326425c07859f70a57161c3ebcd"),
            (
                SECRET,
                "\u{feff}{}",
                "f2fd1ac0e29ecbd8eefd483d106c2103574dda8c31dc60badb63bdbecee38af0",
            ),
            (
                SECRET,
                "{\"repository\":{\"id\":1},\"repository\":{\"id\":2}}",
                "6779aa55c208cade98d2605e79dd7d4b943518fb45da239a03cb2c795678c1ae",
            ),
            (SECRET, "", "66a0c074deaa0f489ead6537e0d32f9a344b90bbeda705b6ed45ecd3b413fb40"),
        ] {
            let header = format!("sha256={digest}");
            assert_eq!(check(&only(secret), body.as_bytes(), &header), Ok(()), "{body}");
            assert_eq!(sign(body.as_bytes(), &self::secret(secret)), header, "{body}");
        }
    }

    #[test]
    fn the_signature_of_another_body_does_not_fit() {
        let secrets = only("0123456789abcdef");
        let of_json = "sha256=b1f8020f5b4cd42042f807dd939015c4a418bc1ff7f604dd55b0a19b5d953d9b";
        let form = b"payload=%7B%22yo%22%3Atrue%7D";
        assert_eq!(check(&secrets, form, of_json), Err(SignatureError::Mismatch));
    }

    #[test]
    fn only_the_exact_spelling_is_a_signature() {
        let parse = |header: &str| Signature::parse(Some(header)).map(|_| ());
        assert_eq!(parse(&format!("sha256={DIGEST}")), Ok(()));
        let upper = DIGEST.to_uppercase();
        let with_g = DIGEST.replace('7', "g");
        for bad in [
            String::new(),
            "sha256=".to_owned(),
            DIGEST.to_owned(),
            format!("SHA256={DIGEST}"),
            format!("Sha256={DIGEST}"),
            format!("sha256={upper}"),
            format!("sha256={with_g}"),
            format!("sha256={DIGEST}0"),
            format!("sha256={DIGEST}00"),
            format!("sha256={DIGEST}{DIGEST}"),
            format!("xxxxxxx{DIGEST}"),
            format!("sha256:{DIGEST}"),
            format!("sha256= {DIGEST}"),
            format!(" sha256={DIGEST}"),
            format!("sha256={DIGEST} "),
            format!("sha256={DIGEST}\n"),
            format!("sha256=sha256={DIGEST}"),
            format!("sha256={DIGEST},sha256={DIGEST}"),
            format!("sha256={DIGEST}, sha256={DIGEST}"),
            format!("sha256=ä{}", &DIGEST[2..]),
            "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59".to_owned(),
            "sha256=01dc10d0c83e72ed246219cdd91669667fe2ca59".to_owned(),
        ] {
            assert_eq!(parse(&bad), Err(SignatureError::Malformed), "{bad}");
        }
        for length in 0..DIGEST.len() {
            let prefix = format!("sha256={}", &DIGEST[..length]);
            assert_eq!(parse(&prefix), Err(SignatureError::Malformed), "{prefix}");
        }
        assert_eq!(Signature::parse(None).map(|_| ()), Err(SignatureError::Missing));
    }

    #[test]
    fn every_digit_of_the_signature_counts() {
        for place in 0..DIGEST.len() {
            let mut digits = DIGEST.as_bytes().to_vec();
            digits[place] = if digits[place] == b'0' { b'1' } else { b'0' };
            let header = format!("sha256={}", String::from_utf8(digits).unwrap());
            assert_eq!(check(&only(SECRET), BODY, &header), Err(SignatureError::Mismatch));
        }
    }

    #[test]
    fn the_secret_before_counts_while_it_is_live() {
        let (new, old) = ("the secret in force", "the secret before it");
        let signed = |by: &str| sign(BODY, &secret(by));
        let rotating = LiveSecrets { current: secret(new), previous: Some(secret(old)) };
        assert_eq!(check(&rotating, BODY, &signed(new)), Ok(()));
        assert_eq!(check(&rotating, BODY, &signed(old)), Ok(()));
        let oldest = signed("the secret before that");
        assert_eq!(check(&rotating, BODY, &oldest), Err(SignatureError::Mismatch));
        assert_eq!(check(&only(new), BODY, &signed(old)), Err(SignatureError::Mismatch));
    }

    #[test]
    fn a_short_secret_is_none() {
        for short in ["", " ", "0123456789abcde", "äöüäöüä"] {
            assert_eq!(WebhookSecret::new(short).map(|_| ()), Err(SecretError::TooShort));
        }
        assert!(WebhookSecret::new("0123456789abcdef").is_ok());
    }

    #[test]
    fn nothing_verifies_at_a_source_that_does_not_exist() {
        let by_nobody = WebhookSecret(NOBODYS_SECRET.into());
        let signature = Signature::parse(Some(&sign(BODY, &by_nobody))).unwrap();
        assert_eq!(verify_nothing(BODY, &signature), SignatureError::Mismatch);
    }

    #[test]
    fn what_is_secret_is_not_printed() {
        let signature = Signature::parse(Some(&format!("sha256={DIGEST}"))).unwrap();
        let secrets = LiveSecrets { current: secret(SECRET), previous: Some(secret(SECRET)) };
        let verified = verify(BODY, &signature, &secrets).unwrap();
        let printed = format!("{secrets:?} {signature:?} {verified:?}");
        for part in ["Secret to", "757107", "117, 113", "Hello"] {
            assert!(!printed.contains(part), "{printed}");
        }
    }

    #[test]
    fn the_body_is_known_by_its_digest() {
        let signature = Signature::parse(Some(&format!("sha256={DIGEST}"))).unwrap();
        assert_eq!(
            verify(BODY, &signature, &only(SECRET)).unwrap().body_sha256(),
            "dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"
        );
    }

    proptest! {
        /// Whatever the bytes, what is signed verifies, and no other body does with that signature.
        #[test]
        fn a_signature_fits_its_body_alone(
            body in prop::collection::vec(any::<u8>(), 0..200),
            other in prop::collection::vec(any::<u8>(), 0..200),
            text in "\\PC{16,80}",
        ) {
            let header = sign(&body, &secret(&text));
            prop_assert_eq!(check(&only(&text), &body, &header), Ok(()));
            if other != body {
                let verdict = check(&only(&text), &other, &header);
                prop_assert_eq!(verdict, Err(SignatureError::Mismatch));
            }
        }

        /// A header in any other form than GitHub's is malformed, never compared.
        #[test]
        fn any_other_header_is_malformed(header in "\\PC{0,80}|(sha256=)?[0-9a-fA-F]{0,70}") {
            let exact = header.strip_prefix("sha256=").is_some_and(|digits| {
                digits.len() == 64
                    && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            });
            prop_assert_eq!(Signature::parse(Some(&header)).is_ok(), exact);
        }
    }
}

//! From what a function URL hands over to the bytes that were signed, and from verified bytes to their JSON.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::delivery::QuarantineReason;
use domain::words::Text;
use percent_encoding::percent_decode;

use crate::verify::Verified;

/// The content type whose JSON stands in a form field.
const FORM: &str = "application/x-www-form-urlencoded";
/// That field.
const FORM_FIELD: &[u8] = b"payload";

/// How an event of a function URL carries the body's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As the text itself.
    Text,
    /// In base64: what is not text, forms among it.
    Base64,
}

impl From<bool> for Encoding {
    /// Takes the event's `isBase64Encoded`.
    fn from(is_base64_encoded: bool) -> Self {
        if is_base64_encoded { Self::Base64 } else { Self::Text }
    }
}

/// The body is not the base64 that it is said to be. Nothing is verified, so the caller answers 401.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body is not base64")]
pub struct NotBase64;

/// The exact bytes that the sender sent, and signed.
pub fn exact_bytes(body: &str, encoding: Encoding) -> Result<Cow<'_, [u8]>, NotBase64> {
    match encoding {
        Encoding::Text => Ok(Cow::Borrowed(body.as_bytes())),
        Encoding::Base64 => STANDARD.decode(body).map(Cow::Owned).map_err(|_| NotBase64),
    }
}

/// The JSON text of a verified body. A form's signature covers the raw form, so it is taken apart only after that.
pub(crate) fn json_text<'a>(
    verified: &Verified<'a>,
    content_type: Option<&str>,
) -> Result<Cow<'a, str>, QuarantineReason> {
    if content_type.is_some_and(is_form) {
        return form_field(verified.bytes());
    }
    std::str::from_utf8(verified.bytes()).map(Cow::Borrowed).map_err(|_| QuarantineReason::NotJson)
}

/// Whether a content type is a form, whatever its parameters and case. Everything else is read as JSON.
fn is_form(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(FORM)
}

fn form_field(form: &[u8]) -> Result<Cow<'_, str>, QuarantineReason> {
    let unreadable = |place: &str| QuarantineReason::Unreadable { place: Text::new(place) };
    let mut fields = form.split(|byte| *byte == b'&').filter_map(|pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let name = halves.next()?;
        (form_decode(name).as_ref() == FORM_FIELD).then(|| halves.next().unwrap_or_default())
    });
    let payload = fields.next().ok_or_else(|| unreadable("no form field payload"))?;
    if fields.next().is_some() {
        return Err(unreadable("more than one form field payload"));
    }
    let not_text = || unreadable("form field payload is not UTF-8");
    match form_decode(payload) {
        Cow::Borrowed(bytes) => {
            std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| not_text())
        }
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| not_text()),
    }
}

/// Undoes a form's encoding: `+` is a space, `%XX` a byte.
fn form_decode(encoded: &[u8]) -> Cow<'_, [u8]> {
    if !encoded.contains(&b'+') {
        return Cow::from(percent_decode(encoded));
    }
    let spaced: Vec<u8> =
        encoded.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(form: &str) -> Result<String, String> {
        form_field(form.as_bytes()).map(Cow::into_owned).map_err(|reason| reason.to_string())
    }

    #[test]
    fn base64_gives_the_bytes_that_were_signed() {
        let form = "cGF5bG9hZD0lN0IlMjJ5byUyMiUzQXRydWUlN0Q=";
        assert_eq!(
            exact_bytes(form, Encoding::Base64).as_deref(),
            Ok(b"payload=%7B%22yo%22%3Atrue%7D".as_slice())
        );
        assert_eq!(exact_bytes("", Encoding::Base64).as_deref(), Ok([].as_slice()));
        assert_eq!(exact_bytes("/+8=", Encoding::Base64).as_deref(), Ok([0xff, 0xef].as_slice()));
        for bad in ["{}", "c", "cGF5bG9hZA", "cGF5bG9hZA==\n", "_-8="] {
            assert_eq!(exact_bytes(bad, Encoding::Base64), Err(NotBase64), "{bad}");
        }
    }

    #[test]
    fn text_is_its_own_bytes() {
        let text = "\u{feff}{\"a\":\"ü\"}\r\n";
        assert_eq!(exact_bytes(text, Encoding::from(false)).as_deref(), Ok(text.as_bytes()));
    }

    #[test]
    fn a_form_is_known_by_its_content_type_alone() {
        for form in [
            "application/x-www-form-urlencoded",
            "Application/X-WWW-Form-Urlencoded",
            "application/x-www-form-urlencoded; charset=utf-8",
            " application/x-www-form-urlencoded ;charset=utf-8",
        ] {
            assert!(is_form(form), "{form}");
        }
        for other in ["", "application/json", "application/x-www-form-urlencoded2", "; a/b"] {
            assert!(!is_form(other), "{other}");
        }
    }

    #[test]
    fn the_payload_is_decoded_once() {
        for (form, json) in [
            ("payload=%7B%22yo%22%3Atrue%7D", "{\"yo\":true}"),
            ("payload={}", "{}"),
            ("payload=%7b+%7d", "{ }"),
            ("payload=%2B%25%26%3D+%C3%BC", "+%&= ü"),
            ("a=1&payload=x&b", "x"),
            ("payload=a=b", "a=b"),
            ("p%61yload=x", "x"),
            ("payload=", ""),
            ("payload", ""),
            ("payload=%zz%", "%zz%"),
        ] {
            assert_eq!(field(form), Ok(json.to_owned()), "{form}");
        }
    }

    #[test]
    fn a_form_without_one_readable_payload_is_unreadable() {
        let unreadable = |place: &str| Err(format!("Unreadable: {place}"));
        for none in ["", "Payload=x", "a=payload", "{\"payload\":1}"] {
            assert_eq!(field(none), unreadable("no form field payload"), "{none}");
        }
        let twice = unreadable("more than one form field payload");
        assert_eq!(field("payload={}&payload={}"), twice);
        let not_text = unreadable("form field payload is not UTF-8");
        assert_eq!(field("payload=%ff"), not_text);
        assert_eq!(field("payload=+%C3"), not_text);
    }
}

//! A delivery's headers, found without regard to case.
//!
//! Function URLs give names in lower case, GitHub writes `X-GitHub-Event`, other front doors keep what they got.
//! `X-GitHub-Enterprise-Host` is not among them on purpose: the host follows from the source, whose secret
//! proved it; numeric ids of two hosts collide, and no header is signed.

use domain::ids::DeliveryId;
use domain::words::Word;

use crate::verify::{Signature, SignatureError};

/// The headers of a delivery that mean something to us. None of them is signed: they are evidence, and hints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    event: Value<'a>,
    delivery: Value<'a>,
    hook: Value<'a>,
    content_type: Value<'a>,
    signature: Value<'a>,
}

/// What a header says, if it is there once.
#[derive(Clone, Copy, Default)]
enum Value<'a> {
    #[default]
    Absent,
    Once(&'a str),
    /// Given more than once, it says nothing: nobody knows which one the sender meant.
    Repeated,
}

impl std::fmt::Debug for Value<'_> {
    /// Says nothing of the content: a signature is among it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Value::Absent => "Absent",
            Value::Once(_) => "Once",
            Value::Repeated => "Repeated",
        })
    }
}

impl<'a> Value<'a> {
    fn add(&mut self, value: &'a str) {
        *self = match self {
            Value::Absent => Value::Once(value),
            Value::Once(_) | Value::Repeated => Value::Repeated,
        };
    }

    const fn once(self) -> Option<&'a str> {
        match self {
            Value::Once(value) => Some(value),
            Value::Absent | Value::Repeated => None,
        }
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers<'a> {
    /// Picks the known headers out of names and values.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(headers: I) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            let known = [
                ("x-github-event", &mut found.event),
                ("x-github-delivery", &mut found.delivery),
                ("x-github-hook-id", &mut found.hook),
                ("content-type", &mut found.content_type),
                ("x-hub-signature-256", &mut found.signature),
            ];
            for (known, slot) in known {
                if name.eq_ignore_ascii_case(known) {
                    slot.add(value);
                }
            }
        }
        found
    }
}

impl<'a> Headers<'a> {
    /// The event's name as it was sent: `workflow_run`, `ping`, …
    #[must_use]
    pub const fn event(&self) -> Option<&'a str> {
        self.event.once()
    }

    /// The event's name as the ledger keeps it: cut at 64 characters, empty where there is none.
    #[must_use]
    pub fn event_word(&self) -> Word {
        Word::new(self.event().unwrap_or_default())
    }

    /// The delivery's id, if it is one. Redeliveries and other hooks repeat it.
    #[must_use]
    pub fn delivery_id(&self) -> Option<DeliveryId> {
        self.delivery.once().and_then(|id| DeliveryId::new(id).ok())
    }

    /// The hook's id, if it is a number.
    #[must_use]
    pub fn hook_id(&self) -> Option<u64> {
        self.hook.once().and_then(|id| id.parse().ok())
    }

    /// The body's content type.
    #[must_use]
    pub const fn content_type(&self) -> Option<&'a str> {
        self.content_type.once()
    }

    /// The signature, if it is well-formed. A header that came twice is none: front doors join such values by commas,
    /// and neither form is what GitHub sends.
    pub fn signature(&self) -> Result<Signature, SignatureError> {
        match self.signature {
            Value::Repeated => Err(SignatureError::Malformed),
            Value::Absent | Value::Once(_) => Signature::parse(self.signature.once()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    #[test]
    fn names_are_compared_without_case() {
        let changes: [fn(&str) -> String; 3] =
            [str::to_lowercase, str::to_uppercase, str::to_owned];
        for change in changes {
            let names = [
                "X-GitHub-Event",
                "X-GitHub-Delivery",
                "X-GitHub-Hook-ID",
                "Content-Type",
                "X-Hub-Signature-256",
            ]
            .map(change);
            let values = ["ping", "72d3162e-cc78-11e3-81ab", "42", "application/json", SIGNATURE];
            let headers: Headers<'_> = names.iter().map(String::as_str).zip(values).collect();
            assert_eq!(headers.event(), Some("ping"));
            assert_eq!(headers.delivery_id().unwrap().as_str(), "72d3162e-cc78-11e3-81ab");
            assert_eq!(headers.hook_id(), Some(42));
            assert_eq!(headers.content_type(), Some("application/json"));
            assert!(headers.signature().is_ok());
        }
    }

    #[test]
    fn a_header_that_came_twice_says_nothing() {
        let twice = |name| Headers::from_iter([(name, SIGNATURE), (name, SIGNATURE)]);
        let signature = twice("X-Hub-Signature-256").signature();
        assert_eq!(signature.map(|_| ()), Err(SignatureError::Malformed));
        assert_eq!(twice("X-GitHub-Event").event(), None);
        assert_eq!(twice("Content-Type").content_type(), None);
    }

    #[test]
    fn the_legacy_signature_is_not_read() {
        for name in ["X-Hub-Signature", "X-Hub-Signature-1", "X-Hub-Signature-256 "] {
            let headers = Headers::from_iter([(name, SIGNATURE)]);
            assert_eq!(headers.signature().map(|_| ()), Err(SignatureError::Missing), "{name}");
        }
    }

    #[test]
    fn ids_that_are_none_are_left_out() {
        let long = "ä".repeat(65);
        let headers = Headers::from_iter([
            ("x-github-delivery", "not an id\n"),
            ("x-github-hook-id", "-1"),
            ("x-github-event", long.as_str()),
        ]);
        assert_eq!((headers.delivery_id(), headers.hook_id()), (None, None));
        assert_eq!(headers.event_word().as_str(), "ä".repeat(64));
        assert_eq!(Headers::default().event_word().as_str(), "");
    }

    #[test]
    fn no_value_is_printed() {
        let headers = Headers::from_iter([("x-hub-signature-256", SIGNATURE)]);
        assert!(!format!("{headers:?}").contains("757107"));
    }
}

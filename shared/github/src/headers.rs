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

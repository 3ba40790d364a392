//! What a stored secret looks like.

use jiff::Timestamp;
use ports::SecretStoreError;
use serde::Deserialize;

/// Shorter secrets can be guessed; an empty one verifies what anybody signs with nothing.
const SECRET_BYTES_MIN: usize = 16;

/// A source's live secrets: the current one, and during a rotation the one before it, until it ends.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretDocument {
    current: String,
    previous: Option<Previous>,
}

#[derive(Clone, PartialEq, Eq)]
struct Previous {
    secret: String,
    not_after: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    current: String,
    previous: Option<String>,
    not_after: Option<String>,
}

impl std::fmt::Debug for SecretDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretDocument").finish_non_exhaustive()
    }
}

impl SecretDocument {
    /// Reads a stored secret: `{"current": "…", "previous": "…", "notAfter": "<RFC 3339>"}`, the last two together or not
    /// at all, or a bare text, which is the current secret. A secret under 16 bytes is unusable.
    pub fn parse(stored: &str) -> Result<Self, SecretStoreError> {
        let unusable = SecretStoreError::Unusable;
        if !stored.trim_start().starts_with('{') {
            return Self::new(stored.to_owned(), None);
        }
        let stored: Stored = serde_json::from_str(stored)
            .map_err(|_| unusable("it is no object of current, previous and notAfter"))?;
        let previous = match (stored.previous, stored.not_after) {
            (None, None) => None,
            (Some(secret), Some(not_after)) => {
                let not_after =
                    not_after.parse().map_err(|_| unusable("notAfter is no RFC 3339 time"))?;
                Some(Previous { secret, not_after })
            }
            (Some(_), None) => return Err(unusable("previous has no notAfter")),
            (None, Some(_)) => return Err(unusable("notAfter has no previous")),
        };
        Self::new(stored.current, previous)
    }

    /// The secrets that verify at `now`: the current one first.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous.as_ref().filter(|previous| now < previous.not_after);
        std::iter::once(self.current.as_str())
            .chain(previous.map(|previous| previous.secret.as_str()))
    }

    fn new(current: String, previous: Option<Previous>) -> Result<Self, SecretStoreError> {
        let too_short = |secret: &str| secret.len() < SECRET_BYTES_MIN;
        if too_short(&current) || previous.as_ref().is_some_and(|p| too_short(&p.secret)) {
            return Err(SecretStoreError::Unusable("a secret has fewer than 16 bytes"));
        }
        Ok(Self { current, previous })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "old-old-old-old-old";
    const NEW: &str = "new-new-new-new-new";

    fn live_at(stored: &str, second: i64) -> Vec<String> {
        let now = Timestamp::from_second(second).unwrap();
        SecretDocument::parse(stored).unwrap().live(now).map(str::to_owned).collect()
    }

    #[test]
    fn the_previous_secret_verifies_until_its_end() {
        let end = Timestamp::from_second(1000).unwrap();
        let stored = format!(r#"{{"current":"{NEW}","previous":"{OLD}","notAfter":"{end}"}}"#);
        assert_eq!(live_at(&stored, 999), [NEW, OLD]);
        assert_eq!(live_at(&stored, 1000), [NEW]);
        assert_eq!(live_at(&stored, 1001), [NEW]);
    }

    #[test]
    fn a_bare_text_is_the_current_secret() {
        assert_eq!(live_at(NEW, 0), [NEW]);
    }

    #[test]
    fn a_secret_that_cannot_protect_is_unusable() {
        for stored in [
            "",
            "\"\"",
            "fifteen-bytes-x",
            "{",
            "{}",
            r#"{"current":""}"#,
            r#"{"current":5}"#,
            r#"{"current":"new-new-new-new-new","previous":"old-old-old-old-old"}"#,
            r#"{"current":"new-new-new-new-new","notAfter":"2026-01-01T00:00:00Z"}"#,
            r#"{"current":"new-new-new-new-new","previous":"","notAfter":"2026-01-01T00:00:00Z"}"#,
            r#"{"current":"new-new-new-new-new","previous":"old-old-old-old-old","notAfter":"soon"}"#,
            r#"{"current":"new-new-new-new-new","sha1":"x"}"#,
        ] {
            let refused =
                matches!(SecretDocument::parse(stored), Err(SecretStoreError::Unusable(_)));
            assert!(refused, "{stored}");
        }
    }

    #[test]
    fn a_secret_never_prints() {
        let document = SecretDocument::parse(NEW).unwrap();
        assert!(!format!("{document:?}").contains(NEW));
    }
}

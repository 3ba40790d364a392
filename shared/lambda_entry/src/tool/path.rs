//! Where in a payload something is.

use std::fmt::{self, Write as _};

/// Longest key that a path repeats.
const KEY_LENGTH_MAX: usize = 64;
/// Longest path that an error repeats.
const PATH_LENGTH_MAX: usize = 200;

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key.
    Key(String),
    /// The nth element of a list, from 0.
    Index(usize),
}

/// Steps from the root on. Keys may be anybody's: what could not be one of ours is printed as `?`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'a>(pub(super) &'a [Step]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in self.0 {
            let before = text.len();
            match step {
                Step::Key(key) => {
                    let dot = if text.is_empty() { "" } else { "." };
                    let _ = write!(text, "{dot}{}", printable(key));
                }
                Step::Index(index) => {
                    let _ = write!(text, "[{index}]");
                }
            }
            if PATH_LENGTH_MAX < text.len() {
                text.truncate(before);
                text.push('…');
                break;
            }
        }
        f.write_str(if text.is_empty() { "payload" } else { &text })
    }
}

fn printable(key: &str) -> &str {
    let fits = (1..=KEY_LENGTH_MAX).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if fits { key } else { "?" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Step {
        Step::Key(text.to_owned())
    }

    #[test]
    fn a_path_reads_as_people_write_it() {
        let steps = [key("input"), key("files"), Step::Index(3), key("sha256")];
        assert_eq!(Path(&steps).to_string(), "input.files[3].sha256");
        assert_eq!(Path(&[]).to_string(), "payload");
    }

    #[test]
    fn a_path_repeats_no_key_that_cannot_be_ours_and_has_an_end() {
        for foreign in ["", "a b", "a\u{1b}[31m", "ä", &"a".repeat(65)] {
            assert_eq!(Path(&[key("input"), key(foreign)]).to_string(), "input.?");
        }
        let deep = vec![key(&"a".repeat(60)); 32];
        assert!(Path(&deep).to_string().len() <= PATH_LENGTH_MAX + '…'.len_utf8());
    }
}

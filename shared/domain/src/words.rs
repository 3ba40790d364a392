//! Native words: what a system of record really said, kept verbatim within bounds.

use std::fmt;

/// Longest native word; the longest known one has 15 characters.
const WORD_CHARACTERS_MAX: usize = 64;
/// Longest free text that is mirrored (names, titles, paths).
const TEXT_CHARACTERS_MAX: usize = 256;

/// One word of a provider's vocabulary (a status, a conclusion). Unknown words are kept as they came,
/// cut at 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(String);

impl Word {
    /// Takes the word, cut at 64 characters.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(cut(text, WORD_CHARACTERS_MAX))
    }

    /// The word as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Free text from outside (a name, a path), cut at 256 characters. Never a key, never trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// Takes the text, cut at 256 characters.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(cut(text, TEXT_CHARACTERS_MAX))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn cut(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_cut_between_characters() {
        assert_eq!(Word::new(&"ä".repeat(65)).as_str(), "ä".repeat(64));
        assert_eq!(Word::new(&"ä".repeat(64)).as_str(), "ä".repeat(64));
        assert_eq!(Word::new("").as_str(), "");
    }
}

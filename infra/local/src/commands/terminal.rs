//! What goes to a terminal: data on stdout, talk on stderr, and nothing in either that a terminal would obey.
//!
//! Names, branches and statuses come from outside. Whoever chooses a branch's name must not be able to move the cursor,
//! retitle the window or turn the reading direction of the one who looks at it.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write as _},
};

use anyhow::Context as _;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, presets};
use serde::Serialize;

/// What a table must fit into: more than the 80 columns of old terminals, less than half a wide screen.
const TABLE_COLUMNS: u16 = 100;

const ESCAPE: char = '\u{1b}';
const CONTROL_SEQUENCE: char = '\u{9b}';

/// Writes data to stdout. A reader who has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("stdout"),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Says something to the person at the terminal.
pub(crate) fn say(text: &str) {
    // Nobody to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The value as indented JSON that ends with a new line.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(visible(&serde_json::to_string_pretty(value)?) + "\n")
}

/// The value as JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(visible(&serde_json::to_string(value)?) + "\n")
}

/// Outside text as one line that a terminal shows and does not obey: without control characters, escape sequences and
/// characters that are invisible or change the reading direction.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let opens_sequence = match character {
            ESCAPE => characters.next_if_eq(&'[').is_some(),
            other => other == CONTROL_SEQUENCE,
        };
        if opens_sequence {
            while characters.next_if(|c| (' '..='?').contains(c)).is_some() {}
            characters.next_if(|c| ('@'..='~').contains(c));
        } else if character.is_whitespace() {
            cleaned.push(' ');
        } else if !is_unsafe(character) {
            cleaned.push(character);
        }
    }
    Cow::Owned(cleaned)
}

/// Outside text as one clean line of at most `characters_max` characters.
pub(crate) fn short(text: &str, characters_max: usize) -> String {
    let text = clean(text);
    match text.char_indices().nth(characters_max) {
        None => text.into_owned(),
        Some(_) => text.chars().take(characters_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Is as wide as its content: an id that is broken in two can't be copied.
    Whole(&'static str),
    /// Is broken into lines where space is short.
    Wrapped(&'static str),
}

/// A table of rows under a header, as wide as its content, and no wider than 100 columns while the columns that stay
/// whole leave room for that.
pub(crate) fn table<R: Into<Row>>(columns: &[Column], rows: impl IntoIterator<Item = R>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(TABLE_COLUMNS);
    table.set_header(columns.iter().map(|column| match column {
        Column::Whole(name) | Column::Wrapped(name) => *name,
    }));
    for row in rows {
        table.add_row(row);
    }
    for (shown, column) in table.column_iter_mut().zip(columns) {
        shown.set_padding((0, 2));
        if matches!(column, Column::Whole(_)) {
            shown.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// JSON whose strings a terminal shows and does not obey: what would be obeyed is written as its escape, so that the
/// value stays what it is. Outside of strings JSON has no such character but the line feed.
fn visible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || !is_unsafe(character) {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String can't fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Whether a terminal would obey a character, or hide it, instead of showing it.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}'                        // soft hyphen
            | '\u{61c}'                     // Arabic letter mark
            | '\u{180e}'                    // Mongolian vowel separator
            | '\u{200b}'..='\u{200f}'       // of no width, and direction marks
            | '\u{2028}'..='\u{202e}'       // separators, embeddings and overrides
            | '\u{2060}'..='\u{206f}'       // invisible operators and isolates
            | '\u{feff}'                    // byte order mark
            | '\u{fff9}'..='\u{fffb}'       // annotations
            | '\u{e0000}'..='\u{e007f}'     // tags
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_that_comes_from_outside() {
        for (outside, shown) in [
            ("main", "main"),
            ("größe ✓ 日本", "größe ✓ 日本"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jgone?", "gone?"),
            ("\u{1b}]0;title\u{7}x", "]0;titlex"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[31", ""),
            ("a\r\nb\tc", "a  b c"),
            ("a\u{2028}b", "a b"),
            ("\u{202e}cod.exe\u{202c}", "cod.exe"),
            ("\u{2066}x\u{2069}\u{200b}\u{feff}", "x"),
            ("\0\u{8}\u{7f}\u{85}", " "),
            ("\u{e0041}tag", "tag"),
        ] {
            assert_eq!(clean(outside), shown, "{outside:?}");
        }
    }

    #[test]
    fn json_keeps_what_it_does_not_show() {
        let hostile = "\u{202e}\u{9b}2J\u{1b}[0m\u{e0041}\n\u{7f}ä";
        let text = json(&[hostile]).unwrap();
        assert!(!text.contains(|c| c != '\n' && is_unsafe(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
        assert_eq!(json(&Vec::<u8>::new()).unwrap(), "[]\n");
    }

    #[test]
    fn a_long_text_is_cut_where_people_see_it() {
        assert_eq!(short("abcdef", 6), "abcdef");
        assert_eq!(short("abcdefg", 6), "abcde…");
        assert_eq!(short("ä\u{1b}[1mbcdefg", 6), "äbcde…");
    }

    #[test]
    fn a_table_fits_its_columns() {
        let rows = [["x".repeat(30), "word ".repeat(60)]];
        let text = table(&[Column::Whole("NAME"), Column::Wrapped("WORDS")], rows);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains(&"x".repeat(30)), "{text}");
        assert_eq!(table(&[Column::Wrapped("NAME")], [["a"]]), "NAME\na\n");
    }
}

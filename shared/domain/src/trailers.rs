//! Git trailers of a commit message, by Git's own rules, and the two that the Factory writes.
//!
//! Everybody else reads trailers with Git, so what counts here is what `git interpret-trailers --parse --no-divider`
//! prints for a stored message with Git's default configuration. That includes its odd corners: lines that begin with
//! `#` count as nothing even in a stored message, and a scissors line ends the message. `---` ends nothing: a stored
//! message has no patch below it.
//!
//! Trailers are an index that anybody can copy. They prove nothing.

use uuid::Uuid;

use crate::ids::Sha256Digest;

/// How much of a message is looked at, from its end.
///
/// Trailers stand last, and no honest block of them is nearly that long. In a longer message, a block that begins before
/// this window is no block, and a scissors line before it is not seen.
pub const WINDOW_BYTES_MAX: usize = 64 * 1024;

/// The key that names the Factory run.
pub const FACTORY_RUN: &str = "Factory-Run";
/// The key that names the change set's digest.
pub const FACTORY_CHANGE_SET: &str = "Factory-Change-Set";

/// What Git itself writes below a message. One of these lets a block stand that holds other lines too.
const GIT_GENERATED: [&str; 2] = ["Signed-off-by: ", "(cherry picked from commit "];
/// The line below which Git shows what will not become part of the message.
const SCISSORS: &str = "# ------------------------ >8 ------------------------\n";
/// A hyphenated GUID has this many characters; other spellings of UUIDs are not what the Factory writes.
const GUID_LENGTH: usize = 36;

/// One trailer: its key as it is spelled, its value unfolded to one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trailer {
    /// The key. Keys compare without case.
    pub key: String,
    /// The value, without white space around it.
    pub value: String,
}

/// The trailers of a message, in their order. A key may come more than once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Trailers(Vec<Trailer>);

impl Trailers {
    /// Reads a message as Git does that is not configured.
    #[must_use]
    pub fn read(message: &str) -> Self {
        Self::read_configured(message, &[])
    }

    /// Reads a message as Git does where these keys are configured: like those that Git writes itself, one of them lets
    /// a block stand that is only a quarter trailers. Git takes a beginning of a configured key for the key; here a key
    /// is only itself, in any case.
    #[must_use]
    pub fn read_configured(message: &str, configured: &[&str]) -> Self {
        let window = window(message);
        let text = window.get(..log_message_end(window)).unwrap_or_default();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let block = block_start(&lines, configured).and_then(|start| lines.get(start..));
        Self(unfolded(block.unwrap_or_default()))
    }

    /// The trailers, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Trailer] {
        &self.0
    }

    /// The values of a key, in their order.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |trailer| trailer.key.eq_ignore_ascii_case(key))
            .map(|trailer| trailer.value.as_str())
    }
}

/// What is wrong with the Factory's trailers of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrailerFault {
    /// A run that is not a GUID.
    MalformedRun,
    /// A change set that is not `sha256:` and 64 lower-case hexadecimal digits.
    MalformedChangeSet,
    /// Two runs.
    TwoRuns,
    /// Two change sets.
    TwoChangeSets,
    /// A change set without a run.
    NoRun,
    /// A run without a change set.
    NoChangeSet,
}

impl TrailerFault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::MalformedRun,
        Self::MalformedChangeSet,
        Self::TwoRuns,
        Self::TwoChangeSets,
        Self::NoRun,
        Self::NoChangeSet,
    ];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MalformedRun => "MalformedRun",
            Self::MalformedChangeSet => "MalformedChangeSet",
            Self::TwoRuns => "TwoRuns",
            Self::TwoChangeSets => "TwoChangeSets",
            Self::NoRun => "NoRun",
            Self::NoChangeSet => "NoChangeSet",
        }
    }

    /// The fault that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == word)
    }
}

/// What a commit's trailers say about the Factory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactoryTrailers {
    /// Nothing.
    Absent,
    /// Something that the Factory does not write.
    Wrong(TrailerFault),
    /// One run and one change set. The same value twice is one value.
    Found {
        /// The Factory run.
        run: Uuid,
        /// The change set's digest.
        change_set: Sha256Digest,
    },
}

impl FactoryTrailers {
    /// Reads the Factory's two keys.
    #[must_use]
    pub fn read(trailers: &Trailers) -> Self {
        let runs = trailers
            .values(FACTORY_RUN)
            .map(|text| Uuid::try_parse(text).ok().filter(|_| text.len() == GUID_LENGTH));
        let change_sets =
            trailers.values(FACTORY_CHANGE_SET).map(|text| Sha256Digest::new(text).ok());
        let run = one(runs, TrailerFault::MalformedRun, TrailerFault::TwoRuns);
        let change_set =
            one(change_sets, TrailerFault::MalformedChangeSet, TrailerFault::TwoChangeSets);
        match (run, change_set) {
            (Err(fault), _) | (_, Err(fault)) => Self::Wrong(fault),
            (Ok(None), Ok(None)) => Self::Absent,
            (Ok(None), Ok(Some(_))) => Self::Wrong(TrailerFault::NoRun),
            (Ok(Some(_)), Ok(None)) => Self::Wrong(TrailerFault::NoChangeSet),
            (Ok(Some(run)), Ok(Some(change_set))) => Self::Found { run, change_set },
        }
    }
}

/// The one value among values, if there are any.
fn one<T: PartialEq>(
    values: impl Iterator<Item = Option<T>>,
    malformed: TrailerFault,
    two: TrailerFault,
) -> Result<Option<T>, TrailerFault> {
    let mut found = None;
    for value in values {
        let value = value.ok_or(malformed)?;
        match &found {
            Some(before) if *before != value => return Err(two),
            Some(_) | None => found = Some(value),
        }
    }
    Ok(found)
}

/// The end of a message, from the start of a line.
fn window(message: &str) -> &str {
    let Some(skipped) = message.len().checked_sub(WINDOW_BYTES_MAX).filter(|bytes| *bytes > 0)
    else {
        return message;
    };
    let start = (skipped..message.len()).find(|at| message.is_char_boundary(*at));
    let rest = start.and_then(|start| message.get(start..)).unwrap_or_default();
    rest.split_once('\n').map_or("", |(_, lines)| lines)
}

/// Where the message proper ends: before a scissors line, and before the comments, empty lines and list of conflicts
/// that trail it.
fn log_message_end(text: &str) -> usize {
    let cutoff = scissors(text).unwrap_or(text.len());
    let mut end = 0;
    let mut trailing_from = None;
    let mut conflicts = false;
    for line in text.get(..cutoff).unwrap_or_default().split_inclusive('\n') {
        let starts_conflicts = line.trim_end_matches('\n') == "Conflicts:";
        if is_comment(line) || line == "\n" || starts_conflicts {
            conflicts |= starts_conflicts;
            trailing_from = trailing_from.or(Some(end));
        } else if !(conflicts && line.starts_with('\t')) {
            trailing_from = None;
            conflicts = false;
        }
        end += line.len();
    }
    trailing_from.unwrap_or(end)
}

/// Where the first scissors line begins.
fn scissors(text: &str) -> Option<usize> {
    if text.starts_with(SCISSORS) {
        return Some(0);
    }
    text.match_indices(SCISSORS)
        .map(|(at, _)| at)
        .find(|at| text.get(..*at).is_some_and(|before| before.ends_with('\n')))
}

/// Where the trailers start: after the last blank line that has something below it, if what is below it are trailers.
///
/// Either all of it, or at least a quarter and one of them a key that Git knows. The title has no blank line above it, so
/// it never is one.
fn block_start(lines: &[&str], configured: &[&str]) -> Option<usize> {
    let mut trailers = 0_usize;
    let mut others = 0_usize;
    let mut known = false;
    // Lines that continue a trailer, if one stands above them.
    let mut continuing = 0_usize;
    let mut below = false;
    for (place, line) in lines.iter().enumerate().rev() {
        if is_comment(line) {
            others += std::mem::take(&mut continuing);
            continue;
        }
        if is_blank(line) {
            if !below {
                continue;
            }
            others += continuing;
            let stands = (known && trailers * 3 >= others) || (trailers > 0 && others == 0);
            return stands.then_some(place + 1);
        }
        below = true;
        let generated = GIT_GENERATED.iter().any(|prefix| line.starts_with(prefix));
        if generated || separator(line).is_some() {
            trailers += 1;
            continuing = 0;
            known |= generated || key(line).is_some_and(|key| is_one_of(key, configured));
        } else if is_folded(line) {
            continuing += 1;
        } else {
            others += 1 + std::mem::take(&mut continuing);
        }
    }
    None
}

/// The trailers of a block's lines; what is no trailer is left out.
fn unfolded(block: &[&str]) -> Vec<Trailer> {
    let mut raw: Vec<String> = Vec::new();
    let mut continues = false;
    for line in block {
        match raw.last_mut() {
            Some(last) if continues && is_folded(line) => last.push_str(line),
            Some(_) | None => {
                continues = separator(line).is_some();
                if continues {
                    raw.push((*line).to_owned());
                }
            }
        }
    }
    raw.iter().filter_map(|raw| trailer(raw)).collect()
}

/// A trailer of its line and the lines that continue it.
fn trailer(raw: &str) -> Option<Trailer> {
    let value = raw.get(separator(raw)? + 1..)?.trim_matches(is_space);
    let mut lines = value.split('\n');
    let mut value = lines.next().unwrap_or_default().to_owned();
    for line in lines.map(|line| line.trim_start_matches(is_space)) {
        // An empty line between two others leaves one space, as Git does.
        if !line.is_empty() {
            value.push(' ');
            value.push_str(line);
        }
    }
    Some(Trailer { key: key(raw)?.to_owned(), value })
}

/// A line's key.
fn key(line: &str) -> Option<&str> {
    Some(line.get(..separator(line)?)?.trim_matches(is_space))
}

/// Where the `:` stands that ends a key of letters, digits and hyphens, perhaps with white space after it.
fn separator(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let key = line.get(..colon)?.trim_end_matches([' ', '\t']);
    let fits = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    fits.then_some(colon)
}

fn is_one_of(key: &str, configured: &[&str]) -> bool {
    configured.iter().any(|other| other.eq_ignore_ascii_case(key))
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

fn is_blank(line: &str) -> bool {
    line.chars().all(is_space)
}

fn is_folded(line: &str) -> bool {
    line.starts_with(is_space)
}

/// What Git takes for white space.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trailers of a message as `key=value`, joined by `, `.
    fn check(message: &str, expected: &str) {
        let trailers = Trailers::read(message);
        let told: Vec<_> = trailers.0.iter().map(|t| format!("{}={}", t.key, t.value)).collect();
        assert_eq!(told.join(", "), expected, "{message:?}");
    }

    #[test]
    fn the_last_paragraph_is_the_trailers_if_all_of_it_is() {
        check("title\n\nbody\n\nA: 1\nB: 2\n", "A=1, B=2");
        check("title\n\nA: 1\n\nbody\n", "");
        check("title\n\nA: 1\nprose\n", "");
        check("title\n\nA: 1\n\n\n  \n", "A=1");
        check("", "");
    }

    #[test]
    fn the_title_is_never_a_trailer() {
        check("fix: x", "");
        check("fix: x\nA: 1\n", "");
        check("fix: x\n\nA: 1", "A=1");
        check("\nA: 1", "A=1");
    }

    #[test]
    fn a_quarter_is_enough_beside_a_line_that_git_writes() {
        check("t\n\nSigned-off-by: x\n1\n2\n3\n", "Signed-off-by=x");
        check("t\n\nSigned-off-by: x\n1\n2\n3\n4\n", "");
        check("t\n\nReviewed-by: x\n1\n", "");
        check("t\n\n(cherry picked from commit c0ffee)\nA: 1\nprose\n", "A=1");
        let configured = |keys: &[&str]| Trailers::read_configured("t\n\nA: 1\nprose\n", keys);
        assert_eq!(configured(&["a"]).values("A").collect::<Vec<_>>(), ["1"]);
        assert_eq!(configured(&["AB"]), Trailers::default());
    }

    #[test]
    fn a_value_may_be_folded_and_a_key_repeated() {
        check("t\n\nA: 1\n 2\n\t3\nA: 4\n", "A=1 2 3, A=4");
        check("t\n\nA:\n 1\n", "A=1");
        check("t\n\n folded\nA: 1\n", "");
    }

    #[test]
    fn a_key_is_letters_digits_and_hyphens_before_a_colon() {
        check("t\n\nA-1 \t: x\nB:y\nC:\n", "A-1=x, B=y, C=");
        for line in ["a b: 1", ": 1", " a: 1", "a_b: 1", "ä: 1", "a", "a/b: 1", "a=1"] {
            check(&format!("t\n\n{line}\n"), "");
        }
    }

    #[test]
    fn a_divider_divides_nothing_and_comments_count_as_nothing() {
        check("t\n\nA: 1\n---\n", "");
        check("t\n---\nmore\n\nA: 1\n", "A=1");
        check("t\n\nA: 1\n# prose\nB: 2\n\n# prose\n", "A=1, B=2");
        check(&format!("t\n\nA: 1\n{SCISSORS}\nB: 2\n"), "A=1");
        check("t\n\nA: 1\nConflicts:\n\tsrc/lib.rs\n", "A=1");
    }

    #[test]
    fn only_the_end_of_a_long_message_is_looked_at() {
        let body = "prose ä\n".repeat(WINDOW_BYTES_MAX / 4);
        check(&format!("t\n\n{body}\nA: 1\n"), "A=1");
        check(&format!("t\n\n{body}A: 1\n"), "");
        let block = "A: 1\n".repeat(WINDOW_BYTES_MAX / 4);
        check(&format!("t\n\n{block}"), "");
        check(&"ä".repeat(WINDOW_BYTES_MAX), "");
    }

    const GUID: &str = "0190f6c1-7b1a-7c3e-9a54-1f2e3d4c5b6a";

    fn factory(lines: &[(&str, &str)]) -> FactoryTrailers {
        let lines: String = lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        FactoryTrailers::read(&Trailers::read(&format!("title\n\n{lines}")))
    }

    #[test]
    fn the_factory_writes_one_run_and_one_change_set() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let found = FactoryTrailers::Found {
            run: Uuid::try_parse(GUID).unwrap(),
            change_set: Sha256Digest::new(&digest).unwrap(),
        };
        let upper = GUID.to_uppercase();
        assert_eq!(factory(&[("Factory-Run", GUID), ("Factory-Change-Set", &digest)]), found);
        assert_eq!(factory(&[("factory-CHANGE-set", &digest), ("FACTORY-RUN", &upper)]), found);
        let twice =
            [("Factory-Run", GUID), ("Factory-Run", &*upper), ("Factory-Change-Set", &digest)];
        assert_eq!(factory(&twice), found, "one value, said twice");
        assert_eq!(factory(&[("Factory", GUID), ("Reviewed-by", "x")]), FactoryTrailers::Absent);
        assert_eq!(factory(&[]), FactoryTrailers::Absent);
    }

    #[test]
    fn what_the_factory_does_not_write_is_wrong() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let other = format!("sha256:{}", "0b".repeat(32));
        let (run, set) = (("Factory-Run", GUID), ("Factory-Change-Set", &*digest));
        let wrong = |lines: &[(&str, &str)]| match factory(lines) {
            FactoryTrailers::Wrong(fault) => Some(fault),
            FactoryTrailers::Absent | FactoryTrailers::Found { .. } => None,
        };
        assert_eq!(wrong(&[run]), Some(TrailerFault::NoChangeSet));
        assert_eq!(wrong(&[set]), Some(TrailerFault::NoRun));
        let second = ("Factory-Run", "00000000-7b1a-7c3e-9a54-1f2e3d4c5b6a");
        assert_eq!(wrong(&[run, set, second]), Some(TrailerFault::TwoRuns));
        let second = ("Factory-Change-Set", &*other);
        assert_eq!(wrong(&[run, set, second]), Some(TrailerFault::TwoChangeSets));
        let braced = format!("{{{GUID}}}");
        for bad in ["", "1", &braced, &GUID.replace('-', ""), &format!("{GUID} x")] {
            assert_eq!(wrong(&[("Factory-Run", bad), set]), Some(TrailerFault::MalformedRun));
        }
        for bad in ["", &digest[7..], &digest.to_uppercase(), &digest[..70], "sha1:0a"] {
            let lines = [run, ("Factory-Change-Set", bad)];
            assert_eq!(wrong(&lines), Some(TrailerFault::MalformedChangeSet));
        }
    }

    #[test]
    fn a_fault_reads_back_from_its_word() {
        for fault in TrailerFault::ALL {
            assert_eq!(TrailerFault::from_word(fault.as_str()), Some(fault));
        }
    }
}

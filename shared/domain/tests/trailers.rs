//! Trailers against Git itself, and what must hold for every message.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "clippy's allow-in-tests does not reach the helpers of an integration test"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use domain::trailers::{FactoryTrailers, Trailers};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Messages that are given to Git; one process each, so that a run stays within a few seconds.
const MESSAGES: u64 = 400;
/// The first seed; any other gives other messages.
const FIRST_SEED: u64 = 0;
/// Lines to build messages from, each of which means something to Git somewhere.
const LINES: [&str; 38] = [
    "",
    "",
    "",
    "",
    " ",
    "\t",
    "\r",
    "title",
    "fix: a title like a trailer",
    "prose with: a colon",
    "prose",
    "https://example.com/a:b",
    "A: 1",
    "A : 1",
    "a:2",
    "A\t:\t3 ",
    "B:",
    "B: x\r",
    "B: : y",
    ": no key",
    "a_b: no key",
    "ä: no key",
    "C-1: z",
    "-: hyphen",
    " folded",
    "\tfolded: twice",
    "  ",
    "# comment",
    "#comment: x",
    "---",
    "--- a/file",
    "Signed-off-by: A <a@example.com>",
    "signed-off-by: B <b@example.com>",
    "Signed-off-by:",
    "(cherry picked from commit c0ffee)",
    "# ------------------------ >8 ------------------------",
    "Conflicts:",
    "Factory-Run: 0190f6c1-7b1a-7c3e-9a54-1f2e3d4c5b6a",
];

/// A small generator whose every number follows from its seed (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound).unwrap()
    }
}

/// A message: mostly a title, some prose and a block of likely trailers; sometimes lines in any order.
fn message(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut lines = Vec::new();
    if numbers.below(4) > 0 {
        lines.extend(["title", ""]);
    }
    let count = numbers.below(9);
    let from = if numbers.below(2) == 0 { 0 } else { 12 };
    let many = u64::try_from(LINES.len() - from).unwrap();
    lines.extend((0..count).map(|_| LINES[from + numbers.below(many)]));
    let end = if numbers.below(4) == 0 { "" } else { "\n" };
    lines.join("\n") + end
}

fn git() -> Command {
    let mut git = Command::new("git");
    // No configuration but what a test gives: not the machine's, not the user's, not a repository's.
    git.current_dir(std::env::temp_dir())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_DIR", "/dev/null")
        .env_remove("GIT_CONFIG_COUNT")
        .env_remove("GIT_CONFIG_PARAMETERS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    git
}

fn told_by_git(configured: Option<&str>, message: &str) -> String {
    let mut git = git();
    if let Some(key) = configured {
        git.args(["-c", &format!("trailer.one.key={key}")]);
    }
    let mut git = git.args(["interpret-trailers", "--parse", "--no-divider"]).spawn().unwrap();
    git.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn told(trailers: &Trailers) -> String {
    trailers.as_slice().iter().map(|t| format!("{}: {}\n", t.key, t.value)).collect()
}

#[test]
fn git_tells_the_same_trailers() {
    if git().arg("--version").status().is_err() {
        writeln!(std::io::stderr(), "SKIPPED: no git on the PATH to compare trailers with")
            .unwrap();
        return;
    }
    let mut blocks = 0;
    for seed in FIRST_SEED..FIRST_SEED + MESSAGES {
        let message = message(seed);
        let ours = told(&Trailers::read(&message));
        assert_eq!(ours, told_by_git(None, &message), "seed {seed}: {message:?}");
        blocks += u32::from(!ours.is_empty());
        // Git rewrites a key that is a beginning of a configured one, and takes `-` for a beginning of all.
        if seed % 4 == 0 && !message.contains("-:") {
            let ours = told(&Trailers::read_configured(&message, &["C-1"]));
            let theirs = told_by_git(Some("C-1"), &message);
            assert_eq!(ours, theirs, "seed {seed}, with C-1 configured: {message:?}");
        }
    }
    assert!(blocks > 80, "only {blocks} messages had trailers: the comparison says little");
}

fn any_message() -> impl Strategy<Value = String> {
    let line = prop_oneof![6 => select(LINES.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,12}"];
    vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    /// Nothing that anybody writes into a message stops us.
    #[test]
    fn no_message_panics(message in ".{0,200}|[\\s:#a-]{0,60}") {
        let _ = FactoryTrailers::read(&Trailers::read(&message));
    }

    /// What is read are lines of the message: no key is made up, and no value spans lines.
    #[test]
    fn keys_and_values_are_well_formed(message in any_message()) {
        for trailer in Trailers::read(&message).as_slice() {
            prop_assert!(message.contains(&trailer.key));
            prop_assert!(!trailer.key.is_empty());
            prop_assert!(trailer.key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
            prop_assert!(!trailer.value.contains('\n'));
        }
    }

    /// A value folded at any of its spaces is the same value; a key in any case is the same key.
    #[test]
    fn folding_and_case_change_nothing(
        words in vec("[a-z0-9<>@.]{1,8}", 1..6),
        folds in vec(any::<bool>(), 6),
        upper in vec(any::<bool>(), 11),
        prose in "[a-z ]{0,20}",
    ) {
        let mut folded = String::new();
        for (word, fold) in words.iter().zip(folds) {
            folded.push_str(if fold { "\n \t" } else { " " });
            folded.push_str(word);
        }
        let key: String = "Factory-Run".chars().zip(upper)
            .map(|(c, upper)| if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect();
        let trailers = Trailers::read(&format!("title\n\n{prose}\n\n{key}:{folded}\nB: x\n"));
        let values: Vec<_> = trailers.values("Factory-Run").collect();
        prop_assert_eq!(values, [words.join(" ")]);
    }

    /// What stands before the block changes nothing, however much there is.
    #[test]
    fn what_stands_before_the_block_does_not_matter(
        body in vec(select(LINES.to_vec()), 0..12),
        times in 0..3000_usize,
    ) {
        prop_assume!(!body.iter().any(|line| line.contains(">8")), "nothing stands below scissors");
        let body = format!("{}\n", body.join("\n")).repeat(times);
        let message = format!("title\n\n{body}\nA: 1\nB: 2\n");
        prop_assert_eq!(told(&Trailers::read(&message)), "A: 1\nB: 2\n");
    }
}

//! Blobs, trees and commits in Git's own format, which is what their names are the SHA-1 of.

use std::{collections::BTreeMap, fmt, str::FromStr};

use sha1::{Digest, Sha1};
use thiserror::Error;

/// A file's mode in a tree. Executables and links are not simulated.
const FILE_MODE: &str = "100644";

/// A directory's mode in a tree.
const DIRECTORY_MODE: &str = "40000";

/// The name of a Git object: shown and parsed as 40 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha([u8; 20]);

/// A text that is no full Git object name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not 40 lower-case hex digits")]
pub struct BadSha;

/// Paths that cannot be in one tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no tree can hold the path {0:?}")]
pub struct BadPath(pub String);

/// Every file of a tree: its path from the root, with `/` between names, and its blob.
pub type Files = BTreeMap<String, Sha>;

/// Who wrote or committed something, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name as given, without `<`, `>` and line breaks.
    pub name: String,
    /// The address as given, without `<`, `>` and line breaks.
    pub email: String,
    /// Seconds since 1970.
    pub at_seconds: i64,
    /// The offset of the clock on the wall, in minutes east of Greenwich.
    pub offset_minutes: i32,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The tree that it leaves behind.
    pub tree: Sha,
    /// None for a first commit, several for a merge.
    pub parents: Vec<Sha>,
    /// Who wrote it.
    pub author: Signature,
    /// Who put it where it is.
    pub committer: Signature,
    /// The message, byte for byte: nothing is trimmed or added.
    pub message: String,
}

impl Sha {
    /// What pushes say for "no commit": a branch that was created or deleted.
    pub const ZERO: Self = Self([0; 20]);

    fn of(kind: &str, content: &[u8]) -> Self {
        let mut hasher = Sha1::new();
        hasher.update(format!("{kind} {}\0", content.len()));
        hasher.update(content);
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Sha {
    type Err = BadSha;

    fn from_str(text: &str) -> Result<Self, BadSha> {
        let digits = text.as_bytes();
        let is_hex = digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'));
        if digits.len() != 40 || !is_hex {
            return Err(BadSha);
        }
        let mut sha = [0; 20];
        for (byte, pair) in sha.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = str::from_utf8(pair).map_err(|_| BadSha)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| BadSha)?;
        }
        Ok(Self(sha))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.unsigned_abs();
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let Self { name, email, at_seconds, .. } = self;
        write!(formatter, "{name} <{email}> {at_seconds} {sign}{hours:02}{minutes:02}")
    }
}

impl Commit {
    /// Its name.
    #[must_use]
    pub fn sha(&self) -> Sha {
        let mut text = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            text.push_str(&format!("parent {parent}\n"));
        }
        let Self { author, committer, message, .. } = self;
        text.push_str(&format!("author {author}\ncommitter {committer}\n\n{message}"));
        Sha::of("commit", text.as_bytes())
    }

    /// The first line of the message.
    #[must_use]
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// What follows the first line and the empty line after it.
    #[must_use]
    pub fn body(&self) -> &str {
        self.message.split_once('\n').map_or("", |(_, rest)| rest.trim_matches('\n'))
    }
}

/// The name of a file's content.
#[must_use]
pub fn blob_sha(content: &[u8]) -> Sha {
    Sha::of("blob", content)
}

/// The name of the tree that holds these files, its directories nested as Git nests them.
///
/// # Errors
/// [`BadPath`] for an empty, dotted or `.git` name in a path, and for a file that would be a directory as well.
pub fn tree_sha(files: &Files) -> Result<Sha, BadPath> {
    let files: Vec<_> = files.iter().map(|(path, blob)| (path.as_str(), *blob)).collect();
    directory_sha(&files)
}

/// `files` are sorted by path, so the files of one directory are neighbours or nearly so: a map collects them.
fn directory_sha(files: &[(&str, Sha)]) -> Result<Sha, BadPath> {
    let mut entries: BTreeMap<String, (&str, &str, Sha)> = BTreeMap::new();
    let mut directories: BTreeMap<&str, Vec<(&str, Sha)>> = BTreeMap::new();
    for (path, blob) in files {
        match path.split_once('/') {
            Some((name, rest)) => directories.entry(name).or_default().push((rest, *blob)),
            None => {
                entries.insert((*path).to_owned(), (path, FILE_MODE, *blob));
            }
        }
    }
    for (name, inside) in &directories {
        if entries.contains_key(*name) {
            return Err(BadPath((*name).to_owned()));
        }
        // Git sorts a directory as if its name ended with a slash.
        let sha = directory_sha(inside)?;
        entries.insert(format!("{name}/"), (name, DIRECTORY_MODE, sha));
    }
    let mut content = Vec::new();
    for (name, mode, sha) in entries.values() {
        if matches!(*name, "" | "." | ".." | ".git") || name.contains('\0') {
            return Err(BadPath((*name).to_owned()));
        }
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        content.extend_from_slice(&sha.0);
    }
    Ok(Sha::of("tree", &content))
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write as _,
        path::Path,
        process::{Command, Stdio},
    };

    use super::*;

    fn signature(name: &str, at_seconds: i64, offset_minutes: i32) -> Signature {
        let (name, email) = (name.to_owned(), format!("{name}@example.com"));
        Signature { name, email, at_seconds, offset_minutes }
    }

    fn sample() -> (Files, Commit) {
        let files: Files = [
            ("README.md", "hello\n"),
            ("lib", "a file that sorts before lib.rs\n"),
            ("src/lib.rs", ""),
            ("src/deep/er/a.txt", "a\n"),
            ("src.rs", "sorts before the directory src/\n"),
        ]
        .map(|(path, content)| (path.to_owned(), blob_sha(content.as_bytes())))
        .into();
        let commit = Commit {
            tree: tree_sha(&files).unwrap(),
            parents: Vec::new(),
            author: signature("Ada", 1_700_000_000, 330),
            committer: signature("Grace", 1_700_000_060, -210),
            message: "Add it\n\nWhy: because ü.\n\nFactory-Proposal: p-1\n".to_owned(),
        };
        (files, commit)
    }

    #[test]
    fn objects_bear_the_names_that_git_gives_them() {
        // `git hash-object`, `git write-tree` and `git commit-tree` gave these.
        assert_eq!(blob_sha(b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_sha(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        let empty = tree_sha(&Files::new()).unwrap();
        assert_eq!(empty.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let (_, commit) = sample();
        assert_eq!(commit.tree.to_string(), "6c92e0345a0bca11ecdc082a0f4c10ef27ba127a");
        assert_eq!(commit.sha().to_string(), "af5953c37b7ed9cd128cf1567cafb08bf67d9eef");
        let merge = Commit { parents: vec![commit.sha(), commit.sha()], ..commit };
        assert_eq!(merge.sha().to_string(), "9ddf3464d9557625374a938184102ebee6b71cb2");
    }

    fn git(folder: &Path, arguments: &[&str], input: &str) -> String {
        let mut git = Command::new("git")
            .current_dir(folder)
            .args(arguments)
            .envs([
                ("GIT_AUTHOR_NAME", "Ada"),
                ("GIT_AUTHOR_EMAIL", "Ada@example.com"),
                ("GIT_AUTHOR_DATE", "1700000000 +0530"),
                ("GIT_COMMITTER_NAME", "Grace"),
                ("GIT_COMMITTER_EMAIL", "Grace@example.com"),
                ("GIT_COMMITTER_DATE", "1700000060 -0330"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn the_installed_git_agrees() {
        if Command::new("git").arg("--version").output().is_err() {
            // The literals above hold the format where Git is missing.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        git(folder, &["init", "-q"], "");
        for (path, content) in [
            ("README.md", "hello\n"),
            ("lib", "a file that sorts before lib.rs\n"),
            ("src/lib.rs", ""),
            ("src/deep/er/a.txt", "a\n"),
            ("src.rs", "sorts before the directory src/\n"),
        ] {
            let blob = git(folder, &["hash-object", "-w", "--stdin"], content);
            assert_eq!(blob, blob_sha(content.as_bytes()).to_string());
            let entry = format!("100644,{blob},{path}");
            git(folder, &["update-index", "--add", "--cacheinfo", &entry], "");
        }
        let (_, commit) = sample();
        let tree = git(folder, &["write-tree"], "");
        assert_eq!(tree, commit.tree.to_string());
        let first = git(folder, &["commit-tree", &tree], &commit.message);
        assert_eq!(first, commit.sha().to_string());
        let message = commit.message.clone();
        let second = Commit { parents: vec![commit.sha()], ..commit };
        let told = git(folder, &["commit-tree", &tree, "-p", &first], &message);
        assert_eq!(told, second.sha().to_string());
    }

    #[test]
    fn paths_that_no_tree_holds_are_refused() {
        for paths in [&["a", "a/b"][..], &[""], &["a//b"], &["a/"], &["../a"], &[".git/config"]] {
            let files: Files = paths.iter().map(|p| ((*p).to_owned(), Sha::ZERO)).collect();
            assert!(tree_sha(&files).is_err(), "{paths:?}");
        }
    }

    #[test]
    fn a_name_is_forty_lower_case_hex_digits() {
        let sha = blob_sha(b"x");
        assert_eq!(sha.to_string().parse(), Ok(sha));
        for text in
            ["", "abc", &sha.to_string().to_uppercase(), &format!("{sha}0"), &"é".repeat(20)]
        {
            assert_eq!(text.parse::<Sha>(), Err(BadSha), "{text}");
        }
    }

    #[test]
    fn a_message_is_a_title_and_a_body() {
        let (_, commit) = sample();
        assert_eq!(commit.title(), "Add it");
        assert_eq!(commit.body(), "Why: because ü.\n\nFactory-Proposal: p-1");
    }
}

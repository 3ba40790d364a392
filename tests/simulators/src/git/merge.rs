//! Differences between trees, and merges of whole files.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::git::{
    objects::{Files, Sha},
    store::Objects,
};

/// Both sides changed the same file, each in its own way.
///
/// Files are merged as wholes: what Git could merge line by line is a conflict here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("both sides changed {0:?}")]
pub struct MergeConflict(pub String);

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added(Sha),
    /// It has another content.
    Modified {
        /// The old content.
        from: Sha,
        /// The new content.
        to: Sha,
    },
    /// It is gone.
    Removed(Sha),
}

/// What became of every file that changed, by path.
pub type Difference = BTreeMap<String, Change>;

/// What leads from one tree to another.
pub(crate) fn difference(from: &Files, to: &Files) -> Difference {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let changes = paths.into_iter().filter_map(|path| {
        let change = match (from.get(path), to.get(path)) {
            (Some(from), Some(to)) if from == to => return None,
            (Some(from), Some(to)) => Change::Modified { from: *from, to: *to },
            (Some(from), None) => Change::Removed(*from),
            (None, Some(to)) => Change::Added(*to),
            (None, None) => return None,
        };
        Some((path.clone(), change))
    });
    changes.collect()
}

/// Puts what leads from `base` to `theirs` on top of `ours`.
pub(crate) fn merge(base: &Files, ours: &Files, theirs: &Files) -> Result<Files, MergeConflict> {
    let mut merged = ours.clone();
    for path in difference(base, theirs).into_keys() {
        let (before, mine, other) = (base.get(&path), ours.get(&path), theirs.get(&path));
        if mine != before && mine != other {
            return Err(MergeConflict(path));
        }
        match other {
            Some(blob) => merged.insert(path, *blob),
            None => merged.remove(&path),
        };
    }
    Ok(merged)
}

impl Objects {
    /// What leads from one commit's tree to another's; an unknown commit counts as an empty tree.
    #[must_use]
    pub fn difference(&self, from: Option<Sha>, to: Sha) -> Difference {
        let empty = Files::new();
        let from = from.and_then(|commit| self.files(commit)).unwrap_or(&empty);
        difference(from, self.files(to).unwrap_or(&empty))
    }

    /// How many lines a change adds and removes, without regard to their order.
    #[must_use]
    pub fn lines(&self, change: Change) -> (usize, usize) {
        let (from, to) = match change {
            Change::Added(to) => (None, Some(to)),
            Change::Modified { from, to } => (Some(from), Some(to)),
            Change::Removed(from) => (Some(from), None),
        };
        let (from, to) = (self.lines_of(from), self.lines_of(to));
        let surplus = |many: &BTreeMap<&[u8], usize>, few: &BTreeMap<&[u8], usize>| -> usize {
            let left =
                |(line, n): (&&[u8], &usize)| n.saturating_sub(*few.get(*line).unwrap_or(&0));
            many.iter().map(left).sum()
        };
        (surplus(&to, &from), surplus(&from, &to))
    }

    fn lines_of(&self, blob: Option<Sha>) -> BTreeMap<&[u8], usize> {
        let content = blob.and_then(|blob| self.blob(blob)).unwrap_or_default();
        let mut lines = BTreeMap::new();
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            *lines.entry(line).or_default() += 1;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::blob_sha;

    fn files(text: &str) -> Files {
        let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(path, content)| (path.to_owned(), blob_sha(content.as_bytes()))).collect()
    }

    fn check(base: &str, ours: &str, theirs: &str, expected: Result<&str, &str>) {
        let merged = merge(&files(base), &files(ours), &files(theirs));
        let expected = expected.map(files).map_err(|path| MergeConflict(path.to_owned()));
        assert_eq!(merged, expected, "{base} / {ours} / {theirs}");
    }

    #[test]
    fn what_one_side_changed_is_taken_from_it() {
        check("a=1 b=1", "a=2 b=1", "a=1 b=3", Ok("a=2 b=3"));
        check("a=1 b=1", "a=1 b=1 c=1", "a=1", Ok("a=1 c=1"));
        check("a=1", "a=2", "a=2", Ok("a=2"));
        check("a=1 b=1", "a=1", "a=1", Ok("a=1"));
    }

    #[test]
    fn what_both_sides_changed_differently_is_a_conflict() {
        check("a=1", "a=2", "a=3", Err("a"));
        check("a=1", "a=2", "", Err("a"));
        check("", "a=2", "a=3", Err("a"));
    }

    #[test]
    fn lines_are_counted_on_both_sides() {
        let mut objects = Objects::default();
        let from = objects.add_blob(b"a\nb\nb\n");
        let to = objects.add_blob(b"b\nc\nd\n");
        assert_eq!(objects.lines(Change::Modified { from, to }), (2, 2));
        assert_eq!(objects.lines(Change::Added(to)), (3, 0));
        assert_eq!(objects.lines(Change::Removed(from)), (0, 3));
    }
}

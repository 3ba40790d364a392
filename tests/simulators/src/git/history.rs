//! What follows from who is whose parent.

use std::collections::BTreeSet;

use crate::git::{objects::Sha, store::Objects};

impl Objects {
    /// The commit itself and everything before it.
    #[must_use]
    pub fn ancestry(&self, commit: Sha) -> BTreeSet<Sha> {
        let mut seen = BTreeSet::new();
        let mut open = vec![commit];
        while let Some(commit) = open.pop() {
            if seen.insert(commit) {
                open.extend(self.parents(commit));
            }
        }
        seen
    }

    /// Whether `descendant` is `ancestor` or has it in its past.
    #[must_use]
    pub fn descends(&self, descendant: Sha, ancestor: Sha) -> bool {
        self.ancestry(descendant).contains(&ancestor)
    }

    /// What `head` has in its past and `base` has not, parents before children: `git log --reverse base..head`.
    #[must_use]
    pub fn range(&self, base: Sha, head: Sha) -> Vec<Sha> {
        let mut seen = self.ancestry(base);
        let mut range = Vec::new();
        // A commit is visited twice: on the way down, and once its parents are in the range.
        let mut open = vec![(head, Visit::Down)];
        while let Some((commit, visit)) = open.pop() {
            match visit {
                Visit::Up => range.push(commit),
                Visit::Down if seen.insert(commit) => {
                    open.push((commit, Visit::Up));
                    let parents = self.parents(commit).iter().rev();
                    open.extend(parents.map(|parent| (*parent, Visit::Down)));
                }
                Visit::Down => {}
            }
        }
        range
    }

    /// The best common ancestor. Of several equally good ones the youngest, and none when the histories are unrelated.
    #[must_use]
    pub fn merge_base(&self, one: Sha, other: Sha) -> Option<Sha> {
        let others = self.ancestry(other);
        let common: BTreeSet<Sha> = self.ancestry(one).intersection(&others).copied().collect();
        // All that is before a common ancestor is common as well, so the best ones are nobody's parents here.
        let surpassed: BTreeSet<Sha> =
            common.iter().flat_map(|commit| self.parents(*commit)).copied().collect();
        let best = common.difference(&surpassed);
        best.copied().max_by_key(|commit| self.commit(*commit).map(|c| c.committer.at_seconds))
    }
}

#[derive(Debug, Clone, Copy)]
enum Visit {
    Down,
    Up,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Commit, Signature};

    fn commit(objects: &mut Objects, name: &str, parents: &[Sha]) -> Sha {
        let who = Signature {
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            at_seconds: 0,
            offset_minutes: 0,
        };
        objects.add_commit(Commit {
            tree: Sha::ZERO,
            parents: parents.to_vec(),
            author: who.clone(),
            committer: who,
            message: name.to_owned(),
        })
    }

    #[test]
    fn a_range_has_parents_first_and_leaves_out_what_the_base_knows() {
        let mut objects = Objects::default();
        let root = commit(&mut objects, "root", &[]);
        let main = commit(&mut objects, "main", &[root]);
        let one = commit(&mut objects, "one", &[root]);
        let two = commit(&mut objects, "two", &[one]);
        let merge = commit(&mut objects, "merge", &[two, main]);
        let last = commit(&mut objects, "last", &[merge]);
        assert_eq!(objects.range(main, last), [one, two, merge, last]);
        assert_eq!(objects.range(last, main), []);
        assert_eq!(objects.range(root, merge), [one, two, main, merge]);
        assert!(objects.descends(last, root) && !objects.descends(main, one));
    }

    #[test]
    fn the_merge_base_is_the_last_that_both_know() {
        let mut objects = Objects::default();
        let root = commit(&mut objects, "root", &[]);
        let fork = commit(&mut objects, "fork", &[root]);
        let main = commit(&mut objects, "main", &[fork]);
        let topic = commit(&mut objects, "topic", &[fork]);
        let merged = commit(&mut objects, "merged", &[topic, main]);
        let stranger = commit(&mut objects, "stranger", &[]);
        assert_eq!(objects.merge_base(main, topic), Some(fork));
        assert_eq!(objects.merge_base(main, merged), Some(main));
        assert_eq!(objects.merge_base(main, main), Some(main));
        assert_eq!(objects.merge_base(main, stranger), None);
    }

    #[test]
    fn a_long_history_does_not_exhaust_the_stack() {
        let mut objects = Objects::default();
        let root = commit(&mut objects, "root", &[]);
        let mut tip = root;
        for number in 0..20_000 {
            tip = commit(&mut objects, &number.to_string(), &[tip]);
        }
        assert_eq!(objects.range(root, tip).len(), 20_000);
    }
}

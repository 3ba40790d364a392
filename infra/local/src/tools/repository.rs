//! Naming a repository at a command line.

use std::collections::BTreeSet;

use domain::ids::RepositoryKey;

/// A repository as somebody names it: by `owner/name`, by id, or by `host/id`.
///
/// Names are labels that change. So a name is looked up first, among all labels that are known, and what is
/// filtered by is the id behind it: a renamed repository is found by both names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFilter {
    text: String,
    named: BTreeSet<RepositoryKey>,
}

impl RepositoryFilter {
    /// A filter for what `text` names, when repositories have these names.
    #[must_use]
    pub fn new<'a>(
        text: &str,
        labels: impl IntoIterator<Item = (&'a RepositoryKey, &'a str)>,
    ) -> Self {
        // GitHub compares names without case.
        let is_named = |(_, label): &(&RepositoryKey, &str)| label.eq_ignore_ascii_case(text);
        let named = labels.into_iter().filter(is_named).map(|(key, _)| key.clone()).collect();
        Self { text: text.to_owned(), named }
    }

    /// Whether a repository is meant.
    #[must_use]
    pub fn admits(&self, key: &RepositoryKey) -> bool {
        self.text == key.id.as_str()
            || self.text.eq_ignore_ascii_case(&key.to_string())
            || self.named.contains(key)
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::{Host, RepositoryId};

    use super::*;

    fn key(host: &str, id: u64) -> RepositoryKey {
        let id = RepositoryId::from_number(id).unwrap();
        RepositoryKey { host: Host::new(host).unwrap(), id }
    }

    fn admitted(text: &str) -> Vec<String> {
        let keys = [key("github.com", 11), key("github.com", 12), key("ghe.example.com", 11)];
        let [first, second, third] = &keys;
        let labels =
            [(first, "a/b"), (first, "a/old"), (second, "a/c"), (third, "a/b"), (second, "a/11")];
        let filter = RepositoryFilter::new(text, labels);
        keys.iter().filter(|key| filter.admits(key)).map(ToString::to_string).collect()
    }

    #[test]
    fn a_repository_is_found_by_name_by_id_and_by_host_and_id() {
        assert_eq!(admitted("a/b"), ["github.com/11", "ghe.example.com/11"]);
        assert_eq!(admitted("A/B"), ["github.com/11", "ghe.example.com/11"]);
        assert_eq!(admitted("a/old"), ["github.com/11"]);
        assert_eq!(admitted("11"), ["github.com/11", "ghe.example.com/11"]);
        assert_eq!(admitted("12"), ["github.com/12"]);
        assert_eq!(admitted("ghe.example.com/11"), ["ghe.example.com/11"]);
        assert_eq!(admitted("GitHub.com/11"), ["github.com/11"]);
    }

    #[test]
    fn a_name_that_looks_like_a_host_and_an_id_is_still_a_name() {
        assert_eq!(admitted("a/11"), ["github.com/12"]);
    }

    #[test]
    fn part_of_a_name_names_nothing() {
        for text in ["", "a", "a/", "/b", "b", "1", "github.com", "github.com/1"] {
            assert_eq!(admitted(text), [""; 0], "{text}");
        }
    }
}

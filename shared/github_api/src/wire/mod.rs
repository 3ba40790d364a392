//! GitHub's answers as they are written: lenient where nothing depends on it, and naming what is missing where it does.

pub(crate) mod branch;
pub(crate) mod commit;
pub(crate) mod pull_request;
pub(crate) mod repository;
pub(crate) mod review;
pub(crate) mod run;

use domain::ids::{AccountId, CommitId, RepositoryId};
use github::json::Strict;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{ReadError, mismatch, unreadable};

/// Longest path of a field that an error repeats.
const PATH_CHARACTERS_MAX: usize = 100;

/// Something of which only its id matters: a repository, an account.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) id: Option<u64>,
}

/// Reads a body that is one object.
pub(crate) fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, ReadError> {
    parse::<Strict<T>>(body).map(|Strict(value)| value)
}

/// Reads a body that is a list of objects.
pub(crate) fn list<T: DeserializeOwned>(body: &[u8]) -> Result<Vec<T>, ReadError> {
    parse::<Vec<Strict<T>>>(body).map(|list| list.into_iter().map(|Strict(item)| item).collect())
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        // Serde's own words are left out: they repeat the value.
        let (line, column) = (error.inner().line(), error.inner().column());
        let path = error.path().to_string();
        unreadable(format!("{} at line {line} column {column}", known_path(&path)))
    })?;
    deserializer.end().map_err(|_| unreadable("more than one body"))?;
    Ok(value)
}

/// Reading stops inside a known field only, so a path is made of our own names and of places in lists.
fn known_path(path: &str) -> &str {
    let is_ours = path.len() <= PATH_CHARACTERS_MAX
        && path.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'[' | b']'));
    match path {
        "." => "the body",
        path if is_ours => path,
        _ => "a field",
    }
}

/// Takes what is required, or names it.
pub(crate) fn required<T>(value: Option<T>, field: &str) -> Result<T, ReadError> {
    value.ok_or_else(|| unreadable(format!("{field} is missing")))
}

/// Checks that an answer names what was asked about.
pub(crate) fn same(told: Option<u64>, asked: u64, field: &'static str) -> Result<(), ReadError> {
    if required(told, field)? == asked { Ok(()) } else { Err(mismatch(field)) }
}

/// Checks that an answer names the repository that was asked about.
pub(crate) fn same_repository(
    told: Option<u64>,
    asked: &RepositoryId,
    field: &'static str,
) -> Result<(), ReadError> {
    let told = repository_id(required(told, field)?, field)?;
    if told == *asked { Ok(()) } else { Err(mismatch(field)) }
}

pub(crate) fn repository_id(id: u64, field: &str) -> Result<RepositoryId, ReadError> {
    RepositoryId::from_number(id).map_err(|_| unreadable(format!("{field} is zero")))
}

/// A repository that may be gone.
pub(crate) fn optional_repository(
    repository: Option<&Strict<Numbered>>,
    field: &str,
) -> Result<Option<RepositoryId>, ReadError> {
    let Some(id) = repository.and_then(|Strict(repository)| repository.id) else { return Ok(None) };
    repository_id(id, field).map(Some)
}

/// An account that may be gone.
pub(crate) fn account(
    account: Option<&Strict<Numbered>>,
    field: &str,
) -> Result<Option<AccountId>, ReadError> {
    let Some(id) = account.and_then(|Strict(account)| account.id) else { return Ok(None) };
    AccountId::from_number(id).map(Some).map_err(|_| unreadable(format!("{field} is zero")))
}

pub(crate) fn commit_id(sha: &str, field: &str) -> Result<CommitId, ReadError> {
    CommitId::new(sha).map_err(|_| unreadable(format!("{field} is no commit")))
}

pub(crate) fn optional_commit(
    sha: Option<&str>,
    field: &str,
) -> Result<Option<CommitId>, ReadError> {
    sha.map(|sha| commit_id(sha, field)).transpose()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Named {
        id: Option<u64>,
        owner: Option<Strict<Numbered>>,
    }

    fn place<T: fmt::Debug>(result: Result<T, ReadError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn what_is_unknown_is_skipped_and_what_is_wrong_is_named() {
        let named = object::<Named>(br#"{"id":1,"new":{"id":"x"},"owner":null}"#).unwrap();
        assert!(named.id == Some(1) && named.owner.is_none());
        let told = |body: &str| place(object::<Named>(body.as_bytes()));
        assert_eq!(
            told(r#"{"owner":{"id":"CANARY"}}"#),
            "the answer can't be read: owner.id at line 1 column 23"
        );
        assert_eq!(told("[1]"), "the answer can't be read: the body at line 1 column 0");
        assert_eq!(told("{} {}"), "the answer can't be read: more than one body");
        assert_eq!(told(""), "the answer can't be read: the body at line 1 column 0");
        let in_list = place(list::<Named>(br#"[{"id":1},{"id":-1}]"#));
        assert_eq!(in_list, "the answer can't be read: [1].id at line 1 column 18");
    }

    #[test]
    fn an_answer_about_something_else_is_a_mismatch() {
        assert!(same(Some(1), 1, "id").is_ok());
        assert_eq!(place(same(Some(2), 1, "id")), "id is not what was asked for");
        assert_eq!(place(same(None, 1, "id")), "the answer can't be read: id is missing");
    }
}

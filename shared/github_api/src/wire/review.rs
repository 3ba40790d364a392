//! A review.

use domain::ids::{AccountId, ReviewId};
use domain::review::{ReviewContent, ReviewWords, ReviewerKind};
use domain::words::Word;
use github::json::{Strict, Time};
use serde::Deserialize;

use crate::error::{ReadError, unreadable};
use crate::wire::{optional_commit, required};

/// Stands for accounts that are gone, all of them.
const GHOST: &str = "ghost";

#[derive(Debug, Deserialize)]
pub(crate) struct Review {
    id: Option<u64>,
    state: Option<String>,
    submitted_at: Option<Time>,
    /// Null when the host no longer has the commit.
    commit_id: Option<String>,
    user: Option<Strict<User>>,
}

#[derive(Debug, Deserialize)]
struct User {
    id: Option<u64>,
    login: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Review {
    /// The review, unless it is its author's draft.
    pub(crate) fn submitted(self) -> Result<Option<(ReviewId, ReviewContent)>, ReadError> {
        let verdict = required(self.state, "state")?;
        if verdict.eq_ignore_ascii_case("pending") {
            return Ok(None);
        }
        let (reviewer, kind) = reviewer(self.user.as_ref())?;
        let words = ReviewWords {
            dismissed: verdict.eq_ignore_ascii_case("dismissed"),
            verdict: Word::new(&verdict),
        };
        let content = ReviewContent {
            words,
            submitted_at: required(self.submitted_at, "submitted_at")?.0,
            commit: optional_commit(self.commit_id.as_deref(), "commit_id")?,
            reviewer,
            kind,
        };
        Ok(Some((ReviewId(required(self.id, "id")?), content)))
    }
}

/// Who reviewed. Whoever is not told to be a person counts as nobody.
fn reviewer(user: Option<&Strict<User>>) -> Result<(Option<AccountId>, ReviewerKind), ReadError> {
    let Some(Strict(user)) = user else { return Ok((None, ReviewerKind::Ghost)) };
    if user.login.as_deref() == Some(GHOST) {
        return Ok((None, ReviewerKind::Ghost));
    }
    let kind = match user.kind.as_deref() {
        Some("User") => ReviewerKind::Person,
        Some("Bot") => ReviewerKind::Bot,
        // An organization, an imported account, a word of tomorrow, or none.
        Some(_) | None => ReviewerKind::Ghost,
    };
    let id = AccountId::from_number(required(user.id, "user.id")?);
    Ok((Some(id.map_err(|_| unreadable("user.id is zero"))?), kind))
}

//! A repository.

use std::collections::BTreeSet;

use domain::ids::RepositoryId;
use domain::words::Text;
use github::json::Strict;
use serde::Deserialize;

use crate::error::ReadError;
use crate::wire::{required, same_repository};

/// What the credentials of a connection may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Everything.
    Admin,
    /// Everything but what can't be undone.
    Maintain,
    /// Write.
    Push,
    /// Manage issues and pull requests.
    Triage,
    /// Read.
    Pull,
}

/// A repository as it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositorySeen {
    /// Its id, which is the one that was asked for.
    pub id: RepositoryId,
    /// What it is called now: `owner/name`. A label that changes.
    pub full_name: Text,
    /// Whether it is read-only.
    pub archived: bool,
    /// The branch that people start from.
    pub default_branch: Option<Text>,
    /// What the connection may do there, as far as the answer tells. An installation's permissions are not told here.
    pub permissions: BTreeSet<Permission>,
}

impl RepositorySeen {
    /// The owner's login, as it stands in the name.
    #[must_use]
    pub fn owner(&self) -> &str {
        let name = self.full_name.as_str();
        name.split_once('/').map_or(name, |(owner, _)| owner)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Repository {
    id: Option<u64>,
    full_name: Option<String>,
    archived: Option<bool>,
    default_branch: Option<String>,
    permissions: Option<Strict<Permissions>>,
}

#[derive(Debug, Deserialize)]
struct Permissions {
    admin: Option<bool>,
    maintain: Option<bool>,
    push: Option<bool>,
    triage: Option<bool>,
    pull: Option<bool>,
}

impl Repository {
    pub(crate) fn seen(self, asked: &RepositoryId) -> Result<RepositorySeen, ReadError> {
        same_repository(self.id, asked, "id")?;
        let granted = self.permissions.iter().flat_map(|Strict(told)| {
            [
                (told.admin, Permission::Admin),
                (told.maintain, Permission::Maintain),
                (told.push, Permission::Push),
                (told.triage, Permission::Triage),
                (told.pull, Permission::Pull),
            ]
        });
        Ok(RepositorySeen {
            id: asked.clone(),
            full_name: Text::new(&required(self.full_name, "full_name")?),
            archived: self.archived.unwrap_or_default(),
            default_branch: self.default_branch.as_deref().map(Text::new),
            permissions: granted
                .filter(|(is_granted, _)| *is_granted == Some(true))
                .map(|(_, permission)| permission)
                .collect(),
        })
    }
}

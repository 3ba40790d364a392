//! The shapes in which webhooks and REST tell of the state (API version 2022-11-28).

mod commits;
mod pull_requests;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::github::{
    model::{
        AccountKind, Activity, Permission, Presence, Repository, RepositoryId, User, Visibility,
    },
    refusal::Refusal,
    world::World,
};

pub(crate) use commits::{PushedCommits, files};
pub(crate) use pull_requests::{Shape, pull_commits};

/// The account that stands for all deleted ones in answers.
const GHOST_ID: u64 = 10_137;

/// Who is told: a deleted account is null in webhooks, and the ghost in most answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Hooks,
    Rest,
}

/// Where links lead.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    pub(crate) api: String,
    pub(crate) web: String,
    pub(crate) audience: Audience,
}

impl Urls {
    /// As webhooks tell them.
    pub(crate) fn github() -> Self {
        Self {
            api: "https://api.github.com".to_owned(),
            web: "https://github.com".to_owned(),
            audience: Audience::Hooks,
        }
    }

    /// As the API at this address tells them.
    pub(crate) fn rest(api: &str) -> Self {
        Self { api: api.to_owned(), audience: Audience::Rest, ..Self::github() }
    }
}

/// A state and the links to write into what is told of it.
#[derive(Clone)]
pub(crate) struct View<'a> {
    pub(crate) world: &'a World,
    pub(crate) urls: Urls,
}

impl<'a> View<'a> {
    pub(crate) fn of(world: &'a World, urls: Urls) -> Self {
        Self { world, urls }
    }

    /// What every event of a repository carries.
    pub(crate) fn envelope(
        &self,
        repository: RepositoryId,
        sender: u64,
    ) -> Result<Map<String, Value>, Refusal> {
        let repository = self.world.repositories.get(&repository);
        let repository = repository.ok_or(Refusal::NoSuchRepository(RepositoryId(0)))?;
        let mut body = Map::new();
        body.insert("repository".to_owned(), self.repository(repository));
        body.insert("sender".to_owned(), self.user(sender));
        if let Some(owner) = self.world.accounts.get(&repository.owner)
            && owner.user.kind == AccountKind::Organization
        {
            body.insert("organization".to_owned(), self.organization(&owner.user));
        }
        Ok(body)
    }

    /// An account, null or the ghost once it is deleted.
    pub(crate) fn user(&self, id: u64) -> Value {
        match self.world.accounts.get(&id) {
            Some(account) if account.presence == Presence::Here => self.account(&account.user),
            Some(_) | None => match self.urls.audience {
                Audience::Hooks => Value::Null,
                Audience::Rest => self.account(&User {
                    id: GHOST_ID,
                    login: "ghost".to_owned(),
                    kind: AccountKind::User,
                }),
            },
        }
    }

    /// An account, null once it is deleted, whoever is told.
    pub(crate) fn user_or_null(&self, id: u64) -> Value {
        self.world.account(id).map_or(Value::Null, |user| self.account(user))
    }

    fn account(&self, user: &User) -> Value {
        let Urls { api, web, .. } = &self.urls;
        let User { id, login, kind } = user;
        let page = login.strip_suffix("[bot]").map(|slug| format!("apps/{slug}"));
        let page = page.unwrap_or_else(|| login.clone());
        json!({
            "login": login,
            "id": id,
            "node_id": node_id("U_kgDO", *id),
            "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
            "gravatar_id": "",
            "url": format!("{api}/users/{login}"),
            "html_url": format!("{web}/{page}"),
            "followers_url": format!("{api}/users/{login}/followers"),
            "organizations_url": format!("{api}/users/{login}/orgs"),
            "repos_url": format!("{api}/users/{login}/repos"),
            "events_url": format!("{api}/users/{login}/events{{/privacy}}"),
            "received_events_url": format!("{api}/users/{login}/received_events"),
            "type": kind.word(),
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    fn organization(&self, user: &User) -> Value {
        let User { id, login, .. } = user;
        json!({
            "login": login,
            "id": id,
            "node_id": node_id("O_kgDO", *id),
            "url": format!("{}/orgs/{login}", self.urls.api),
            "description": null,
        })
    }

    /// A repository, without what the asking token may do in it.
    pub(crate) fn repository(&self, repository: &Repository) -> Value {
        let Urls { api, web, .. } = &self.urls;
        let Repository { id, name, .. } = repository;
        let full_name = self.world.full_name(repository);
        let url = format!("{api}/repos/{full_name}");
        let open = repository.pull_requests.values().filter(|pull| pull.is_open()).count();
        let (is_private, visibility) = match repository.visibility {
            Visibility::Public => (false, "public"),
            Visibility::Private => (true, "private"),
        };
        json!({
            "id": id.number(),
            "node_id": node_id("R_kgDO", id.number()),
            "name": name,
            "full_name": full_name,
            "private": is_private,
            "owner": self.user(repository.owner),
            "html_url": format!("{web}/{full_name}"),
            "description": null,
            "fork": repository.parent.is_some(),
            "url": url,
            "branches_url": format!("{url}/branches{{/branch}}"),
            "commits_url": format!("{url}/commits{{/sha}}"),
            "git_refs_url": format!("{url}/git/refs{{/sha}}"),
            "pulls_url": format!("{url}/pulls{{/number}}"),
            "created_at": repository.created_at.to_string(),
            "updated_at": repository.updated_at.to_string(),
            "pushed_at": repository.pushed_at.to_string(),
            "clone_url": format!("{web}/{full_name}.git"),
            "homepage": null,
            "size": 1,
            "language": null,
            "has_issues": true,
            "archived": repository.activity == Activity::Archived,
            "disabled": false,
            "open_issues_count": open,
            "license": null,
            "allow_forking": true,
            "is_template": false,
            "topics": [],
            "visibility": visibility,
            "default_branch": repository.default_branch,
        })
    }

    /// A repository as pushes tell it: two times are numbers, and the owner has a `name`.
    pub(crate) fn pushed_repository(&self, repository: &Repository) -> Value {
        let mut told = self.repository(repository);
        set(&mut told, "created_at", json!(repository.created_at.as_second()));
        set(&mut told, "pushed_at", json!(repository.pushed_at.as_second()));
        set(&mut told, "master_branch", json!(repository.default_branch));
        if let Some(owner) = told.get_mut("owner") {
            set(owner, "name", json!(self.world.login(repository.owner)));
        }
        told
    }

    /// What somebody may do, as `permissions` of a repository.
    pub(crate) fn permissions(held: Option<Permission>) -> Value {
        let may = |needed| held.is_some_and(|held| needed <= held);
        json!({
            "admin": may(Permission::Admin),
            "maintain": may(Permission::Maintain),
            "push": may(Permission::Write),
            "triage": may(Permission::Triage),
            "pull": may(Permission::Read),
        })
    }
}

/// A made-up global id: nothing may depend on what is in it.
pub(crate) fn node_id(prefix: &str, id: u64) -> String {
    format!("{prefix}{id:x}")
}

/// Adds a field to an object.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}

/// The style of times in installations: thousandths, and an offset.
pub(crate) fn with_thousandths(time: Timestamp) -> String {
    format!("{time:.3}")
}

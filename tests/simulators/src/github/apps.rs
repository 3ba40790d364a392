//! GitHub Apps and where they are installed.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};

use crate::github::{
    GitHub,
    model::{AccountKind, RepositoryId, User},
    refusal::Refusal,
    render::{Urls, View, set},
    world::{Access, App, Installation, Permissions, Simulation},
};

/// An App as it was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredApp {
    /// GitHub's number for it, which is an issuer of its JWTs.
    pub id: u64,
    /// Its name in OAuth, which is the recommended issuer.
    pub client_id: String,
    /// The account under which it acts: `<slug>[bot]`.
    pub bot: User,
}

/// Which of an account's repositories an installation reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All, also those that come later.
    All,
    /// These.
    Selected(BTreeSet<RepositoryId>),
}

/// Permissions by name, such as `permissions(&[("contents", Access::Read)])`. `metadata` is always read.
#[must_use]
pub fn permissions(pairs: &[(&str, Access)]) -> Permissions {
    let named = pairs.iter().map(|(name, access)| ((*name).to_owned(), *access));
    named.chain([("metadata".to_owned(), Access::Read)]).collect()
}

impl GitHub {
    /// Registers an App that may do this where it is installed, and whose JWTs this key verifies.
    ///
    /// `public_key` is an RSA public key in PKCS #1 DER.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`] for the slug, [`Refusal::NoSuchAccount`] for the owner
    pub fn register_app(
        &self,
        owner: &User,
        slug: &str,
        permissions: Permissions,
        public_key: &[u8],
    ) -> Result<RegisteredApp, Refusal> {
        self.change(|simulation| {
            simulation.world.account(owner.id)?;
            let bot = simulation.create_user(&format!("{slug}[bot]"), AccountKind::Bot)?;
            let id = simulation.ids.next();
            let client_id = format!("Iv23li{id:014x}");
            let app = App {
                id,
                client_id: client_id.clone(),
                slug: slug.to_owned(),
                owner: owner.id,
                keys: vec![public_key.to_vec()],
                permissions,
            };
            simulation.world_mut().apps.insert(id, Arc::new(app));
            Ok(RegisteredApp { id, client_id, bot })
        })
    }

    /// Lets one more key verify an App's JWTs.
    ///
    /// # Errors
    /// [`Refusal::NoSuchApp`]
    pub fn add_app_key(&self, app: u64, public_key: &[u8]) -> Result<(), Refusal> {
        self.change(|simulation| {
            let row = simulation.world_mut().apps.get_mut(&app).ok_or(Refusal::NoSuchApp(app))?;
            Arc::make_mut(row).keys.push(public_key.to_vec());
            Ok(())
        })
    }

    /// Installs an App on an account's repositories and gives the installation's id.
    ///
    /// # Errors
    /// [`Refusal::NoSuchApp`], [`Refusal::NoSuchAccount`]
    pub fn install(&self, app: u64, on: &User, selection: Selection) -> Result<u64, Refusal> {
        self.change(|simulation| {
            simulation.world.account(on.id)?;
            let row = simulation.world.apps.get(&app).ok_or(Refusal::NoSuchApp(app))?;
            let permissions = row.permissions.clone();
            let (id, now) = (simulation.ids.next(), simulation.now());
            let selected = match selection {
                Selection::All => None,
                Selection::Selected(some) => Some(some),
            };
            let installation = Installation {
                id,
                app,
                account: on.id,
                selected,
                permissions,
                suspended: None,
                created_at: now,
                updated_at: now,
            };
            simulation.world_mut().installations.insert(id, installation);
            simulation.raise_installation(id, "created", on.id)?;
            Ok(id)
        })
    }

    /// Removes an installation: its tokens are worth nothing any more.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`]
    pub fn uninstall(&self, installation: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.raise_installation(installation, "deleted", by.id)?;
            simulation.world_mut().installations.remove(&installation);
            Ok(())
        })
    }

    /// Suspends an installation: it hears of nothing, and its tokens are refused.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`]
    pub fn suspend(&self, installation: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            simulation.installation_mut(installation)?.suspended = Some((now, by.id));
            simulation.raise_installation(installation, "suspend", by.id)
        })
    }

    /// Ends a suspension.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`]
    pub fn unsuspend(&self, installation: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.installation_mut(installation)?.suspended = None;
            simulation.raise_installation(installation, "unsuspend", by.id)
        })
    }

    /// Lets an installation do this, and no more than this.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`]
    pub fn accept_permissions(
        &self,
        installation: u64,
        permissions: Permissions,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.installation_mut(installation)?.permissions = permissions;
            simulation.raise_installation(installation, "new_permissions_accepted", by.id)
        })
    }

    /// Lets an installation reach one more repository.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`], [`Refusal::NoSuchRepository`]
    pub fn select_repository(
        &self,
        installation: u64,
        repository: RepositoryId,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let row = simulation.installation_mut(installation)?;
            row.selected.get_or_insert_default().insert(repository);
            simulation.raise_selection(installation, repository, "added", by.id)
        })
    }

    /// Lets an installation reach a repository no more. One that reached all reaches the others of today.
    ///
    /// # Errors
    /// [`Refusal::NoSuchInstallation`], [`Refusal::NoSuchRepository`]
    pub fn deselect_repository(
        &self,
        installation: u64,
        repository: RepositoryId,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let reached = simulation.reached_by(installation)?;
            let row = simulation.installation_mut(installation)?;
            row.selected.get_or_insert(reached).remove(&repository);
            simulation.raise_selection(installation, repository, "removed", by.id)
        })
    }
}

impl Simulation {
    fn installation_mut(&mut self, id: u64) -> Result<&mut Installation, Refusal> {
        let now = self.now();
        let installation = self.world_mut().installations.get_mut(&id);
        let installation = installation.ok_or(Refusal::NoSuchInstallation(id))?;
        installation.updated_at = now;
        Ok(installation)
    }

    fn reached_by(&self, installation: u64) -> Result<BTreeSet<RepositoryId>, Refusal> {
        let row = self.world.installations.get(&installation);
        let row = row.ok_or(Refusal::NoSuchInstallation(installation))?;
        Ok(self.world.reached(row).into_iter().map(|repository| repository.id).collect())
    }

    fn raise_installation(
        &mut self,
        id: u64,
        action: &'static str,
        by: u64,
    ) -> Result<(), Refusal> {
        let repositories = self.reached_by(id)?;
        let view = View::of(&self.world, Urls::github());
        let repositories: Result<Vec<_>, _> =
            repositories.into_iter().map(|repository| view.repository_stub(repository)).collect();
        let more = [("repositories", json!(repositories?)), ("requester", Value::Null)];
        self.raise_to_app("installation", id, (action, &more), by)
    }

    fn raise_selection(
        &mut self,
        id: u64,
        repository: RepositoryId,
        action: &'static str,
        by: u64,
    ) -> Result<(), Refusal> {
        let view = View::of(&self.world, Urls::github());
        let stub = json!([view.repository_stub(repository)?]);
        let (added, removed) =
            if action == "added" { (stub, json!([])) } else { (json!([]), stub) };
        let more = [
            ("repositories_added", added),
            ("repositories_removed", removed),
            ("repository_selection", json!("selected")),
            ("requester", Value::Null),
        ];
        self.raise_to_app("installation_repositories", id, (action, &more), by)
    }

    fn raise_to_app(
        &mut self,
        event: &str,
        id: u64,
        (action, more): (&'static str, &[(&'static str, Value)]),
        by: u64,
    ) -> Result<(), Refusal> {
        let row = self.world.installations.get(&id).ok_or(Refusal::NoSuchInstallation(id))?;
        let view = View::of(&self.world, Urls::github());
        let mut body = Map::new();
        body.insert("action".to_owned(), json!(action));
        body.insert("installation".to_owned(), view.installation(row)?);
        body.insert("sender".to_owned(), view.user(by));
        body.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let app = row.app;
        self.raise_for_app(event, app, body);
        Ok(())
    }
}

impl View<'_> {
    /// An installation, as webhooks and REST tell it.
    pub(crate) fn installation(&self, row: &Installation) -> Result<Value, Refusal> {
        let Installation { id, app, account, .. } = row;
        let app = self.world.apps.get(app).ok_or(Refusal::NoSuchApp(*app))?;
        let kind = self.world.account(*account)?.kind;
        let selection = if row.selected.is_some() { "selected" } else { "all" };
        let api = &self.urls.api;
        let mut told = json!({
            "id": id,
            "client_id": app.client_id,
            "account": self.user(*account),
            "repository_selection": selection,
            "access_tokens_url": format!("{api}/app/installations/{id}/access_tokens"),
            "repositories_url": format!("{api}/installation/repositories"),
            "html_url": format!("{}/settings/installations/{id}", self.urls.web),
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": account,
            "target_type": kind.word(),
            "permissions": told_permissions(&row.permissions),
            "events": [],
            "created_at": crate::github::render::with_thousandths(row.created_at),
            "updated_at": crate::github::render::with_thousandths(row.updated_at),
            "single_file_name": null,
            "has_multiple_single_files": false,
            "single_file_paths": [],
            "suspended_by": null,
            "suspended_at": null,
        });
        if let Some((at, by)) = row.suspended {
            set(&mut told, "suspended_by", self.user(by));
            set(&mut told, "suspended_at", json!(at.to_string()));
        }
        Ok(told)
    }

    /// The App itself: `GET /app`.
    pub(crate) fn app(&self, app: &App) -> Value {
        json!({
            "id": app.id,
            "client_id": app.client_id,
            "slug": app.slug,
            "name": app.slug,
            "owner": self.user(app.owner),
            "permissions": told_permissions(&app.permissions),
            "events": [],
        })
    }

    fn repository_stub(&self, id: RepositoryId) -> Result<Value, Refusal> {
        let full = self.repository(self.world.repository(id)?);
        let kept = ["id", "node_id", "name", "full_name", "private"];
        let kept =
            kept.iter().filter_map(|name| Some(((*name).to_owned(), full.get(*name)?.clone())));
        Ok(Value::Object(kept.collect()))
    }
}

/// Permissions as JSON tells them.
pub(crate) fn told_permissions(permissions: &Permissions) -> Value {
    let words = permissions.iter().map(|(name, access)| {
        let word = match access {
            Access::Read => "read",
            Access::Write => "write",
        };
        (name.clone(), json!(word))
    });
    Value::Object(words.collect())
}

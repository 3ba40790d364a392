//! Repositories: created, forked, renamed, transferred, archived, deleted.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use crate::github::{
    GitHub,
    deliveries::fields,
    model::{AccountKind, Activity, Presence, Repository, RepositoryId, User, Visibility},
    refusal::Refusal,
    specs::{CommitSpec, RepositorySpec},
    world::{Simulation, World},
};

impl GitHub {
    /// Creates a repository with a first commit on its default branch. An older name that led elsewhere leads here from now on.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`], [`Refusal::NoSuchAccount`]
    pub fn create_repository(
        &self,
        owner: &User,
        spec: RepositorySpec,
    ) -> Result<RepositoryId, Refusal> {
        self.change(|simulation| {
            let id = simulation.add_repository(owner.id, &spec, None)?;
            let first = CommitSpec::first("Initial commit")
                .file("README.md", format!("# {}\n", spec.name))
                .by(owner);
            let sha = simulation.commit(id, first)?;
            let branches = &mut simulation.world_mut().repository_mut(id)?.branches;
            branches.insert(spec.default_branch, sha);
            simulation.raise("repository", id, owner.id, fields([("action", json!("created"))]))?;
            Ok(id)
        })
    }

    /// Forks a repository to another owner, under its name.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`], [`Refusal::NoSuchAccount`], [`Refusal::NoSuchRepository`]
    pub fn fork(&self, repository: RepositoryId, owner: &User) -> Result<RepositoryId, Refusal> {
        self.change(|simulation| {
            let parent = simulation.world.repository(repository)?.clone();
            let spec = RepositorySpec {
                name: parent.name.clone(),
                visibility: parent.visibility,
                default_branch: parent.default_branch.clone(),
            };
            let id = simulation.add_repository(owner.id, &spec, Some(&parent))?;
            simulation.world_mut().repository_mut(id)?.branches = parent.branches;
            simulation.raise("repository", id, owner.id, fields([("action", json!("created"))]))?;
            Ok(id)
        })
    }

    /// Renames a repository. Its old name leads to it until another repository takes that name.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`], [`Refusal::NoSuchRepository`]
    pub fn rename(&self, repository: RepositoryId, name: &str, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            let world = simulation.world_mut();
            let row = world.repository(repository)?;
            let (owner, from) = (row.owner, row.name.clone());
            world.take_name(owner, name)?;
            world.leave_name(repository)?;
            let row = world.repository_mut(repository)?;
            row.name = name.to_owned();
            row.updated_at = now;
            let changes = json!({ "repository": { "name": { "from": from } } });
            simulation.raise_repository(repository, by, "renamed", Some(changes))
        })
    }

    /// Gives a repository to another owner, who alone hears of it. Installations of the former owner reach it no more.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`], [`Refusal::NoSuchAccount`], [`Refusal::NoSuchRepository`]
    pub fn transfer(&self, repository: RepositoryId, to: &User, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            simulation.world.account(to.id)?;
            let row = simulation.world.repository(repository)?;
            let (name, from) = (row.name.clone(), row.owner);
            let from = simulation.world.account(from)?.clone();
            let world = simulation.world_mut();
            world.take_name(to.id, &name)?;
            world.leave_name(repository)?;
            let row = world.repository_mut(repository)?;
            row.owner = to.id;
            row.updated_at = now;
            let kind = match from.kind {
                AccountKind::Organization => "organization",
                AccountKind::User | AccountKind::Bot => "user",
            };
            let from = json!({ kind: { "login": from.login, "id": from.id } });
            let changes = json!({ "owner": { "from": from } });
            simulation.raise_repository(repository, by, "transferred", Some(changes))
        })
    }

    /// Makes a repository read-only.
    ///
    /// # Errors
    /// [`Refusal::Archived`], [`Refusal::NoSuchRepository`]
    pub fn archive(&self, repository: RepositoryId, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            let row = simulation.world_mut().active(repository)?;
            row.activity = Activity::Archived;
            row.updated_at = now;
            simulation.raise_repository(repository, by, "archived", None)
        })
    }

    /// Lets a repository take changes again.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn unarchive(&self, repository: RepositoryId, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            let row = simulation.world_mut().repository_mut(repository)?;
            row.activity = Activity::Active;
            row.updated_at = now;
            simulation.raise_repository(repository, by, "unarchived", None)
        })
    }

    /// Deletes a repository and closes the pull requests that came from it. Only organization hooks hear of the deletion.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn delete_repository(&self, repository: RepositoryId, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world_mut().repository_mut(repository)?.presence = Presence::Deleted;
            simulation.raise_repository(repository, by, "deleted", None)?;
            for (base, number) in
                simulation.open_pulls(|_, pull| pull.head.repository == repository)
            {
                simulation.close(base, number, by.id)?;
            }
            Ok(())
        })
    }

    /// Makes another branch the default one.
    ///
    /// # Errors
    /// [`Refusal::NoSuchBranch`], [`Refusal::NoSuchRepository`], [`Refusal::Archived`]
    pub fn set_default_branch(
        &self,
        repository: RepositoryId,
        branch: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world.branch(repository, branch)?;
            let row = simulation.world_mut().active(repository)?;
            let from = std::mem::replace(&mut row.default_branch, branch.to_owned());
            let changes = json!({ "default_branch": { "from": from } });
            simulation.raise_repository(repository, by, "edited", Some(changes))
        })
    }

    /// Shows a repository to everybody, or hides it.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn set_visibility(
        &self,
        repository: RepositoryId,
        visibility: Visibility,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world_mut().repository_mut(repository)?.visibility = visibility;
            let action = match visibility {
                Visibility::Public => "publicized",
                Visibility::Private => "privatized",
            };
            simulation.raise_repository(repository, by, action, None)
        })
    }
}

impl Simulation {
    fn add_repository(
        &mut self,
        owner: u64,
        spec: &RepositorySpec,
        parent: Option<&Repository>,
    ) -> Result<RepositoryId, Refusal> {
        self.world.account(owner)?;
        let (id, now) = (RepositoryId(self.ids.next()), self.now());
        let world = self.world_mut();
        world.take_name(owner, &spec.name)?;
        let network = parent.map_or(id, |parent| parent.network);
        world.add_network(network);
        let repository = Repository {
            id,
            owner,
            name: spec.name.clone(),
            visibility: spec.visibility,
            presence: Presence::Here,
            activity: Activity::Active,
            parent: parent.map(|parent| parent.id),
            network,
            default_branch: spec.default_branch.clone(),
            created_at: now,
            updated_at: now,
            pushed_at: now,
            branches: BTreeMap::new(),
            granted: BTreeMap::new(),
            next_number: 1,
            pull_requests: BTreeMap::new(),
            queue: Vec::new(),
            runs: BTreeMap::new(),
        };
        world.repositories.insert(id, Arc::new(repository));
        Ok(id)
    }

    fn raise_repository(
        &mut self,
        repository: RepositoryId,
        by: &User,
        action: &str,
        changes: Option<serde_json::Value>,
    ) -> Result<(), Refusal> {
        let changes = changes.map(|changes| ("changes", changes));
        let told = fields([("action", json!(action))].into_iter().chain(changes));
        self.raise("repository", repository, by.id, told)
    }
}

impl World {
    /// Takes a name that nobody bears now; who bore it once is not found by it any more.
    fn take_name(&mut self, owner: u64, name: &str) -> Result<(), Refusal> {
        let full_name = format!("{}/{name}", self.login(owner));
        if self.named(&full_name).is_some() {
            return Err(Refusal::NameTaken(full_name));
        }
        self.former_names.remove(&full_name.to_lowercase());
        Ok(())
    }

    /// Lets the present name of a repository lead to it when it is called otherwise.
    fn leave_name(&mut self, repository: RepositoryId) -> Result<(), Refusal> {
        let full_name = self.full_name(self.repository(repository)?).to_lowercase();
        self.former_names.insert(full_name, repository);
        Ok(())
    }
}

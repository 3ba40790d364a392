//! Accounts, what they may do, and their tokens.

use sha2::{Digest, Sha256};

use crate::{
    git::Signature,
    github::{
        GitHub,
        model::{
            Account, AccountKind, Permission, Presence, Repository, RepositoryId, User, Visibility,
        },
        refusal::Refusal,
        specs::noreply,
        world::{Bearer, Simulation, World},
    },
};

impl GitHub {
    /// Creates an account.
    ///
    /// # Errors
    /// [`Refusal::NameTaken`]: logins are compared without case.
    pub fn create_user(&self, login: &str, kind: AccountKind) -> Result<User, Refusal> {
        self.change(|simulation| simulation.create_user(login, kind))
    }

    /// Deletes an account. What it wrote stays, and is nobody's: null, or the account `ghost`.
    ///
    /// # Errors
    /// [`Refusal::NoSuchAccount`]
    pub fn delete_user(&self, user: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world.account(user.id)?;
            let account = simulation.world_mut().accounts.get_mut(&user.id);
            account.ok_or(Refusal::NoSuchAccount(user.id))?.presence = Presence::Deleted;
            Ok(())
        })
    }

    /// Lets an account do this, and no more than this, in a repository. Owners are administrators anyhow.
    ///
    /// # Errors
    /// [`Refusal::NoSuchAccount`], [`Refusal::NoSuchRepository`]
    pub fn grant(
        &self,
        repository: RepositoryId,
        user: &User,
        permission: Permission,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world.account(user.id)?;
            simulation.world_mut().repository_mut(repository)?.granted.insert(user.id, permission);
            Ok(())
        })
    }

    /// Takes back what was granted.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn revoke(&self, repository: RepositoryId, user: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.world_mut().repository_mut(repository)?.granted.remove(&user.id);
            Ok(())
        })
    }

    /// A token with which REST answers what this account may see. It does not expire.
    ///
    /// # Errors
    /// [`Refusal::NoSuchAccount`]
    pub fn issue_token(&self, user: &User) -> Result<String, Refusal> {
        let mut simulation = self.lock();
        simulation.world.account(user.id)?;
        let number = simulation.ids.next();
        let token = format!("github_pat_{}", secret_text(number));
        simulation.tokens.insert(token.clone(), Bearer::User(user.id));
        Ok(token)
    }

    /// Lets no token of this text in any more.
    pub fn revoke_token(&self, token: &str) {
        self.lock().tokens.remove(token);
    }
}

impl Simulation {
    pub(crate) fn create_user(&mut self, login: &str, kind: AccountKind) -> Result<User, Refusal> {
        let mut accounts = self.world.accounts.values();
        if accounts.any(|account| account.user.login.eq_ignore_ascii_case(login)) {
            return Err(Refusal::NameTaken(login.to_owned()));
        }
        let user = User { id: self.ids.next(), login: login.to_owned(), kind };
        let account = Account { user: user.clone(), presence: Presence::Here };
        self.world_mut().accounts.insert(user.id, account);
        Ok(user)
    }

    /// An account as author or committer, now.
    pub(crate) fn signature(&self, user: u64) -> Result<Signature, Refusal> {
        let user = self.world.account(user)?;
        Ok(Signature {
            name: user.login.clone(),
            email: noreply(user),
            at_seconds: self.now().as_second(),
            offset_minutes: 0,
        })
    }

    /// GitHub itself, which commits what is merged in its web pages.
    pub(crate) fn web_flow(&self) -> Signature {
        Signature {
            name: "GitHub".to_owned(),
            email: "noreply@github.com".to_owned(),
            at_seconds: self.now().as_second(),
            offset_minutes: 0,
        }
    }
}

impl World {
    /// What an account may do in a repository; none also when it does not see it.
    pub(crate) fn permission(&self, user: u64, repository: &Repository) -> Option<Permission> {
        self.account(user).ok()?;
        if repository.owner == user {
            return Some(Permission::Admin);
        }
        let granted = repository.granted.get(&user).copied();
        match repository.visibility {
            Visibility::Public => Some(granted.unwrap_or(Permission::Read)),
            Visibility::Private => granted,
        }
    }
}

/// Text that looks like a secret: the same for the same number, and never the same for two.
pub(crate) fn secret_text(number: u64) -> String {
    let digest = Sha256::digest(format!("simulated {number}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The whole state, and how it is looked up, copied and rolled back.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    git::{Objects, Sha},
    github::{
        clock::{Clock, later},
        deliveries::{Delivery, HookTarget},
        model::{Account, Activity, Presence, PullRequest, Repository, RepositoryId, User},
        refusal::Refusal,
    },
};

/// Everything that webhooks and answers tell of.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) accounts: BTreeMap<u64, Account>,
    pub(crate) repositories: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Full names in lower case that lead to a repository that is called otherwise now.
    pub(crate) former_names: BTreeMap<String, RepositoryId>,
    /// The objects of a repository and all its forks, by the repository that was first.
    networks: BTreeMap<RepositoryId, Arc<Objects>>,
    pub(crate) hooks: BTreeMap<u64, HookTarget>,
    pub(crate) apps: BTreeMap<u64, Arc<App>>,
    pub(crate) installations: BTreeMap<u64, Installation>,
}

/// Whether something may be only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Looked at.
    Read,
    /// Changed as well.
    Write,
}

/// What an App may do, by GitHub's names: `pull_requests`, `contents`, `actions`, …
pub type Permissions = BTreeMap<String, Access>;

#[derive(Clone)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) client_id: String,
    pub(crate) slug: String,
    pub(crate) owner: u64,
    /// RSA public keys in PKCS #1 DER.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) permissions: Permissions,
}

#[derive(Clone)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) account: u64,
    /// None: all of the account's.
    pub(crate) selected: Option<BTreeSet<RepositoryId>>,
    pub(crate) permissions: Permissions,
    pub(crate) suspended: Option<(Timestamp, u64)>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Who shows a token.
#[derive(Clone)]
pub(crate) enum Bearer {
    User(u64),
    Installation(InstallationToken),
}

#[derive(Clone)]
pub(crate) struct InstallationToken {
    pub(crate) installation: u64,
    /// None: all that the installation reaches.
    pub(crate) repositories: Option<BTreeSet<RepositoryId>>,
    pub(crate) permissions: Permissions,
    pub(crate) expires_at: Timestamp,
}

impl World {
    pub(crate) fn account(&self, id: u64) -> Result<&User, Refusal> {
        let here = self.accounts.get(&id).filter(|account| account.presence == Presence::Here);
        here.map(|account| &account.user).ok_or(Refusal::NoSuchAccount(id))
    }

    /// The name of an account, deleted or not.
    pub(crate) fn login(&self, id: u64) -> &str {
        self.accounts.get(&id).map_or("ghost", |account| &account.user.login)
    }

    pub(crate) fn repository(&self, id: RepositoryId) -> Result<&Repository, Refusal> {
        let repository = self.repositories.get(&id).map(AsRef::as_ref);
        let here = repository.filter(|repository| repository.presence == Presence::Here);
        here.ok_or(Refusal::NoSuchRepository(id))
    }

    /// A repository to change, archived or not.
    pub(crate) fn repository_mut(&mut self, id: RepositoryId) -> Result<&mut Repository, Refusal> {
        let repository = self.repositories.get_mut(&id).map(Arc::make_mut);
        let here = repository.filter(|repository| repository.presence == Presence::Here);
        here.ok_or(Refusal::NoSuchRepository(id))
    }

    /// A repository whose content takes changes.
    pub(crate) fn active(&mut self, id: RepositoryId) -> Result<&mut Repository, Refusal> {
        let repository = self.repository_mut(id)?;
        match repository.activity {
            Activity::Active => Ok(repository),
            Activity::Archived => Err(Refusal::Archived(id)),
        }
    }

    pub(crate) fn full_name(&self, repository: &Repository) -> String {
        format!("{}/{}", self.login(repository.owner), repository.name)
    }

    /// The repository that bears this name now. GitHub compares names without case.
    pub(crate) fn named(&self, full_name: &str) -> Option<&Repository> {
        let mut here =
            self.repositories.values().filter(|repository| repository.presence == Presence::Here);
        here.find(|repository| self.full_name(repository).eq_ignore_ascii_case(full_name))
            .map(AsRef::as_ref)
    }

    pub(crate) fn add_network(&mut self, first: RepositoryId) {
        self.networks.entry(first).or_default();
    }

    /// The objects that a repository shares with its forks.
    pub(crate) fn objects(&self, repository: &Repository) -> Result<&Objects, Refusal> {
        let objects = self.networks.get(&repository.network).map(AsRef::as_ref);
        objects.ok_or(Refusal::NoSuchRepository(repository.id))
    }

    pub(crate) fn objects_of(&self, repository: RepositoryId) -> Result<&Objects, Refusal> {
        self.objects(self.repository(repository)?)
    }

    pub(crate) fn objects_mut(&mut self, id: RepositoryId) -> Result<&mut Objects, Refusal> {
        let network = self.repository(id)?.network;
        let objects = self.networks.get_mut(&network).map(Arc::make_mut);
        objects.ok_or(Refusal::NoSuchRepository(id))
    }

    pub(crate) fn branch(&self, id: RepositoryId, branch: &str) -> Result<Sha, Refusal> {
        let tip = self.repository(id)?.branches.get(branch).copied();
        tip.ok_or_else(|| Refusal::NoSuchBranch(branch.to_owned()))
    }

    pub(crate) fn pull(&self, id: RepositoryId, number: u64) -> Result<&PullRequest, Refusal> {
        let pull = self.repository(id)?.pull_requests.get(&number);
        pull.ok_or(Refusal::NoSuchPullRequest(number))
    }

    pub(crate) fn pull_mut(
        &mut self,
        id: RepositoryId,
        number: u64,
    ) -> Result<&mut PullRequest, Refusal> {
        let pull = self.active(id)?.pull_requests.get_mut(&number);
        pull.ok_or(Refusal::NoSuchPullRequest(number))
    }

    /// Whether an installation reaches a repository.
    pub(crate) fn reaches(&self, installation: &Installation, repository: &Repository) -> bool {
        installation.account == repository.owner
            && installation.selected.as_ref().is_none_or(|some| some.contains(&repository.id))
    }
}

impl World {
    /// All that an installation reaches.
    pub(crate) fn reached(&self, installation: &Installation) -> Vec<&Repository> {
        let here = self.repositories.values().map(AsRef::as_ref);
        here.filter(|it| it.presence == Presence::Here && self.reaches(installation, it)).collect()
    }
}

/// Where ids begin: beyond what 32 bits hold, as GitHub's do.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    next: u64,
}

impl Ids {
    pub(crate) fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// The state, its clock, and what it has to tell.
pub(crate) struct Simulation {
    pub(crate) world: Arc<World>,
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    pub(crate) outbox: Vec<Delivery>,
    /// Tokens by their text.
    pub(crate) tokens: BTreeMap<String, Bearer>,
    /// What the world was, each from a moment on; empty while answers are up to date.
    history: VecDeque<(Timestamp, Arc<World>)>,
    lag_seconds: i64,
    pub(crate) rate: RateLimits,
}

/// How many requests each token made in its hour.
#[derive(Default)]
pub(crate) struct RateLimits {
    pub(crate) used: BTreeMap<String, Used>,
    /// None: GitHub's least.
    pub(crate) limit: Option<u64>,
}

/// The requests of one token, until its hour ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub(crate) requests: u64,
    pub(crate) resets_at: Timestamp,
}

/// What a refused change returns to.
pub(crate) struct Checkpoint {
    world: Arc<World>,
    ids: Ids,
    deliveries: usize,
}

impl Simulation {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            world: Arc::default(),
            clock,
            ids: Ids { next: 5_000_000_000 },
            outbox: Vec::new(),
            tokens: BTreeMap::new(),
            history: VecDeque::new(),
            lag_seconds: 0,
            rate: RateLimits::default(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The world to change.
    pub(crate) fn world_mut(&mut self) -> &mut World {
        Arc::make_mut(&mut self.world)
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            world: Arc::clone(&self.world),
            ids: self.ids.clone(),
            deliveries: self.outbox.len(),
        }
    }

    pub(crate) fn roll_back(&mut self, to: Checkpoint) {
        self.world = to.world;
        self.ids = to.ids;
        self.outbox.truncate(to.deliveries);
    }

    pub(crate) fn lag(&mut self, seconds: i64) {
        self.lag_seconds = seconds;
        if seconds == 0 {
            self.history.clear();
        } else if self.history.is_empty() {
            self.history.push_back((self.now(), Arc::clone(&self.world)));
        }
    }

    pub(crate) fn remember(&mut self) {
        if self.lag_seconds == 0 {
            return;
        }
        let now = self.now();
        self.history.push_back((now, Arc::clone(&self.world)));
        // All but the last of those that are old enough are never asked for again.
        let shown = later(now, -self.lag_seconds);
        while self.history.get(1).is_some_and(|(since, _)| *since <= shown) {
            self.history.pop_front();
        }
    }

    /// The world as REST tells it now.
    pub(crate) fn shown(&self) -> Arc<World> {
        let shown = later(self.now(), -self.lag_seconds);
        let old_enough = self.history.iter().rev().find(|(since, _)| *since <= shown);
        let (_, world) = match old_enough.or(self.history.front()) {
            Some(remembered) => remembered,
            None => return Arc::clone(&self.world),
        };
        Arc::clone(world)
    }
}

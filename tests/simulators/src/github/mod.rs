//! A simulated GitHub: accounts, repositories with real Git objects, pull requests, reviews, runs, Apps; the webhooks that each change
//! raises, and the REST answers that follow from the same state.
//!
//! ```ignore
//! let github = GitHub::at("2026-03-01T12:00:00Z".parse()?);
//! let ada = github.create_user("ada", AccountKind::User);
//! let repository = github.create_repository(&ada, RepositorySpec::new("api"))?;
//! let main = github.branch(repository, "main")?;
//! let sha = github.commit(repository, CommitSpec::on(main, "Add it").file("a.txt", "a").by(&ada))?;
//! github.push(repository, "topic", sha, &ada)?;
//! let number = github.open_pull_request(repository, PullRequestSpec::new("topic", "main"), &ada)?;
//! let server = Server::start(&github)?; // http://127.0.0.1:…/repos/ada/api/pulls/1
//! ```
//!
//! Every method that changes something either does it and raises its webhooks, or refuses with a [`Refusal`] and changes nothing.
//! Webhooks wait in an outbox until [`GitHub::take_deliveries`], so that a test can drop, double and shuffle them.

mod accounts;
mod app_key;
mod apps;
mod branches;
mod clock;
mod deliveries;
mod hookshot;
mod merge_queue;
mod merging;
mod model;
mod pull_requests;
mod refusal;
mod render;
mod repositories;
mod rest;
mod reviews;
mod runs;
mod specs;
#[cfg(test)]
mod tests;
mod truth;
mod world;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

pub use app_key::AppKey;
pub use apps::{RegisteredApp, Selection, permissions};
pub use deliveries::{Delivery, Hook};
pub use hookshot::{post, sign};
pub use merge_queue::{DequeueReason, MergeGroup};
pub use model::{AccountKind, Method, Permission, RepositoryId, ReviewState, User, Visibility};
pub use refusal::Refusal;
pub use rest::{Fault, Request, Route, Server};
pub use runs::RunSpec;
pub use specs::{CommitSpec, MergeSpec, PullRequestSpec, RepositorySpec, ReviewSpec};
pub use truth::{Outcome, PullRequestTruth, ReviewTruth};
pub use world::{Access, Permissions};

use clock::Clock;
use world::Simulation;

/// The simulated GitHub. Clones are handles to the same one.
#[derive(Clone)]
pub struct GitHub {
    simulation: Arc<Mutex<Simulation>>,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds tokens.
        formatter.debug_struct("GitHub").finish_non_exhaustive()
    }
}

impl GitHub {
    /// A GitHub without accounts, whose clock stands still until it is moved.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self::with(Clock::standing(now))
    }

    /// A GitHub whose clock is the machine's, for tests that run real programs beside it.
    #[must_use]
    pub fn following_the_clock() -> Self {
        Self::with(Clock::following())
    }

    fn with(clock: Clock) -> Self {
        Self { simulation: Arc::new(Mutex::new(Simulation::new(clock))) }
    }

    /// What time it is here, in whole seconds.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.lock().clock.now()
    }

    /// Moves the clock forward.
    pub fn advance_clock(&self, seconds: u32) {
        self.lock().clock.advance(i64::from(seconds));
    }

    /// Sets the clock, backwards too. A clock that follows the machine's keeps following it, from there.
    pub fn set_now(&self, now: Timestamp) {
        self.lock().clock.set(now);
    }

    /// Lets REST answer from the state as it was so many seconds ago; zero ends that.
    ///
    /// What was before the first call is not remembered: until the clock is that far, the state at the call is answered. Who may
    /// ask, and the clock, are never late.
    pub fn lag_rest(&self, seconds: u32) {
        self.lock().lag(i64::from(seconds));
    }

    /// Gives every token so many requests an hour.
    pub fn limit_rate(&self, requests_per_hour: u64) {
        self.lock().rate.limit = Some(requests_per_hour);
    }

    fn lock(&self) -> MutexGuard<'_, Simulation> {
        // A test that panicked while it held the lock has failed already.
        self.simulation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one change, and remembers what was for answers that lag.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Simulation) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut simulation = self.lock();
        let before = simulation.checkpoint();
        match change(&mut simulation) {
            Ok(done) => {
                simulation.remember();
                Ok(done)
            }
            Err(refusal) => {
                simulation.roll_back(before);
                Err(refusal)
            }
        }
    }
}

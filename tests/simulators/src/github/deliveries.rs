//! Webhooks: which hooks hear of an event, and the body that each of them gets.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value, json};
use uuid::Builder;

use crate::github::{
    GitHub,
    model::{RepositoryId, User},
    refusal::Refusal,
    render::{Urls, View, node_id},
    world::{Access, Installation, Simulation},
};

/// A version 1 UUID counts ticks of 100 ns since 1582; this many passed until 1970.
const TICKS_BEFORE_1970: u64 = 0x01B2_1DD2_1381_4000;

/// The network card in every delivery's id.
const NODE: [u8; 6] = *b"github";

/// What a delivery is sent through, as its headers tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A repository's own hook.
    Repository {
        /// `X-GitHub-Hook-ID`
        id: u64,
        /// `X-GitHub-Hook-Installation-Target-ID`
        repository: RepositoryId,
    },
    /// An organization's hook, which hears of all its repositories.
    Organization {
        /// `X-GitHub-Hook-ID`
        id: u64,
        /// `X-GitHub-Hook-Installation-Target-ID`
        organization: u64,
    },
    /// The one hook of an App, for all its installations.
    App {
        /// `X-GitHub-Hook-ID`
        id: u64,
        /// `X-GitHub-Hook-Installation-Target-ID`
        app: u64,
    },
}

/// One webhook that waits to be sent, its body complete: what it tells was so when the event was raised.
#[derive(Clone, PartialEq, Eq)]
pub struct Delivery {
    /// `X-GitHub-Event`
    pub event: String,
    /// `X-GitHub-Delivery`: the same for every hook that hears of this event.
    pub guid: String,
    /// The JSON, as it is signed.
    pub body: Vec<u8>,
    /// Whose event it is; none for events of an installation.
    pub repository_id: Option<RepositoryId>,
    /// Through which hook.
    pub hook: Hook,
}

impl fmt::Debug for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut delivery = formatter.debug_struct("Delivery");
        delivery.field("event", &self.event).field("guid", &self.guid);
        delivery.field("hook", &self.hook).field("bytes", &self.body.len()).finish()
    }
}

impl Delivery {
    /// What the body says.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// `action` of the body; empty where the event has none.
    #[must_use]
    pub fn action(&self) -> String {
        let action = self.json().get("action").and_then(Value::as_str).map(str::to_owned);
        action.unwrap_or_default()
    }
}

/// Whose events a hook hears of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookTarget {
    Repository(RepositoryId),
    Organization(u64),
}

impl GitHub {
    /// Adds a hook to a repository. It hears of every event that repository hooks hear of.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn add_hook(&self, repository: RepositoryId) -> Result<u64, Refusal> {
        self.change(|simulation| {
            simulation.world.repository(repository)?;
            Ok(simulation.add_hook(HookTarget::Repository(repository)))
        })
    }

    /// Adds a hook to an organization, or to what else owns repositories.
    ///
    /// # Errors
    /// [`Refusal::NoSuchAccount`]
    pub fn add_organization_hook(&self, organization: &User) -> Result<u64, Refusal> {
        self.change(|simulation| {
            simulation.world.account(organization.id)?;
            Ok(simulation.add_hook(HookTarget::Organization(organization.id)))
        })
    }

    /// All that was raised and not yet taken, in the order of the events.
    #[must_use]
    pub fn take_deliveries(&self) -> Vec<Delivery> {
        std::mem::take(&mut self.lock().outbox)
    }
}

impl Simulation {
    fn add_hook(&mut self, target: HookTarget) -> u64 {
        let id = self.ids.next();
        self.world_mut().hooks.insert(id, target);
        id
    }

    /// Raises an event of a repository: every hook that hears of it gets its own body.
    pub(crate) fn raise(
        &mut self,
        event: &str,
        repository: RepositoryId,
        sender: u64,
        fields: Value,
    ) -> Result<(), Refusal> {
        let view = View::of(&self.world, Urls::github());
        let mut body = view.envelope(repository, sender)?;
        if let Value::Object(fields) = fields {
            body.extend(fields);
        }
        let guid = guid(self.now().as_second(), self.ids.next());
        let mut raised = Vec::new();
        for (hook, installation) in self.hearing(event, &body, repository)? {
            let mut body = body.clone();
            if let Some(id) = installation {
                let node = node_id("MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u", id);
                body.insert("installation".to_owned(), json!({ "id": id, "node_id": node }));
            }
            raised.push(Delivery {
                event: event.to_owned(),
                guid: guid.clone(),
                body: Value::Object(body).to_string().into_bytes(),
                repository_id: Some(repository),
                hook,
            });
        }
        self.outbox.extend(raised);
        Ok(())
    }

    /// Raises an event that an App hears of because it concerns its own installation.
    pub(crate) fn raise_for_app(&mut self, event: &str, app: u64, body: Map<String, Value>) {
        let guid = guid(self.now().as_second(), self.ids.next());
        self.outbox.push(Delivery {
            event: event.to_owned(),
            guid,
            body: Value::Object(body).to_string().into_bytes(),
            repository_id: None,
            hook: Hook::App { id: app, app },
        });
    }

    /// The hooks that hear of an event, and the installation that an App's hook hears it through.
    fn hearing(
        &self,
        event: &str,
        body: &Map<String, Value>,
        id: RepositoryId,
    ) -> Result<Vec<(Hook, Option<u64>)>, Refusal> {
        let repository = self.world.repositories.get(&id).ok_or(Refusal::NoSuchRepository(id))?;
        let is_deletion =
            event == "repository" && body.get("action").and_then(Value::as_str) == Some("deleted");
        let mut hearing = Vec::new();
        for (hook, target) in &self.world.hooks {
            match *target {
                // Documented: repository hooks and Apps are not told of a repository's deletion.
                HookTarget::Repository(it)
                    if it == id && !is_deletion && event != "merge_group" =>
                {
                    hearing.push((Hook::Repository { id: *hook, repository: id }, None));
                }
                HookTarget::Organization(it)
                    if it == repository.owner && event != "merge_group" =>
                {
                    hearing.push((Hook::Organization { id: *hook, organization: it }, None));
                }
                HookTarget::Repository(_) | HookTarget::Organization(_) => {}
            }
        }
        let permission = permission_to_hear(event);
        let may_hear = |installation: &&Installation| {
            self.world.reaches(installation, repository)
                && installation.suspended.is_none()
                && installation.permissions.get(permission).is_some_and(|a| Access::Read <= *a)
        };
        if !is_deletion {
            let installations = self.world.installations.values().filter(may_hear);
            // An App's hook has an id of its own in fact; nothing depends on it.
            hearing.extend(
                installations.map(|it| (Hook::App { id: it.app, app: it.app }, Some(it.id))),
            );
        }
        Ok(hearing)
    }
}

/// What an App must be allowed to read, to hear of an event.
fn permission_to_hear(event: &str) -> &'static str {
    match event {
        "pull_request" | "pull_request_review" => "pull_requests",
        "push" | "create" | "delete" => "contents",
        "merge_group" => "merge_queues",
        "workflow_run" | "workflow_job" => "actions",
        _ => "metadata",
    }
}

/// GitHub's delivery ids are version 1 UUIDs.
fn guid(at_seconds: i64, number: u64) -> String {
    let seconds = u64::try_from(at_seconds).unwrap_or_default();
    // The number keeps ids of one second apart.
    let ticks = TICKS_BEFORE_1970 + seconds * 10_000_000 + number % 10_000_000;
    Builder::from_gregorian_timestamp(ticks, 0, &NODE).into_uuid().to_string()
}

/// Fields of a body.
pub(crate) fn fields(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let pairs: BTreeMap<_, _> = pairs.into_iter().collect();
    Value::Object(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

//! What the understood events have in common: `{action, <own object>, repository, installation, …}`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use domain::delivery::QuarantineReason;
use domain::fold::Finality;
use domain::ids::{Attempt, Host, RepositoryId, RepositoryKey};
use domain::observation::{Doubt, Fact};
use domain::pipeline_run::NativeWords;
use domain::words::Word;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::events::{Quarantined, Reading, SeenFact};
use crate::json::{Str, Strict, Time, explain, shape_mismatch, unreadable};

/// Longest action that a reason repeats; the longest known one has 24 characters.
const ACTION_CHARACTERS_MAX: usize = 64;

/// Top-level fields that mark an event, from GitHub's published schemas. An event carries its own, and those that it
/// lists as company; any other belongs to a body that was sent under a wrong name. A `workflow_run` alone proves nothing:
/// it stands in the bodies of three other events, and `requested` is an action of one of them.
const MARKS: [&str; 25] = [
    "approver",
    "check_run",
    "check_suite",
    "comment",
    "commits",
    "deployment",
    "deployment_callback_url",
    "deployment_status",
    "discussion",
    "hook",
    "issue",
    "merge_group",
    "package",
    "pull_request",
    "pusher",
    "registry_package",
    "release",
    "requestor",
    "review",
    "reviewers",
    "since",
    "workflow_job",
    "workflow_job_run",
    "workflow_job_runs",
    "workflow_run",
];

/// An event's own object, and what is special about the event.
pub(crate) trait Subject {
    /// The object's name, which is the event's too.
    const NAME: &'static str;
    /// The event's actions.
    const ACTIONS: &'static [&'static str];
    /// Marks of other events that this event's bodies may carry.
    const COMPANY: &'static [&'static str];
}

/// A subject that becomes a fact.
pub(crate) trait IntoFact: Subject {
    /// Where the object repeats the repository's id.
    const INNER_REPOSITORY: &'static str;

    /// The repository's id inside of the object, where the object repeats it.
    fn inner_repository(&self) -> Option<u64>;

    /// What the object says, with what stands beside it, and why that should be followed by a read.
    fn into_fact(self, beside: &Beside<'_>) -> Result<(Fact, Option<Doubt>), QuarantineReason>;
}

/// What stands beside the own object and matters to it.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    /// The event's action.
    pub(crate) action: &'static str,
    /// `repository.full_name`, or the repository's id where the body does not tell a name.
    pub(crate) repository_label: Cow<'a, str>,
    /// `deployment.updated_at`.
    pub(crate) deployment_at: Option<Time>,
}

/// A body, read once. Fields that a reason must be able to name are optional here and demanded later.
#[derive(Debug)]
struct Body<'a, S> {
    action: Option<Str<'a>>,
    subject: Option<S>,
    repository: Option<Repository<'a>>,
    installation: Option<Installation>,
    deployment: Option<Deployment>,
    /// The first mark of another event.
    foreign: Option<&'static str>,
}

/// The own object of `S`, looked at by nobody.
#[derive(Debug)]
struct Unseen<S>(PhantomData<S>);

#[derive(Debug, Deserialize)]
struct Repository<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    full_name: Option<Str<'a>>,
}

#[derive(Debug, Deserialize)]
struct Installation {
    id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Deployment {
    updated_at: Option<Time>,
}

/// Reads a body as the event that `S` belongs to.
pub(crate) fn read<'a, S: IntoFact + Deserialize<'a>>(text: &'a str, host: &Host) -> Reading {
    match serde_json::from_str::<Body<'a, Strict<S>>>(text) {
        Ok(body) => body.observe(host),
        Err(_) => Reading::Quarantined(refuse::<S>(text, host)),
    }
}

/// Takes what is required, or names it.
pub(crate) fn required<T>(value: Option<T>, field: &str) -> Result<T, QuarantineReason> {
    value.ok_or_else(|| unreadable(&format!("{field} is missing")))
}

/// Takes an id that is required. Zero is none.
pub(crate) fn id(value: Option<u64>, field: &str) -> Result<u64, QuarantineReason> {
    match required(value, field)? {
        0 => Err(unreadable(&format!("{field} is zero"))),
        id => Ok(id),
    }
}

/// The attempt. A body without one comes from an old host, whose jobs did not tell it, and counts as the first: a re-run
/// there can't be told from the run before it by anything that is sent.
pub(crate) fn attempt(number: Option<u32>, field: &str) -> Result<Attempt, QuarantineReason> {
    Attempt::new(number.unwrap_or(1)).map_err(|_| unreadable(&format!("{field} is zero")))
}

/// Status and conclusion, verbatim.
pub(crate) fn words(status: &Str<'_>, conclusion: Option<&Str<'_>>) -> NativeWords {
    NativeWords {
        status: Word::new(status.as_str()),
        result: conclusion.map(|conclusion| Word::new(conclusion.as_str())),
    }
}

/// Whether an action that says "completed" comes with a snapshot of something unfinished.
pub(crate) fn doubt(action: &str, words: &NativeWords) -> Option<Doubt> {
    let unfinished = words.reading().state.finality() == Finality::Live;
    (action == "completed" && unfinished).then_some(Doubt::ActionDisagrees)
}

/// Says of a body that is no `Body<S>` what it is.
fn refuse<'a, S: Subject + Deserialize<'a>>(text: &'a str, host: &Host) -> Quarantined {
    let reason = explain::<Body<'a, Strict<S>>>(text);
    // What is wrong may lie in the own object alone: what stands beside it still tells whose it is.
    let Ok(body) = serde_json::from_str::<Body<'a, Unseen<S>>>(text) else { return reason.into() };
    let reason = body.foreign.map_or(reason, foreign_mark);
    Quarantined { reason, action: body.action_word(), repository: body.repository_key(host) }
}

fn foreign_mark(mark: &str) -> QuarantineReason {
    shape_mismatch(&format!("{mark} belongs to another event"))
}

impl<S: IntoFact> Body<'_, Strict<S>> {
    fn observe(self, host: &Host) -> Reading {
        let action = self.action_word();
        let repository = self.repository_key(host).filter(|_| !self.names_two_repositories());
        match self.seen_fact(host) {
            Ok(seen) => Reading::Observed(seen),
            Err(reason) => Reading::Quarantined(Quarantined { reason, action, repository }),
        }
    }

    fn seen_fact(self, host: &Host) -> Result<SeenFact, QuarantineReason> {
        if let Some(mark) = self.foreign {
            return Err(foreign_mark(mark));
        }
        let action = self.known_action()?;
        if self.names_two_repositories() {
            let place = format!("{} is not repository.id", S::INNER_REPOSITORY);
            return Err(shape_mismatch(&place));
        }
        let repository = self.repository_key(host);
        let Strict(subject) =
            self.subject.ok_or_else(|| shape_mismatch(&format!("no {}", S::NAME)))?;
        let outer = self.repository.ok_or_else(|| shape_mismatch("no repository"))?;
        let repository = required(repository, "repository.id")?;
        let beside = Beside {
            action,
            repository_label: match outer.full_name {
                Some(name) => name.0,
                None => Cow::Owned(repository.id.to_string()),
            },
            deployment_at: self.deployment.and_then(|deployment| deployment.updated_at),
        };
        let (fact, doubt) = subject.into_fact(&beside)?;
        let installation = self.installation.and_then(|installation| installation.id);
        Ok(SeenFact { repository, installation, fact, doubt, action: Word::new(action) })
    }

    /// Whether the own object and what stands beside it name one repository each, and not the same. Such a body is
    /// nobody's: whoever looked at one id only would put it into another tenant's mirror.
    fn names_two_repositories(&self) -> bool {
        let inner = self.subject.as_ref().and_then(|Strict(subject)| subject.inner_repository());
        let outer = self.repository.as_ref().and_then(|repository| repository.id);
        inner.zip(outer).is_some_and(|(inner, outer)| inner != outer)
    }
}

impl<S: Subject> Body<'_, S> {
    /// The action, if it is one of the event's.
    fn known_action(&self) -> Result<&'static str, QuarantineReason> {
        let Some(action) = &self.action else { return Err(shape_mismatch("no action")) };
        let known = S::ACTIONS.iter().find(|known| **known == action.as_str());
        known.copied().ok_or_else(|| {
            let action = self.action_word();
            let shown = action.as_ref().map_or("another word", Word::as_str);
            shape_mismatch(&format!("action of {} is {shown}", S::NAME))
        })
    }

    /// The action, if it looks like one: anything else is content, and is not repeated.
    fn action_word(&self) -> Option<Word> {
        let action = self.action.as_ref()?.as_str();
        let looks_right = (1..=ACTION_CHARACTERS_MAX).contains(&action.len())
            && action.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        looks_right.then(|| Word::new(action))
    }

    fn repository_key(&self, host: &Host) -> Option<RepositoryKey> {
        let id = RepositoryId::from_number(self.repository.as_ref()?.id?).ok()?;
        Some(RepositoryKey { host: host.clone(), id })
    }
}

impl<S: Subject> Subject for Strict<S> {
    const NAME: &'static str = S::NAME;
    const ACTIONS: &'static [&'static str] = S::ACTIONS;
    const COMPANY: &'static [&'static str] = S::COMPANY;
}

impl<S: Subject> Subject for Unseen<S> {
    const NAME: &'static str = S::NAME;
    const ACTIONS: &'static [&'static str] = S::ACTIONS;
    const COMPANY: &'static [&'static str] = S::COMPANY;
}

impl<'de, S> Deserialize<'de> for Unseen<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(PhantomData))
    }
}

impl<'de, S: Subject + Deserialize<'de>> Deserialize<'de> for Body<'de, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

/// Reads a body's fields. By hand, because the own object's name depends on the event, and because other events' marks
/// are many.
struct Fields<S>(PhantomData<S>);

impl<'de, S: Subject + Deserialize<'de>> Visitor<'de> for Fields<S> {
    type Value = Body<'de, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut action, mut subject) = (None, None);
        let (mut repository, mut installation, mut deployment) = (None, None, None);
        let mut foreign = None;
        while let Some(key) = map.next_key::<Str<'de>>()? {
            let key = key.as_str();
            if let Some(mark) = foreign_to::<S>(key) {
                foreign.get_or_insert(mark);
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            match key {
                "action" => once(&mut action, "action", &mut map)?,
                "repository" => once(&mut repository, "repository", &mut map)?,
                "installation" => once(&mut installation, "installation", &mut map)?,
                "deployment" => once(&mut deployment, "deployment", &mut map)?,
                key if key == S::NAME => once(&mut subject, S::NAME, &mut map)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Body {
            action: action.flatten(),
            subject: subject.flatten(),
            repository: repository.flatten().map(|Strict(repository)| repository),
            installation: installation.flatten().map(|Strict(installation)| installation),
            deployment: deployment.flatten().map(|Strict(deployment)| deployment),
            foreign,
        })
    }
}

/// The mark that a field bears, if it is one of another event than `S`'s.
fn foreign_to<S: Subject>(key: &str) -> Option<&'static str> {
    let mark = MARKS.iter().find(|mark| **mark == key).copied()?;
    (mark != S::NAME && !S::COMPANY.contains(&mark)).then_some(mark)
}

/// Takes a field's value, which may be null, unless the field was there before. Two values of one field mean that two
/// readers can see two bodies.
fn once<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<Option<T>>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(Error::duplicate_field(name));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

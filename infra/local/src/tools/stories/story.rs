//! Reading a story: a file of deliveries, each a sample with a few values changed, and what must become of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::{ContentType, ToolError, event_of};

/// Most deliveries of one body: enough to tell a duplicate from a storm.
const TIMES_MAX: u32 = 100;

/// A story, ready to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// What it is about.
    pub title: String,
    /// Who owns which repository when it begins.
    pub registrations: Vec<Claim>,
    /// What happens.
    pub steps: Vec<Step>,
    /// All mirrors at its end.
    pub mirrors: Vec<MirrorView>,
}

/// A tenant's claim on a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// Where the repository is.
    pub host: String,
    /// Its id there.
    pub repository_id: u64,
    /// `owner/name`.
    pub repository: String,
    /// Who claims it.
    pub tenant_id: String,
    /// For which project.
    pub project_id: String,
}

/// A few deliveries that show one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// The deliveries, in the order in which they are made.
    pub deliveries: Vec<Delivery>,
    /// What must have happened when it is over.
    pub expected: Told,
}

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The source that sends it.
    pub source: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// `X-GitHub-Delivery`.
    pub delivery_id: String,
    /// The exact body.
    pub body: String,
    /// How the body is sent.
    pub content_type: ContentType,
    /// What signs it, where that is not the source's own secret.
    pub secret: Option<String>,
    /// How often it is made.
    pub times: u32,
}

/// What happens in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// One per delivery.
    pub deliveries: Vec<Telling>,
    /// The mirrors that the step is about, after it.
    pub mirrors: Vec<MirrorView>,
}

/// What becomes of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Telling {
    /// The source that sent it.
    pub source: String,
    /// `X-GitHub-Delivery`.
    pub delivery_id: String,
    /// The event with its action.
    pub sent: String,
    /// The HTTP status of each answer.
    pub answers: Vec<u16>,
    /// The outcome in the ledger, with the reason behind a colon. Absent when the ledger must not know the delivery.
    pub ledger: Option<String>,
}

/// A mirror, as far as a story tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MirrorView {
    /// Whose it is.
    pub tenant_id: String,
    /// In which project.
    pub project_id: String,
    /// `owner/name`.
    pub repository: String,
    /// The run at its host.
    pub external_run_id: u64,
    /// The attempt.
    pub attempt: u32,
    /// Its state.
    pub state: String,
    /// Whether its state was told in two ways at once.
    #[serde(default)]
    pub contested: bool,
    /// What the host should not have done.
    #[serde(default)]
    pub irregular: Vec<String>,
    /// State by name of the stage; behind it `contested` and what is irregular.
    #[serde(default)]
    pub stages: BTreeMap<String, String>,
}

/// JSON pointers, and the values that go there.
type Patch = BTreeMap<String, Value>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoryFile {
    title: String,
    samples: PathBuf,
    registrations: Vec<Claim>,
    steps: Vec<StepInFile>,
    mirrors: Vec<MirrorView>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepInFile {
    step: String,
    shows: String,
    #[serde(default)]
    patch: BTreeMap<String, Patch>,
    deliveries: Vec<DeliveryInFile>,
    #[serde(default)]
    mirrors: Vec<MirrorView>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeliveryInFile {
    delivery_id: String,
    source: String,
    event: Option<String>,
    file: Option<PathBuf>,
    body: Option<Value>,
    #[serde(default)]
    patch: Patch,
    #[serde(default)]
    form: bool,
    secret: Option<String>,
    times: Option<u32>,
    answer: u16,
    ledger: Option<String>,
}

impl Story {
    /// Reads a story and all samples that it names.
    ///
    /// # Errors
    /// [`ToolError::File`] says what is wrong where.
    pub fn load(path: &Path) -> Result<Self, ToolError> {
        let text = fs::read_to_string(path).map_err(|error| ToolError::file(path, error))?;
        let samples = |samples: &Path| path.parent().unwrap_or(Path::new(".")).join(samples);
        Self::parse(&text, |folder, file| {
            let file = samples(folder).join(file);
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
        })
        .map_err(|fault| ToolError::file(path, fault))
    }

    /// Reads a story whose samples `read` finds, by their folder and file.
    fn parse(
        text: &str,
        read: impl Fn(&Path, &Path) -> Result<String, String>,
    ) -> Result<Self, String> {
        let file: StoryFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let sample = |name: &Path| read(&file.samples, name);
        let steps = file.steps.into_iter().map(|step| {
            let name = step.step.clone();
            step.read(&sample).map_err(|fault| format!("step {name:?}: {fault}"))
        });
        Ok(Self {
            title: file.title,
            registrations: file.registrations,
            steps: steps.collect::<Result<_, _>>()?,
            mirrors: file.mirrors,
        })
    }
}

impl StepInFile {
    fn read(self, sample: &impl Fn(&Path) -> Result<String, String>) -> Result<Step, String> {
        let (mut deliveries, mut tellings) = (Vec::new(), Vec::new());
        for delivery in self.deliveries {
            let id = delivery.delivery_id.clone();
            let read = delivery.read(&self.patch, sample);
            let (delivery, telling) = read.map_err(|fault| format!("delivery {id}: {fault}"))?;
            deliveries.push(delivery);
            tellings.push(telling);
        }
        let events: BTreeSet<_> = deliveries.iter().map(|delivery| &delivery.event).collect();
        if let Some(event) = self.patch.keys().find(|event| !events.contains(event)) {
            return Err(format!("no delivery of the patched event {event}"));
        }
        Ok(Step {
            name: self.step,
            shows: self.shows,
            deliveries,
            expected: Told { deliveries: tellings, mirrors: self.mirrors },
        })
    }
}

impl DeliveryInFile {
    fn read(
        self,
        patches: &BTreeMap<String, Patch>,
        sample: &impl Fn(&Path) -> Result<String, String>,
    ) -> Result<(Delivery, Telling), String> {
        let named = self.file.as_deref().and_then(event_of).map(str::to_owned);
        let event = self.event.clone().or(named).ok_or("neither event nor file")?;
        let times = self.times.unwrap_or(1);
        if !(1..=TIMES_MAX).contains(&times) {
            return Err(format!("times is not between 1 and {TIMES_MAX}"));
        }
        let body = match (&self.file, &self.body) {
            (Some(file), None) => {
                let mut body: Value =
                    serde_json::from_str(&sample(file)?).map_err(|error| error.to_string())?;
                let of_step = patches.get(&event).into_iter().flatten();
                patch(&mut body, of_step.chain(&self.patch))?;
                body.to_string()
            }
            (None, Some(_)) if !self.patch.is_empty() => {
                return Err("a patch without a file".into());
            }
            // A text is sent as it stands, so that a body need not be JSON.
            (None, Some(Value::String(text))) => text.clone(),
            (None, Some(body)) => body.to_string(),
            _ => return Err("not exactly one of file and body".into()),
        };
        let telling = Telling {
            source: self.source.clone(),
            delivery_id: self.delivery_id.clone(),
            sent: sent(&event, &body),
            answers: (0..times).map(|_| self.answer).collect(),
            ledger: self.ledger,
        };
        let delivery = Delivery {
            source: self.source,
            event,
            delivery_id: self.delivery_id,
            body,
            content_type: if self.form { ContentType::Form } else { ContentType::Json },
            secret: self.secret,
            times,
        };
        Ok((delivery, telling))
    }
}

impl MirrorView {
    /// The run and its attempt, and whose they are.
    pub(crate) fn key(&self) -> (&str, &str, u64, u32) {
        (&self.tenant_id, &self.repository, self.external_run_id, self.attempt)
    }
}

/// Puts values in the place of others. A pointer that leads nowhere is a mistake: the sample may have changed.
fn patch<'a>(
    body: &mut Value,
    patch: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> Result<(), String> {
    for (pointer, value) in patch {
        let place = body.pointer_mut(pointer);
        *place.ok_or_else(|| format!("nothing in the sample at {pointer}"))? = value.clone();
    }
    Ok(())
}

/// The event with its action.
fn sent(event: &str, body: &str) -> String {
    let body = serde_json::from_str::<Value>(body).ok();
    match body.as_ref().and_then(|body| body.get("action")?.as_str()) {
        Some(action) => format!("{event} {action}"),
        None => event.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SAMPLE: &str = r#"{ "action": "requested", "workflow_run": { "id": 1, "tags": ["a"] } }"#;

    fn story(step: Value) -> Result<Story, String> {
        let text = json!({
            "title": "t", "samples": "../github", "registrations": [], "mirrors": [], "steps": [step],
        });
        Story::parse(&text.to_string(), |folder, file| {
            let path = folder.join(file);
            match path.to_str() {
                Some("../github/workflow_run.requested.json") => Ok(SAMPLE.to_owned()),
                _ => Err(format!("{}: no such file", path.display())),
            }
        })
    }

    fn delivery(extra: Value) -> Value {
        let mut delivery = json!({ "deliveryId": "d1", "source": "acme", "answer": 202 });
        delivery.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({ "step": "s", "shows": "", "deliveries": [delivery] })
    }

    fn fault(extra: Value) -> String {
        story(delivery(extra)).unwrap_err()
    }

    #[test]
    fn a_sample_is_sent_on_one_line_with_the_patches_of_step_and_delivery() {
        let mut step = delivery(json!({
            "file": "workflow_run.requested.json",
            "patch": { "/workflow_run/tags/0": "b", "/action": "completed" },
        }));
        step["patch"] =
            json!({ "workflow_run": { "/workflow_run/id": 2, "/action": "in_progress" } });
        let story = story(step).unwrap();
        let delivery = &story.steps[0].deliveries[0];
        let body: Value = serde_json::from_str(&delivery.body).unwrap();
        assert_eq!(
            body,
            json!({ "action": "completed", "workflow_run": { "id": 2, "tags": ["b"] } })
        );
        assert!(!delivery.body.contains([' ', '\n']), "{}", delivery.body);
        assert_eq!(delivery.event, "workflow_run");
        assert_eq!(story.steps[0].expected.deliveries[0].sent, "workflow_run completed");
    }

    #[test]
    fn a_text_is_sent_as_it_stands_and_json_as_json() {
        let body = |body: Value| {
            let story = story(delivery(json!({ "event": "push", "body": body }))).unwrap();
            story.steps[0].deliveries[0].body.clone()
        };
        assert_eq!(body(json!("{ \"action\": ")), "{ \"action\": ");
        assert_eq!(body(json!({ "ref": "main" })), r#"{"ref":"main"}"#);
    }

    #[test]
    fn a_delivery_that_is_made_twice_is_answered_twice() {
        let extra = json!({ "file": "workflow_run.requested.json", "times": 2 });
        assert_eq!(
            story(delivery(extra)).unwrap().steps[0].expected.deliveries[0].answers,
            [202; 2]
        );
    }

    #[test]
    fn a_mistake_in_a_story_is_named() {
        let file = "workflow_run.requested.json";
        for (extra, expected) in [
            (json!({}), "neither event nor file"),
            (json!({ "event": "push" }), "not exactly one of file and body"),
            (json!({ "file": file, "body": {} }), "not exactly one of file and body"),
            (
                json!({ "event": "push", "body": {}, "patch": { "/a": 1 } }),
                "a patch without a file",
            ),
            (json!({ "file": file, "times": 0 }), "times is not between"),
            (
                json!({ "file": file, "patch": { "/workflow_run/name": 1 } }),
                "nothing in the sample at /workflow_run/name",
            ),
            (json!({ "file": file, "patch": { "action": 1 } }), "nothing in the sample at action"),
            (json!({ "file": "other.json" }), "../github/other.json: no such file"),
            (json!({ "file": file, "sorce": "acme" }), "unknown field `sorce`"),
        ] {
            let fault = fault(extra.clone());
            assert!(fault.contains(expected), "{extra}: {fault}");
        }
        assert!(fault(json!({})).starts_with(r#"step "s": delivery d1: "#));
        let mut step = delivery(json!({ "file": file }));
        step["patch"] = json!({ "workflow_job": {} });
        assert!(story(step).unwrap_err().contains("no delivery of the patched event workflow_job"));
    }
}

//! The message format of the observations queue. A message may be older or newer than the code that reads it: each has a
//! version, version 1 stays readable, and a version that is not known stays on the queue for the code that knows it.

use domain::delivery::{Delivery, QuarantineReason, Scope};
use domain::ids::{
    AccountId, Attempt, CommitId, DeliveryId, Host, JobId, PullRequestNumber, RepositoryId,
    RepositoryKey, RunId, SourceId, TenantId,
};
use domain::observation::{Doubt, Fact, Observation, Origin, RunFact, StageFact};
use domain::pipeline_run::{NativeWords, RunContent};
use domain::pull_request::{
    AutoMerge, Labels, Merge, PullRequestContent, PullRequestFact, PullRequestWords,
};
use domain::stage::StageContent;
use domain::words::{Text, Word};
use jiff::Timestamp;
use ports::{Message, QuarantinedDelivery, SendError};
use serde::{Deserialize, Serialize};

/// Largest message. SQS bills each 64 KiB as one request; every list that could grow is cut before it comes here.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// Why a message was not read: it stays on the queue, and ends in the dead-letter queue.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// A version that this code does not know: a newer deployment wrote it.
    #[error("message version {0} is not known here")]
    Version(u64),
    /// Not a message of ours.
    #[error("not an observations message: {0}")]
    Malformed(String),
}

/// Writes a message in the newest version.
pub fn encode(message: &Message) -> Result<String, SendError> {
    let body = serde_json::to_string(&MessageV1::from(message))
        .map_err(|error| SendError::Unavailable(error.into()))?;
    if body.len() > MESSAGE_BYTES_MAX {
        return Err(SendError::TooLarge { bytes: body.len(), limit: MESSAGE_BYTES_MAX });
    }
    Ok(body)
}

/// Reads a message of any version that is known.
pub fn decode(body: &str) -> Result<Message, DecodeError> {
    let malformed = |error: serde_json::Error| {
        // The parser's position is enough; its text could repeat content.
        DecodeError::Malformed(format!("line {} column {}", error.line(), error.column()))
    };
    if body.len() > MESSAGE_BYTES_MAX {
        return Err(DecodeError::Malformed(format!("{} bytes", body.len())));
    }
    let Versioned { version } = serde_json::from_str(body).map_err(malformed)?;
    if version != 1 {
        return Err(DecodeError::Version(version));
    }
    let message: MessageV1 = serde_json::from_str(body).map_err(malformed)?;
    message.read().ok_or_else(|| DecodeError::Malformed("an id is out of bounds".to_owned()))
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageV1 {
    version: u64,
    scope: ScopeV1,
    repository: Option<RepositoryV1>,
    #[serde(flatten)]
    content: ContentV1,
    origin: OriginV1,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ScopeV1 {
    Tenant(String),
    Installation(Option<u64>),
}

#[derive(Serialize, Deserialize)]
struct RepositoryV1 {
    host: String,
    id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ContentV1 {
    Run(RunV1),
    Stage(StageV1),
    PullRequest(PullRequestV1),
    Quarantine(QuarantineV1),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunV1 {
    run: u64,
    attempt: u32,
    updated_at: Timestamp,
    status: String,
    result: Option<String>,
    started_at: Timestamp,
    commit: String,
    definition: String,
    event: String,
    branch: Option<String>,
    head_repository: Option<String>,
    run_number: Option<u64>,
    name: Option<String>,
    repository_label: String,
    doubt: Option<DoubtV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StageV1 {
    run: u64,
    attempt: u32,
    job: u64,
    at: Timestamp,
    deployment_at: Option<Timestamp>,
    status: String,
    result: Option<String>,
    name: String,
    created_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    doubt: Option<DoubtV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "a wire format, not a state")]
struct PullRequestV1 {
    number: u64,
    updated_at: Timestamp,
    state: String,
    merge: MergeV1,
    head: String,
    base_branch: String,
    head_repository: Option<String>,
    head_branch: String,
    base_commit: Option<String>,
    draft: bool,
    auto_merge: bool,
    author: Option<String>,
    merged_by: Option<String>,
    merged_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    labels: Vec<String>,
    doubt: Option<DoubtV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MergeV1 {
    NotTold,
    No,
    Yes(Option<String>),
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
enum DoubtV1 {
    ActionDisagrees,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum QuarantineV1 {
    NotJson,
    Unreadable(String),
    ShapeMismatch(String),
    FutureVersion,
    Unstorable,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OriginV1 {
    Delivery(DeliveryV1),
    #[serde(rename_all = "camelCase")]
    Read {
        connection: String,
        started_at: Timestamp,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryV1 {
    source: String,
    hook: Option<u64>,
    id: String,
    event: String,
    action: Option<String>,
    body_sha256: String,
    received_at: Timestamp,
}

impl From<&Message> for MessageV1 {
    fn from(message: &Message) -> Self {
        match message {
            Message::Observation(observation) => Self {
                version: 1,
                scope: (&observation.scope).into(),
                repository: Some((&observation.repository).into()),
                content: match &observation.fact {
                    Fact::Run(fact) => ContentV1::Run(run_v1(fact, observation.doubt)),
                    Fact::Stage(fact) => ContentV1::Stage(stage_v1(fact, observation.doubt)),
                    Fact::PullRequest(fact) => {
                        ContentV1::PullRequest(pull_request_v1(fact, observation.doubt))
                    }
                },
                origin: (&observation.origin).into(),
            },
            Message::Quarantine(quarantined) => Self {
                version: 1,
                scope: (&quarantined.scope).into(),
                repository: quarantined.repository.as_ref().map(Into::into),
                content: ContentV1::Quarantine((&quarantined.reason).into()),
                origin: OriginV1::Delivery((&quarantined.delivery).into()),
            },
        }
    }
}

impl MessageV1 {
    /// `None` when an id or a bound is violated: who wrote that is not us.
    fn read(self) -> Option<Message> {
        let scope = match self.scope {
            ScopeV1::Tenant(tenant) => Scope::Tenant(TenantId::new(tenant).ok()?),
            ScopeV1::Installation(id) => Scope::Installation(id),
        };
        let repository = match self.repository {
            Some(repository) => Some(RepositoryKey {
                host: Host::new(&repository.host).ok()?,
                id: RepositoryId::parse(&repository.id).ok()?,
            }),
            None => None,
        };
        let (fact, doubt) = match self.content {
            ContentV1::Run(run) => {
                let doubt = run.doubt;
                (Fact::Run(Box::new(run.read()?)), doubt)
            }
            ContentV1::Stage(stage) => {
                let doubt = stage.doubt;
                (Fact::Stage(Box::new(stage.read()?)), doubt)
            }
            ContentV1::PullRequest(pull_request) => {
                let doubt = pull_request.doubt;
                (Fact::PullRequest(Box::new(pull_request.read()?)), doubt)
            }
            ContentV1::Quarantine(reason) => {
                let OriginV1::Delivery(delivery) = self.origin else { return None };
                return Some(Message::Quarantine(Box::new(QuarantinedDelivery {
                    scope,
                    delivery: delivery.read()?,
                    repository,
                    reason: reason.read(),
                })));
            }
        };
        let origin = match self.origin {
            OriginV1::Delivery(delivery) => Origin::Delivery(delivery.read()?),
            OriginV1::Read { connection, started_at } => Origin::Read { connection, started_at },
        };
        let doubt = doubt.map(|DoubtV1::ActionDisagrees| Doubt::ActionDisagrees);
        Some(Message::Observation(Box::new(Observation {
            scope,
            repository: repository?,
            fact,
            doubt,
            origin,
        })))
    }
}

fn run_v1(fact: &RunFact, doubt: Option<Doubt>) -> RunV1 {
    let content = &fact.content;
    RunV1 {
        run: fact.run.0,
        attempt: fact.attempt.get(),
        updated_at: fact.updated_at,
        status: content.words.status.to_string(),
        result: content.words.result.as_ref().map(ToString::to_string),
        started_at: content.started_at,
        commit: content.commit.to_string(),
        definition: content.definition.to_string(),
        event: content.event.to_string(),
        branch: content.branch.as_ref().map(ToString::to_string),
        head_repository: content.head_repository.as_ref().map(ToString::to_string),
        run_number: content.run_number,
        name: content.name.as_ref().map(ToString::to_string),
        repository_label: content.repository_label.to_string(),
        doubt: doubt.map(Into::into),
    }
}

fn stage_v1(fact: &StageFact, doubt: Option<Doubt>) -> StageV1 {
    let content = &fact.content;
    StageV1 {
        run: fact.run.0,
        attempt: fact.attempt.get(),
        job: fact.job.0,
        at: fact.at,
        deployment_at: fact.deployment_at,
        status: content.words.status.to_string(),
        result: content.words.result.as_ref().map(ToString::to_string),
        name: content.name.to_string(),
        created_at: content.created_at,
        started_at: content.started_at,
        completed_at: content.completed_at,
        doubt: doubt.map(Into::into),
    }
}

fn pull_request_v1(fact: &PullRequestFact, doubt: Option<Doubt>) -> PullRequestV1 {
    let content = &fact.content;
    PullRequestV1 {
        number: fact.number.get(),
        updated_at: fact.updated_at,
        state: content.words.state.to_string(),
        merge: match &content.words.merge {
            Merge::NotTold => MergeV1::NotTold,
            Merge::No => MergeV1::No,
            Merge::Yes { commit } => MergeV1::Yes(commit.as_ref().map(ToString::to_string)),
        },
        head: content.words.head.to_string(),
        base_branch: content.words.base_branch.to_string(),
        head_repository: content.head_repository.as_ref().map(ToString::to_string),
        head_branch: content.head_branch.to_string(),
        base_commit: content.base_commit.as_ref().map(ToString::to_string),
        draft: content.draft,
        auto_merge: content.auto_merge == AutoMerge::On,
        author: content.author.as_ref().map(ToString::to_string),
        merged_by: content.merged_by.as_ref().map(ToString::to_string),
        merged_at: content.merged_at,
        closed_at: content.closed_at,
        labels: content.labels.as_slice().iter().map(ToString::to_string).collect(),
        doubt: doubt.map(Into::into),
    }
}

impl PullRequestV1 {
    fn read(self) -> Option<PullRequestFact> {
        let merge = match self.merge {
            MergeV1::NotTold => Merge::NotTold,
            MergeV1::No => Merge::No,
            MergeV1::Yes(commit) => Merge::Yes { commit: optional(commit, CommitId::new)? },
        };
        Some(PullRequestFact {
            number: PullRequestNumber::new(self.number).ok()?,
            updated_at: self.updated_at,
            content: PullRequestContent {
                words: PullRequestWords {
                    state: Word::new(&self.state),
                    merge,
                    head: CommitId::new(&self.head).ok()?,
                    base_branch: Text::new(&self.base_branch),
                },
                head_repository: optional(self.head_repository, RepositoryId::parse)?,
                head_branch: Text::new(&self.head_branch),
                base_commit: optional(self.base_commit, CommitId::new)?,
                draft: self.draft,
                auto_merge: if self.auto_merge { AutoMerge::On } else { AutoMerge::Off },
                author: optional(self.author, AccountId::parse)?,
                merged_by: optional(self.merged_by, AccountId::parse)?,
                merged_at: self.merged_at,
                closed_at: self.closed_at,
                labels: Labels::new(self.labels.iter().map(String::as_str)),
            },
        })
    }
}

/// A text that may be absent. `None` when it is there and `parse` refuses it.
fn optional<T, E>(
    text: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<Option<T>> {
    match text {
        None => Some(None),
        Some(text) => parse(&text).ok().map(Some),
    }
}

impl RunV1 {
    fn read(self) -> Option<RunFact> {
        Some(RunFact {
            run: RunId(self.run),
            attempt: Attempt::new(self.attempt).ok()?,
            updated_at: self.updated_at,
            content: RunContent {
                words: words(&self.status, self.result.as_deref()),
                started_at: self.started_at,
                commit: Text::new(&self.commit),
                definition: Text::new(&self.definition),
                event: Word::new(&self.event),
                branch: self.branch.as_deref().map(Text::new),
                head_repository: match self.head_repository {
                    Some(id) => Some(RepositoryId::parse(&id).ok()?),
                    None => None,
                },
                run_number: self.run_number,
                name: self.name.as_deref().map(Text::new),
                repository_label: Text::new(&self.repository_label),
            },
        })
    }
}

impl StageV1 {
    fn read(self) -> Option<StageFact> {
        Some(StageFact {
            run: RunId(self.run),
            attempt: Attempt::new(self.attempt).ok()?,
            job: JobId(self.job),
            at: self.at,
            deployment_at: self.deployment_at,
            content: StageContent {
                words: words(&self.status, self.result.as_deref()),
                name: Text::new(&self.name),
                created_at: self.created_at,
                started_at: self.started_at,
                completed_at: self.completed_at,
            },
        })
    }
}

fn words(status: &str, result: Option<&str>) -> NativeWords {
    NativeWords { status: Word::new(status), result: result.map(Word::new) }
}

impl DeliveryV1 {
    fn read(self) -> Option<Delivery> {
        Some(Delivery {
            source: SourceId::new(self.source).ok()?,
            hook: self.hook,
            id: DeliveryId::new(&self.id).ok()?,
            event: Word::new(&self.event),
            action: self.action.as_deref().map(Word::new),
            body_sha256: self.body_sha256,
            received_at: self.received_at,
        })
    }
}

impl From<&Scope> for ScopeV1 {
    fn from(scope: &Scope) -> Self {
        match scope {
            Scope::Tenant(tenant) => Self::Tenant(tenant.to_string()),
            Scope::Installation(id) => Self::Installation(*id),
        }
    }
}

impl From<&RepositoryKey> for RepositoryV1 {
    fn from(key: &RepositoryKey) -> Self {
        Self { host: key.host.to_string(), id: key.id.to_string() }
    }
}

impl From<&Origin> for OriginV1 {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::Delivery(delivery) => Self::Delivery(delivery.into()),
            Origin::Read { connection, started_at } => {
                Self::Read { connection: connection.clone(), started_at: *started_at }
            }
        }
    }
}

impl From<&Delivery> for DeliveryV1 {
    fn from(delivery: &Delivery) -> Self {
        Self {
            source: delivery.source.to_string(),
            hook: delivery.hook,
            id: delivery.id.to_string(),
            event: delivery.event.to_string(),
            action: delivery.action.as_ref().map(ToString::to_string),
            body_sha256: delivery.body_sha256.clone(),
            received_at: delivery.received_at,
        }
    }
}

impl From<&QuarantineReason> for QuarantineV1 {
    fn from(reason: &QuarantineReason) -> Self {
        match reason {
            QuarantineReason::NotJson => Self::NotJson,
            QuarantineReason::Unreadable { place } => Self::Unreadable(place.to_string()),
            QuarantineReason::ShapeMismatch { place } => Self::ShapeMismatch(place.to_string()),
            QuarantineReason::FutureVersion => Self::FutureVersion,
            QuarantineReason::Unstorable => Self::Unstorable,
        }
    }
}

impl QuarantineV1 {
    fn read(self) -> QuarantineReason {
        match self {
            Self::NotJson => QuarantineReason::NotJson,
            Self::Unreadable(place) => QuarantineReason::Unreadable { place: Text::new(&place) },
            Self::ShapeMismatch(place) => {
                QuarantineReason::ShapeMismatch { place: Text::new(&place) }
            }
            Self::FutureVersion => QuarantineReason::FutureVersion,
            Self::Unstorable => QuarantineReason::Unstorable,
        }
    }
}

impl From<Doubt> for DoubtV1 {
    fn from(Doubt::ActionDisagrees: Doubt) -> Self {
        Self::ActionDisagrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN_V1: &str = r#"{"version":1,"scope":{"tenant":"t1"},"repository":{"host":"github.com","id":"11"},"run":{"run":33714470481,"attempt":2,"updatedAt":"2026-11-30T10:05:00Z","status":"completed","result":"success","startedAt":"2026-11-30T10:00:00Z","commit":"c0ffee","definition":".github/workflows/ci.yml","event":"push","branch":"main","headRepository":"11","runNumber":7,"name":"ci","repositoryLabel":"acme/storefront","doubt":null},"origin":{"delivery":{"source":"acme","hook":5,"id":"4d8ed510-a74e-11f1-9e4b-bb84feffa688","event":"workflow_run","action":"completed","bodySha256":"00ff","receivedAt":"2026-11-30T10:05:02Z"}}}"#;

    const STAGE_V1: &str = r#"{"version":1,"scope":{"installation":77},"repository":{"host":"github.com","id":"11"},"stage":{"run":880,"attempt":1,"job":100520616165,"at":"2026-11-30T10:00:00Z","deploymentAt":"2026-11-30T10:00:01Z","status":"completed","result":null,"name":"build","createdAt":"2026-11-30T10:00:00Z","startedAt":null,"completedAt":null,"doubt":"actionDisagrees"},"origin":{"read":{"connection":"c1","startedAt":"2026-11-30T10:05:02.5Z"}}}"#;

    const QUARANTINE_V1: &str = r#"{"version":1,"scope":{"tenant":"t1"},"repository":null,"quarantine":{"unreadable":"line 1 column 5"},"origin":{"delivery":{"source":"acme","hook":null,"id":"x","event":"workflow_run","action":null,"bodySha256":"00ff","receivedAt":"2026-11-30T10:05:02Z"}}}"#;

    const PULL_REQUEST_V1: &str = r#"{"version":1,"scope":{"tenant":"t1"},"repository":{"host":"github.com","id":"11"},"pullRequest":{"number":41,"updatedAt":"2026-11-30T10:05:00Z","state":"closed","merge":{"yes":"00000000000000000000000000000000000000cc"},"head":"00000000000000000000000000000000000000aa","baseBranch":"main","headRepository":"11","headBranch":"factory/x","baseCommit":"00000000000000000000000000000000000000bb","draft":false,"autoMerge":true,"author":"5","mergedBy":"6","mergedAt":"2026-11-30T10:05:00Z","closedAt":"2026-11-30T10:05:00Z","labels":["checkout"],"doubt":null},"origin":{"delivery":{"source":"acme","hook":5,"id":"4d8ed510-a74e-11f1-9e4b-bb84feffa688","event":"pull_request","action":"closed","bodySha256":"00ff","receivedAt":"2026-11-30T10:05:02Z"}}}"#;

    #[test]
    fn version_1_stays_readable() {
        for literal in [RUN_V1, STAGE_V1, PULL_REQUEST_V1, QUARANTINE_V1] {
            let message = decode(literal).unwrap();
            assert_eq!(encode(&message).unwrap(), literal);
        }
    }

    #[test]
    fn an_unknown_version_is_left_for_who_knows_it() {
        let newer = RUN_V1.replace("\"version\":1", "\"version\":99");
        assert!(matches!(decode(&newer), Err(DecodeError::Version(99))));
    }

    #[test]
    fn what_is_no_message_of_ours_is_refused() {
        for junk in ["", "{}", "[]", "null", "\u{0}", r#"{"version":1}"#, r#"{"version":-1}"#] {
            assert!(matches!(decode(junk), Err(DecodeError::Malformed(_))), "{junk}");
        }
        for (from, to) in [
            ("\"t1\"", "\"t1#t2\""),
            ("\"github.com\"", "\"github.com/x\""),
            ("\"id\":\"11\"", "\"id\":\"0\""),
            ("\"attempt\":2", "\"attempt\":0"),
            ("\"attempt\":2", "\"attempt\":4294967296"),
        ] {
            let forged = RUN_V1.replacen(from, to, 1);
            assert!(matches!(decode(&forged), Err(DecodeError::Malformed(_))), "{to}");
        }
    }

    #[test]
    fn a_forged_pull_request_is_refused() {
        for (from, to) in [
            ("\"number\":41", "\"number\":0"),
            ("\"headRepository\":\"11\"", "\"headRepository\":\"x\""),
            ("\"author\":\"5\"", "\"author\":\"octavia\""),
            ("00cc\"", "00zz\""),
            ("00aa\"", "00\""),
            ("00bb\"", "00#b\""),
        ] {
            let forged = PULL_REQUEST_V1.replacen(from, to, 1);
            assert_ne!(forged, PULL_REQUEST_V1, "{to}");
            assert!(matches!(decode(&forged), Err(DecodeError::Malformed(_))), "{to}");
        }
    }

    #[test]
    fn what_a_pull_request_may_lack_may_be_absent() {
        let mut bare = PULL_REQUEST_V1.to_owned();
        for (from, to) in [
            ("{\"yes\":\"00000000000000000000000000000000000000cc\"}", "\"no\""),
            ("\"headRepository\":\"11\"", "\"headRepository\":null"),
            ("\"author\":\"5\"", "\"author\":null"),
            ("[\"checkout\"]", "[]"),
        ] {
            bare = bare.replacen(from, to, 1);
        }
        assert_eq!(encode(&decode(&bare).unwrap()).unwrap(), bare);
    }

    #[test]
    fn the_largest_attempt_survives() {
        let message = decode(&RUN_V1.replace("\"attempt\":2", "\"attempt\":4294967295")).unwrap();
        assert!(encode(&message).unwrap().contains("\"attempt\":4294967295"));
    }

    #[test]
    fn a_message_above_the_limit_is_not_read() {
        let padded = format!("{RUN_V1}{}", " ".repeat(MESSAGE_BYTES_MAX));
        assert!(matches!(decode(&padded), Err(DecodeError::Malformed(_))));
    }
}

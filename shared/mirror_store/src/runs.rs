//! Items of `PipelineRuns`. Attributes that SPEC's consumers read bear the contract's names.

use domain::due::Due;
use domain::events::Announced;
use domain::fold::{Confirmation, Content, Mirror};
use domain::ids::{Attempt, JobId, PipelineRunId, RepositoryId, Revision, RunId};
use domain::pipeline_run::{NativeWords, PipelineRun, PipelineRunState, RunContent, RunIdentity};
use domain::stage::{Stage, StageContent};
use domain::words::{Text, Word};
use jiff::Timestamp;
use ports::{Ask, UnreadableItem};
use uuid::Uuid;

use crate::attributes::{Item, Reader, Writer, unreadable};
use crate::keys;
use crate::parts::{
    read_due, read_marks, read_owner, read_repository, read_system, sortable, write_due,
    write_marks, write_owner, write_repository,
};

/// A run's item.
#[must_use]
pub fn run_item(run: &PipelineRun) -> Item {
    let identity = &run.identity;
    let RunContent { commit, definition, event, branch, head_repository, run_number, name, .. } =
        &run.mirror.content;
    let mut item = Writer::new(&[
        ("pk", keys::run_partition(identity.id)),
        ("sk", keys::RUN.to_owned()),
        ("projectKey", keys::project(&identity.owner)),
        ("startedKey", sortable(run.mirror.content.started_at)),
    ]);
    write_identity(&mut item, identity);
    item.text("externalRunRef", run.external_run_ref());
    item.text("definitionRef", run.definition_ref());
    item.text("definition", definition);
    item.text("repository", &run.mirror.content.repository_label);
    item.text("commit", commit);
    item.text("event", event);
    item.optional("branch", branch.as_ref());
    item.optional("headRepositoryId", head_repository.as_ref());
    if let Some(number) = run_number {
        item.number("runNumber", *number);
    }
    item.optional("name", name.as_ref());
    item.text("startedAt", run.mirror.content.started_at);
    item.optional("completedAt", run.mirror.ended_at);
    write_mirror(&mut item, &run.mirror);
    if let Some(announced) = &run.announced {
        item.text("announcedState", announced.state);
        item.flag("announcedStarted", announced.started.into());
        item.number("announcedRevision", announced.revision.0);
    }
    write_due(&mut item, keys::due_shard(identity.id, None), run.due);
    item.number("revision", run.revision.0);
    item.finish()
}

/// Reads a run's item.
pub fn read_run(item: &Item) -> Result<PipelineRun, UnreadableItem> {
    let item = Reader::new(item)?;
    let content = RunContent {
        words: read_words(&item, "nativeStatus", "nativeResult")?,
        started_at: item.time("startedAt")?,
        commit: Text::new(item.text("commit")?),
        definition: Text::new(item.text("definition")?),
        event: Word::new(item.text("event")?),
        branch: item.optional_text("branch")?.map(Text::new),
        head_repository: item
            .parsed_optional("headRepositoryId", |id| RepositoryId::parse(id).ok())?,
        run_number: item.optional_number("runNumber")?,
        name: item.optional_text("name")?.map(Text::new),
        repository_label: Text::new(item.text("repository")?),
    };
    let announced = match item.parsed_optional("announcedState", PipelineRunState::from_word)? {
        None => None,
        Some(state) => Some(Announced {
            state,
            started: item.flag("announcedStarted")?,
            revision: Revision(item.number("announcedRevision")?),
        }),
    };
    Ok(PipelineRun {
        identity: read_identity(&item)?,
        mirror: read_mirror(&item, content, item.optional_time("completedAt")?)?,
        announced,
        due: read_due(&item)?,
        revision: Revision(item.number("revision")?),
    })
}

/// A stage's item, in its run's collection.
#[must_use]
pub fn stage_item(stage: &Stage) -> Item {
    let content = &stage.mirror.content;
    let mut item =
        Writer::new(&[("pk", keys::run_partition(stage.run.id)), ("sk", keys::stage(stage.job))]);
    write_identity(&mut item, &stage.run);
    item.number("jobId", stage.job.0);
    item.text("name", &content.name);
    item.optional("createdAt", content.created_at);
    item.optional("startedAt", content.started_at);
    item.optional("completedAt", content.completed_at);
    item.optional("endedAt", stage.mirror.ended_at);
    write_mirror(&mut item, &stage.mirror);
    write_due(&mut item, keys::due_shard(stage.run.id, Some(stage.job)), stage.due);
    item.number("revision", stage.revision.0);
    item.finish()
}

/// Reads a stage's item.
pub fn read_stage(item: &Item) -> Result<Stage, UnreadableItem> {
    let item = Reader::new(item)?;
    let content = StageContent {
        words: read_words(&item, "nativeStatus", "nativeResult")?,
        name: Text::new(item.text("name")?),
        created_at: item.optional_time("createdAt")?,
        started_at: item.optional_time("startedAt")?,
        completed_at: item.optional_time("completedAt")?,
    };
    Ok(Stage {
        run: read_identity(&item)?,
        job: JobId(item.number("jobId")?),
        mirror: read_mirror(&item, content, item.optional_time("endedAt")?)?,
        due: read_due(&item)?,
        revision: Revision(item.number("revision")?),
    })
}

/// The item of an ask: due like a subject, without a mirror.
pub(crate) fn ask_item(ask: &Ask) -> Item {
    let job = match ask.subject {
        domain::observation::Subject::Run { .. }
        | domain::observation::Subject::PullRequest { .. } => None,
        domain::observation::Subject::Stage { job, .. } => Some(job),
    };
    let mut item =
        Writer::new(&[("pk", keys::run_partition(ask.run.id)), ("sk", keys::ask(&ask.subject))]);
    write_identity(&mut item, &ask.run);
    if let Some(job) = job {
        item.number("jobId", job.0);
    }
    write_due(&mut item, keys::due_shard(ask.run.id, job), Some(Due { at: ask.due_at, asks: 1 }));
    item.finish()
}

fn write_identity(item: &mut Writer, identity: &RunIdentity) {
    item.text("pipelineRunId", identity.id);
    write_owner(item, &identity.owner);
    item.text("system", identity.system.as_str());
    write_repository(item, &identity.repository);
    item.number("externalRunId", identity.run.0);
    item.number("attempt", identity.attempt.get());
}

fn read_identity(item: &Reader<'_>) -> Result<RunIdentity, UnreadableItem> {
    let uuid = |id: &str| Uuid::try_parse(id).ok().map(PipelineRunId::from_uuid);
    let attempt: u32 = item.number("attempt")?;
    Ok(RunIdentity {
        id: item.parsed("pipelineRunId", uuid)?,
        owner: read_owner(item)?,
        system: read_system(item)?,
        repository: read_repository(item)?,
        run: RunId(item.number("externalRunId")?),
        attempt: Attempt::new(attempt).map_err(|_| unreadable("attempt", "is out of bounds"))?,
    })
}

fn write_mirror<C: Content<Words = NativeWords>>(item: &mut Writer, mirror: &Mirror<C>) {
    let words = mirror.content.words();
    let reading = words.reading();
    item.text("state", reading.state);
    item.text("nativeStatus", &words.status);
    item.optional("nativeResult", words.result.as_ref());
    item.optional("waitReason", reading.wait_reason.map(|reason| reason.as_str()));
    item.optional("failReason", reading.fail_reason.map(|reason| reason.as_str()));
    write_marks(item, mirror);
    if let Some(read) = &mirror.confirmation {
        item.text("readAt", read.started_at);
        item.text("readStatus", &read.words.status);
        item.optional("readResult", read.words.result.as_ref());
    }
}

fn read_mirror<C: Content<Words = NativeWords>>(
    item: &Reader<'_>,
    content: C,
    ended_at: Option<Timestamp>,
) -> Result<Mirror<C>, UnreadableItem> {
    let confirmation = match item.optional_time("readAt")? {
        None => None,
        Some(started_at) => {
            Some(Confirmation { started_at, words: read_words(item, "readStatus", "readResult")? })
        }
    };
    read_marks(item, content, ended_at, confirmation)
}

fn read_words(
    item: &Reader<'_>,
    status: &str,
    result: &str,
) -> Result<NativeWords, UnreadableItem> {
    Ok(NativeWords {
        status: Word::new(item.text(status)?),
        result: item.optional_text(result)?.map(Word::new),
    })
}

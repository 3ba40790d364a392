//! A stage of a pipeline run: at GitHub, one job. Each is its own subject, with its own versions.

use jiff::Timestamp;

use crate::due::Due;
use crate::fold::{Content, Finality, Mirror, Sighting, fold};
use crate::ids::{JobId, Revision};
use crate::pipeline_run::{
    Advanced, NativeWords, PipelineRunState, RunIdentity, must_write, next_due,
};
use crate::words::Text;

/// What an observation says of a job. The order of the fields is the fixed order of contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageContent {
    /// Status and conclusion.
    pub words: NativeWords,
    /// The job's name.
    pub name: Text,
    /// When it was asked for.
    pub created_at: Option<Timestamp>,
    /// When it started; for a job that has not, the time at which it was asked for.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

impl Content for StageContent {
    type Words = NativeWords;

    fn words(&self) -> &NativeWords {
        &self.words
    }

    fn finality(&self) -> Finality {
        self.words.reading().state.finality()
    }

    fn is_unknown(&self) -> bool {
        self.words.reading().state == PipelineRunState::Unknown
    }

    fn contradicts(&self, other: &Self) -> bool {
        self != other
    }
}

/// A stage as it is stored, in its run's collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The attempt that it belongs to.
    pub run: RunIdentity,
    /// The host's job id.
    pub job: JobId,
    /// What was seen of it.
    pub mirror: Mirror<StageContent>,
    /// When it must be read.
    pub due: Option<Due>,
    /// How often it was written.
    pub revision: Revision,
}

impl Stage {
    /// Folds observations into a stage. `None` only when there is neither a stage nor an observation.
    #[must_use]
    pub fn advance(
        run: &RunIdentity,
        job: JobId,
        current: Option<&Self>,
        sightings: &[Sighting<StageContent>],
        now: Timestamp,
    ) -> Option<Advanced<Self>> {
        let folded = fold(current.map(|stage| &stage.mirror), sightings)?;
        let before = current.and_then(|stage| stage.due);
        let write = must_write(&folded, before).then(|| Self {
            run: run.clone(),
            job,
            due: next_due(&folded, before, now),
            mirror: folded.next.clone(),
            revision: current.map_or(Revision::default(), |stage| stage.revision).next(),
        });
        Some(Advanced { write, outcomes: folded.outcomes, ask_again: folded.ask_again })
    }
}

//! What the world is told: the difference between what was announced before and what may be announced now.

use uuid::Uuid;

use crate::fold::{Content, Finality, Mirror};
use crate::ids::{PipelineRunId, Revision, event_id};
use crate::pipeline_run::{NativeWords, PipelineRunState};

/// The last state of a run that could be published. A contested or unknown state is never announced, so the events
/// between two announcements lose nothing when a contest is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// The state.
    pub state: PipelineRunState,
    /// Whether the run has been announced as started.
    pub started: bool,
    /// The revision of the item that announced it.
    pub revision: Revision,
}

impl Announced {
    /// What is announced once a mirror has been written at `revision`.
    #[must_use]
    pub fn after<C: Content<Words = NativeWords>>(
        before: Option<Self>,
        mirror: &Mirror<C>,
        revision: Revision,
    ) -> Option<Self> {
        let state = mirror.state();
        if mirror.contested || state == PipelineRunState::Unknown {
            return before;
        }
        if before.is_some_and(|announced| announced.state == state) {
            return before;
        }
        let started = before.is_some_and(|announced| announced.started) || has_started(state);
        Some(Self { state, started, revision })
    }
}

/// The kind of a domain event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A run's attempt began, or was found ended without having been seen to begin.
    PipelineRunStarted,
    /// A run's attempt ended.
    PipelineRunCompleted,
}

impl EventKind {
    /// The event's type name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PipelineRunStarted => "PipelineRunStarted",
            Self::PipelineRunCompleted => "PipelineRunCompleted",
        }
    }
}

/// One domain event. Published at least once; consumers order by `sequence` and drop what they have by `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainEvent {
    /// `UUIDv5` of (subject, revision, type).
    pub id: Uuid,
    /// What happened.
    pub kind: EventKind,
    /// To which run.
    pub run: PipelineRunId,
    /// The state that it is in.
    pub state: PipelineRunState,
    /// Order within the run: the item's revision.
    pub sequence: Revision,
}

/// The events that lie between two announcements of one run.
#[must_use]
pub fn events_between(
    run: PipelineRunId,
    old: Option<&Announced>,
    new: Option<&Announced>,
) -> Vec<DomainEvent> {
    let Some(new) = new else { return Vec::new() };
    if old == Some(new) {
        return Vec::new();
    }
    let event = |kind: EventKind| DomainEvent {
        id: event_id(&run.to_string(), new.revision, kind.as_str()),
        kind,
        run,
        state: new.state,
        sequence: new.revision,
    };
    let mut events = Vec::new();
    if new.started && !old.is_some_and(|old| old.started) {
        events.push(event(EventKind::PipelineRunStarted));
    }
    let ended = new.state.finality() == Finality::Final;
    if ended && old.is_none_or(|old| old.state != new.state) {
        events.push(event(EventKind::PipelineRunCompleted));
    }
    events
}

/// Whether a run in this state has begun, seen or not.
const fn has_started(state: PipelineRunState) -> bool {
    match state {
        PipelineRunState::Queued | PipelineRunState::Waiting | PipelineRunState::Unknown => false,
        PipelineRunState::Running
        | PipelineRunState::Cancelling
        | PipelineRunState::ActionRequired
        | PipelineRunState::Succeeded
        | PipelineRunState::PartiallySucceeded
        | PipelineRunState::Failed
        | PipelineRunState::TimedOut
        | PipelineRunState::Cancelled
        | PipelineRunState::Skipped
        | PipelineRunState::Neutral
        | PipelineRunState::Abandoned
        | PipelineRunState::Lost => true,
    }
}

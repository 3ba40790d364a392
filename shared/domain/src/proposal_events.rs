//! What the world is told of change proposals: the difference between two announcements.

use uuid::Uuid;

use crate::change_proposal::{ChangeProposal, ProposalState, Transition, transition};
use crate::ids::{ProposalId, Revision, event_id};

/// The last state of a proposal that could be published.
///
/// What follows from something contested or unknown is never announced, so the events between two announcements lose
/// nothing when a contest is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalAnnounced {
    /// The state.
    pub state: ProposalState,
    /// The state that was announced before it.
    pub from: Option<ProposalState>,
    /// Whether its pull request has been announced as opened.
    pub opened: bool,
    /// The revision of the item that announced it.
    pub revision: Revision,
}

impl ProposalAnnounced {
    /// What is announced once a proposal has been written at `revision`.
    #[must_use]
    pub fn after(
        before: Option<Self>,
        proposal: &ChangeProposal,
        revision: Revision,
    ) -> Option<Self> {
        if !proposal.is_publishable() {
            return before;
        }
        let state = proposal.state();
        let opened =
            before.is_some_and(|announced| announced.opened) || proposal.leading().is_some();
        if before.is_some_and(|announced| (announced.state, announced.opened) == (state, opened)) {
            return before;
        }
        Some(Self { state, from: before.map(|announced| announced.state), opened, revision })
    }

    /// Whether the diagram of states draws the change that was announced; it is stored and shown beside the state.
    #[must_use]
    pub fn transition(&self) -> Transition {
        transition(self.from.unwrap_or(ProposalState::Proposed), self.state)
    }
}

/// The kind of a domain event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposalEventKind {
    /// A pull request was opened, or was found later than that.
    ChangeProposalOpened,
    /// The state changed. Told of every change, also beside the other kinds.
    ChangeProposalStateChanged,
    /// It was merged.
    ChangeProposalMerged,
}

impl ProposalEventKind {
    /// The event's type name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChangeProposalOpened => "ChangeProposalOpened",
            Self::ChangeProposalStateChanged => "ChangeProposalStateChanged",
            Self::ChangeProposalMerged => "ChangeProposalMerged",
        }
    }
}

/// One domain event. Published at least once; consumers order by `sequence` and drop what they have by `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalEvent {
    /// `UUIDv5` of (subject, revision, type).
    pub id: Uuid,
    /// What happened.
    pub kind: ProposalEventKind,
    /// To which proposal.
    pub proposal: ProposalId,
    /// The state that was announced before.
    pub from: Option<ProposalState>,
    /// The state that it is in.
    pub state: ProposalState,
    /// Whether the diagram of states draws that change.
    pub transition: Transition,
    /// Order within the proposal: the item's revision.
    pub sequence: Revision,
}

/// The events that lie between two announcements of one proposal.
#[must_use]
pub fn events_between(
    proposal: ProposalId,
    old: Option<&ProposalAnnounced>,
    new: Option<&ProposalAnnounced>,
) -> Vec<ProposalEvent> {
    let Some(new) = new else { return Vec::new() };
    if old == Some(new) {
        return Vec::new();
    }
    // A proposal begins as proposed; the call that proposed it knows.
    let before = old.map_or(ProposalState::Proposed, |old| old.state);
    let opened = new.opened && !old.is_some_and(|old| old.opened);
    let changed = new.state != before;
    let merged = changed && new.state == ProposalState::Merged;
    [
        (opened, ProposalEventKind::ChangeProposalOpened),
        (changed, ProposalEventKind::ChangeProposalStateChanged),
        (merged, ProposalEventKind::ChangeProposalMerged),
    ]
    .into_iter()
    .filter_map(|(happened, kind)| happened.then_some(kind))
    .map(|kind| ProposalEvent {
        id: event_id(&proposal.to_string(), new.revision, kind.as_str()),
        kind,
        proposal,
        from: old.map(|old| old.state),
        state: new.state,
        transition: transition(before, new.state),
        sequence: new.revision,
    })
    .collect()
}

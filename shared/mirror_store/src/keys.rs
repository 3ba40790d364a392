//! Keys. Every part is of a checked type that admits no `#`, so no two subjects share a key.

use domain::delivery::Delivery;
use domain::ids::{JobId, PipelineRunId, ProposalId, RepositoryKey};
use domain::observation::Subject;
use domain::pipeline_run::Owner;
use domain::provenance::CommitKey;

/// The sort key of a run's own item.
pub(crate) const RUN: &str = "RUN";

/// Shards of the due index. One partition of an index takes 1,000 writes per second, and a hot one slows the base
/// table's writes down.
const DUE_SHARDS: u64 = 16;

/// The partition of a run's attempt: the run, its stages, its results.
pub(crate) fn run_partition(id: PipelineRunId) -> String {
    format!("PIPELINE_RUN#{id}")
}

/// The sort key of a stage. Padded, so that stages sort by job id.
pub(crate) fn stage(job: JobId) -> String {
    format!("STAGE#{:020}", job.0)
}

/// The sort key of an ask for a subject that has no item of its own.
pub(crate) fn ask(subject: &Subject) -> String {
    match subject {
        Subject::Run { .. } => format!("ASK#{RUN}"),
        Subject::Stage { job, .. } => format!("ASK#{}", stage(*job)),
        Subject::PullRequest { number } => format!("ASK#PULL_REQUEST#{:020}", number.get()),
    }
}

/// The sort key of a proposal's own item.
pub(crate) const PROPOSAL: &str = "PROPOSAL";

/// The partition of a change proposal: its item, and in `ProposalCommits` its commits.
pub(crate) fn proposal_partition(id: ProposalId) -> String {
    format!("CHANGE_PROPOSAL#{id}")
}

/// The sort key of a commit that was seen of a proposal.
pub(crate) fn commit((repository, commit): &CommitKey) -> String {
    format!("COMMIT#{repository}#{commit}")
}

/// The shard of the due index that a proposal belongs to.
pub(crate) fn proposal_due_shard(id: ProposalId) -> String {
    let (_, low) = id.0.as_u64_pair();
    shard(low)
}

fn shard(number: u64) -> String {
    format!("{:02}", number % DUE_SHARDS)
}

/// The key of a repository's registration.
pub(crate) fn repository(key: &RepositoryKey) -> String {
    format!("REPOSITORY#{}#{}", key.host, key.id)
}

/// The key of a delivery's ledger row. Two hooks of one repository deliver one event under one id.
pub(crate) fn delivery(delivery: &Delivery) -> String {
    let hook = delivery.hook.map_or_else(|| "-".to_owned(), |hook| hook.to_string());
    format!("DELIVERY#{}#{hook}#{}", delivery.source, delivery.id)
}

/// The shard of the due index that a subject belongs to.
pub(crate) fn due_shard(run: PipelineRunId, job: Option<JobId>) -> String {
    let (_, low) = run.as_uuid().as_u64_pair();
    shard(low ^ job.map_or(0, |job| job.0))
}

/// The partition of a project's runs in the index `byProject`.
pub(crate) fn project(owner: &Owner) -> String {
    format!("{}#{}", owner.tenant, owner.project)
}

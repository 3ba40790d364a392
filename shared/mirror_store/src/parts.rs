//! What items of several kinds have in common: owners, repositories, the marks of a mirror, due times.

use domain::due::Due;
use domain::fold::{Confirmation, Content, Ends, Irregular, Mirror, Version};
use domain::ids::{Host, ProjectId, RepositoryId, RepositoryKey, SystemOfRecord, TenantId};
use domain::pipeline_run::Owner;
use jiff::Timestamp;
use ports::UnreadableItem;

use crate::attributes::{Flag, Reader, Writer};

pub(crate) fn write_owner(item: &mut Writer, owner: &Owner) {
    item.text("tenantId", &owner.tenant);
    item.text("projectId", &owner.project);
}

pub(crate) fn read_owner(item: &Reader<'_>) -> Result<Owner, UnreadableItem> {
    Ok(Owner {
        tenant: item.parsed("tenantId", |id| TenantId::new(id).ok())?,
        project: item.parsed("projectId", |id| ProjectId::new(id).ok())?,
    })
}

pub(crate) fn write_repository(item: &mut Writer, repository: &RepositoryKey) {
    item.text("host", &repository.host);
    item.text("repositoryId", &repository.id);
}

pub(crate) fn read_repository(item: &Reader<'_>) -> Result<RepositoryKey, UnreadableItem> {
    Ok(RepositoryKey {
        host: item.parsed("host", |host| Host::new(host).ok())?,
        id: item.parsed("repositoryId", |id| RepositoryId::parse(id).ok())?,
    })
}

pub(crate) fn read_system(item: &Reader<'_>) -> Result<SystemOfRecord, UnreadableItem> {
    item.parsed("system", |word| match word {
        "GitHub" => Some(SystemOfRecord::GitHub),
        "AzureDevOps" => Some(SystemOfRecord::AzureDevOps),
        _ => None,
    })
}

/// All of a mirror but its content, its end and its confirmation, whose names and words differ from kind to kind.
pub(crate) fn write_marks<C: Content>(item: &mut Writer, mirror: &Mirror<C>) {
    item.text("updatedAt", mirror.version.at);
    item.optional("settledAt", mirror.version.settled);
    item.optional("deploymentAt", mirror.version.deployment_at);
    item.flag("contested", mirror.contested.into());
    item.texts("irregular", mirror.irregular().into_iter().map(Irregular::as_str));
    item.optional("liveAfterFinalAt", mirror.live_after_final);
    item.flag("endsChanged", Flag::from(mirror.ends == Ends::Changed));
}

/// The mirror of a content that was read from the same item.
pub(crate) fn read_marks<C: Content>(
    item: &Reader<'_>,
    content: C,
    ended_at: Option<Timestamp>,
    confirmation: Option<Confirmation<C::Words>>,
) -> Result<Mirror<C>, UnreadableItem> {
    Ok(Mirror {
        version: Version {
            finality: content.finality(),
            at: item.time("updatedAt")?,
            settled: item.optional_time("settledAt")?,
            deployment_at: item.optional_time("deploymentAt")?,
        },
        content,
        contested: item.flag("contested")?,
        ended_at,
        live_after_final: item.optional_time("liveAfterFinalAt")?,
        ends: if item.flag("endsChanged")? { Ends::Changed } else { Ends::Agreed },
        confirmation,
    })
}

/// The sparse due index: a subject of which nothing more is expected has neither key.
pub(crate) fn write_due(item: &mut Writer, shard: String, due: Option<Due>) {
    if let Some(due) = due {
        item.text("dueShard", shard);
        item.text("dueAt", sortable(due.at));
        item.number("asks", due.asks);
    }
}

pub(crate) fn read_due(item: &Reader<'_>) -> Result<Option<Due>, UnreadableItem> {
    match item.optional_time("dueAt")? {
        None => Ok(None),
        Some(at) => Ok(Some(Due { at, asks: item.number("asks")? })),
    }
}

/// A time whose text sorts as the time does: always six digits of fraction.
pub(crate) fn sortable(time: Timestamp) -> String {
    format!("{time:.6}")
}

//! Items of `Repositories`: who owns which repository.

use domain::ids::{Host, ProjectId, RepositoryId, RepositoryKey, TenantId};
use domain::pipeline_run::Owner;
use domain::registration::Registration;
use ports::UnreadableItem;

use crate::attributes::{Item, Reader, Writer};
use crate::keys;

/// A registration's item.
#[must_use]
pub fn registration_item(registration: &Registration) -> Item {
    let mut item = Writer::new(&[("pk", keys::repository(&registration.repository))]);
    item.text("host", &registration.repository.host);
    item.text("repositoryId", &registration.repository.id);
    item.text("tenantId", &registration.owner.tenant);
    item.text("projectId", &registration.owner.project);
    item.text("repository", &registration.label);
    if let Some(installation) = registration.installation {
        item.number("installationId", installation);
    }
    item.finish()
}

/// Reads a registration's item.
pub fn read_registration(item: &Item) -> Result<Registration, UnreadableItem> {
    let item = Reader::new(item)?;
    Ok(Registration {
        repository: RepositoryKey {
            host: item.parsed("host", |host| Host::new(host).ok())?,
            id: item.parsed("repositoryId", |id| RepositoryId::parse(id).ok())?,
        },
        owner: Owner {
            tenant: item.parsed("tenantId", |id| TenantId::new(id).ok())?,
            project: item.parsed("projectId", |id| ProjectId::new(id).ok())?,
        },
        label: item.text("repository")?.to_owned(),
        installation: item.optional_number("installationId")?,
    })
}

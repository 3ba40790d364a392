//! Items of `Repositories`: who owns which repository.

use domain::registration::Registration;
use ports::UnreadableItem;

use crate::attributes::{Item, Reader, Writer};
use crate::keys;
use crate::parts::{read_owner, read_repository, write_owner, write_repository};

/// A registration's item.
#[must_use]
pub fn registration_item(registration: &Registration) -> Item {
    let mut item = Writer::new(&[("pk", keys::repository(&registration.repository))]);
    write_repository(&mut item, &registration.repository);
    write_owner(&mut item, &registration.owner);
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
        repository: read_repository(&item)?,
        owner: read_owner(&item)?,
        label: item.text("repository")?.to_owned(),
        installation: item.optional_number("installationId")?,
    })
}

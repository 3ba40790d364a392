//! Who owns a repository, and who may tell of it.

use crate::delivery::{Outcome, Scope};
use crate::ids::RepositoryKey;
use crate::pipeline_run::Owner;

/// A tenant's claim on a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The repository.
    pub repository: RepositoryKey,
    /// The tenant whose claim was proven, and its project.
    pub owner: Owner,
    /// The repository's name when it was registered: a label.
    pub label: String,
    /// The App installation that may speak for it, where one is registered.
    pub installation: Option<u64>,
}

/// Who owns the repository that a sender tells of, if the sender may.
///
/// Otherwise what becomes of the delivery: nobody has claimed the repository, or it belongs to somebody else than the
/// sender proved to be.
pub fn owner_for<'a>(
    registration: Option<&'a Registration>,
    scope: &Scope,
) -> Result<&'a Owner, Outcome> {
    let registration = registration.ok_or(Outcome::Unregistered)?;
    let admitted = match scope {
        Scope::Tenant(tenant) => *tenant == registration.owner.tenant,
        // Without a registered installation GitHub's own word is what there is: it signed the repository's id.
        Scope::Installation(installation) => {
            registration.installation.is_none() || registration.installation == *installation
        }
    };
    if admitted { Ok(&registration.owner) } else { Err(Outcome::OutOfScope) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Host, ProjectId, RepositoryId, TenantId};

    fn judge(registered: Option<Option<u64>>, scope: &Scope) -> Result<(), Outcome> {
        let registration = registered.map(|installation| Registration {
            repository: RepositoryKey {
                host: Host::new("github.com").unwrap(),
                id: RepositoryId::from_number(11).unwrap(),
            },
            owner: Owner {
                tenant: TenantId::new("t1").unwrap(),
                project: ProjectId::new("p1").unwrap(),
            },
            label: "a/b".to_owned(),
            installation,
        });
        owner_for(registration.as_ref(), scope).map(|_| ())
    }

    #[test]
    fn a_hook_speaks_for_its_own_tenant_only() {
        let scope = |tenant| Scope::Tenant(TenantId::new(tenant).unwrap());
        assert_eq!(judge(Some(None), &scope("t1")), Ok(()));
        assert_eq!(judge(Some(None), &scope("t2")), Err(Outcome::OutOfScope));
        assert_eq!(judge(None, &scope("t1")), Err(Outcome::Unregistered));
    }

    #[test]
    fn an_app_speaks_for_the_registered_installation() {
        assert_eq!(judge(Some(Some(7)), &Scope::Installation(Some(7))), Ok(()));
        assert_eq!(judge(Some(None), &Scope::Installation(Some(7))), Ok(()));
        for other in [Some(8), None] {
            let scope = Scope::Installation(other);
            assert_eq!(judge(Some(Some(7)), &scope), Err(Outcome::OutOfScope));
        }
    }
}

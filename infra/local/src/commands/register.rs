//! `plumbline register`: binds a repository to a tenant and a project.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use domain::{
    ids::{Host, ProjectId, RepositoryId, RepositoryKey, TenantId},
    pipeline_run::Owner,
    registration::Registration,
};
use local::{Running, STATE_DIRECTORY, tools::Clients};
use ports::WriteError;
use serde::{Deserialize, Serialize};

use super::terminal::{clean, json, print};

/// Longest project id.
const PROJECT_CHARACTERS_MAX: usize = 63;

/// Bind a repository to a tenant and a project, so that its deliveries are mirrored
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(
        help = "Sample event whose body names the repository, such as events/github/ping.json",
        required_unless_present = "repository",
        value_name = "FILE"
    )]
    file: Option<PathBuf>,
    /// Repository by name
    #[arg(long, value_name = "OWNER/NAME", requires = "repository_id", conflicts_with = "file")]
    repository: Option<String>,
    /// The repository's id at its host
    #[arg(long, alias = "id", value_name = "ID", requires = "repository")]
    repository_id: Option<String>,
    /// Host of the repository; without it, that of the first hook
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Tenant that claims it; without it, that of the first hook
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Project of the tenant; without it, one of the repository's name
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Installation of the GitHub App that may speak for it; without it, any, or the body's
    #[arg(long, value_name = "ID")]
    installation: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Folder of the running stack's state
    #[arg(long, value_name = "DIR", default_value = STATE_DIRECTORY)]
    state: PathBuf,
}

/// A repository as somebody names it.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    label: String,
    id: RepositoryId,
    installation: Option<u64>,
}

/// What a tenant who says nothing else gets.
#[derive(Debug, Default)]
struct Defaults {
    host: Option<String>,
    tenant: Option<String>,
}

#[derive(Deserialize)]
struct Body {
    repository: Option<Repository>,
    installation: Option<Installation>,
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    repository: String,
    repository_id: String,
    host: String,
    tenant_id: String,
    project_id: String,
    installation_id: Option<u64>,
}

/// Registers a repository. The exit code is 1 if somebody else has.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let running = Running::find(&arguments.state)?;
    let hook = running.sources.iter().find(|source| source.kind == "Hook");
    let defaults = Defaults {
        host: hook.map(|source| source.host.clone()),
        tenant: hook.and_then(|source| source.tenant_id.clone()),
    };
    let registration = registration(&arguments, named(&arguments)?, defaults)?;
    match Clients::new(&running)?.store().register(&registration).await {
        Ok(()) => (),
        // Whose it is, is nobody else's business.
        Err(WriteError::Conflict) => bail!(
            "{} ({}) is already registered by another tenant",
            clean(&registration.label),
            registration.repository
        ),
        Err(error @ (WriteError::Unavailable(_) | WriteError::Unstorable(_))) => {
            return Err(error.into());
        }
    }
    let binding = Binding::of(&registration);
    print(&if arguments.json { json(&binding)? } else { binding.line() })?;
    Ok(ExitCode::SUCCESS)
}

impl Binding {
    fn of(registration: &Registration) -> Self {
        Self {
            repository: registration.label.clone(),
            repository_id: registration.repository.id.to_string(),
            host: registration.repository.host.to_string(),
            tenant_id: registration.owner.tenant.to_string(),
            project_id: registration.owner.project.to_string(),
            installation_id: registration.installation,
        }
    }

    fn line(&self) -> String {
        let Self { repository, host, repository_id, tenant_id, project_id, .. } = self;
        let installation = self.installation_id.map(|id| format!(", installation {id}"));
        format!(
            "{} ({host}/{repository_id}) belongs to tenant {tenant_id}, project {project_id}{}\n",
            clean(repository),
            installation.unwrap_or_default()
        )
    }
}

fn named(arguments: &Arguments) -> anyhow::Result<Named> {
    match (&arguments.file, &arguments.repository, &arguments.repository_id) {
        (Some(file), ..) => from_body(file),
        (None, Some(label), Some(id)) => Ok(Named {
            label: label.clone(),
            id: RepositoryId::parse(id).context("--repository-id")?,
            installation: None,
        }),
        _ => {
            bail!("name a repository: by a sample event, or with --repository and --repository-id")
        }
    }
}

fn from_body(file: &Path) -> anyhow::Result<Named> {
    let name = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(name)?;
    let body: Body = serde_json::from_str(&text).with_context(name)?;
    let repository =
        body.repository.with_context(|| format!("{} names no repository", file.display()))?;
    Ok(Named {
        label: repository.full_name,
        id: RepositoryId::from_number(repository.id).with_context(name)?,
        installation: body.installation.map(|installation| installation.id),
    })
}

fn registration(
    arguments: &Arguments,
    named: Named,
    defaults: Defaults,
) -> anyhow::Result<Registration> {
    let (owner, name) = named.label.split_once('/').unwrap_or_default();
    if owner.is_empty() || name.is_empty() || name.contains('/') {
        bail!("{} is no owner/name", clean(&named.label));
    }
    let host = arguments.host.clone().or(defaults.host).context("name a host with --host")?;
    let tenant =
        arguments.tenant.clone().or(defaults.tenant).context("name a tenant with --tenant")?;
    let project = arguments.project.clone().unwrap_or_else(|| project_named(name));
    Ok(Registration {
        repository: RepositoryKey { host: Host::new(&host).context("--host")?, id: named.id },
        owner: Owner {
            tenant: TenantId::new(tenant).context("--tenant")?,
            project: ProjectId::new(project).context("--project")?,
        },
        installation: arguments.installation.or(named.installation),
        label: named.label,
    })
}

/// A project id that looks like a repository's name.
fn project_named(name: &str) -> String {
    let id = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(id).collect();
    text.trim_matches('-').chars().take(PROJECT_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        Arguments {
            file: None,
            repository: Some("Acme/Shop.Front".to_owned()),
            repository_id: Some("11".to_owned()),
            host: None,
            tenant: None,
            project: None,
            installation: None,
            json: false,
            state: PathBuf::new(),
        }
    }

    fn bound(arguments: &Arguments) -> Result<String, String> {
        let defaults =
            || Defaults { host: Some("github.com".to_owned()), tenant: Some("t1".to_owned()) };
        let registration =
            named(arguments).and_then(|named| registration(arguments, named, defaults()));
        registration
            .map(|registration| Binding::of(&registration).line())
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn what_is_not_said_follows_from_the_first_hook_and_the_repository() {
        assert_eq!(
            bound(&arguments()).unwrap(),
            "Acme/Shop.Front (github.com/11) belongs to tenant t1, project shop-front\n"
        );
        let all = Arguments {
            host: Some("GHE.example.com".to_owned()),
            tenant: Some("t2".to_owned()),
            project: Some("p".to_owned()),
            installation: Some(7),
            ..arguments()
        };
        assert_eq!(
            bound(&all).unwrap(),
            "Acme/Shop.Front (ghe.example.com/11) belongs to tenant t2, project p, installation 7\n"
        );
    }

    #[test]
    fn what_names_nothing_is_refused_with_its_place() {
        for (arguments, fault) in [
            (Arguments { repository_id: Some("0".to_owned()), ..arguments() }, "--repository-id"),
            (Arguments { repository: Some("shop".to_owned()), ..arguments() }, "no owner/name"),
            (Arguments { repository: Some("a/b/c".to_owned()), ..arguments() }, "no owner/name"),
            (Arguments { tenant: Some("T 1".to_owned()), ..arguments() }, "--tenant"),
            (Arguments { host: Some("https://x".to_owned()), ..arguments() }, "--host"),
            (Arguments { repository: Some("a/...".to_owned()), ..arguments() }, "--project"),
        ] {
            let found = bound(&arguments).unwrap_err();
            assert!(found.contains(fault), "{found}");
        }
    }

    #[test]
    fn a_project_is_named_like_its_repository() {
        for (name, project) in
            [("storefront", "storefront"), ("Shop.Front_2", "shop-front-2"), (".github", "github")]
        {
            assert_eq!(project_named(name), project);
        }
        assert_eq!(project_named(&"x".repeat(100)).len(), 63);
    }
}

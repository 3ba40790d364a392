//! The sources: a closed list from the configuration, so that a path can never name a secret that is not on it.

use std::collections::BTreeMap;

use domain::ids::{Host, SourceId, TenantId};
use serde::Deserialize;

/// A configured sender of GitHub deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The last part of its path.
    pub id: SourceId,
    /// Where its repositories live.
    pub host: Host,
    /// The tenant that its secret proves: present for a hook, absent for a GitHub App, whose one secret is shared by all
    /// its installations.
    pub tenant: Option<TenantId>,
    /// Where its secret is kept.
    pub secret_id: String,
}

impl Source {
    /// The tenant as text, for the log.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_ref().map(TenantId::as_str)
    }
}

/// Why the list of sources can't be used. The first start shows it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    /// Not a JSON array of sources.
    #[error("an array of {{id, kind, host, tenantId, secretId}}: line {line} column {column}")]
    Form {
        /// Where.
        line: usize,
        /// Where.
        column: usize,
    },
    /// A source's field is out of bounds.
    #[error("usable: {field} of source {index} is not of its form")]
    Field {
        /// Which source, from 0.
        index: usize,
        /// Which field.
        field: &'static str,
    },
    /// Two sources share an id.
    #[error("usable: source {index} has the id of another one")]
    Twice {
        /// The second of the two, from 0.
        index: usize,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Configured {
    id: String,
    kind: Kind,
    host: String,
    tenant_id: Option<String>,
    secret_id: String,
}

#[derive(Deserialize, PartialEq, Eq)]
enum Kind {
    Hook,
    App,
}

/// All sources, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    by_id: BTreeMap<SourceId, Source>,
}

impl Sources {
    /// Reads the configuration: a JSON array.
    pub fn parse(text: &str) -> Result<Self, SourcesError> {
        let configured: Vec<Configured> = serde_json::from_str(text)
            .map_err(|error| SourcesError::Form { line: error.line(), column: error.column() })?;
        let mut by_id = BTreeMap::new();
        for (index, configured) in configured.into_iter().enumerate() {
            let source = configured.read().map_err(|field| SourcesError::Field { index, field })?;
            if by_id.insert(source.id.clone(), source).is_some() {
                return Err(SourcesError::Twice { index });
            }
        }
        Ok(Self { by_id })
    }

    /// The source that a path names: exactly `/github/<id>`, nothing decoded, nothing normalised.
    #[must_use]
    pub fn at(&self, raw_path: &str) -> Option<&Source> {
        let id = raw_path.strip_prefix("/github/")?;
        self.by_id.get(&SourceId::new(id).ok()?)
    }
}

impl Configured {
    fn read(self) -> Result<Source, &'static str> {
        let tenant = match (self.kind, self.tenant_id) {
            (Kind::Hook, Some(tenant)) => Some(TenantId::new(tenant).map_err(|_| "tenantId")?),
            (Kind::App, None) => None,
            (Kind::Hook, None) | (Kind::App, Some(_)) => return Err("tenantId"),
        };
        if self.secret_id.is_empty() {
            return Err("secretId");
        }
        Ok(Source {
            id: SourceId::new(self.id).map_err(|_| "id")?,
            host: Host::new(&self.host).map_err(|_| "host")?,
            tenant,
            secret_id: self.secret_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACME: &str =
        r#"{"id":"acme","kind":"Hook","host":"github.com","tenantId":"t1","secretId":"s"}"#;

    #[test]
    fn a_path_names_a_source_exactly_or_not_at_all() {
        let sources = Sources::parse(&format!("[{ACME}]")).unwrap();
        assert_eq!(sources.at("/github/acme").unwrap().tenant(), Some("t1"));
        for other in [
            "/github/ACME",
            "/github/acme/",
            "//github/acme",
            "/github/..%2f..%2fprod",
            "/github/%61cme",
            "/github/acme?x",
            "/github/",
            "/azure-devops/acme",
            "/",
            "",
        ] {
            assert_eq!(sources.at(other), None, "{other}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_used_says_where() {
        let error = |text: &str| Sources::parse(text).unwrap_err();
        assert!(matches!(error("{}"), SourcesError::Form { line: 1, .. }));
        assert_eq!(error(&format!("[{ACME},{ACME}]")), SourcesError::Twice { index: 1 });
        for (from, to, field) in [
            ("\"acme\"", "\"a#b\"", "id"),
            ("github.com", "https://github.com", "host"),
            ("\"t1\"", "\"a:b\"", "tenantId"),
            ("Hook", "App", "tenantId"),
            (",\"tenantId\":\"t1\"", "", "tenantId"),
            ("\"s\"", "\"\"", "secretId"),
        ] {
            let text = format!("[{}]", ACME.replace(from, to));
            assert_eq!(error(&text), SourcesError::Field { index: 0, field }, "{to}");
        }
    }
}

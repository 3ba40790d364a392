//! Configuration from the environment: read once, so that the first start finds the typo and names it.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A variable that is missing or unreadable. Its value is never repeated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not set, or empty.
    #[error("environment variable {0} is not set")]
    Missing(&'static str),
    /// It is set to something else than is expected.
    #[error("environment variable {name} is not {expected}")]
    Invalid {
        /// Which variable.
        name: &'static str,
        /// What it should be.
        expected: String,
    },
}

/// The environment as it was at start.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets.
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// Reads the process's environment. Variables that are not UTF-8 count as not set.
    #[must_use]
    pub fn read() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self { variables: variables.collect() }
    }

    /// An environment of these variables, for tests.
    #[must_use]
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Self { variables: variables.iter().map(own).collect() }
    }

    /// A variable that may be absent. Empty counts as absent.
    #[must_use]
    pub fn optional(&self, name: &'static str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable that must be set.
    pub fn required(&self, name: &'static str) -> Result<&str, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }

    /// A variable that must be set to a `T`; `expected` says what that is to whoever reads the error.
    pub fn parsed<T: FromStr>(&self, name: &'static str, expected: &str) -> Result<T, ConfigError> {
        let invalid = |_| ConfigError::Invalid { name, expected: expected.to_owned() };
        self.required(name)?.parse().map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_variable_is_named() {
        let environment = Environment::of(&[("EMPTY", "")]);
        assert_eq!(environment.required("QUEUE"), Err(ConfigError::Missing("QUEUE")));
        assert_eq!(environment.required("EMPTY"), Err(ConfigError::Missing("EMPTY")));
    }

    #[test]
    fn an_unreadable_variable_is_named_without_its_value() {
        let environment = Environment::of(&[("SECONDS", "canary")]);
        let error = environment.parsed::<u32>("SECONDS", "a number of seconds").unwrap_err();
        assert_eq!(error.to_string(), "environment variable SECONDS is not a number of seconds");
        assert!(!format!("{environment:?}").contains("canary"));
    }
}

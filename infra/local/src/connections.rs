//! The connections that functions read GitHub with: `GITHUB_CONNECTIONS` in their environment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{error::StackError, running::Connection, stack_file::Infrastructure};

/// The variable that lists connections.
const VARIABLE: &str = "GITHUB_CONNECTIONS";

/// One connection as functions are told of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Configured {
    id: String,
    host: String,
    tenant_id: String,
    api_base_url: String,
    secret_id: String,
}

/// Lets every connection of every function ask `api` instead of where the description says.
///
/// # Errors
/// [`StackError`] when `api` is no base URL, or a function's list of connections cannot be read.
pub(crate) fn redirect(infrastructure: &mut Infrastructure, api: &str) -> Result<(), StackError> {
    let api = base_url(api)?;
    for function in &mut infrastructure.functions {
        let Some(variable) = function.environment.get_mut(VARIABLE) else { continue };
        let mut connections = read(&function.short, variable)?;
        for connection in &mut connections {
            connection.api_base_url = api.to_owned();
        }
        *variable = serde_json::to_string(&connections)
            .map_err(|error| unreadable(&function.short, &error))?;
    }
    Ok(())
}

/// All connections, each once, in the order of their ids.
///
/// # Errors
/// [`StackError`] when a function's list of connections cannot be read.
pub(crate) fn described(infrastructure: &Infrastructure) -> Result<Vec<Connection>, StackError> {
    let mut connections = BTreeMap::new();
    for function in &infrastructure.functions {
        let Some(variable) = function.environment.get(VARIABLE) else { continue };
        for Configured { id, host, tenant_id, secret_id, .. } in read(&function.short, variable)? {
            connections.insert(id.clone(), Connection { id, host, tenant_id, secret_id });
        }
    }
    Ok(connections.into_values().collect())
}

fn read(function: &str, variable: &str) -> Result<Vec<Configured>, StackError> {
    serde_json::from_str(variable).map_err(|error| unreadable(function, &error))
}

fn unreadable(function: &str, error: &serde_json::Error) -> StackError {
    StackError::Description(format!("{VARIABLE} of function {function} cannot be read: {error}"))
}

/// Functions append paths, so a base URL ends without a slash.
fn base_url(text: &str) -> Result<&str, StackError> {
    let refused = |reason: &str| StackError::Refused {
        resource: "API of GitHub".to_owned(),
        reason: reason.to_owned(),
    };
    let url = reqwest::Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || url.query().is_some() || url.fragment().is_some() {
        return Err(refused("expected a URL like http://127.0.0.1:9000"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not shown: it would reach terminals and logs.
        return Err(refused(
            "a URL with a user or a password; a connection's token is in its secret",
        ));
    }
    Ok(text.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        policy::Policy,
        stack_file::{Function, Trigger},
    };

    fn connection(id: &str) -> Value {
        json!({ "id": id, "host": "github.com", "tenantId": "t1", "apiBaseUrl": "https://api.github.com",
            "secretId": format!("p/local/connections/{id}") })
    }

    fn functions(variables: &[(&str, &str)]) -> Infrastructure {
        let functions = variables.iter().map(|(short, value)| Function {
            short: (*short).to_owned(),
            name: format!("p-local-{short}"),
            arn: format!("arn:{short}"),
            timeout_seconds: 3,
            memory_megabytes: 128,
            environment: BTreeMap::from([(VARIABLE.to_owned(), (*value).to_owned())]),
            policy: Policy::default(),
            trigger: Trigger::Other,
        });
        Infrastructure { functions: functions.collect(), ..Infrastructure::default() }
    }

    #[test]
    fn every_connection_of_every_function_asks_the_given_api() {
        let both = json!([connection("acme"), connection("beta")]).to_string();
        let mut infrastructure = functions(&[("reader", &both), ("tool", &both)]);
        redirect(&mut infrastructure, "http://127.0.0.1:9000/api/").unwrap();
        for function in &infrastructure.functions {
            let told: Value = serde_json::from_str(&function.environment[VARIABLE]).unwrap();
            for (told, id) in told.as_array().unwrap().iter().zip(["acme", "beta"]) {
                let mut expected = connection(id);
                expected["apiBaseUrl"] = "http://127.0.0.1:9000/api".into();
                assert_eq!(*told, expected);
            }
        }
    }

    #[test]
    fn a_connection_of_two_functions_is_described_once() {
        let beta = json!([connection("beta")]).to_string();
        let both = json!([connection("beta"), connection("acme")]).to_string();
        let described = described(&functions(&[("reader", &beta), ("tool", &both)])).unwrap();
        let ids: Vec<_> = described.iter().map(|connection| connection.id.as_str()).collect();
        assert_eq!(ids, ["acme", "beta"]);
        assert_eq!(described[0].secret_id, "p/local/connections/acme");
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_its_password() {
        for api in [
            "",
            "127.0.0.1:9000",
            "ftp://127.0.0.1",
            "http://u:hunter2@127.0.0.1",
            "http://127.0.0.1/?a=b",
        ] {
            let error = redirect(&mut functions(&[]), api).unwrap_err().to_string();
            assert!(error.starts_with("API of GitHub: ") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_is_named() {
        for list in ["{}", r#"[{"id":"acme"}]"#] {
            let error = described(&functions(&[("reader", list)])).unwrap_err().to_string();
            assert!(error.contains("GITHUB_CONNECTIONS of function reader"), "{error}");
        }
    }
}

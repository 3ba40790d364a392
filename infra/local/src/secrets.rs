//! Secrets Manager: an embedded engine behind the guard, with values made up for this laptop.
//!
//! The engine invents its own ARNs. The description has others, which functions and policies use, so
//! requests and answers are translated.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use rustack_secretsmanager_core::{
    config::SecretsManagerConfig, handler::RustackSecretsManagerHandler,
    provider::RustackSecretsManager,
};
use rustack_secretsmanager_http::{dispatch::SecretsManagerHandler, response::error_to_json};
use rustack_secretsmanager_model::{
    input::{CreateSecretInput, GetSecretValueInput, ListSecretsInput},
    operations::SecretsManagerOperation,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    ACCOUNT_ID, REGION, aws,
    error::StackError,
    http::{self, Answer},
    stack_file::{Secret, SecretContent},
};

/// The embedded engine.
#[derive(Debug)]
pub(crate) struct Secrets {
    provider: Arc<RustackSecretsManager>,
    handler: RustackSecretsManagerHandler,
    translations: Vec<Translation>,
}

#[derive(Debug)]
struct Translation {
    name: String,
    described_arn: String,
    engine_arn: String,
}

impl Secrets {
    /// Creates the described secrets with their stored values, or with new random ones.
    pub(crate) fn open(
        described: &[Secret],
        mut stored: BTreeMap<String, String>,
    ) -> Result<Self, StackError> {
        let provider = Arc::new(RustackSecretsManager::new(SecretsManagerConfig {
            default_region: REGION.to_owned(),
            default_account_id: ACCOUNT_ID.to_owned(),
            ..SecretsManagerConfig::default()
        }));
        let mut translations = Vec::new();
        for secret in described {
            let value = stored.remove(&secret.name).unwrap_or_else(|| random_value(secret.holds));
            translations.push(Translation {
                name: secret.name.clone(),
                described_arn: secret.arn.clone(),
                engine_arn: create(&provider, &secret.name, value)?,
            });
        }
        // Secrets that were created by hand in an earlier run.
        for (name, value) in stored {
            create(&provider, &name, value)?;
        }
        let handler = RustackSecretsManagerHandler::new(Arc::clone(&provider));
        Ok(Self { provider, handler, translations })
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, operation: &str, body: Bytes) -> Answer {
        let Some(operation) = SecretsManagerOperation::from_name(operation) else {
            return aws::error(StatusCode::BAD_REQUEST, "InvalidAction", "unknown operation");
        };
        let body = self.for_engine(body);
        let (status, body) = match self.handler.handle_operation(operation, body).await {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let body = body.collect().await.map(http_body_util::Collected::to_bytes);
                (parts.status, body.unwrap_or_default())
            }
            Err(error) => (error.status_code, error_to_json(&error).into()),
        };
        http::answer(status, "application/x-amz-json-1.1", self.for_client(&body))
    }

    /// Value of a secret by name or described ARN.
    pub(crate) fn value(&self, id: &str) -> Option<String> {
        let input = GetSecretValueInput {
            secret_id: self.name(id).to_owned(),
            ..GetSecretValueInput::default()
        };
        self.provider.handle_get_secret_value(&input).ok()?.secret_string
    }

    /// Current values of all secrets, by name.
    pub(crate) fn values(&self) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        let mut next_token = None;
        loop {
            let input = ListSecretsInput { next_token, ..ListSecretsInput::default() };
            let Ok(page) = self.provider.handle_list_secrets(&input) else { return values };
            for name in page.secret_list.into_iter().filter_map(|entry| entry.name) {
                if let Some(value) = self.value(&name) {
                    values.insert(name, value);
                }
            }
            next_token = page.next_token;
            if next_token.is_none() {
                return values;
            }
        }
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let translation =
            self.translations.iter().find(|translation| translation.described_arn == id);
        translation.map_or(id, |translation| translation.name.as_str())
    }

    fn for_engine(&self, body: Bytes) -> Bytes {
        let Ok(mut request) = serde_json::from_slice::<Value>(&body) else { return body };
        let Some(id) = request.get_mut("SecretId") else { return body };
        let Some(name) = id.as_str().map(|id| self.name(id).to_owned()) else { return body };
        *id = Value::String(name);
        request.to_string().into()
    }

    fn for_client(&self, body: &Bytes) -> Bytes {
        let mut text = String::from_utf8_lossy(body).into_owned();
        for translation in &self.translations {
            if text.contains(&translation.engine_arn) {
                text = text.replace(&translation.engine_arn, &translation.described_arn);
            }
        }
        text.into()
    }
}

fn create(
    provider: &RustackSecretsManager,
    name: &str,
    value: String,
) -> Result<String, StackError> {
    let created = provider.handle_create_secret(CreateSecretInput {
        name: name.to_owned(),
        secret_string: Some(value),
        ..CreateSecretInput::default()
    });
    let created = created.map_err(|error| StackError::Refused {
        resource: format!("secret {name}"),
        reason: error.message,
    })?;
    Ok(created.arn.unwrap_or_default())
}

fn random_value(content: SecretContent) -> String {
    let random = Uuid::new_v4().simple().to_string();
    match content {
        SecretContent::WebhookSecret => json!({ "current": random }).to_string(),
        SecretContent::Token => json!({ "token": random }).to_string(),
    }
}

//! AWS Secrets Manager as a secret store.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::ProvideErrorMetadata;
use ports::{SecretStore, SecretStoreError};

/// Reads secrets from AWS Secrets Manager.
#[derive(Debug, Clone)]
pub struct SecretsManager {
    client: Client,
}

impl SecretsManager {
    /// A store behind this client.
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self { client }
    }
}

impl SecretStore for SecretsManager {
    async fn read(&self, secret_id: &str) -> Result<String, SecretStoreError> {
        let output = self
            .client
            .get_secret_value()
            .secret_id(secret_id)
            .send()
            .await
            // Kind and code only: the raw answer that an error may carry could hold the value.
            .map_err(|error| {
                let code = error.code().unwrap_or("no code");
                SecretStoreError::Unavailable(format!("{error}: {code}").into())
            })?;
        output.secret_string.ok_or(SecretStoreError::Unusable("it has no text"))
    }
}

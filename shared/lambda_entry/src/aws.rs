//! AWS clients: TLS by ring with Amazon's own roots, credentials from the environment, tight time limits, and a connection
//! that is opened before the first event needs it.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::{
    HttpConnector as _, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
    http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;

use crate::environment::{ConfigError, Environment};

/// Amazon Root CA 1 to 4 and Starfield Services Root CA G2: all that AWS's public endpoints chain to
/// (<https://www.amazontrust.com/repository/>). Loading the system's roots would cost each cold start 3 ms of CPU.
const AMAZON_ROOTS: &[u8] = include_bytes!("../roots/amazon.pem");

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one try may take. GitHub closes after ten seconds, and a frozen environment's pooled connection is dead: the
/// second try must fit too.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a call may take with its retry.
const OPERATION_TIMEOUT: Duration = Duration::from_millis(4500);
/// Two tries: the retry is for a connection that died while the environment was frozen.
const ATTEMPTS: u32 = 2;
/// The retry is immediate, or nearly.
const RETRY_BACKOFF: Duration = Duration::from_millis(20);

/// Where AWS is and who we are, as the environment says.
#[derive(Clone)]
pub struct AwsSettings {
    region: String,
    credentials: Credentials,
    dynamodb: Option<String>,
    sqs: Option<String>,
    secrets_manager: Option<String>,
}

impl std::fmt::Debug for AwsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsSettings").field("region", &self.region).finish_non_exhaustive()
    }
}

impl AwsSettings {
    /// Reads what Lambda sets (`AWS_REGION`, credentials, which are static for the life of an environment) and the SDKs'
    /// standard endpoint variables `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let all = environment.optional("AWS_ENDPOINT_URL");
        let endpoint = |name| environment.optional(name).or(all).map(str::to_owned);
        Ok(Self {
            region: environment.required("AWS_REGION")?.to_owned(),
            credentials: Credentials::new(
                environment.required("AWS_ACCESS_KEY_ID")?,
                environment.required("AWS_SECRET_ACCESS_KEY")?,
                environment.optional("AWS_SESSION_TOKEN").map(str::to_owned),
                None,
                "environment",
            ),
            dynamodb: endpoint("AWS_ENDPOINT_URL_DYNAMODB"),
            sqs: endpoint("AWS_ENDPOINT_URL_SQS"),
            secrets_manager: endpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
        })
    }
}

/// Makes clients that share one connection pool.
#[derive(Debug, Clone)]
pub struct Aws {
    settings: AwsSettings,
    connector: SharedHttpConnector,
}

macro_rules! client {
    ($(#[$doc:meta])* $name:ident, $sdk:ident, $endpoint:ident) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> $sdk::Client {
            let config = $sdk::config::Builder::new()
                .behavior_version($sdk::config::BehaviorVersion::latest())
                .region($sdk::config::Region::new(self.settings.region.clone()))
                .credentials_provider(SharedCredentialsProvider::new(self.settings.credentials.clone()))
                .http_client(self.http_client())
                .timeout_config(timeouts())
                .retry_config(retries());
            let config = match &self.settings.$endpoint {
                Some(url) => config.endpoint_url(url),
                None => config,
            };
            $sdk::Client::from_conf(config.build())
        }
    };
}

impl Aws {
    /// Prepares TLS and the pool.
    pub fn new(settings: AwsSettings) -> Result<Self, ConfigError> {
        let roots = TrustStore::empty().with_pem_certificate(AMAZON_ROOTS);
        let tls = TlsContext::builder().with_trust_store(roots).build().map_err(|_| {
            ConfigError::Invalid { name: "AWS_REGION", expected: "usable with TLS".to_owned() }
        })?;
        let limits = HttpConnectorSettings::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(ATTEMPT_TIMEOUT)
            .build();
        let connector = Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(tls)
            .connector_settings(limits)
            .sleep_impl(aws_sdk_sqs::config::SharedAsyncSleep::new(
                aws_smithy_async::rt::sleep::TokioSleep::new(),
            ))
            .build();
        Ok(Self { settings, connector: SharedHttpConnector::new(connector) })
    }

    client! {
        /// A DynamoDB client.
        dynamodb, aws_sdk_dynamodb, dynamodb
    }
    client! {
        /// An SQS client.
        sqs, aws_sdk_sqs, sqs
    }
    client! {
        /// A Secrets Manager client.
        secrets_manager, aws_sdk_secretsmanager, secrets_manager
    }

    /// Opens the connection to SQS while Lambda still gives a whole core to initialisation.
    pub async fn open_sqs(&self) {
        self.open(self.settings.sqs.as_deref(), "sqs").await;
    }

    /// Opens the connection to DynamoDB while Lambda still gives a whole core to initialisation.
    pub async fn open_dynamodb(&self) {
        self.open(self.settings.dynamodb.as_deref(), "dynamodb").await;
    }

    /// An unsigned GET, which every AWS endpoint answers without doing or billing anything. Whether it succeeds does not
    /// matter: the first real call opens the connection otherwise.
    async fn open(&self, endpoint: Option<&str>, service: &str) {
        let url = match endpoint {
            Some(url) => url.to_owned(),
            None => format!("https://{service}.{}.amazonaws.com/", self.settings.region),
        };
        let Ok(request) = HttpRequest::get(url) else { return };
        let answer = self.connector.call(request.map(|_: SdkBody| SdkBody::empty())).await;
        tracing::debug!(answered = answer.is_ok(), "opened the connection to {service}");
    }

    fn http_client(&self) -> SharedHttpClient {
        let connector = self.connector.clone();
        http_client_fn(move |_, _| connector.clone())
    }
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build()
}

fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(RETRY_BACKOFF)
        .with_max_backoff(RETRY_BACKOFF)
}

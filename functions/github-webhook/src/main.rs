//! `github-webhook`: proves who sent a delivery and puts a small observation on the queue.

mod config;

use std::rc::Rc;

use anyhow::Context as _;
use github_webhook::{Answer, FunctionUrlRequest, Webhook};
use lambda_entry::{Aws, Environment, Telemetry, now};
use lambda_runtime::{LambdaEvent, run, service_fn};
use queues::ObservationSender;
use secrets::{SecretCache, SecretsManager};
use tokio::sync::Mutex;

use crate::config::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let environment = Environment::read();
    let telemetry = Telemetry::start("github-webhook", "github_webhook", &environment)?;
    let config = Config::from_environment(&environment)?;
    let aws = Aws::new(config.aws).context("TLS")?;
    let queue = ObservationSender::new(aws.sqs(), config.queue_url);
    let secrets = SecretCache::new(SecretsManager::new(aws.secrets_manager()), config.cache);
    let webhook = Webhook::new(config.sources, config.body_bytes_max, queue, secrets, telemetry);
    // One event at a time: the lock is never waited for.
    let webhook = Rc::new(Mutex::new(webhook));
    aws.open_sqs().await;
    let handler = service_fn(|event: LambdaEvent<FunctionUrlRequest>| {
        let webhook = Rc::clone(&webhook);
        async move {
            let answer = async { webhook.lock().await.handle(&event.payload, now()).await };
            // Boxed: the SDK's futures nest deeper than the compiler computes a layout for.
            let answer = tokio::time::timeout(config.answer_within, Box::pin(answer)).await;
            Ok::<_, std::convert::Infallible>(answer.unwrap_or_else(|_| Answer::late()))
        }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

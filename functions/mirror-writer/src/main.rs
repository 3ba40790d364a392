//! `mirror-writer`: folds observations from the queue into the mirrors and keeps the ledger.

mod config;

use std::rc::Rc;

use anyhow::Context as _;
use lambda_entry::{Aws, Environment, SqsEvent, Telemetry, now};
use lambda_runtime::{LambdaEvent, run, service_fn};
use mirror_store::MirrorStore;
use mirror_writer::Writer;

use crate::config::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let environment = Environment::read();
    let telemetry = Telemetry::start("mirror-writer", "mirror_writer", &environment)?;
    let config = Config::from_environment(&environment)?;
    let aws = Aws::new(config.aws).context("TLS")?;
    let store = MirrorStore::new(aws.dynamodb(), config.tables);
    let writer = Rc::new(Writer::new(store, telemetry));
    aws.open_dynamodb().await;
    let handler = service_fn(|event: LambdaEvent<SqsEvent>| {
        let writer = Rc::clone(&writer);
        async move { Ok::<_, std::convert::Infallible>(writer.handle(&event.payload, now()).await) }
    });
    run(handler).await.map_err(anyhow::Error::from_boxed)
}

//! A function for the local stack's own tests: it does what its event says.

use std::{io::Write, process::exit};

use lambda_entry::tool::{Call, CallContextKeys, Text, ToolError, Untrusted, serve};
use lambda_entry::{Environment, Telemetry};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    if std::env::vars().any(|(name, _)| name == "PROBE_REFUSES_TO_START") {
        return Err("refusing to start".into());
    }
    let environment = Environment::read();
    if environment.optional("PROBE_IS_TOOL").is_some() {
        return tool(&environment).await;
    }
    lambda_runtime::run(service_fn(handle)).await
}

/// What the tool is asked for.
#[derive(Deserialize)]
struct Asked {
    say: Text<20>,
}

/// Says who calls, and repeats what it was told; panics when told so.
#[expect(clippy::panic, reason = "what becomes of a panic is tested")]
async fn tool(environment: &Environment) -> Result<(), Error> {
    let telemetry = Telemetry::start("probe-tool", "probe", environment)?;
    let keys = CallContextKeys::from_environment(environment)?;
    serve("probe-tool", keys, telemetry, async |call: Call<Asked>, _| {
        let said = call.input.say.as_str();
        match said {
            "panic" => panic!("canary"),
            "nothing" => Err(ToolError::not_found("there is nothing to say")),
            said => Ok(json!({
                "tenant": call.caller.tenant().as_str(),
                "actor": call.caller.actor().as_str(),
                "actorKind": call.caller.kind().as_str(),
                "key": call.idempotency_key.as_ref().map(|key| key.as_str()),
                "said": Untrusted::new(said),
            })),
        }
    })
    .await
}

async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let payload = event.payload;
    if let Some(records) = payload.get("Records").and_then(Value::as_array) {
        return Ok(batch(records));
    }
    // Deliveries carry the order in their body, direct invocations are the order.
    let body = payload.get("body").and_then(Value::as_str);
    let order: Value =
        body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or(payload.clone());
    match order.get("do").and_then(Value::as_str).unwrap_or_default() {
        "fail" => Err("asked to fail".into()),
        "exit" => exit(3),
        "hang" => {
            writeln!(std::io::stdout(), "hanging")?;
            std::future::pending().await
        }
        "log" => {
            writeln!(
                std::io::stdout(),
                "probe says {}",
                order.get("text").and_then(Value::as_str).unwrap_or_default()
            )?;
            Ok(json!({ "done": true }))
        }
        "environment" => Ok(std::env::vars()
            .map(|(name, value)| (name, Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()),
        "context" => Ok(json!({
            "requestId": event.context.request_id,
            "arn": event.context.invoked_function_arn,
            "deadline": event.context.deadline,
            "pid": std::process::id(),
        })),
        "answer" => Ok(order.get("with").cloned().unwrap_or_default()),
        "call" => call(&order).await,
        _ => Ok(json!({ "event": payload, "pid": std::process::id() })),
    }
}

/// Fails what says so; the rest succeeds.
fn batch(records: &[Value]) -> Value {
    let body =
        |record: &Value| record.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
    for record in records {
        if body(record) == "die" {
            exit(9);
        }
        let _ = writeln!(std::io::stdout(), "processing {}", body(record));
    }
    let failures = records.iter().filter(|record| body(record).starts_with("poison"));
    let failures = failures.map(|record| json!({ "itemIdentifier": record.get("messageId") }));
    json!({ "batchItemFailures": failures.collect::<Vec<_>>() })
}

/// Sends one request to the AWS endpoint, as this function.
async fn call(order: &Value) -> Result<Value, Error> {
    let text = |name: &str| order.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let variable = |wanted: &str| {
        std::env::vars()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
            .unwrap_or_default()
    };
    let credential = format!(
        "{}/20261130/us-east-1/{}/aws4_request",
        variable("AWS_ACCESS_KEY_ID"),
        text("service")
    );
    let request = reqwest::Client::new()
        .post(variable("AWS_ENDPOINT_URL"))
        .header(
            "authorization",
            format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=x"),
        )
        .header("x-amz-target", text("target"))
        .json(order.get("body").unwrap_or(&Value::Null));
    let answer = request.send().await?;
    Ok(json!({ "status": answer.status().as_u16(), "body": answer.json::<Value>().await? }))
}

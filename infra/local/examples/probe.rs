//! A function for the local stack's own tests: it does what its event says.

use std::{io::Write, process::exit};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    if std::env::vars().any(|(name, _)| name == "PROBE_REFUSES_TO_START") {
        return Err("refusing to start".into());
    }
    lambda_runtime::run(service_fn(handle)).await
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

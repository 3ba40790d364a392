//! Runs a tool: from Lambda's payload to Lambda's answer.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use jiff::Timestamp;
use lambda_runtime::layers::TracingLayer;
use lambda_runtime::tower::util::MapRequestLayer;
use lambda_runtime::{LambdaEvent, LambdaInvocation, Runtime, service_fn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ToolError;
use super::keys::CallContextKeys;
use super::{Call, PAYLOAD_BYTES_MAX, read_call};
use crate::clock::now;
use crate::telemetry::{Metric, Telemetry};

/// What stands before a tool's handler.
#[derive(Debug, Clone)]
pub struct ToolDoor {
    /// The tool's name, which a call context must be made for.
    pub tool: &'static str,
    /// Whose call contexts are believed.
    pub keys: CallContextKeys,
    /// Where calls are logged and attempts are counted.
    pub telemetry: Telemetry,
}

/// Serves calls until Lambda ends the process. The handler is given proven calls and the time; what it refuses is the
/// answer, and a panic is answered as `unavailable`.
///
/// # Errors
/// When Lambda's Runtime API fails.
pub async fn serve<I, O, H>(
    tool: &'static str,
    keys: CallContextKeys,
    telemetry: Telemetry,
    handler: H,
) -> Result<(), lambda_runtime::Error>
where
    I: DeserializeOwned,
    O: Serialize,
    H: AsyncFn(Call<I>, Timestamp) -> Result<O, ToolError>,
{
    report_panics_by_place();
    let serving = Rc::new((ToolDoor { tool, keys, telemetry }, handler));
    let service = service_fn(move |event: LambdaEvent<String>| {
        let serving = Rc::clone(&serving);
        async move {
            let (door, handler) = &*serving;
            let payload = STANDARD.decode(&event.payload).unwrap_or_default();
            Ok::<_, Infallible>(answer(door, &payload, now(), handler).await)
        }
    });
    let runtime = Runtime::new(service).layer(TracingLayer::new());
    runtime.layer(MapRequestLayer::new(as_string)).run().await
}

/// What a payload is answered with: the handler's output, or `{"error": …}`. All that [`serve`] does but for the runtime.
pub async fn answer<I, O, H>(door: &ToolDoor, payload: &[u8], now: Timestamp, handler: &H) -> Value
where
    I: DeserializeOwned,
    O: Serialize,
    H: AsyncFn(Call<I>, Timestamp) -> Result<O, ToolError>,
{
    let call = match read_call::<I>(payload, door.tool, &door.keys, now) {
        Ok(call) => call,
        Err(error) => return refusal(door, &error, now),
    };
    let (tenant, jti) = (call.caller.tenant().clone(), call.caller.jti().to_owned());
    // Boxed: handlers hold the SDK's futures, which are large.
    let handled = Box::pin(AssertUnwindSafe(handler(call, now)).catch_unwind()).await;
    let handled = handled.unwrap_or_else(|_| Err(internal()));
    let output = handled.and_then(|output| serde_json::to_value(output).map_err(|_| internal()));
    let tool = door.tool;
    match output {
        Ok(output) => {
            tracing::info!(tool, tenant.id = %tenant, call.id = jti, "answered a call of {tenant}");
            output
        }
        Err(error) => {
            tracing::warn!(
                tool,
                tenant.id = %tenant,
                call.id = jti,
                error.code = error.code().as_str(),
                error.field = error.field(),
                "refused a call of {tenant}: {}",
                error.code().as_str()
            );
            error.to_json()
        }
    }
}

/// Refuses a call that was never handed on. Neither token nor input is logged.
fn refusal(door: &ToolDoor, error: &ToolError, now: Timestamp) -> Value {
    let code = error.code();
    if code.is_security_event() {
        door.telemetry.count(Metric::SecurityEvents, 1, now);
    }
    tracing::warn!(
        tool = door.tool,
        error.code = code.as_str(),
        error.field = error.field(),
        "refused a call of nobody known: {}",
        code.as_str()
    );
    error.to_json()
}

fn internal() -> ToolError {
    ToolError::unavailable("the tool failed: try again later")
}

/// The runtime would refuse a payload that is no JSON in its own words, so it is handed over as a string that holds any
/// bytes. What is beyond the limit is not needed to refuse it.
fn as_string(mut invocation: LambdaInvocation) -> LambdaInvocation {
    let kept = invocation.body.get(..=PAYLOAD_BYTES_MAX).unwrap_or(&invocation.body);
    invocation.body = format!("\"{}\"", STANDARD.encode(kept)).into();
    invocation
}

/// A panic's own text may repeat what the caller sent, so only its place is logged.
fn report_panics_by_place() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(panic.place = place, "panicked at {place}");
    }));
}

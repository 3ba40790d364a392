//! The door of Factory tools: small Lambdas that are invoked directly, JSON in, JSON out.
//!
//! Who calls is proven, not claimed: Lambda tells a function nothing about who invoked it, so every payload carries a
//! *call context*, a short-lived token in which the Factory's identity service says who calls which tool with which input.
//! [`read_call`] is all that makes a [`Caller`]. A payload is
//!
//! ```json
//! { "callContext": "<compact JWS>", "idempotencyKey": "<of writing tools>", "input": { } }
//! ```
//!
//! Inputs are read strictly: a field that is unknown, missing or of another type is refused by its path, and no message
//! repeats a value or names a type of ours.

mod call_context;
mod document;
mod error;
mod issuer;
mod keys;
mod path;
mod serving;
#[cfg(test)]
mod tests;
mod typed;
mod words;

pub use call_context::Caller;
pub use document::{canonical, input_sha256};
use domain::ids::IdError;
pub use domain::ids::IdempotencyKey;
pub use error::{ErrorCode, ToolError};
pub use issuer::{CallContextIssuer, Grant};
use jiff::Timestamp;
pub use keys::{CallContextKeys, KeysError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
pub use serving::{ToolDoor, answer, serve};
pub use words::{Text, Untrusted, error_schema, output_schema_of, schema_of};

use path::{Path, Step};

/// Largest payload, in bytes: tools are told of things, and given references to what is large.
pub const PAYLOAD_BYTES_MAX: usize = 64 * 1024;

const IDEMPOTENCY_KEY: &str = "idempotencyKey";
const INPUT: &str = "input";

/// One call of a tool by a proven caller.
#[derive(Debug, Clone)]
pub struct Call<I> {
    /// Who calls.
    pub caller: Caller,
    /// What names the intended effect; read-only tools need none.
    pub idempotency_key: Option<IdempotencyKey>,
    /// What is asked for.
    pub input: I,
    /// The digest of input and key (see [`input_sha256`]): equal calls have equal ones.
    pub input_sha256: String,
}

impl<I> Call<I> {
    /// The key that a writing tool must have.
    ///
    /// # Errors
    /// `invalid_input` when the call has none.
    pub fn required_key(&self) -> Result<&IdempotencyKey, ToolError> {
        self.idempotency_key.as_ref().ok_or_else(|| missing(IDEMPOTENCY_KEY))
    }
}

/// Reads a payload: bounds, JSON, who calls, whether the context is meant for this tool, time and input, and only then
/// the input itself.
///
/// # Errors
/// The answer to the caller.
pub fn read_call<I: DeserializeOwned>(
    payload: &[u8],
    tool: &str,
    keys: &CallContextKeys,
    now: Timestamp,
) -> Result<Call<I>, ToolError> {
    if PAYLOAD_BYTES_MAX < payload.len() {
        let message = format!("payload must have at most {PAYLOAD_BYTES_MAX} bytes");
        return Err(ToolError::new(ErrorCode::TooLarge, message).at("payload"));
    }
    let document = document::parse(payload)?;
    let payload = document
        .as_object()
        .ok_or_else(|| ToolError::invalid_input("payload", "payload must be an object"))?;
    let context = call_context::verify(payload.get(call_context::FIELD), tool, keys, now)?;
    refuse_unknown(payload)?;
    let idempotency_key = payload.get(IDEMPOTENCY_KEY).map(read_key).transpose()?;
    let input = payload.get(INPUT).ok_or_else(|| missing(INPUT))?;
    let input_sha256 = input_sha256(input, idempotency_key.as_ref());
    if input_sha256 != context.input_sha256 {
        let message = "callContext.inputSha256 is the digest of another input or idempotency key";
        return Err(ToolError::new(ErrorCode::InputMismatch, message).at("callContext.inputSha256"));
    }
    if !input.is_object() {
        return Err(ToolError::invalid_input(INPUT, "input must be an object"));
    }
    let input = typed::read(input, &[Step::Key(INPUT.to_owned())])?;
    Ok(Call { caller: context.caller, idempotency_key, input, input_sha256 })
}

fn refuse_unknown(payload: &Map<String, Value>) -> Result<(), ToolError> {
    let known = [call_context::FIELD, IDEMPOTENCY_KEY, INPUT];
    let Some(unknown) = payload.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let path = Path(&[Step::Key(unknown.clone())]).to_string();
    let message = format!("{path} is not known");
    Err(ToolError::invalid_input(path, message))
}

fn read_key(value: &Value) -> Result<IdempotencyKey, ToolError> {
    let key = value.as_str().ok_or(IdError::IdempotencyKey).and_then(IdempotencyKey::new);
    key.map_err(|rule| {
        ToolError::invalid_input(IDEMPOTENCY_KEY, format!("{IDEMPOTENCY_KEY} {rule}"))
    })
}

fn missing(field: &str) -> ToolError {
    ToolError::invalid_input(field, format!("{field} is missing"))
}

//! What a tool answers instead of its output.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Why a call has no output. The words are part of every tool's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The payload is no JSON, nests too deeply, or has a key twice.
    InvalidJson,
    /// A field is missing, unknown, or not what it must be.
    InvalidInput,
    /// The payload is larger than a tool takes.
    TooLarge,
    /// Nobody whom we know has signed the call.
    Unauthenticated,
    /// A claim of the call context is missing or has a wrong form.
    CallContextInvalid,
    /// The call context is too old.
    CallContextExpired,
    /// The call context is from the future.
    NotYetValid,
    /// The call context was made for another tool.
    WrongAudience,
    /// The call context was made for another input.
    InputMismatch,
    /// There is no such thing, or it is another tenant's.
    NotFound,
    /// What the call relies on has changed: read again, decide again.
    Conflict,
    /// The idempotency key was used for another input.
    IdempotencyConflict,
    /// The caller may not do this.
    Denied,
    /// Something that the tool needs did not answer: the same call may succeed later.
    Unavailable,
}

impl ErrorCode {
    /// The word in the answer.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidInput => "invalid_input",
            Self::TooLarge => "too_large",
            Self::Unauthenticated => "unauthenticated",
            Self::CallContextInvalid => "call_context_invalid",
            Self::CallContextExpired => "call_context_expired",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongAudience => "wrong_audience",
            Self::InputMismatch => "input_mismatch",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
        }
    }

    /// Whether the very same call may succeed when it is repeated.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Unavailable)
    }

    /// Whether the call looks as if somebody claimed to be who they are not. An old context is an ordinary mishap.
    pub(super) const fn is_security_event(self) -> bool {
        matches!(
            self,
            Self::Unauthenticated
                | Self::CallContextInvalid
                | Self::WrongAudience
                | Self::InputMismatch
        )
    }
}

/// A typed refusal. Its message and field say what to correct; they repeat no value of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    code: ErrorCode,
    message: String,
    field: Option<String>,
}

macro_rules! with_code {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorCode::$code, message)
        })*
    };
}

impl ToolError {
    /// A refusal of the call as a whole. The message must not repeat what came from outside.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None }
    }

    with_code! {
        /// There is no such thing for this tenant. Absent and foreign must look the same.
        not_found => NotFound;
        /// What the call relies on has changed.
        conflict => Conflict;
        /// The key was used for another input.
        idempotency_conflict => IdempotencyConflict;
        /// The caller may not do this.
        denied => Denied;
        /// Something did not answer; the caller may try the same call again.
        unavailable => Unavailable;
    }

    /// A field that is not what it must be; `field` is its path from the payload on: `input.changeSet.sha256`.
    #[must_use]
    pub fn invalid_input(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidInput, message).at(field)
    }

    /// The same refusal, of this field.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// What kind of refusal it is.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// What to correct, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Which field is refused, by its path from the payload on.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Whether the very same call may succeed when it is repeated.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        self.code.is_retryable()
    }

    /// The answer: `{"error": {"code", "message", "field"?, "retryable"}}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let error = ErrorBody {
            code: self.code,
            message: self.message.clone(),
            field: self.field.clone(),
            retryable: self.is_retryable(),
        };
        serde_json::to_value(ErrorAnswer { error }).unwrap_or_default()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// The form of every refusal, for its schema.
#[derive(Serialize, JsonSchema)]
pub(super) struct ErrorAnswer {
    /// Why there is no output.
    error: ErrorBody,
}

#[derive(Serialize, JsonSchema)]
struct ErrorBody {
    /// What kind of refusal it is.
    code: ErrorCode,
    /// What to correct, for people.
    message: String,
    /// Which field is refused, by its path from the payload on.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Whether the very same call may succeed when it is repeated.
    retryable: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_names_code_message_and_field() {
        let error = ToolError::invalid_input("input.name", "input.name is missing");
        let expected = json!({ "error": {
            "code": "invalid_input",
            "message": "input.name is missing",
            "field": "input.name",
            "retryable": false,
        }});
        assert_eq!(error.to_json(), expected);
        let expected = json!({ "error": {
            "code": "unavailable", "message": "try again", "retryable": true,
        }});
        assert_eq!(ToolError::unavailable("try again").to_json(), expected);
    }

    #[test]
    fn a_code_is_sent_as_it_is_named() {
        for code in [
            ErrorCode::InvalidJson,
            ErrorCode::InvalidInput,
            ErrorCode::TooLarge,
            ErrorCode::Unauthenticated,
            ErrorCode::CallContextInvalid,
            ErrorCode::CallContextExpired,
            ErrorCode::NotYetValid,
            ErrorCode::WrongAudience,
            ErrorCode::InputMismatch,
            ErrorCode::NotFound,
            ErrorCode::Conflict,
            ErrorCode::IdempotencyConflict,
            ErrorCode::Denied,
            ErrorCode::Unavailable,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}

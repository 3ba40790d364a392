//! The part of IAM that Plumbline's roles use: `Allow` statements with exact actions and exact resources.
//!
//! Wildcards are refused while reading, except the `:*` that ends a log group's ARN, because a role
//! that needs one is broader than the rules of the infrastructure program permit.

use serde_json::Value;

/// One `Allow` statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Actions such as `sqs:SendMessage`.
    pub actions: Vec<String>,
    /// Amazon resource names.
    pub resources: Vec<String>,
}

/// Everything that one role allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    statements: Vec<Statement>,
}

impl Policy {
    /// The sum of a role's statements.
    #[must_use]
    pub fn new(statements: Vec<Statement>) -> Self {
        Self { statements }
    }

    /// Whether `action` on `resource` is allowed by any statement.
    #[must_use]
    pub fn allows(&self, action: &str, resource: &str) -> bool {
        self.statements.iter().any(|statement| {
            statement.actions.iter().any(|allowed| allowed == action)
                && statement.resources.iter().any(|allowed| allowed == resource)
        })
    }
}

/// Reads a policy document.
///
/// # Errors
/// The reason why the document says more than this evaluation understands.
pub(crate) fn statements(document: &str) -> Result<Vec<Statement>, String> {
    let document: Value = serde_json::from_str(document)
        .map_err(|error| format!("its policy is not JSON: {error}"))?;
    let statements = match document.get("Statement") {
        Some(Value::Array(statements)) => statements.iter().collect(),
        Some(statement @ Value::Object(_)) => vec![statement],
        _ => return Err("its policy has no Statement".to_owned()),
    };
    statements.into_iter().map(statement).collect()
}

fn statement(value: &Value) -> Result<Statement, String> {
    for unknown in ["Condition", "NotAction", "NotResource", "Principal"] {
        if value.get(unknown).is_some() {
            return Err(format!(
                "its policy uses {unknown}, which the local stack does not evaluate"
            ));
        }
    }
    if value.get("Effect").and_then(Value::as_str) != Some("Allow") {
        return Err("its policy has a statement that is not Allow".to_owned());
    }
    let actions =
        one_or_many(value.get("Action")).ok_or("its policy has a statement without Action")?;
    let resources =
        one_or_many(value.get("Resource")).ok_or("its policy has a statement without Resource")?;
    let broad = actions.iter().chain(&resources).find(|word| {
        let exact = if word.starts_with("arn:aws:logs:") { word.strip_suffix(":*") } else { None };
        exact.unwrap_or(word.as_str()).contains('*')
    });
    match broad {
        Some(broad) => Err(format!("its policy has the wildcard {broad}; name what is meant")),
        None => Ok(Statement { actions, resources }),
    }
}

fn one_or_many(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, action: &str, resource: &str) -> Result<bool, String> {
        Ok(Policy::new(statements(document)?).allows(action, resource))
    }

    const DOCUMENT: &str = r#"{ "Version": "2012-10-17", "Statement": [
        { "Effect": "Allow", "Action": ["dynamodb:PutItem", "dynamodb:GetItem"], "Resource": "arn:t1" },
        { "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": ["arn:q1", "arn:q2"] },
        { "Effect": "Allow", "Action": "logs:PutLogEvents", "Resource": "arn:aws:logs:r:a:log-group:x:*" } ] }"#;

    #[test]
    fn what_a_statement_names_is_allowed() {
        assert_eq!(check(DOCUMENT, "dynamodb:GetItem", "arn:t1"), Ok(true));
        assert_eq!(check(DOCUMENT, "sqs:SendMessage", "arn:q2"), Ok(true));
    }

    #[test]
    fn action_and_resource_must_stand_in_the_same_statement() {
        assert_eq!(check(DOCUMENT, "dynamodb:PutItem", "arn:q1"), Ok(false));
        assert_eq!(check(DOCUMENT, "sqs:SendMessage", "arn:t1"), Ok(false));
        assert_eq!(check(DOCUMENT, "dynamodb:putitem", "arn:t1"), Ok(false));
    }

    #[test]
    fn a_table_does_not_stand_for_its_indexes() {
        assert_eq!(check(DOCUMENT, "dynamodb:GetItem", "arn:t1/index/due"), Ok(false));
    }

    #[test]
    fn one_statement_needs_no_list() {
        let document =
            r#"{ "Statement": { "Effect": "Allow", "Action": "a:B", "Resource": "r" } }"#;
        assert_eq!(check(document, "a:B", "r"), Ok(true));
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        for statement in [
            r#"{ "Effect": "Deny", "Action": "a:B", "Resource": "r" }"#,
            r#"{ "Effect": "Allow", "Action": "a:*", "Resource": "r" }"#,
            r#"{ "Effect": "Allow", "Action": "a:B", "Resource": "*" }"#,
            r#"{ "Effect": "Allow", "Action": "a:B", "Resource": "arn:aws:sqs:r:a:x:*" }"#,
            r#"{ "Effect": "Allow", "Action": "a:B", "Resource": "r", "Condition": {} }"#,
            r#"{ "Effect": "Allow", "NotAction": "a:B", "Resource": "r" }"#,
            r#"{ "Effect": "Allow", "Action": "a:B" }"#,
        ] {
            let document = format!(r#"{{ "Statement": [{statement}] }}"#);
            assert!(check(&document, "a:B", "r").is_err(), "{statement}");
        }
    }
}

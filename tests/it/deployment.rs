//! What would be deployed: the functions, their environment and their grants, against the code.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::world::workspace;

fn stack() -> Value {
    let text = std::fs::read_to_string(workspace().join("infra/stack.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn resources(stack: &Value, kind: &str) -> Vec<Value> {
    let resources = stack["resources"].as_array().unwrap().iter();
    resources.filter(|resource| resource["type"] == kind).cloned().collect()
}

/// The folders of `functions/`.
fn folders() -> BTreeSet<String> {
    let entries = std::fs::read_dir(workspace().join("functions")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The deployed names of functions, without the stack's prefix.
fn deployed(stack: &Value) -> BTreeSet<String> {
    let functions = resources(stack, "aws:lambda/function:Function").into_iter();
    functions
        .map(|function| {
            let name = function["inputs"]["name"].as_str().unwrap();
            name.strip_prefix("plumbline-local-").unwrap().to_owned()
        })
        .collect()
}

#[test]
fn every_function_is_deployed_and_nothing_else_is() {
    assert_eq!(deployed(&stack()), folders());
}

#[test]
fn each_function_reads_what_it_is_told_and_is_told_what_it_reads() {
    let stack = stack();
    for function in resources(&stack, "aws:lambda/function:Function") {
        let name = function["inputs"]["name"].as_str().unwrap();
        let folder = name.strip_prefix("plumbline-local-").unwrap();
        let source = workspace().join(format!("functions/{folder}/src/config.rs"));
        let source = std::fs::read_to_string(source).unwrap();
        // Names of variables are the only literals in capitals.
        let read: BTreeSet<&str> = source
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|text| text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
            .collect();
        let variables = function["inputs"]["environment"]["variables"].as_object().unwrap();
        // The log level belongs to the telemetry that every function shares.
        let told: BTreeSet<&str> =
            variables.keys().map(String::as_str).filter(|name| *name != "LOG_LEVEL").collect();
        assert_eq!(read, told, "{folder}");
        assert!(variables.contains_key("LOG_LEVEL"), "{folder}");
    }
}

#[test]
fn functions_are_for_arm_and_wait_no_longer_than_their_callers() {
    let stack = stack();
    for function in resources(&stack, "aws:lambda/function:Function") {
        let inputs = &function["inputs"];
        assert_eq!(inputs["architectures"], serde_json::json!(["arm64"]));
        assert_eq!(inputs["runtime"], "provided.al2023");
        let webhook = inputs["name"].as_str().unwrap().ends_with("-webhook");
        // GitHub closes after ten seconds.
        assert!(!webhook || inputs["timeout"].as_u64().unwrap() < 10);
    }
}

#[test]
fn only_ingest_may_send_observations() {
    let stack = stack();
    let mut senders = BTreeSet::new();
    for policy in resources(&stack, "aws:iam/rolePolicy:RolePolicy") {
        let document: Value =
            serde_json::from_str(policy["inputs"]["policy"].as_str().unwrap()).unwrap();
        for statement in document["Statement"].as_array().unwrap() {
            let actions = statement["Action"].as_array().unwrap();
            assert!(actions.iter().all(|action| !action.as_str().unwrap().contains('*')));
            if actions.iter().any(|action| action == "sqs:SendMessage") {
                senders.insert(policy["inputs"]["role"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(senders, ["plumbline-local-github-webhook".to_owned()].into());
}

#[test]
fn a_public_function_url_has_both_permissions_and_only_webhooks_have_one() {
    let stack = stack();
    let urls = resources(&stack, "aws:lambda/functionUrl:FunctionUrl");
    assert!(!urls.is_empty());
    for url in urls {
        let function = url["inputs"]["functionName"].as_str().unwrap();
        assert!(function.ends_with("-webhook"), "{function}");
        let permissions: Vec<_> = resources(&stack, "aws:lambda/permission:Permission")
            .into_iter()
            .filter(|permission| permission["inputs"]["function"] == function)
            .map(|permission| permission["inputs"].clone())
            .collect();
        let by_url = permissions.iter().any(|inputs| {
            inputs["action"] == "lambda:InvokeFunctionUrl"
                && inputs["functionUrlAuthType"] == "NONE"
        });
        let by_function = permissions.iter().any(|inputs| {
            inputs["action"] == "lambda:InvokeFunction" && inputs["invokedViaFunctionUrl"] == true
        });
        assert!(by_url && by_function, "{function}");
        // Without its condition the second one would let every account of AWS invoke the function.
        assert!(permissions.iter().all(|inputs| {
            inputs["action"] != "lambda:InvokeFunction" || inputs["invokedViaFunctionUrl"] == true
        }));
    }
}

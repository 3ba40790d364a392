//! The stack in one piece: real processes behind a real door, with a function made for these tests.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy's allow-in-tests skips helper functions"
)]

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use domain::ids::{Actor, ActorKind, TenantId};
use local::identity::{Acting, Asked, Issuer};
use local::{Description, Effect, Matching, Running, Stack, StackError, StackOptions, State};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

/// A folder of one test, with the test function under the names of the description.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("plumbline-stack-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("bin")).unwrap();
        let executable = std::env::current_exe().unwrap();
        let probe = executable.parent().unwrap().parent().unwrap().join("examples/probe");
        for name in ["probe-webhook", "probe-writer", "probe-tool"] {
            symlink(&probe, path.join("bin").join(name)).unwrap();
        }
        Self(path)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn options(&self) -> StackOptions {
        StackOptions {
            functions: Some(self.0.join("bin")),
            retry_after: Duration::from_millis(50),
            ..StackOptions::ephemeral(Description::Text(description().to_string()))
        }
    }

    fn persistent(&self) -> StackOptions {
        StackOptions { state: State::Directory(self.state()), ..self.options() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn description() -> Value {
    let arn =
        |service: &str, rest: &str| format!("arn:aws:{service}:us-east-1:000000000000:{rest}");
    let role = |name: &str| format!("arn:aws:iam::000000000000:role/p-local-{name}");
    let function = |name: &str, timeout: u32, variables: Value| {
        json!({ "type": "aws:lambda/function:Function", "name": name,
            "inputs": { "name": format!("p-local-{name}"), "role": role(name), "timeout": timeout, "memorySize": 128,
                "environment": { "variables": variables } },
            "outputs": { "arn": arn("lambda", &format!("function:p-local-{name}")) } })
    };
    let role_resource = |name: &str| {
        json!({ "type": "aws:iam/role:Role", "name": name,
        "inputs": { "name": format!("p-local-{name}") }, "outputs": { "arn": role(name) } })
    };
    let policy = |name: &str, statements: Value| {
        json!({ "type": "aws:iam/rolePolicy:RolePolicy", "name": name,
        "inputs": { "role": format!("p-local-{name}"), "policy": json!({ "Statement": statements }).to_string() } })
    };
    let queue = |name: &str, mut inputs: Value| {
        inputs["name"] = format!("p-local-{name}").into();
        json!({ "type": "aws:sqs/queue:Queue", "name": name, "inputs": inputs,
            "outputs": { "arn": arn("sqs", &format!("p-local-{name}")), "url": format!("https://sqs.us-east-1.amazonaws.com/000000000000/p-local-{name}") } })
    };
    let table = arn("dynamodb", "table/p-local-Things");
    let sources = json!([{ "id": "acme", "kind": "Hook", "host": "example.org", "tenantId": "t1", "secretId": "p/acme" }]);
    let connections = json!([{ "id": "acme", "host": "example.org", "tenantId": "t1",
        "apiBaseUrl": "https://example.org/api/v3", "secretId": "p/local/connections/acme" }]);
    json!({ "project": "p", "stack": "local", "resources": [
        { "type": "aws:dynamodb/table:Table", "name": "Things",
            "inputs": { "name": "p-local-Things", "hashKey": "pk", "attributes": [{ "name": "pk", "type": "S" }],
                "ttl": { "attributeName": "expiresAt", "enabled": true } },
            "outputs": { "arn": table } },
        role_resource("probe-webhook"), role_resource("probe-writer"), role_resource("probe-tool"),
        policy("probe-webhook", json!([
            { "Effect": "Allow", "Action": ["dynamodb:PutItem"], "Resource": [table] },
            { "Effect": "Allow", "Action": ["secretsmanager:GetSecretValue"], "Resource": [arn("secretsmanager", "secret:p/acme-000000")] },
            { "Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": [arn("sqs", "p-local-work")] } ])),
        policy("probe-writer", json!([{ "Effect": "Allow",
            "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], "Resource": [arn("sqs", "p-local-work")] }])),
        { "type": "aws:lambda/eventSourceMapping:EventSourceMapping", "name": "work",
            "inputs": { "eventSourceArn": arn("sqs", "p-local-work"), "functionName": "p-local-probe-writer", "batchSize": 10,
                "functionResponseTypes": ["ReportBatchItemFailures"] } },
        function("probe-webhook", 2, json!({ "PROBE_SOURCES": sources.to_string(), "GITHUB_CONNECTIONS": connections.to_string(), "COLOUR": "blue" })),
        function("probe-writer", 2, json!({})),
        function("probe-tool", 2, json!({ "PROBE_IS_TOOL": "yes", "CALL_CONTEXT_KEYS": "[]" })),
        { "type": "aws:lambda/functionUrl:FunctionUrl", "name": "probe-webhook", "inputs": { "functionName": "p-local-probe-webhook", "authorizationType": "NONE" } },
        { "type": "aws:secretsmanager/secret:Secret", "name": "acme", "inputs": { "name": "p/acme" },
            "outputs": { "arn": arn("secretsmanager", "secret:p/acme-000000") } },
        { "type": "aws:secretsmanager/secret:Secret", "name": "connection-acme", "inputs": { "name": "p/local/connections/acme" },
            "outputs": { "arn": arn("secretsmanager", "secret:p/local/connections/acme-000000") } },
        queue("dead", json!({})),
        queue("work", json!({ "visibilityTimeoutSeconds": 60, "redrivePolicy":
            json!({ "deadLetterTargetArn": arn("sqs", "p-local-dead"), "maxReceiveCount": "3" }).to_string() })),
    ] })
}

/// Sends one request to the AWS endpoint as the operator.
async fn aws(running: &Running, service: &str, target: &str, body: Value) -> (u16, Value) {
    let key = &running.credentials.access_key_id;
    let request = reqwest::Client::new()
        .post(&running.urls.sqs)
        .header("authorization", format!("AWS4-HMAC-SHA256 Credential={key}/20261130/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=x"))
        .header("x-amz-target", target)
        .json(&body);
    let answer = request.send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn send(running: &Running, queue: &str, body: &str) {
    let request = json!({ "QueueUrl": running.queues[queue].url, "MessageBody": body });
    let (status, answer) = aws(running, "sqs", "AmazonSQS.SendMessage", request).await;
    assert_eq!(status, 200, "{answer}");
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap_or_else(|_| panic!("{what} took too long"))
}

async fn invoke(stack: &Stack, payload: Value) -> Result<Value, String> {
    let result = soon("an invocation", stack.invoke("probe-webhook", payload.to_string())).await;
    result.map(|body| serde_json::from_slice(&body).unwrap()).map_err(|error| error.to_string())
}

fn kill(pid: u32) {
    let killed =
        std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

fn is_alive(pid: u32) -> bool {
    // A zombie has no command line any more.
    std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"))
        .is_ok_and(|line| !line.is_empty())
}

async fn until_dead(pid: u32) {
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

/// A process that is being killed looks dead a moment before the operating system tells its parent so, and its connections live on
/// in that moment: work that it is given then dies with it, as on AWS.
async fn until_known_dead(stack: &Stack, pid: u32) {
    while stack.function_pids("probe-webhook").contains(&pid) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_delivery_reaches_its_function_and_the_answer_the_sender() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let url = &stack.running().sources[0].url;
    let order = json!({ "do": "answer", "with": { "statusCode": 202, "headers": { "x-seen": "yes" }, "body": "taken" } });
    let answer = reqwest::Client::new().post(url).json(&order).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["x-seen"].to_str().unwrap()),
        (202, "yes")
    );
    assert_eq!(answer.text().await.unwrap(), "taken");
    let echoed: Value = reqwest::get(format!("{url}?a=b")).await.unwrap().json().await.unwrap();
    assert_eq!(echoed["event"]["rawPath"], "/probe/acme");
    assert_eq!(echoed["event"]["requestContext"]["http"]["method"], "GET");
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_delivery_is_answered_as_by_a_function_url() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let url = &stack.running().sources[0].url;
    let post = |body: Value| reqwest::Client::new().post(url).json(&body).send();
    assert_eq!(post(json!({ "do": "fail" })).await.unwrap().status(), 502);
    assert_eq!(post(json!({ "do": "exit" })).await.unwrap().status(), 502);
    assert_eq!(
        post(json!({ "do": "answer", "with": { "statusCode": "x" } })).await.unwrap().status(),
        502
    );
    // As text it fits, as base64 it does not.
    let body = vec![b'x'; 5 * 1024 * 1024];
    let posted = reqwest::Client::new().post(url).body(body).send().await.unwrap();
    assert_eq!(posted.status(), 413);
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_function_sees_what_lambda_and_the_description_say_and_nothing_else() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options().with_environment("probe-webhook", "SHAPE", "round"))
        .await
        .unwrap();
    let environment = invoke(&stack, json!({ "do": "environment" })).await.unwrap();
    assert_eq!((&environment["COLOUR"], &environment["SHAPE"]), (&json!("blue"), &json!("round")));
    assert_eq!(environment["AWS_LAMBDA_FUNCTION_NAME"], "p-local-probe-webhook");
    assert_eq!((environment.get("HOME"), environment.get("CARGO")), (None, None));
    let context = invoke(&stack, json!({ "do": "context" })).await.unwrap();
    assert_eq!(
        context["arn"],
        "arn:aws:lambda:us-east-1:000000000000:function:p-local-probe-webhook"
    );
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_process_is_reused_replaced_when_it_dies_and_ended_when_its_time_is_up() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let pid = |value: Value| u32::try_from(value["pid"].as_u64().unwrap()).unwrap();
    let first = pid(invoke(&stack, json!({})).await.unwrap());
    assert_eq!(pid(invoke(&stack, json!({})).await.unwrap()), first);
    kill(first);
    soon("its death", until_known_dead(&stack, first)).await;
    let second = pid(invoke(&stack, json!({})).await.unwrap());
    assert_ne!(second, first);
    let error = invoke(&stack, json!({ "do": "hang" })).await.unwrap_err();
    assert!(error.contains("Task timed out after 2.00 seconds"), "{error}");
    assert_ne!(pid(invoke(&stack, json!({})).await.unwrap()), second);
    let error = invoke(&stack, json!({ "do": "exit" })).await.unwrap_err();
    assert!(error.contains("Runtime exited with error: exit status 3"), "{error}");
    let alive = stack.function_pids("probe-webhook");
    stack.stop().await.unwrap();
    assert!(alive.iter().all(|pid| !is_alive(*pid)), "{alive:?}");
}

#[tokio::test]
async fn a_process_killed_in_its_work_fails_that_work() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let (error, ()) = tokio::join!(invoke(&stack, json!({ "do": "hang" })), async {
        let line = stack.logs().wait_for("probe-webhook", "hanging", SOON).await.unwrap();
        kill(line.process);
    });
    let error = error.unwrap_err();
    assert!(error.contains("Runtime exited with error: signal: killed"), "{error}");
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_function_that_does_not_start_says_why() {
    let scratch = Scratch::new();
    let options =
        scratch.options().with_environment("probe-webhook", "PROBE_REFUSES_TO_START", "1");
    let stack = Stack::start(options).await.unwrap();
    let error = invoke(&stack, json!({})).await.unwrap_err();
    assert!(error.contains("exit status 1"), "{error}");
    assert!(!stack.logs().find("probe-webhook", "refusing to start").is_empty());
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn queued_messages_are_processed_and_poison_ends_in_the_dead_letter_queue() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    for body in ["one", "poison", "two"] {
        send(stack.running(), "work", body).await;
    }
    soon("the queue", stack.idle()).await;
    for body in ["one", "two"] {
        assert_eq!(stack.logs().find("probe-writer", &format!("processing {body}")).len(), 1);
    }
    // maxReceiveCount is 3.
    assert_eq!(stack.logs().find("probe-writer", "processing poison").len(), 3);
    assert_eq!(stack.queue_depth("dead").await.visible, 1);
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_batch_whose_process_dies_comes_back() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    send(stack.running(), "work", "die").await;
    soon("the queue", stack.idle()).await;
    assert_eq!(stack.queue_depth("dead").await.visible, 1);
    assert_eq!(stack.invocations("probe-writer"), 3);
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_function_may_do_what_its_role_allows_and_no_more() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let call = |service: &str, target: &str, body: Value| {
        invoke(&stack, json!({ "do": "call", "service": service, "target": target, "body": body }))
    };
    let item = json!({ "TableName": "p-local-Things", "Item": { "pk": { "S": "a" } } });
    let put = call("dynamodb", "DynamoDB_20120810.PutItem", item).await.unwrap();
    assert_eq!(put["status"], 200, "{put}");
    let key = json!({ "TableName": "p-local-Things", "Key": { "pk": { "S": "a" } } });
    let got = call("dynamodb", "DynamoDB_20120810.GetItem", key).await.unwrap();
    assert_eq!(
        (&got["status"], &got["body"]["__type"]),
        (&json!(400), &json!("AccessDeniedException"))
    );
    for id in ["p/acme", "arn:aws:secretsmanager:us-east-1:000000000000:secret:p/acme-000000"] {
        let secret =
            call("secretsmanager", "secretsmanager.GetSecretValue", json!({ "SecretId": id }))
                .await
                .unwrap();
        assert_eq!(
            secret["body"]["ARN"],
            "arn:aws:secretsmanager:us-east-1:000000000000:secret:p/acme-000000"
        );
        assert!(
            secret["body"]["SecretString"]
                .as_str()
                .unwrap()
                .contains(&stack.running().sources[0].secret)
        );
    }
    let calls = stack.calls();
    let count = |operation: &str| {
        calls
            .get(&("probe-webhook".to_owned(), "dynamodb".to_owned(), operation.to_owned()))
            .copied()
    };
    assert_eq!((count("PutItem"), count("GetItem"), count("Query")), (Some(1), Some(1), None));
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn nobody_without_this_starts_key_reaches_the_services() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let url = &stack.running().urls.dynamodb;
    let answer = reqwest::Client::new()
        .post(url)
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 403);
    assert!(answer.text().await.unwrap().contains("running.json"));
    let (status, tables) =
        aws(stack.running(), "dynamodb", "DynamoDB_20120810.ListTables", json!({})).await;
    assert_eq!((status, tables), (200, json!({ "TableNames": ["p-local-Things"] })));
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_web_page_reaches_no_function_process() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let environment = invoke(&stack, json!({ "do": "environment" })).await.unwrap();
    let url = format!(
        "http://{}/2018-06-01/runtime/init/error",
        environment["AWS_LAMBDA_RUNTIME_API"].as_str().unwrap()
    );
    for (header, value) in
        [("origin", "http://page.example"), ("sec-fetch-mode", "no-cors"), ("host", "page.example")]
    {
        let answer =
            reqwest::Client::new().post(&url).header(header, value).body("{}").send().await;
        assert_eq!(answer.unwrap().status(), 403, "{header}");
    }
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_burst_waits_for_few_processes() {
    let scratch = Scratch::new();
    let stack = Stack::start(StackOptions { sandboxes_max: 2, ..scratch.options() }).await.unwrap();
    let order = || invoke(&stack, json!({ "do": "context" }));
    let all = tokio::join!(order(), order(), order(), order(), order(), order());
    let all = [all.0, all.1, all.2, all.3, all.4, all.5];
    let pids: std::collections::BTreeSet<_> =
        all.into_iter().map(|context| context.unwrap()["pid"].as_u64().unwrap()).collect();
    assert_eq!((pids.len(), stack.function_pids("probe-webhook").len()), (2, 2));
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn tools_invoke_functions_as_on_lambda() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let request = |path: &str, kind: &'static str, body: &'static str| {
        let running = stack.running();
        let key = &running.credentials.access_key_id;
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={key}/20261130/us-east-1/lambda/aws4_request");
        reqwest::Client::new()
            .post(format!("{}/2015-03-31/functions/{path}/invocations", running.urls.lambda))
            .header("authorization", authorization)
            .header("x-amz-invocation-type", kind)
            .header("x-amz-log-type", "Tail")
            .body(body)
            .send()
    };
    let said = r#"{"do":"log","text":"hello"}"#;
    for name in
        ["probe-webhook", "arn:aws:lambda:us-east-1:000000000000:function:p-local-probe-webhook"]
    {
        let answer = request(name, "RequestResponse", said).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers().get("x-amz-function-error")),
            (200, None)
        );
        assert!(answer.headers().contains_key("x-amz-log-result"));
        assert_eq!(answer.json::<Value>().await.unwrap(), json!({ "done": true }));
    }
    let failed = request("probe-webhook", "RequestResponse", r#"{"do":"fail"}"#).await.unwrap();
    assert_eq!(failed.headers()["x-amz-function-error"], "Unhandled");
    for (name, kind, body, status) in [
        ("absent", "RequestResponse", "{}", 404),
        ("probe-webhook", "RequestResponse", "{", 400),
        ("probe-webhook", "Sometimes", "{}", 400),
        ("probe-webhook", "DryRun", "{}", 204),
        ("probe-webhook", "Event", r#"{"do":"log","text":"later"}"#, 202),
    ] {
        assert_eq!(request(name, kind, body).await.unwrap().status(), status, "{kind} {name}");
    }
    assert!(stack.logs().wait_for("probe-webhook", "says later", SOON).await.is_some());
    stack.stop().await.unwrap();
}

/// Calls the tool with these very bytes.
async fn call(stack: &Stack, payload: Vec<u8>) -> Value {
    let answer = soon("an invocation", stack.invoke("probe-tool", payload)).await.unwrap();
    serde_json::from_slice(&answer).unwrap()
}

/// What a caller of the local stack says.
fn asked(say: &str) -> (Acting, Asked) {
    let acting = Acting {
        tenant: TenantId::new("t1").unwrap(),
        actor: Actor::new("person:alice").unwrap(),
        kind: ActorKind::Person,
    };
    (acting, Asked { input: json!({ "say": say }), idempotency_key: None })
}

#[tokio::test]
async fn a_tool_believes_the_issuer_of_its_own_stack_and_nobody_else() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let other = Stack::start(scratch.options()).await.unwrap();
    let issuer = Issuer::new(&stack.running().identity).unwrap();
    let (acting, asked) = asked("hello");
    let payload = issuer.payload("probe-tool", &acting, &asked, lambda_entry::now());
    let said = json!({ "text": "hello" });
    let expected = json!({ "tenant": "t1", "actor": "person:alice", "actorKind": "person", "key": null, "said": said });
    assert_eq!(call(&stack, payload.clone()).await, expected);
    assert_eq!(call(&other, payload).await["error"]["code"], "unauthenticated");
    assert!(other.logs().wait_for("probe-tool", "\"SecurityEvents\":1", SOON).await.is_some());
    assert!(stack.logs().find("probe-tool", "SecurityEvents").is_empty());
    for logs in [stack.logs(), other.logs()] {
        assert!(logs.find("probe-tool", "hello").is_empty(), "no input is logged");
        assert!(logs.find("probe-tool", "eyJ").is_empty(), "no token is logged");
    }
    other.stop().await.unwrap();
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_tool_answers_in_its_own_form_whatever_happens() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    for (payload, code) in [
        (b"".to_vec(), "invalid_json"),
        (b"\xff".to_vec(), "invalid_input"),
        (b"{\"input\":{\"say\":\"\xff\"}}".to_vec(), "invalid_input"),
        (vec![b' '; 100_000], "too_large"),
        (b"[]".to_vec(), "invalid_input"),
        (b"{}".to_vec(), "unauthenticated"),
    ] {
        assert_eq!(call(&stack, payload).await["error"]["code"], code);
    }
    let issuer = Issuer::new(&stack.running().identity).unwrap();
    for (say, code) in [("nothing", "not_found"), ("panic", "unavailable"), ("", "invalid_input")] {
        let (acting, asked) = asked(say);
        let payload = issuer.payload("probe-tool", &acting, &asked, lambda_entry::now());
        assert_eq!(call(&stack, payload).await["error"]["code"], code, "{say}");
    }
    assert!(stack.logs().wait_for("probe-tool", "probe.rs", SOON).await.is_some());
    assert!(stack.logs().find("probe-tool", "canary").is_empty(), "a panic is named by its place");
    assert_eq!(stack.function_pids("probe-tool").len(), 1, "it lives on");
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_stored_message_keeps_its_attributes() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.persistent()).await.unwrap();
    let url = stack.running().queues["dead"].url.clone();
    let attributes = json!({ "kind": { "DataType": "String", "StringValue": "x" } });
    let message =
        json!({ "QueueUrl": url, "MessageBody": "kept", "MessageAttributes": attributes });
    assert_eq!(aws(stack.running(), "sqs", "AmazonSQS.SendMessage", message).await.0, 200);
    // In the hands of a tool while the stack stops.
    let receive = |url: &str| json!({ "QueueUrl": url, "MessageAttributeNames": ["All"] });
    let taken = aws(stack.running(), "sqs", "AmazonSQS.ReceiveMessage", receive(&url)).await.1;
    assert_eq!(taken["Messages"][0]["Body"], "kept");
    assert_eq!(stack.stop().await.unwrap().messages_stored, 1);
    let stack = Stack::start(scratch.persistent()).await.unwrap();
    let url = &stack.running().queues["dead"].url;
    let again = aws(stack.running(), "sqs", "AmazonSQS.ReceiveMessage", receive(url)).await.1;
    assert_eq!(again["Messages"][0]["MessageAttributes"], attributes);
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn faults_do_what_they_say_and_no_more_often() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let list = || aws(stack.running(), "dynamodb", "DynamoDB_20120810.ListTables", json!({}));
    let matching = || Matching::operation("dynamodb", "ListTables");
    let refused = Effect::Answer { status: 400, error_type: "ThrottlingException".to_owned() };
    stack.faults().add_times(matching(), refused, 1);
    assert_eq!(list().await.1["__type"], "ThrottlingException");
    assert_eq!(list().await.0, 200);
    let fault = stack.faults().add(matching(), Effect::Pause);
    let (listed, ()) = tokio::join!(list(), async {
        assert!(fault.arrived(1, SOON).await);
        fault.release();
    });
    assert_eq!(listed.0, 200);
    stack.faults().clear();
    stack.faults().add_times(matching(), Effect::DropConnection, 1);
    let key = &stack.running().credentials.access_key_id;
    let dropped = reqwest::Client::new()
        .post(&stack.running().urls.dynamodb)
        .header(
            "authorization",
            format!("AWS4-HMAC-SHA256 Credential={key}/20261130/us-east-1/dynamodb/aws4_request"),
        )
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .body("{}");
    dropped.send().await.unwrap_err();
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn state_survives_a_stop_and_belongs_to_one_stack() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.persistent()).await.unwrap();
    let item = json!({ "TableName": "p-local-Things", "Item": { "pk": { "S": "kept" } } });
    assert_eq!(aws(stack.running(), "dynamodb", "DynamoDB_20120810.PutItem", item).await.0, 200);
    let value = json!({ "SecretId": "p/acme", "SecretString": r#"{"current":"rotated"}"# });
    assert_eq!(
        aws(stack.running(), "secretsmanager", "secretsmanager.PutSecretValue", value).await.0,
        200
    );
    send(stack.running(), "dead", "waiting").await;
    let second = Stack::start(scratch.persistent()).await.unwrap_err();
    assert!(matches!(second, StackError::StateInUse { .. }), "{second}");
    assert_eq!(Running::find(&scratch.state()).unwrap(), *stack.running());
    assert_eq!(stack.stop().await.unwrap().messages_stored, 1);
    assert!(Running::find(&scratch.state()).is_err());

    let stack = Stack::start(scratch.persistent()).await.unwrap();
    assert_eq!(stack.messages_restored(), 1);
    assert_eq!(stack.queue_depth("dead").await.visible, 1);
    assert_eq!(stack.running().sources[0].secret, "rotated");
    let key = json!({ "TableName": "p-local-Things", "Key": { "pk": { "S": "kept" } } });
    let (_, got) = aws(stack.running(), "dynamodb", "DynamoDB_20120810.GetItem", key).await;
    assert_eq!(got["Item"]["pk"]["S"], "kept");
    stack.stop().await.unwrap();
}

#[tokio::test]
async fn a_connection_has_a_token_of_its_own_and_is_announced_without_it() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    let connection = &stack.running().connections[0];
    assert_eq!(
        (connection.id.as_str(), connection.host.as_str(), connection.tenant_id.as_str()),
        ("acme", "example.org", "t1")
    );
    let secret: Value =
        serde_json::from_str(&stack.secret(&connection.secret_id).unwrap()).unwrap();
    let token = secret["token"].as_str().unwrap();
    assert!(16 <= token.len() && secret.as_object().unwrap().len() == 1);
    assert!(!serde_json::to_string(stack.running()).unwrap().contains(token));
    stack.stop().await.unwrap();
}

/// Where the probe's connection asks, in a stack with this option.
async fn asked_at(github_api: Option<&str>) -> Value {
    let scratch = Scratch::new();
    let github_api = github_api.map(str::to_owned);
    let stack = Stack::start(StackOptions { github_api, ..scratch.options() }).await.unwrap();
    let told = invoke(&stack, json!({ "do": "environment" })).await.unwrap();
    stack.stop().await.unwrap();
    let connections: Value =
        serde_json::from_str(told["GITHUB_CONNECTIONS"].as_str().unwrap()).unwrap();
    connections[0]["apiBaseUrl"].clone()
}

#[tokio::test]
async fn connections_ask_where_the_options_say_or_else_where_the_description_says() {
    assert_eq!(asked_at(Some("http://127.0.0.1:1234")).await, "http://127.0.0.1:1234");
    assert_eq!(asked_at(None).await, "https://example.org/api/v3");
    let url = StackOptions::ephemeral(Description::Text(String::new())).github_api.unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
}

#[tokio::test]
async fn a_stored_table_with_other_keys_is_refused() {
    let scratch = Scratch::new();
    Stack::start(scratch.persistent()).await.unwrap().stop().await.unwrap();
    let changed = description().to_string().replace(r#""pk""#, r#""id""#);
    let options = StackOptions { description: Description::Text(changed), ..scratch.persistent() };
    let error = Stack::start(options).await.unwrap_err();
    assert!(matches!(error, StackError::TableDiffers { .. }), "{error}");
}

#[tokio::test]
async fn a_taken_port_is_named_and_nothing_is_left_behind() {
    let scratch = Scratch::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error =
        Stack::start(StackOptions { port, ..scratch.persistent() }).await.unwrap_err().to_string();
    assert!(error.contains(&port.to_string()) && error.contains("--port"), "{error}");
    assert!(!scratch.state().exists());
}

#[tokio::test]
async fn a_dropped_stack_ends_its_processes() {
    let scratch = Scratch::new();
    let stack = Stack::start(scratch.options()).await.unwrap();
    invoke(&stack, json!({})).await.unwrap();
    let idle = stack.function_pids("probe-webhook")[0];
    let url = &stack.running().sources[0].url;
    let delivery = reqwest::Client::new().post(url).json(&json!({ "do": "hang" })).send();
    let busy = async {
        let line = stack.logs().wait_for("probe-webhook", "hanging", SOON).await.unwrap();
        let pid = line.process;
        drop(stack);
        soon("its death", until_dead(pid)).await;
    };
    let (answer, ()) = tokio::join!(delivery, busy);
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() != 200));
    soon("its death", until_dead(idle)).await;
}

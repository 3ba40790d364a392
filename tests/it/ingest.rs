//! What ingest takes, what it refuses, and what either costs.

use local::{Effect, Matching};
use serde_json::json;

use crate::support::bodies::{OTHER_REPOSITORY, REPOSITORY, Run};
use crate::support::world::{CANARY, Post, World, signature, text};

const WEBHOOK: &str = "github-webhook";
const SEND: &str = "sqs/SendMessage";
const READ_SECRET: &str = "secretsmanager/GetSecretValue";

/// Stores another secret for a source and lets a new process read it.
async fn set_secret(world: &World, source: &str, secret: &str) {
    let secret_id =
        &world.stack.running().sources.iter().find(|s| s.id == source).unwrap().secret_id;
    let aws = crate::support::world::operator(world.stack.running());
    aws.secrets_manager()
        .put_secret_value()
        .secret_id(secret_id)
        .secret_string(secret)
        .send()
        .await
        .expect("the secret is stored");
}

#[tokio::test]
async fn the_official_vector_verifies_and_is_quarantined() {
    let world = World::start().await;
    set_secret(&world, "acme", "It's a Secret to Everybody").await;
    let vector = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let signed = [("X-Hub-Signature-256", vector)];
    let reply = world.post(Post::of("push", "Hello, World!").id("t1").signed(&signed)).await;
    assert_eq!(reply.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("t1").await, "quarantined: not JSON");
    assert!(world.runs().await.is_empty());
    world.finish().await;
}

#[tokio::test]
async fn every_other_form_of_the_signature_is_refused_without_a_call_to_aws() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    let good = signature(body.as_bytes(), &world.secret("acme"));
    let digits = good.strip_prefix("sha256=").unwrap();
    let mut values: Vec<String> =
        (0..64).map(|count| format!("sha256={}", &digits[..count])).collect();
    values.extend([
        format!("sha256={digits}0"),
        format!("SHA256={digits}"),
        format!("sha256={}", digits.to_uppercase()),
        format!("sha1={digits}"),
        "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59".to_owned(),
        format!("xxxxxxx{digits}"),
        format!("{good},{good}"),
        format!("{good}, {good}"),
        digits.to_owned(),
        format!("sha256={}z", &digits[..63]),
        format!("sha256= {digits}"),
        "none".to_owned(),
    ]);
    for value in &values {
        let signed = [("X-Hub-Signature-256", value.as_str())];
        let reply = world.post(Post::of("workflow_run", &body).signed(&signed)).await;
        assert_eq!(reply.status, 401, "{value}");
    }
    for headers in [
        vec![],
        vec![("X-Hub-Signature", good.as_str())],
        vec![("X-Hub-Signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")],
        vec![("X-Hub-Signature-256", good.as_str()), ("X-Hub-Signature-256", good.as_str())],
    ] {
        let reply = world.post(Post::of("workflow_run", &body).signed(&headers)).await;
        assert_eq!(reply.status, 401, "{headers:?}");
    }
    assert_eq!(world.calls(WEBHOOK), [].into(), "not one call");
    assert_eq!(world.logged(WEBHOOK, &digits[..16]), 0, "the digest is in no log line");
    world.settle().await;
    assert!(world.items("Deliveries").await.is_empty());
    // And the very form that GitHub sends, in any case of the header's name, is taken.
    for name in ["X-Hub-Signature-256", "x-hub-signature-256", "X-HUB-SIGNATURE-256"] {
        let signed = [(name, good.as_str())];
        assert_eq!(world.post(Post::of("workflow_run", &body).signed(&signed)).await.status, 202);
    }
    world.finish().await;
}

#[tokio::test]
async fn an_accepted_delivery_costs_one_call_and_every_other_none() {
    let world = World::with(|mut options| {
        options.sandboxes_max = 1;
        options
    })
    .await;
    world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    assert_eq!(world.calls(WEBHOOK), [(SEND.to_owned(), 1), (READ_SECRET.to_owned(), 1)].into());
    for run in 1..=20 {
        world.accept("workflow_run", &Run::of("queued", None, 0).id(run).body()).await;
    }
    for event in ["push", "star", "issues", "workflow_dispatch", "check_run", "no_such_event"] {
        assert_eq!(world.post(Post::of(event, r#"{"zen":"x"}"#)).await.status, 202, "{event}");
    }
    assert_eq!(world.post(Post::of("ping", r#"{"zen":"x","hook_id":1}"#)).await.status, 200);
    let body = Run::of("queued", None, 0).body();
    for _ in 0..20 {
        assert_eq!(world.post(Post::of("workflow_run", &body).signed(&[])).await.status, 401);
    }
    let calls = world.calls(WEBHOOK);
    assert_eq!(calls, [(SEND.to_owned(), 21), (READ_SECRET.to_owned(), 1)].into());
    world.finish().await;
}

#[tokio::test]
async fn wrong_signatures_read_the_secret_again_once_in_thirty_seconds_at_most() {
    let world = World::with(|mut options| {
        options.sandboxes_max = 1;
        options
    })
    .await;
    let body = Run::of("queued", None, 0).body();
    let wrong = signature(body.as_bytes(), "another-secret-entirely");
    for _ in 0..50 {
        let signed = [("X-Hub-Signature-256", wrong.as_str())];
        assert_eq!(world.post(Post::of("workflow_run", &body).signed(&signed)).await.status, 401);
    }
    assert_eq!(world.calls(WEBHOOK), [(READ_SECRET.to_owned(), 2)].into(), "once, and once again");
    world.finish().await;
}

#[tokio::test]
async fn an_unknown_source_is_answered_exactly_as_a_wrong_signature() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    let wrong = signature(body.as_bytes(), "another-secret-entirely");
    let signed = [("X-Hub-Signature-256", wrong.as_str())];
    let refused = world.post(Post::of("workflow_run", &body).signed(&signed)).await;
    assert_eq!(refused.status, 401);
    let before = world.calls(WEBHOOK);
    let door = world.stack.running().urls.webhooks.clone();
    let good = signature(body.as_bytes(), &world.secret("acme"));
    for path in [
        "/github/nobody",
        "/github/ACME",
        "/github/..%2f..%2fprod",
        "//github/acme",
        "/github/acme/",
        "/github/%61cme",
        "/github/",
        "/github",
        "/azure-devops/acme",
        "/",
    ] {
        let signed = [("X-Hub-Signature-256", good.as_str())];
        let post = Post::of("workflow_run", &body).signed(&signed);
        let reply = world.post_to(&format!("{door}{path}"), post).await;
        assert_eq!(reply, refused, "{path}");
    }
    assert_eq!(world.calls(WEBHOOK), before, "no secret was looked up by a composed name");
    world.finish().await;
}

#[tokio::test]
async fn a_source_without_a_usable_secret_is_down_and_says_so() {
    let world = World::start().await;
    for unusable in [r#"{"current":""}"#, "\"\"", "fifteen-bytes-x"] {
        set_secret(&world, "acme", unusable).await;
        let empty = "sha256=22f8eea909400af98adf3681a9f31923ef6b7fcba4abb553d92823a3e9d5c25e";
        let signed = [("X-Hub-Signature-256", empty)];
        let reply = world.post(Post::of("workflow_run", "{}").signed(&signed)).await;
        assert_eq!(reply.status, 503, "{unusable}");
    }
    assert_eq!(world.logged(WEBHOOK, r#""SecretUnusable":1"#), 3, "an alarm metric each");
    // Put there while a process knows the one before: that one serves its time, and nobody else is let in or sent away.
    let body = Run::of("queued", None, 0).body();
    assert_eq!(world.post(Post::of("workflow_run", &body).from("beta")).await.status, 202);
    let before = world.secret("beta");
    set_secret(&world, "beta", r#"{"current":""}"#).await;
    let empty = "sha256=22f8eea909400af98adf3681a9f31923ef6b7fcba4abb553d92823a3e9d5c25e";
    let signed = [("X-Hub-Signature-256", empty)];
    for _ in 0..3 {
        let reply = world.post(Post::of("workflow_run", "{}").from("beta").signed(&signed)).await;
        assert_eq!(reply.status, 503);
    }
    let value = signature(body.as_bytes(), &before);
    let signed = [("X-Hub-Signature-256", value.as_str())];
    let post = Post::of("workflow_run", &body).from("beta").signed(&signed);
    assert_eq!(world.post(post).await.status, 202);
    assert_eq!(world.calls(WEBHOOK).get(SEND), Some(&2), "of beta, signed with the secret before");
    world.finish().await;
}

#[tokio::test]
async fn the_previous_secret_verifies_until_its_end() {
    let world =
        World::with(|options| options.with_environment(WEBHOOK, "SECRET_TTL_SECONDS", "0")).await;
    let body = Run::of("queued", None, 0).body();
    let (oldest, old, new) = ("oldest-oldest-oldest", "old-old-old-old-old", "new-new-new-new-new");
    let status = async |secret: &str| {
        let value = signature(body.as_bytes(), secret);
        let signed = [("X-Hub-Signature-256", value.as_str())];
        world.post(Post::of("workflow_run", &body).signed(&signed)).await.status
    };
    let rotated =
        |end: &str| format!(r#"{{"current":"{new}","previous":"{old}","notAfter":"{end}"}}"#);
    set_secret(&world, "acme", &rotated("2999-01-01T00:00:00Z")).await;
    assert_eq!([status(new).await, status(old).await, status(oldest).await], [202, 202, 401]);
    set_secret(&world, "acme", &rotated("2026-01-01T00:00:00Z")).await;
    assert_eq!([status(new).await, status(old).await, status(oldest).await], [202, 401, 401]);
    world.finish().await;
}

#[tokio::test]
async fn a_secret_that_was_just_rotated_is_read_on_the_first_failure() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    world.accept("workflow_run", &body).await;
    set_secret(&world, "acme", r#"{"current":"rotated-rotated-rotated"}"#).await;
    let value = signature(body.as_bytes(), "rotated-rotated-rotated");
    let signed = [("X-Hub-Signature-256", value.as_str())];
    assert_eq!(world.post(Post::of("workflow_run", &body).signed(&signed)).await.status, 202);
    world.finish().await;
}

#[tokio::test]
async fn a_secret_store_that_is_down_refuses_nobody_for_good() {
    // Cold: nothing to verify with.
    let world = World::start().await;
    let down = Matching::operation("secretsmanager", "GetSecretValue");
    let refuse = Effect::Answer { status: 500, error_type: "InternalServiceError".to_owned() };
    world.stack.faults().add(down.clone(), refuse.clone());
    let body = Run::of("queued", None, 0).body();
    assert_eq!(world.post(Post::of("workflow_run", &body)).await.status, 503);
    // Warm: the cached secret serves.
    world.stack.faults().clear();
    world.accept("workflow_run", &body).await;
    world.stack.faults().add(down.clone(), refuse.clone());
    world.accept("workflow_run", &body).await;
    // And nobody is called a forger for a secret that can't be read: it may be the new one.
    let value = signature(body.as_bytes(), "rotated-rotated-rotated");
    let signed = [("X-Hub-Signature-256", value.as_str())];
    assert_eq!(world.post(Post::of("workflow_run", &body).signed(&signed)).await.status, 503);
    world.finish().await;

    // Beyond the TTL the copy is bridged; beyond the bridge there is nothing to verify with.
    for (stale, status) in [("900", 202), ("0", 503)] {
        let world = World::with(|options| {
            options.with_environment(WEBHOOK, "SECRET_TTL_SECONDS", "0").with_environment(
                WEBHOOK,
                "SECRET_STALE_SECONDS",
                stale,
            )
        })
        .await;
        world.accept("workflow_run", &body).await;
        world.stack.faults().add(down.clone(), refuse.clone());
        assert_eq!(world.post(Post::of("workflow_run", &body)).await.status, status, "{stale}");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_queue_that_does_not_answer_is_503_in_time_and_nothing_is_half_done() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    world.accept("workflow_run", &body).await;
    world.settle().await;
    let send = Matching::operation("sqs", "SendMessage");
    let refuse = Effect::Answer { status: 500, error_type: "InternalError".to_owned() };
    for effect in [Effect::Hang, refuse, Effect::DropConnection] {
        world.stack.faults().add(send.clone(), effect.clone());
        let started = std::time::Instant::now();
        let post = Post::of("workflow_run", &body).id("t19");
        assert_eq!(world.post(post).await.status, 503, "{effect:?}");
        assert!(started.elapsed().as_secs() < 8, "{effect:?}");
        world.stack.faults().clear();
    }
    world.settle().await;
    assert!(world.ledger("t19").await.is_empty());
    // One dead connection is what a thawed environment meets: the retry is immediate.
    world.stack.faults().add_times(send, Effect::DropConnection, 1);
    world.accept("workflow_run", &body).await;
    world.finish().await;
}

#[tokio::test]
async fn a_form_is_verified_over_its_raw_bytes() {
    let world = World::start().await;
    set_secret(&world, "acme", "0123456789abcdef").await;
    let form = "payload=%7B%22yo%22%3Atrue%7D";
    let status = async |digest: &str| {
        let value = format!("sha256={digest}");
        let signed = [("X-Hub-Signature-256", value.as_str())];
        let post = Post::of("watch", form).signed(&signed);
        world.post(Post { content_type: "application/x-www-form-urlencoded", ..post }).await.status
    };
    assert_eq!(
        status("30f622d549ca623f1c553f7e395a80c9487b43b9feaf9af4a1811381ddf5a94d").await,
        202
    );
    assert_eq!(
        status("b1f8020f5b4cd42042f807dd939015c4a418bc1ff7f604dd55b0a19b5d953d9b").await,
        401
    );
    world.finish().await;
}

#[tokio::test]
async fn a_form_delivery_is_mirrored_like_a_json_one() {
    let world = World::start().await;
    let json = Run::of("completed", Some("success"), 60).body();
    let encoded: String = json.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let form = format!("payload={encoded}");
    let post = Post::of("workflow_run", &form).id("form");
    let post = Post { content_type: "application/x-www-form-urlencoded", ..post };
    assert_eq!(world.post(post).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("form").await, "applied");
    assert_eq!(world.run_states().await["880/1"], "Succeeded");
    world.finish().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let world = World::start().await;
    let over = "a".repeat(6_000_001);
    assert_eq!(
        world.post(Post::of("workflow_run", &over)).await.status,
        413,
        "the function's limit"
    );
    assert_eq!(world.logged(WEBHOOK, "larger than the limit"), 1, "answered by the function");
    let quotes = "\"".repeat(4_000_000);
    assert_eq!(world.post(Post::of("workflow_run", &quotes)).await.status, 413, "Lambda's limit");
    // Sent to its end, so that the sender sees the answer.
    let huge = "a".repeat(30_000_000);
    assert_eq!(world.post(Post::of("workflow_run", &huge)).await.status, 413, "30 MB");
    assert_eq!(world.calls(WEBHOOK), [].into());
    let brackets = "[".repeat(5_000_000);
    let post = Post::of("workflow_run", &brackets).id("brackets");
    assert_eq!(world.post(post).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("brackets").await, "quarantined: not JSON");
    world.finish().await;
}

#[tokio::test]
async fn another_tenants_repository_is_out_of_scope_and_a_security_event() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).repository(REPOSITORY).body();
    assert_eq!(world.post(Post::of("workflow_run", &body).from("beta").id("t8")).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("t8").await, "out of scope");
    assert_eq!(text(&world.ledger("t8").await[0], "tenantId"), "t2");
    assert!(world.items("PipelineRuns").await.is_empty(), "no write in t1 or t2");
    assert_eq!(world.logged("mirror-writer", r#""security_event""#), 1);
    assert_eq!(world.logged("mirror-writer", r#""SecurityEvents":1"#), 1);
    // The outer repository decides nothing alone: the inner one must be the same.
    let mut mixed = Run::of("queued", None, 0).repository(REPOSITORY).json();
    mixed["repository"]["id"] = json!(OTHER_REPOSITORY);
    let mixed = mixed.to_string();
    let post = Post::of("workflow_run", &mixed).from("beta").id("mixed");
    assert_eq!(world.post(post).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("mixed").await, "quarantined: ShapeMismatch");
    assert!(world.items("PipelineRuns").await.is_empty());
    world.finish().await;
}

#[tokio::test]
async fn an_app_speaks_for_whoever_owns_the_repository() {
    let world = World::start().await;
    world.register("t2", 33, Some(5)).await;
    let post = async |id: &str, repository: u64, installation: u64| {
        let mut body = Run::of("queued", None, 0).repository(repository).id(repository).json();
        body["installation"] = json!({ "id": installation });
        let body = body.to_string();
        let post = Post::of("workflow_run", &body).from("app").id(id);
        assert_eq!(world.post(post).await.status, 202);
    };
    post("own", REPOSITORY, 9).await;
    post("installed", 33, 5).await;
    post("foreign", 33, 6).await;
    post("nobody", 44, 5).await;
    world.settle().await;
    assert_eq!(world.outcome("own").await, "applied");
    assert_eq!(world.outcome("installed").await, "applied");
    assert_eq!(world.outcome("foreign").await, "out of scope");
    assert_eq!(world.outcome("nobody").await, "unregistered");
    let runs = world.runs().await;
    assert_eq!(text(&runs["11/1"], "tenantId"), "t1");
    assert_eq!(text(&runs["33/1"], "tenantId"), "t2");
    world.finish().await;
}

#[tokio::test]
async fn an_unregistered_repository_is_taken_and_noted() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).repository(99).body();
    assert_eq!(world.post(Post::of("workflow_run", &body).id("r99")).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("r99").await, "unregistered");
    assert!(world.items("PipelineRuns").await.is_empty());
    // Registered later and redelivered, it is applied, and the ledger says so.
    world.register("t1", 99, None).await;
    assert_eq!(world.post(Post::of("workflow_run", &body).id("r99")).await.status, 202);
    world.settle().await;
    assert_eq!(world.outcome("r99").await, "applied");
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_quarantined_with_its_place_and_stops_nobody() {
    let world = World::start().await;
    let run = Run::of("queued", None, 0).body();
    let job = crate::support::bodies::Job::of("queued", None, 0).body();
    let mut deployment = Run::of("completed", Some("success"), 0).json();
    deployment["deployment"] = json!({ "id": 1 });
    deployment["deployment_status"] = json!({ "id": 1, "state": "success" });
    deployment["action"] = json!("created");
    let twice = format!(r#"{{"repository":{{"id":11}},"repository":{{"id":22}},{}"#, &run[1..]);
    let array = run.replace(
        r#""repository":{"full_name":"acme/storefront","id":11}"#,
        r#""repository":[11,"a/b"]"#,
    );
    let with = |from: &str, to: &str| {
        let changed = run.replacen(from, to, 1);
        assert_ne!(changed, run, "{from}");
        changed
    };
    let cases = [
        ("not json", "Hello, World!".to_owned(), "not JSON"),
        ("empty", String::new(), "not JSON"),
        ("null run", r#"{"workflow_run":null}"#.to_owned(), ""),
        ("job as run", job, "ShapeMismatch"),
        ("deployment status as run", deployment.to_string(), "ShapeMismatch"),
        ("twice", twice, ""),
        ("array", array, ""),
        ("attempt zero", with("\"run_attempt\":1", "\"run_attempt\":0"), "Unreadable"),
        ("attempt 2^32", with("\"run_attempt\":1", "\"run_attempt\":4294967296"), "Unreadable"),
        ("id 2^64", with("\"id\":880", "\"id\":18446744073709551616"), "Unreadable"),
        ("1e999", with("\"id\":880", "\"id\":1e999"), "Unreadable"),
        ("lone surrogate", with("\"status\":\"queued\"", "\"status\":\"\\ud800\""), ""),
        ("bom", format!("\u{feff}{run}"), ""),
        (
            "canary",
            with("\"status\":\"queued\"", &format!("\"status\":{{\"x\":\"{CANARY}\"}}")),
            "Unreadable",
        ),
    ];
    for (name, body, _) in &cases {
        let id = name.replace([' ', '^'], "-");
        let reply = world.post(Post::of("workflow_run", body).id(&id)).await;
        assert_eq!(reply.status, 202, "{name}");
    }
    let good = world.accept("workflow_run", &run).await;
    world.settle().await;
    for (name, _, reason) in &cases {
        let outcome = world.outcome(&name.replace([' ', '^'], "-")).await;
        assert!(outcome.starts_with(&format!("quarantined: {reason}")), "{name}: {outcome}");
    }
    assert_eq!(world.outcome(&good).await, "applied");
    assert_eq!(world.runs().await.len(), 1);
    for row in world.items("Deliveries").await {
        assert!(!format!("{row:?}").contains(CANARY), "no content in the ledger");
    }
    world.finish().await;
}

#[tokio::test]
async fn deep_nesting_in_a_field_that_nobody_reads_is_no_trouble() {
    let world = World::with(|mut options| {
        options.sandboxes_max = 1;
        options
    })
    .await;
    let run = Run::of("queued", None, 0).body();
    let with = |text: &str| format!("{},\"q\":{text}}}", &run[..run.len() - 1]);
    // As large, and flat: what is left is the price of depth.
    world.accept("workflow_run", &with(&format!("\"{}\"", "a".repeat(200_000)))).await;
    let process = world.stack.function_pids(WEBHOOK);
    let before = peak_kilobytes(process[0]);
    let deep = with(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    let id = world.accept("workflow_run", &deep).await;
    let after = peak_kilobytes(process[0]);
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "no-op", "handled as without the field");
    assert_eq!(world.stack.function_pids(WEBHOOK), process, "the process lives");
    assert!(after < before + 2048, "{before} kB before, {after} kB after");
    world.finish().await;
}

/// The most memory that a process ever held.
fn peak_kilobytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn ids_beyond_32_bits_survive() {
    let world = World::start().await;
    let run = Run::of("queued", None, 0).id(33_714_470_481).attempt(4_294_967_295);
    world.accept("workflow_run", &run.body()).await;
    let job = crate::support::bodies::Job::of("queued", None, 0).run(33_714_470_481, 4_294_967_295);
    world.accept("workflow_job", &job.id(100_520_616_165).body()).await;
    world.settle().await;
    assert_eq!(world.runs().await.keys().collect::<Vec<_>>(), ["33714470481/4294967295"]);
    let stages = world.stages().await;
    assert_eq!(stages.keys().collect::<Vec<_>>(), ["33714470481/4294967295/100520616165"]);
    world.finish().await;
}

#[tokio::test]
async fn a_delivery_without_a_usable_id_gets_one_from_its_body() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    for id in ["", "a/b", &"x".repeat(65)] {
        assert_eq!(world.post(Post::of("workflow_run", &body).id(id)).await.status, 202, "{id}");
    }
    world.settle().await;
    let rows = world.items("Deliveries").await;
    assert_eq!(rows.len(), 1, "one body, one minted id");
    world.finish().await;
}

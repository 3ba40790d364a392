//! What mirrors come to, whatever happens to deliveries on the way.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;

use crate::support::bodies::{Job, Run};
use crate::support::world::{Post, World, flag, mirror, number, optional_text, text};

const WRITER: &str = "mirror-writer";

/// How many lines announce an event of this type.
fn announced(world: &World, kind: &str) -> usize {
    world.logged(WRITER, &format!(r#""event.type":"{kind}""#))
}

#[tokio::test]
async fn a_run_and_its_job_are_mirrored_from_start_to_end() {
    let world = World::start().await;
    world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    world.settle().await;
    assert_eq!(world.run_states().await["880/1"], "Queued");
    world.accept("workflow_run", &Run::of("in_progress", None, 5).body()).await;
    world.accept("workflow_job", &Job::of("in_progress", None, 6).body()).await;
    world.settle().await;
    assert_eq!(world.run_states().await["880/1"], "Running");
    world.accept("workflow_job", &Job::of("completed", Some("success"), 50).body()).await;
    world.accept("workflow_run", &Run::of("completed", Some("success"), 60).body()).await;
    world.settle().await;
    let run = &world.runs().await["880/1"];
    for (name, value) in [
        ("state", "Succeeded"),
        ("tenantId", "t1"),
        ("projectId", "storefront"),
        ("system", "GitHub"),
        ("externalRunRef", "https://github.com/acme/storefront/actions/runs/880/attempts/1"),
        ("definitionRef", ".github/workflows/ci.yml@5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3"),
        ("commit", "5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3"),
        ("startedAt", "2026-11-01T12:00:00Z"),
        ("completedAt", "2026-11-01T12:01:00Z"),
        ("nativeStatus", "completed"),
        ("nativeResult", "success"),
        ("announcedState", "Succeeded"),
    ] {
        assert_eq!(text(run, name), value, "{name}");
    }
    assert_eq!((number(run, "attempt"), number(run, "revision")), (1, 3));
    assert_eq!(optional_text(run, "dueAt"), None, "nothing more is to be learned");
    let stage = &world.stages().await["880/1/5"];
    assert_eq!((text(stage, "name"), text(stage, "state")), ("build", "Succeeded"));
    assert_eq!(announced(&world, "PipelineRunStarted"), 1);
    assert_eq!(announced(&world, "PipelineRunCompleted"), 1);
    world.finish().await;
}

#[tokio::test]
async fn six_deliveries_of_one_end_are_one_end() {
    let world = World::start().await;
    let body = Run::of("completed", Some("success"), 60).body();
    for round in 0..3 {
        for id in ["same", &format!("new-{round}")] {
            assert_eq!(world.post(Post::of("workflow_run", &body).id(id)).await.status, 202);
        }
    }
    world.settle().await;
    let six = world.runs().await["880/1"].clone();
    assert_eq!(number(&six, "revision"), 1, "written once");
    assert_eq!(announced(&world, "PipelineRunCompleted"), 1);
    assert_eq!(world.items("Deliveries").await.len(), 4);
    world.finish().await;

    let world = World::start().await;
    world.accept("workflow_run", &body).await;
    world.settle().await;
    assert_eq!(world.runs().await["880/1"], six, "the same item as from one delivery");
    world.finish().await;
}

#[tokio::test]
async fn a_redelivery_does_not_hide_that_it_was_applied() {
    let world = World::start().await;
    let body = Run::of("completed", Some("success"), 60).body();
    for _ in 0..3 {
        assert_eq!(world.post(Post::of("workflow_run", &body).id("again")).await.status, 202);
        world.settle().await;
        assert_eq!(world.outcome("again").await, "applied");
    }
    let id = world.accept("workflow_run", &body).await;
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "no-op");
    world.finish().await;
}

#[tokio::test]
async fn two_hooks_that_share_a_delivery_id_have_a_row_each() {
    let world = World::start().await;
    let body = Run::of("queued", None, 0).body();
    for hook in [Some(1), Some(2), None] {
        let post = Post { hook, ..Post::of("workflow_run", &body).id("shared") };
        assert_eq!(world.post(post).await.status, 202);
    }
    world.settle().await;
    assert_eq!(world.ledger("shared").await.len(), 3);
    world.finish().await;
}

#[tokio::test]
async fn a_late_attempt_one_leaves_attempt_two_alone() {
    let world = World::start().await;
    world.accept("workflow_run", &Run::of("queued", None, 300).attempt(2).body()).await;
    world.settle().await;
    world.accept("workflow_run", &Run::of("completed", Some("failure"), 0).body()).await;
    world.settle().await;
    for job in 0..5 {
        let job = Job::of("completed", Some("success"), 0).id(job + 1);
        world.accept("workflow_job", &job.body()).await;
    }
    world.settle().await;
    let states = world.run_states().await;
    assert_eq!((&*states["880/1"], &*states["880/2"]), ("Failed", "Queued"));
    assert_eq!(announced(&world, "PipelineRunStarted"), 1);
    assert_eq!(announced(&world, "PipelineRunCompleted"), 1);
    assert_eq!(world.stages().await.len(), 5);
    world.finish().await;
}

#[tokio::test]
async fn an_older_word_is_a_no_op() {
    let world = World::start().await;
    world.accept("workflow_run", &Run::of("in_progress", None, 120).body()).await;
    world.settle().await;
    let before = world.runs().await;
    let id = world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "no-op");
    assert_eq!(world.runs().await, before);
    world.finish().await;
}

#[tokio::test]
async fn queued_waiting_queued_is_queued_in_every_order() {
    let words = [("queued", 0), ("waiting", 1), ("queued", 2)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        // The deployment's times tell the order.
        let world = World::start().await;
        for index in order {
            let (status, at) = words[index];
            world.accept("workflow_job", &Job::of(status, None, 0).deployed(at).body()).await;
            world.settle().await;
        }
        let stage = world.stages().await["880/1/5"].clone();
        assert_eq!((text(&stage, "state"), flag(&stage, "contested")), ("Queued", false));
        world.finish().await;
        // Without them it is contested, and asked at once.
        let world = World::start().await;
        for index in order {
            world.accept("workflow_job", &Job::of(words[index].0, None, 0).body()).await;
            world.settle().await;
        }
        let stage = world.stages().await["880/1/5"].clone();
        assert!(flag(&stage, "contested"), "{order:?}");
        assert!(optional_text(&stage, "dueAt").is_some() && 1 <= number(&stage, "asks"));
        assert_eq!(world.logged(WRITER, r#""ask_again":"Contested""#), 1, "asked once");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_contested_end_is_not_announced() {
    let world = World::start().await;
    world.accept("workflow_run", &Run::of("in_progress", None, 5).body()).await;
    world.settle().await;
    world.accept("workflow_run", &Run::of("completed", Some("success"), 60).body()).await;
    world.settle().await;
    let second =
        world.accept("workflow_run", &Run::of("completed", Some("failure"), 60).body()).await;
    world.settle().await;
    assert_eq!(world.outcome(&second).await, "contested");
    let run = &world.runs().await["880/1"];
    assert!(flag(run, "contested") && optional_text(run, "dueAt").is_some());
    assert_eq!(text(run, "announcedState"), "Succeeded", "what was told stays told");
    assert_eq!(announced(&world, "PipelineRunCompleted"), 1);
    world.finish().await;
}

#[tokio::test]
async fn an_unknown_word_is_kept_and_asked_once() {
    let world = World::start().await;
    let body = Run::of("paused\u{1b}[31m\n", None, 5).body();
    for _ in 0..3 {
        world.accept("workflow_run", &body).await;
        world.settle().await;
    }
    let run = &world.runs().await["880/1"];
    assert_eq!((text(run, "state"), text(run, "nativeStatus")), ("Unknown", "paused\u{1b}[31m\n"));
    assert_eq!((number(run, "asks"), number(run, "revision")), (1, 1), "no tight loop");
    world.finish().await;
}

#[tokio::test]
async fn a_version_of_the_far_future_is_quarantined_and_the_truth_still_fits() {
    let world = World::start().await;
    let mut future = Run::of("completed", Some("success"), 0).json();
    for time in ["9999-12-31T23:59:59Z", "2030-01-01T00:00:00Z"] {
        future["workflow_run"]["updated_at"] = time.into();
        let id = world.accept("workflow_run", &future.to_string()).await;
        world.settle().await;
        assert_eq!(world.outcome(&id).await, "quarantined: FutureVersion");
    }
    assert!(world.runs().await.is_empty(), "no mirror");
    let asks: Vec<_> = world.items("PipelineRuns").await;
    assert_eq!(asks.len(), 1, "and one ask, however often");
    assert!(text(&asks[0], "sk").starts_with("ASK#") && optional_text(&asks[0], "dueAt").is_some());
    world.accept("workflow_run", &Run::of("completed", Some("failure"), 60).body()).await;
    world.settle().await;
    assert_eq!(world.run_states().await["880/1"], "Failed");
    world.finish().await;
}

#[tokio::test]
async fn names_of_any_length_and_content_are_stored_within_bounds() {
    let world = World::start().await;
    for (id, name) in
        [(1, "x".repeat(3000)), (2, String::new()), (3, "a#b\u{0}\u{202e}".to_owned())]
    {
        let mut job = Job::of("queued", None, 0).id(id).json();
        job["workflow_job"]["name"] = name.into();
        world.accept("workflow_job", &job.to_string()).await;
    }
    let mut run = Run::of("queued", None, 0).json();
    run["workflow_run"]["head_branch"] = "b".repeat(5000).into();
    run["repository"]["full_name"] = "n".repeat(5000).into();
    world.accept("workflow_run", &run.to_string()).await;
    world.settle().await;
    assert_eq!(world.logged(WRITER, r#""outcome":"applied""#), 4);
    let stages = world.stages().await;
    assert_eq!(text(&stages["880/1/1"], "name").len(), 256);
    assert_eq!(text(&stages["880/1/2"], "name"), "");
    assert_eq!(text(&world.runs().await["880/1"], "branch").len(), 256);
    world.finish().await;
}

#[tokio::test]
async fn a_batch_costs_one_read_and_one_write_for_each_changed_subject() {
    let world = World::with(|mut options| {
        options.pollers = 1;
        options
    })
    .await;
    let messages: Vec<_> =
        (1..=10).map(|run| message(&Run::of("queued", None, 0).id(run))).collect();
    let reply = world.stack.invoke(WRITER, batch(&messages)).await.expect("it answers");
    assert_eq!(&reply[..], br#"{"batchItemFailures":[]}"#);
    let calls = world.calls(WRITER);
    assert_eq!(calls["dynamodb/BatchGetItem"], 1);
    assert_eq!(calls["dynamodb/PutItem"], 20, "ten mirrors and ten ledger rows");
    // The same again: nothing is written but what the ledger must know.
    world.stack.invoke(WRITER, batch(&messages)).await.expect("it answers");
    assert_eq!(world.calls(WRITER)["dynamodb/BatchGetItem"], 2);
    assert_eq!(world.calls(WRITER)["dynamodb/PutItem"], 30);
    // Ten messages about one subject are one write.
    let one: Vec<_> =
        (1..=10).map(|at| message(&Run::of("in_progress", None, at).id(99))).collect();
    world.stack.invoke(WRITER, batch(&one)).await.expect("it answers");
    assert_eq!(number(&world.runs().await["99/1"], "revision"), 1);
    world.finish().await;
}

/// A queue message as ingest writes it.
pub(crate) fn message(run: &Run) -> String {
    format!(
        r#"{{"version":1,"scope":{{"tenant":"t1"}},"repository":{{"host":"github.com","id":"11"}},"run":{{"run":{},"attempt":{},"updatedAt":"{}","status":"{}","result":{},"startedAt":"2026-11-01T12:00:00Z","commit":"c0ffee","definition":"ci.yml","event":"push","branch":"main","headRepository":"11","runNumber":7,"name":"ci","repositoryLabel":"acme/storefront","doubt":null}},"origin":{{"delivery":{{"source":"acme","hook":5,"id":"d-{}-{}","event":"workflow_run","action":"requested","bodySha256":"00ff","receivedAt":"2026-11-30T10:05:02Z"}}}}}}"#,
        run.id,
        run.attempt,
        crate::support::bodies::at(run.at),
        run.status,
        run.conclusion.as_ref().map_or("null".to_owned(), |word| format!("\"{word}\"")),
        run.id,
        run.at,
    )
}

/// A batch as SQS hands it over; the message ids are `m-0`, `m-1`, ….
pub(crate) fn batch(messages: &[String]) -> String {
    let records: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(index, body)| serde_json::json!({ "messageId": format!("m-{index}"), "body": body }))
        .collect();
    serde_json::json!({ "Records": records }).to_string()
}

/// A history of 200 deliveries: runs with re-runs, jobs with every kind of word, ties, contests and unknown words.
fn history(random: &mut fastrand::Rng) -> Vec<(&'static str, String)> {
    let mut deliveries = Vec::new();
    while deliveries.len() < 200 {
        let id = 1000 + u64::try_from(deliveries.len()).unwrap();
        for attempt in 1..=random.u64(1..=2) {
            let base = random.i64(0..4) + 1000 * i64::try_from(attempt).unwrap();
            let end = *random.choice(&["success", "failure", "cancelled", "exploded"]).unwrap();
            let run = |status: &str, conclusion: Option<&str>, at| {
                ("workflow_run", Run::of(status, conclusion, at).id(id).attempt(attempt).body())
            };
            deliveries.push(run("queued", None, base));
            deliveries.push(run("in_progress", None, base + random.i64(0..3)));
            for job in 1..=random.u64(1..=3) {
                let job = |status: &str, conclusion: Option<&str>, at| {
                    let job = Job::of(status, conclusion, at).run(id, attempt).id(id * 10 + job);
                    ("workflow_job", job.body())
                };
                deliveries.push(job("queued", None, base));
                if random.bool() {
                    deliveries.push(job("waiting", None, base));
                }
                deliveries.push(job("completed", Some("success"), base + random.i64(0..3)));
            }
            deliveries.push(run("completed", Some(end), base + random.i64(2..5)));
            if random.u8(0..4) == 0 {
                deliveries.push(run("completed", Some("failure"), base + 2));
            }
        }
    }
    deliveries.truncate(200 - ENDS.len());
    // However the dice fall: one end told in two ways within a second.
    deliveries.extend(ENDS.map(|end| ("workflow_run", Run::of("completed", Some(end), 60).body())));
    deliveries
}

/// Two ends of one run, of which nobody can say by their versions which is true.
const ENDS: [&str; 2] = ["success", "failure"];

type Mirrors = BTreeMap<(String, String), BTreeMap<String, AttributeValue>>;

/// Sends a history in an order of its own, with duplicates, in batches as they fall, and gives the mirrors.
async fn play(history: &[(&str, String)], seed: u64) -> Mirrors {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<_> = history.iter().collect();
    for _ in 0..random.usize(0..60) {
        order.push(random.choice(history.iter()).unwrap());
    }
    random.shuffle(&mut order);
    let pollers = random.usize(1..=3);
    let world = World::with(|mut options| {
        options.pollers = pollers;
        options
    })
    .await;
    let mut rest = order.as_slice();
    while !rest.is_empty() {
        let (burst, others) = rest.split_at(random.usize(1..=25).min(rest.len()));
        join_all(burst.iter().map(|(event, body)| world.accept(event, body))).await;
        rest = others;
    }
    world.settle().await;
    let items = world.items("PipelineRuns").await;
    let key = |item: &_| (text(item, "pk").to_owned(), text(item, "sk").to_owned());
    let mirrors = items.iter().map(|item| (key(item), mirror(item))).collect();
    world.finish().await;
    mirrors
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_deliveries_in_fifty_orders_give_equal_mirrors() {
    let seed = fastrand::u64(..);
    let history = history(&mut fastrand::Rng::with_seed(seed));
    let expected = play(&history, seed).await;
    assert!(expected.len() > 40, "seed {seed}: a history worth the name");
    let contested = expected.values().filter(|mirror| mirror.contains_key("contested")).count();
    assert!(0 < contested, "seed {seed}: ties among it");
    for order in 1..50 {
        let mirrors = play(&history, seed.wrapping_add(order)).await;
        assert!(mirrors == expected, "seed {seed}, order {order}");
    }
}

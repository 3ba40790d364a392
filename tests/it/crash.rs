//! Processes that die, stores that refuse, messages that poison: nothing that was taken is lost, and nobody suffers for a
//! neighbour.

use local::{Effect, Matching};
use rustix::process::{Pid, Signal, kill_process};

use crate::mirror::{batch, message};
use crate::support::bodies::Run;
use crate::support::world::{DEADLINE, World, number, text};

const WEBHOOK: &str = "github-webhook";
const WRITER: &str = "mirror-writer";

fn kill(pids: &[u32]) {
    for pid in pids {
        let pid = Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        // It may have ended by itself just now.
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[tokio::test]
async fn a_writer_killed_in_the_middle_of_a_batch_loses_nothing() {
    for operation in ["BatchGetItem", "PutItem"] {
        let world = World::start().await;
        let matching = Matching::operation("dynamodb", operation).by_function(WRITER);
        let pause = world.stack.faults().add(matching, Effect::Pause);
        for run in 1..=25 {
            world
                .accept("workflow_run", &Run::of("completed", Some("success"), 60).id(run).body())
                .await;
        }
        assert!(pause.arrived(1, DEADLINE).await, "the writer is in the middle");
        kill(&world.stack.function_pids(WRITER));
        world.stack.faults().clear();
        world.settle().await;
        assert_eq!(world.runs().await.len(), 25, "{operation}");
        assert_eq!(world.items("Deliveries").await.len(), 25);
        let depth = world.stack.queue_depth("observations-dead-letters").await;
        assert_eq!(depth.visible, 0, "a crash is not poison");
        world.finish().await;
    }
}

#[tokio::test]
async fn killing_every_function_process_again_and_again_loses_nothing() {
    let world = World::start().await;
    let mut accepted = 0;
    for round in 0..5_u64 {
        let mut answers = Vec::new();
        for run in 1..=20 {
            let body = Run::of("completed", Some("success"), 60).id(round * 100 + run).body();
            answers.push(async {
                let body = body;
                world.post(crate::support::world::Post::of("workflow_run", &body)).await.status
            });
        }
        let killer = async {
            kill(&world.stack.function_pids(WRITER));
            kill(&world.stack.function_pids(WEBHOOK));
        };
        let (statuses, ()) = futures::join!(futures::future::join_all(answers), killer);
        // A webhook that dies answers 502; the sender sends again, and only a 202 is a promise.
        assert!(statuses.iter().all(|status| [202, 502].contains(status)), "{statuses:?}");
        accepted += statuses.iter().filter(|status| **status == 202).count();
    }
    world.settle().await;
    assert!(accepted <= world.runs().await.len(), "{accepted} were promised");
    assert!(0 < accepted);
    world.finish().await;
}

#[tokio::test]
async fn poison_is_isolated_and_ends_in_the_dead_letter_queue() {
    let world = World::start().await;
    let running = world.stack.running();
    let sqs = crate::support::world::operator(running).sqs();
    let queue = &running.queues["observations"].url;
    for body in ["poison", r#"{"version":99}"#] {
        sqs.send_message().queue_url(queue).message_body(body).send().await.expect("it is sent");
    }
    for run in 1..=20 {
        world.accept("workflow_run", &Run::of("queued", None, 0).id(run).body()).await;
    }
    world.settle().await;
    assert_eq!(world.runs().await.len(), 20);
    let depth = world.stack.queue_depth("observations-dead-letters").await;
    assert_eq!(depth.visible, 2, "both, and nobody else");
    assert_eq!(world.logged(WRITER, "left a message on the queue"), 10, "after five receives each");
    world.finish().await;
}

#[tokio::test]
async fn of_ten_messages_the_two_that_fail_are_named_and_eight_are_applied() {
    let world = World::start().await;
    let refuse = Effect::Answer { status: 500, error_type: "InternalServerError".to_owned() };
    let seventh =
        Matching::operation("dynamodb", "PutItem").containing("\"externalRunId\":{\"N\":\"7\"}");
    world.stack.faults().add(seventh, refuse);
    let mut messages: Vec<_> =
        (1..=10).map(|run| message(&Run::of("queued", None, 0).id(run))).collect();
    messages[3] = messages[3].replace("\"version\":1", "\"version\":99");
    let reply = world.stack.invoke(WRITER, batch(&messages)).await.expect("it answers");
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    let failed: Vec<_> = reply["batchItemFailures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["itemIdentifier"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["m-3", "m-6"]);
    assert_eq!(world.runs().await.len(), 8);
    assert_eq!(world.items("Deliveries").await.len(), 8);
    world.finish().await;
}

#[tokio::test]
async fn an_item_that_the_store_refuses_for_what_it_is_is_quarantined() {
    let world = World::start().await;
    let refuse = Effect::Answer { status: 400, error_type: "ValidationException".to_owned() };
    let put = Matching::operation("dynamodb", "PutItem").containing("PIPELINE_RUN#");
    world.stack.faults().add(put, refuse);
    let id = world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "quarantined: Unstorable");
    assert_eq!(world.stack.queue_depth("observations-dead-letters").await.visible, 0);
    world.finish().await;
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_applied_once() {
    let world = World::start().await;
    let put = Matching::operation("dynamodb", "PutItem").containing("PIPELINE_RUN#");
    world.stack.faults().add_times(put, Effect::LoseAnswer, 1);
    world.accept("workflow_run", &Run::of("completed", Some("success"), 60).body()).await;
    world.settle().await;
    let run = &world.runs().await["880/1"];
    assert_eq!((text(run, "state"), number(run, "revision")), ("Succeeded", 1));
    world.finish().await;
}

#[tokio::test]
async fn a_store_that_is_down_for_a_while_loses_nothing() {
    let world = World::start().await;
    let refuse = Effect::Answer { status: 500, error_type: "InternalServerError".to_owned() };
    let read = Matching::operation("dynamodb", "BatchGetItem");
    // Two tries of the SDK for each of two receives.
    world.stack.faults().add_times(read, refuse, 4);
    let id = world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    world.settle().await;
    assert_eq!(world.outcome(&id).await, "applied");
    world.finish().await;
}

#[tokio::test]
async fn a_writer_that_read_before_another_wrote_folds_again() {
    let world = World::start().await;
    world.accept("workflow_run", &Run::of("queued", None, 0).body()).await;
    world.settle().await;
    // The slow one has read, and is about to write.
    let put = Matching::operation("dynamodb", "PutItem").containing("PIPELINE_RUN#");
    let pause = world.stack.faults().add_times(put, Effect::Pause, 1);
    let slow = world.stack.invoke(WRITER, batch(&[message(&Run::of("in_progress", None, 5))]));
    let fast = async {
        assert!(pause.arrived(1, DEADLINE).await, "the slow one is about to write");
        let end = message(&Run::of("completed", Some("success"), 60));
        let reply = world.stack.invoke(WRITER, batch(&[end])).await;
        pause.release();
        reply
    };
    let (slow, fast) = futures::join!(slow, fast);
    for reply in [slow, fast] {
        assert_eq!(&reply.expect("it answers")[..], br#"{"batchItemFailures":[]}"#);
    }
    let run = &world.runs().await["880/1"];
    assert_eq!((text(run, "state"), number(run, "revision")), ("Succeeded", 2));
    assert_eq!(world.calls(WRITER)["dynamodb/BatchGetItem"], 4, "one of the three read twice");
    world.finish().await;
}

#[tokio::test]
async fn writers_that_race_for_one_run_all_get_their_say() {
    let world = World::with(|mut options| {
        options.sandboxes_max = 6;
        options
    })
    .await;
    let words = [("queued", None), ("in_progress", None), ("completed", Some("success"))];
    let invocations = (0..30_i64).map(|index| {
        let (status, conclusion) = words[usize::try_from(index).unwrap() % 3];
        let payload = batch(&[message(&Run::of(status, conclusion, index))]);
        world.stack.invoke(WRITER, payload)
    });
    let mut failed = 0;
    for reply in futures::future::join_all(invocations).await {
        failed += usize::from(&reply.expect("it answers")[..] != br#"{"batchItemFailures":[]}"#);
    }
    // Whoever lost too often is named and comes again; nobody is dropped silently.
    let rows = world.items("Deliveries").await.len();
    assert_eq!(rows + failed, 30);
    let run = &world.runs().await["880/1"];
    assert_eq!(text(run, "state"), "Succeeded");
    world.finish().await;
}

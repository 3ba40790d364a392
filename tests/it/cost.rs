//! What many deliveries cost. Figures are CPU time of all processes, compared within one run.

use std::io::Write;
use std::time::Duration;

use futures::future::join_all;
use local::{Description, StackOptions};

use crate::support::bodies::Run;
use crate::support::world::{World, workspace};

/// Deliveries before the second measurement.
const MANY: u64 = 20_000;
/// Deliveries of one measurement.
const MEASURED: u64 = 1_000;
/// Deliveries at a time.
const AT_A_TIME: u64 = 20;

/// CPU time of this process and of all function processes of the world, user and system.
fn cpu_time(world: &World) -> Duration {
    let functions = ["github-webhook", "mirror-writer"];
    let pids = functions.iter().flat_map(|function| world.stack.function_pids(function));
    let ticks: u64 = pids.chain([std::process::id()]).map(ticks_of).sum();
    // Linux counts in hundredths of a second on every machine (USER_HZ, proc(5)).
    Duration::from_millis(ticks * 10)
}

fn ticks_of(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The command's name is in parentheses and may hold anything; the fields after it are numbers.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split(' ').collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok());
    field(12).unwrap_or_default() + field(13).unwrap_or_default()
}

async fn send(world: &World, from: u64, count: u64) {
    let mut run = from;
    while run < from + count {
        let burst = (run..(run + AT_A_TIME).min(from + count)).map(|run| async move {
            world
                .accept("workflow_run", &Run::of("completed", Some("success"), 60).id(run).body())
                .await
        });
        join_all(burst).await;
        run += AT_A_TIME;
        // The writer keeps up, however slow the machine is.
        if (run - from).is_multiple_of(MEASURED) {
            world.settle().await;
        }
    }
    world.settle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_twenty_thousandth_delivery_costs_no_more_than_twice_the_first() {
    let state = tempfile::tempdir().expect("a folder for the state");
    let world = World::with(|_| {
        let description = Description::File(workspace().join("infra/stack.json"));
        StackOptions { port: 0, ..StackOptions::persistent(description, state.path()) }
    })
    .await;
    // Processes and connections that are there anyway.
    send(&world, 1, 100).await;
    let start = cpu_time(&world);
    send(&world, 1_000_000, MEASURED).await;
    let first = cpu_time(&world) - start;
    send(&world, 2_000_000, MANY - MEASURED).await;
    let middle = cpu_time(&world);
    send(&world, 3_000_000, MEASURED).await;
    let last = cpu_time(&world) - middle;
    report(first, last);
    assert!(last <= first * 2, "first {MEASURED}: {first:?}, after {MANY}: {last:?}");
    assert_eq!(u64::try_from(world.runs().await.len()).unwrap(), MANY + MEASURED + 100);
    world.stack.stop().await.expect("the stack stops");
}

/// A figure that nobody sees is not measured: past the test runner's capture.
fn report(first: Duration, last: Duration) {
    let _ = writeln!(
        std::io::stderr(),
        "CPU of {MEASURED} deliveries: {first:?} at first, {last:?} after {MANY}"
    );
}

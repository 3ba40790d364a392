//! Each sample in `events/github`, and what is read from it.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use super::{J, W, read_as, read_json, samples_folder, told};
use crate::events::UNDERSTOOD;
use crate::events::subject::Subject as _;
use crate::events::workflow_job::WorkflowJob;
use crate::events::workflow_run::WorkflowRun;

#[test]
fn every_sample_is_read_as_written_down() {
    let samples = samples();
    let written_down: BTreeSet<_> = samples.iter().map(|(file, _)| (*file).to_owned()).collect();
    let folder = samples_folder();
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
    let files: BTreeSet<_> = files.map(|name| name.into_string().unwrap()).collect();
    let files: BTreeSet<_> = files.into_iter().filter(|name| name.ends_with(".json")).collect();
    assert_eq!(files, written_down, "each file of events/github must be written down here");

    for (file, expected) in samples {
        let body = std::fs::read(folder.join(file)).unwrap();
        let (event, _) = file.split_once('.').unwrap();
        let told = told(&read_as(event, "application/json", &body));
        expected.assert_eq(&told);
        let one_line = serde_json::from_slice::<Value>(&body).unwrap().to_string();
        assert_eq!(told, super::told(&read_json(event, &one_line)), "{file} in one line");
    }
}

fn samples() -> Vec<(&'static str, Expect)> {
    vec![
        ("ping.json", expect!["ping"]),
        (
            "workflow_run.requested.json",
            expect![[r#"
            requested in github.com/712345678901
            run 33714470481/1 #1207 Deliver: queued/- = Queued at 2026-11-17T09:14:02Z, started 2026-11-17T09:14:02Z
            push of main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 from 712345678901 runs .github/workflows/deliver.yml of acme/storefront"#]],
        ),
        (
            "workflow_job.queued.json",
            expect![[r#"
            queued in github.com/712345678901
            run 33714470481/1 job 100520616165 build: queued/- = Queued at 2026-11-17T09:14:05Z
            created 2026-11-17T09:14:05Z, started 2026-11-17T09:14:05Z, completed -, deployment -"#]],
        ),
        (
            "workflow_job.in_progress.json",
            expect![[r#"
            in_progress in github.com/712345678901
            run 33714470481/1 job 100520616165 build: in_progress/- = Running at 2026-11-17T09:14:11Z
            created 2026-11-17T09:14:05Z, started 2026-11-17T09:14:11Z, completed -, deployment -"#]],
        ),
        (
            "workflow_run.in_progress.json",
            expect![[r#"
            in_progress in github.com/712345678901
            run 33714470481/1 #1207 Deliver: in_progress/- = Running at 2026-11-17T09:14:12Z, started 2026-11-17T09:14:02Z
            push of main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 from 712345678901 runs .github/workflows/deliver.yml of acme/storefront"#]],
        ),
        (
            "workflow_job.completed.json",
            expect![[r#"
            completed in github.com/712345678901
            run 33714470481/1 job 100520616165 build: completed/success = Succeeded at 2026-11-17T09:15:59Z
            created 2026-11-17T09:14:05Z, started 2026-11-17T09:14:11Z, completed 2026-11-17T09:15:59Z, deployment -"#]],
        ),
        (
            "workflow_job.waiting.json",
            expect![[r#"
            waiting in github.com/712345678901
            run 33714470481/1 job 100520697214 deploy: waiting/- = Waiting at 2026-11-17T09:16:05Z
            created 2026-11-17T09:16:05Z, started 2026-11-17T09:16:05Z, completed -, deployment 2026-11-17T09:16:07Z"#]],
        ),
        (
            "workflow_run.completed.json",
            expect![[r#"
            completed in github.com/712345678901
            run 33714470481/1 #1207 Deliver: completed/success = Succeeded at 2026-11-17T09:21:34Z, started 2026-11-17T09:14:02Z
            push of main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 from 712345678901 runs .github/workflows/deliver.yml of acme/storefront"#]],
        ),
    ]
}

#[test]
fn every_understood_event_and_action_has_a_sample() {
    let with_actions = |name: &str, actions: &[&str]| -> Vec<String> {
        actions.iter().map(|action| format!("{name}.{action}.json")).collect()
    };
    let mut expected = vec!["ping.json".to_owned()];
    expected.extend(with_actions(WorkflowJob::NAME, WorkflowJob::ACTIONS));
    expected.extend(with_actions(WorkflowRun::NAME, WorkflowRun::ACTIONS));
    let mut samples: Vec<_> = samples().iter().map(|(file, _)| (*file).to_owned()).collect();
    expected.sort();
    samples.sort();
    assert_eq!(samples, expected);
    assert_eq!(UNDERSTOOD, ["ping", WorkflowJob::NAME, WorkflowRun::NAME]);
}

#[test]
fn the_smallest_bodies_say_everything() {
    expect![[r#"
        completed in github.com/11
        run 880/1 #7 -: completed/success = Succeeded at 2026-11-17T10:05:00Z, started 2026-11-17T10:00:00Z
        push of - c0ffee from - runs .github/workflows/ci.yml of a/b"#]].assert_eq(&told(&read_json("workflow_run", W)));
    expect![[r#"
        queued in github.com/11
        run 880/1 job 990 build: queued/- = Queued at 2026-11-17T10:00:00Z
        created 2026-11-17T10:00:00Z, started 2026-11-17T10:00:00Z, completed -, deployment 2026-11-17T10:00:01Z"#]].assert_eq(&told(&read_json("workflow_job", J)));
}

//! Each sample in `events/github`, and what is read from it.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use super::{J, W, read_as, read_json, samples_folder, told};
use crate::events::UNDERSTOOD;
use crate::events::pull_request::PullRequest;
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

#[expect(clippy::too_many_lines, reason = "a table of what is read")]
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
        (
            "pull_request.opened.json",
            expect![[r#"
            opened in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:30:00Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.labeled.json",
            expect![[r#"
            labeled in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:30:04Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.assigned.json",
            expect![[r#"
            assigned in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:31:00Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.review_requested.json",
            expect![[r#"
            review_requested in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:31:09Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.edited.json",
            expect![[r#"
            edited in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:32:00Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.milestoned.json",
            expect![[r#"
            milestoned in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:32:30Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.ready_for_review.json",
            expect![[r#"
            ready_for_review in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:33:00Z, draft false, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.converted_to_draft.json",
            expect![[r#"
            converted_to_draft in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:33:20Z, draft true, auto-merge Off
            factory/delivery-date 7c3e1f0a9b2d4c5e8f60718293a4b5c6d7e8f901 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.synchronize.json",
            expect![[r#"
            synchronize in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:35:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.review_request_removed.json",
            expect![[r#"
            review_request_removed in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:36:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.unassigned.json",
            expect![[r#"
            unassigned in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:36:10Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.demilestoned.json",
            expect![[r#"
            demilestoned in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:36:20Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels ["checkout"]"#]],
        ),
        (
            "pull_request.unlabeled.json",
            expect![[r#"
            unlabeled in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:36:30Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.locked.json",
            expect![[r#"
            locked in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:37:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.unlocked.json",
            expect![[r#"
            unlocked in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:37:10Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.auto_merge_enabled.json",
            expect![[r#"
            auto_merge_enabled in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:38:00Z, draft false, auto-merge On
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.auto_merge_disabled.json",
            expect![[r#"
            auto_merge_disabled in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:38:30Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.enqueued.json",
            expect![[r#"
            enqueued in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:39:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.dequeued.json",
            expect![[r#"
            dequeued in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:39:40Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.reopened.json",
            expect![[r#"
            reopened in github.com/712345678901
            pull request 41: open, No = Open at 2026-11-17T09:41:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged - by -, closed -, labels []"#]],
        ),
        (
            "pull_request.closed.json",
            expect![[r#"
            closed in github.com/712345678901
            pull request 41: closed, Yes { commit: Some(CommitId("c41f8e0b7a6d5c4b3a29180f7e6d5c4b3a291807")) } = Merged at 2026-11-17T09:44:00Z, draft false, auto-merge Off
            factory/delivery-date 0d9a4b7c2e1f5a6b8c3d7e90f1a2b3c4d5e6f708 from 712345678901 into main 5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42 by 198230114
            merged 2026-11-17T09:44:00Z by 990231840, closed 2026-11-17T09:44:00Z, labels []"#]],
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
    expected.extend(with_actions(PullRequest::NAME, PullRequest::ACTIONS));
    expected.extend(with_actions(WorkflowRun::NAME, WorkflowRun::ACTIONS));
    let mut samples: Vec<_> = samples().iter().map(|(file, _)| (*file).to_owned()).collect();
    expected.sort();
    samples.sort();
    assert_eq!(samples, expected);
    assert_eq!(UNDERSTOOD, ["ping", PullRequest::NAME, WorkflowJob::NAME, WorkflowRun::NAME]);
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

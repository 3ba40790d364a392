//! The laws of the fold, over generated histories of runs and jobs: any order, duplication and batching of the same
//! observations gives the same mirrors, and what can't be decided is asked.
#![expect(
    clippy::unwrap_used,
    reason = "clippy's allow-in-tests does not reach the helpers of an integration test"
)]

use std::collections::BTreeMap;

use domain::delivery::{Delivery, Outcome, Scope};
use domain::events::{DomainEvent, EventKind, events_between};
use domain::fold::{AskReason, Content, Finality, Irregular, Mirror, Sighting, fold};
use domain::ids::{
    Attempt, DeliveryId, Host, JobId, ProjectId, RepositoryId, RepositoryKey, RunId, SourceId,
    TenantId,
};
use domain::observation::{Doubt, Fact, Observation, Origin, RunFact, StageFact, Subject};
use domain::pipeline_run::{
    NativeWords, Owner, PipelineRun, PipelineRunState, RunContent, RunIdentity,
};
use domain::stage::{Stage, StageContent};
use domain::words::{Text, Word};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Every status of GitHub's published vocabulary, and one of tomorrow.
const STATUSES: [&str; 7] =
    ["requested", "queued", "pending", "waiting", "in_progress", "completed", "paused"];
/// Every conclusion of GitHub's published vocabulary, and one of tomorrow.
const CONCLUSIONS: [&str; 10] = [
    "success",
    "failure",
    "neutral",
    "cancelled",
    "skipped",
    "timed_out",
    "action_required",
    "stale",
    "startup_failure",
    "exploded",
];

fn second(offset: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + offset).unwrap()
}

fn words(status: &str, result: Option<&str>) -> NativeWords {
    NativeWords { status: Word::new(status), result: result.map(Word::new) }
}

fn delivered(at: i64) -> Origin {
    Origin::Delivery(Delivery {
        source: SourceId::new("acme").unwrap(),
        hook: None,
        id: DeliveryId::new("d").unwrap(),
        event: Word::new("workflow_run"),
        action: None,
        body_sha256: String::new(),
        received_at: second(at),
    })
}

fn read(at: i64) -> Origin {
    Origin::Read { connection: "c".to_owned(), started_at: second(at) }
}

fn observation(fact: Fact, origin: Origin, doubt: Option<Doubt>) -> Observation {
    Observation {
        scope: Scope::Tenant(TenantId::new("t1").unwrap()),
        repository: repository(),
        fact,
        doubt,
        origin,
    }
}

fn repository() -> RepositoryKey {
    RepositoryKey {
        host: Host::new("github.com").unwrap(),
        id: RepositoryId::from_number(11).unwrap(),
    }
}

fn run_content(words: NativeWords, name: Option<&str>, label: &str) -> RunContent {
    RunContent {
        words,
        started_at: second(0),
        commit: Text::new("c0ffee"),
        definition: Text::new(".github/workflows/ci.yml"),
        event: Word::new("push"),
        branch: Some(Text::new("main")),
        head_repository: None,
        run_number: Some(1),
        name: name.map(Text::new),
        repository_label: Text::new(label),
    }
}

fn run(attempt: u32, words: NativeWords, at: i64, origin: Origin) -> Observation {
    let content = run_content(words, None, "a/b");
    let attempt = Attempt::new(attempt).unwrap();
    let fact = RunFact { run: RunId(880), attempt, updated_at: second(at), content };
    observation(Fact::Run(Box::new(fact)), origin, None)
}

fn job(words: NativeWords, at: i64, deployment_at: Option<i64>) -> Observation {
    let content = StageContent {
        words,
        name: Text::new("deploy"),
        created_at: Some(second(at)),
        started_at: Some(second(at)),
        completed_at: None,
    };
    let fact = StageFact {
        run: RunId(880),
        attempt: Attempt::new(1).unwrap(),
        job: JobId(1),
        at: second(at),
        deployment_at: deployment_at.map(second),
        content,
    };
    observation(Fact::Stage(Box::new(fact)), delivered(at), None)
}

/// Words as a system of record might send them: mostly sensible, sometimes contradictory or unknown.
fn any_words() -> impl Strategy<Value = NativeWords> {
    let sensible = select(vec!["requested", "queued", "pending", "waiting", "in_progress"])
        .prop_map(|status| words(status, None));
    let ended = select(CONCLUSIONS.to_vec()).prop_map(|result| words("completed", Some(result)));
    let odd = (select(STATUSES.to_vec()), option::of(select(CONCLUSIONS.to_vec())))
        .prop_map(|(status, result)| words(status, result));
    prop_oneof![4 => sensible, 3 => ended, 1 => odd]
}

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![3 => (0..10_i64).prop_map(delivered), 1 => (0..200_i64).prop_map(read)]
}

/// Observations of a few attempts of one run and of a few of its jobs, with times that collide often.
fn any_observation() -> impl Strategy<Value = Observation> {
    let doubt = || option::weighted(0.1, Just(Doubt::ActionDisagrees));
    let run =
        (1..4_u32, any_words(), 0..6_i64, select(vec![None, Some("ci")]), any_origin(), doubt());
    let run = (run, select(vec!["a/b", "a/c"])).prop_map(
        |((attempt, words, at, name, origin, doubt), label)| {
            let content = run_content(words, name, label);
            let attempt = Attempt::new(attempt).unwrap();
            let fact = RunFact { run: RunId(880), attempt, updated_at: second(at), content };
            observation(Fact::Run(Box::new(fact)), origin, doubt)
        },
    );
    let job = (1..3_u64, any_words(), 0..4_i64, option::of(0..3_i64), any_origin(), doubt());
    let job = job.prop_map(|(job, words, at, deployment_at, origin, doubt)| {
        let content = StageContent {
            words,
            name: Text::new("build"),
            created_at: Some(second(0)),
            started_at: Some(second(at)),
            completed_at: None,
        };
        let fact = StageFact {
            run: RunId(880),
            attempt: Attempt::new(1).unwrap(),
            job: JobId(job),
            at: second(at),
            deployment_at: deployment_at.map(second),
            content,
        };
        observation(Fact::Stage(Box::new(fact)), origin, doubt)
    });
    prop_oneof![3 => run, 2 => job]
}

fn identity(attempt: Attempt) -> RunIdentity {
    let owner =
        Owner { tenant: TenantId::new("t1").unwrap(), project: ProjectId::new("p1").unwrap() };
    RunIdentity::github(owner, repository(), RunId(880), attempt)
}

/// What a writer stores, and what it told the world and asked for on the way.
#[derive(Debug, Default)]
struct Stored {
    runs: BTreeMap<Subject, PipelineRun>,
    stages: BTreeMap<Subject, Stage>,
    events: BTreeMap<Subject, Vec<DomainEvent>>,
    asks: BTreeMap<Subject, Vec<AskReason>>,
    outcomes: Vec<Outcome>,
}

impl Stored {
    /// Folds batches as the writer does: grouped by subject, one write per changed subject.
    fn of(batches: &[&[Observation]]) -> Self {
        let mut stored = Self::default();
        for batch in batches {
            let mut subjects: BTreeMap<Subject, Vec<&Observation>> = BTreeMap::new();
            for observation in *batch {
                subjects.entry(observation.subject()).or_default().push(observation);
            }
            for (subject, observations) in subjects {
                stored.advance(subject, &observations);
            }
        }
        stored
    }

    fn one_by_one(observations: &[Observation]) -> Self {
        Self::of(&observations.chunks(1).collect::<Vec<_>>())
    }

    fn advance(&mut self, subject: Subject, observations: &[&Observation]) {
        let now = second(1000);
        let asked = match subject {
            Subject::Run { attempt, .. } => {
                let sightings: Vec<_> =
                    observations.iter().filter_map(|o| run_sighting(o)).collect();
                let before = self.runs.get(&subject).cloned();
                let advanced =
                    PipelineRun::advance(&identity(attempt), before.as_ref(), &sightings, now)
                        .unwrap();
                if let Some(run) = advanced.write {
                    let old = before.as_ref().and_then(|run| run.announced);
                    let events =
                        events_between(run.identity.id, old.as_ref(), run.announced.as_ref());
                    self.events.entry(subject).or_default().extend(events);
                    self.runs.insert(subject, run);
                }
                self.outcomes.extend(advanced.outcomes);
                advanced.ask_again
            }
            Subject::Stage { attempt, job, .. } => {
                let sightings: Vec<_> =
                    observations.iter().filter_map(|o| stage_sighting(o)).collect();
                let before = self.stages.get(&subject);
                let advanced =
                    Stage::advance(&identity(attempt), job, before, &sightings, now).unwrap();
                if let Some(stage) = advanced.write {
                    self.stages.insert(subject, stage);
                }
                self.outcomes.extend(advanced.outcomes);
                advanced.ask_again
            }
            // Pull requests fold into proposals (proposal_laws.rs).
            Subject::PullRequest { .. } => None,
        };
        self.asks.entry(subject).or_default().extend(asked);
    }

    /// The mirrors: all that a fold determines. Revisions, due times and announcements tell of the way, not of the truth.
    fn mirrors(
        &self,
    ) -> (BTreeMap<Subject, Mirror<RunContent>>, BTreeMap<Subject, Mirror<StageContent>>) {
        let runs = self.runs.iter().map(|(subject, run)| (*subject, run.mirror.clone()));
        let stages = self.stages.iter().map(|(subject, stage)| (*subject, stage.mirror.clone()));
        (runs.collect(), stages.collect())
    }
}

fn run_sighting(observation: &Observation) -> Option<Sighting<RunContent>> {
    match &observation.fact {
        Fact::Run(fact) => Some(fact.sighting(&observation.origin, observation.doubt)),
        Fact::Stage(_) | Fact::PullRequest(_) => None,
    }
}

fn stage_sighting(observation: &Observation) -> Option<Sighting<StageContent>> {
    match &observation.fact {
        Fact::Stage(fact) => Some(fact.sighting(&observation.origin, observation.doubt)),
        Fact::Run(_) | Fact::PullRequest(_) => None,
    }
}

/// The same observations in another order, some of them again.
fn rearranged(observations: &[Observation], order: &[Index], again: &[Index]) -> Vec<Observation> {
    let mut all = observations.to_vec();
    all.extend(again.iter().map(|index| index.get(observations).clone()));
    for (place, index) in order.iter().enumerate().take(all.len()) {
        let other = index.index(all.len());
        let place = place % all.len();
        all.swap(place, other);
    }
    all
}

/// Batches of one to ten.
fn cut(observations: &[Observation], sizes: &[usize]) -> Vec<Vec<Observation>> {
    let mut rest = observations;
    let mut batches = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (batch, others) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
        batches.push(batch.to_vec());
        rest = others;
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// Commutative, idempotent, and blind to batching, for runs and jobs alike.
    #[test]
    fn any_order_duplication_and_batching_gives_the_same_mirrors(
        observations in vec(any_observation(), 1..24),
        order in vec(any::<Index>(), 40),
        again in vec(any::<Index>(), 0..12),
        sizes in vec(1..11_usize, 1..6),
    ) {
        let straight = Stored::one_by_one(&observations);
        let shuffled = rearranged(&observations, &order, &again);
        let batches = cut(&shuffled, &sizes);
        let batches: Vec<&[Observation]> = batches.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(straight.mirrors(), Stored::of(&batches).mirrors());
    }

    /// Associative: mirrors of parts join to the mirror of the whole, however the parts are bracketed.
    #[test]
    fn mirrors_join_in_any_bracketing(
        parts in vec(vec(any_observation(), 1..6), 3..4),
    ) {
        let of = |part: &[Observation]| {
            let part: Vec<_> = part.iter().filter_map(run_sighting).collect();
            fold(None, &part).map(|folded| folded.next)
        };
        let whole: Vec<Observation> = parts.concat();
        let mirrors: Vec<_> = parts.iter().filter_map(|part| of(part)).collect();
        if let [a, b, c] = mirrors.as_slice() {
            let left = a.clone().join(b.clone()).join(c.clone());
            let right = a.clone().join(b.clone().join(c.clone()));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(&left, &b.clone().join(c.clone()).join(a.clone()));
            prop_assert_eq!(&left, &left.clone().join(left.clone()));
            prop_assert_eq!(Some(left), of(&whole));
        }
    }

    /// Against an oracle that knows all observations at once: the greatest version stands, two contents of it contest it.
    #[test]
    fn the_greatest_version_stands(observations in vec(any_observation(), 1..24)) {
        let (runs, _) = Stored::one_by_one(&observations).mirrors();
        for (subject, mirror) in runs {
            let seen: Vec<_> = observations.iter().filter(|o| o.subject() == subject)
                .filter_map(run_sighting).collect();
            let top = seen.iter().map(|s| s.version).max().unwrap();
            let tops: Vec<_> = seen.iter().filter(|s| s.version == top).map(|s| &s.content).collect();
            prop_assert_eq!(mirror.version, top);
            prop_assert_eq!(&mirror.content, *tops.iter().max().unwrap());
            let contested = tops.iter().any(|content| content.contradicts(tops[0]));
            prop_assert_eq!(mirror.contested, contested);
            let (ends, live): (Vec<_>, Vec<_>) =
                seen.iter().partition(|s| s.version.finality == Finality::Final);
            prop_assert_eq!(mirror.ended_at, ends.iter().map(|s| s.version.at).min());
            let latest_live = live.iter().map(|s| s.version.at).max();
            let lives_on = mirror.is_final() && latest_live.is_some_and(|at| top.at < at);
            let irregular = mirror.irregular();
            prop_assert_eq!(irregular.contains(&Irregular::LiveAfterFinal), lives_on);
            let changed = ends.iter().any(|s| s.content.words != ends[0].content.words);
            prop_assert_eq!(irregular.contains(&Irregular::FinalChanged), changed);
            let read = seen.iter().filter_map(|s| s.confirmation.as_ref()).max();
            prop_assert_eq!(mirror.confirmation.as_ref(), read);
        }
    }

    /// What is contested or unknown is asked when it becomes so, and due at once; what has ended cleanly is not due.
    #[test]
    fn doubt_is_asked_and_certainty_is_not(observations in vec(any_observation(), 1..24)) {
        let stored = Stored::one_by_one(&observations);
        for (subject, run) in &stored.runs {
            let doubtful = run.mirror.contested || run.mirror.state() == PipelineRunState::Unknown;
            if doubtful {
                prop_assert!(!stored.asks[subject].is_empty());
                prop_assert!(run.due.is_some_and(|due| due.asks > 0));
            }
            if !run.mirror.is_final() {
                prop_assert!(run.due.is_some());
            }
            if run.mirror.is_final() && stored.asks[subject].is_empty() {
                prop_assert_eq!(run.due, None);
            }
        }
    }

    /// A settled read of the last second ends every contest about it.
    #[test]
    fn a_settled_read_settles(observations in vec(any_observation(), 1..24), truth in any_words()) {
        let read = run(1, truth, 5, read(1000));
        let mut all = observations.into_iter().filter(|o| {
            // Later settled reads and finals of this attempt outrank it, and may.
            o.subject() != read.subject()
                || run_sighting(o).is_some_and(|s| {
                    s.version.finality <= run_sighting(&read).unwrap().version.finality
                })
        }).collect::<Vec<_>>();
        all.push(read.clone());
        let stored = Stored::one_by_one(&all);
        let mirror = &stored.runs[&read.subject()].mirror;
        prop_assert!(!mirror.contested);
        let sighting = run_sighting(&read).unwrap();
        prop_assert_eq!(mirror.content.words(), sighting.content.words());
    }

    /// The world hears of a start at most once, of each end once, never of a contested state, and in the end of the truth.
    #[test]
    fn events_tell_what_the_mirror_came_to(
        observations in vec(any_observation(), 1..24),
        sizes in vec(1..11_usize, 1..6),
    ) {
        let batches = cut(&observations, &sizes);
        let batches: Vec<&[Observation]> = batches.iter().map(Vec::as_slice).collect();
        let stored = Stored::of(&batches);
        for (subject, run) in &stored.runs {
            let events = stored.events.get(subject).cloned().unwrap_or_default();
            let started = events.iter().filter(|e| e.kind == EventKind::PipelineRunStarted).count();
            prop_assert!(started <= 1);
            let ends: Vec<_> = events.iter()
                .filter(|e| e.kind == EventKind::PipelineRunCompleted).map(|e| e.state).collect();
            prop_assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "an end told twice");
            prop_assert!(ends.is_empty() || started == 1, "an end without a start");
            prop_assert!(ends.iter().all(|state| state.finality() == Finality::Final));
            prop_assert!(events.is_sorted_by_key(|e| e.sequence));
            let state = run.mirror.state();
            if !run.mirror.contested && state.finality() == Finality::Final {
                prop_assert_eq!(ends.last(), Some(&state));
            }
            if ends.is_empty() && !run.mirror.contested {
                prop_assert!(state.finality() == Finality::Live);
            }
        }
    }
}

fn states(observations: &[Observation]) -> Vec<PipelineRunState> {
    Stored::one_by_one(observations).runs.values().map(|run| run.mirror.state()).collect()
}

/// All orders of a few things.
fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = things.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for place in 0..=order.len() {
            let mut order = order.clone();
            order.insert(place, first.clone());
            all.push(order);
        }
    }
    all
}

#[test]
fn a_late_word_of_attempt_one_does_not_touch_attempt_two() {
    let attempt_2 = run(2, words("queued", None), 300, delivered(300));
    let attempt_1 = run(1, words("completed", Some("failure")), 0, delivered(310));
    let resent: Vec<_> = (0..5).map(|_| attempt_1.clone()).collect();
    let history = [vec![attempt_2, attempt_1], resent].concat();
    assert_eq!(states(&history), [PipelineRunState::Failed, PipelineRunState::Queued]);
    let events: usize = Stored::one_by_one(&history).events.values().map(Vec::len).sum();
    assert_eq!(events, 2, "started and completed of attempt 1, nothing of attempt 2");
}

#[test]
fn an_older_live_word_of_the_same_attempt_is_a_no_op() {
    let history = [
        run(1, words("in_progress", None), 120, delivered(121)),
        run(1, words("queued", None), 0, delivered(122)),
    ];
    let stored = Stored::one_by_one(&history);
    assert_eq!(stored.outcomes, [Outcome::Applied, Outcome::NoOp]);
    assert_eq!(states(&history), [PipelineRunState::Running]);
}

#[test]
fn queued_waiting_queued_ends_queued_when_the_deployment_tells_the_order() {
    let history = [
        job(words("queued", None), 0, Some(0)),
        job(words("waiting", None), 0, Some(1)),
        job(words("queued", None), 0, Some(2)),
    ];
    for order in orders(&history) {
        let (_, stages) = Stored::one_by_one(&order).mirrors();
        let mirror = stages.values().next().unwrap();
        assert_eq!((mirror.state(), mirror.contested), (PipelineRunState::Queued, false));
    }
}

#[test]
fn queued_waiting_queued_without_an_order_is_contested_and_asked() {
    let history = [
        job(words("queued", None), 0, None),
        job(words("waiting", None), 0, None),
        job(words("queued", None), 0, None),
    ];
    for order in orders(&history) {
        let stored = Stored::one_by_one(&order);
        let stage = stored.stages.values().next().unwrap();
        assert!(stage.mirror.contested);
        assert!(stage.due.is_some_and(|due| due.asks > 0), "asked");
        let asks: Vec<_> = stored.asks.values().flatten().collect();
        assert_eq!(asks, [&AskReason::Contested], "once, not with every repetition");
    }
}

#[test]
fn a_settled_read_settles_a_job_whatever_its_deployment_told() {
    let waiting = job(words("waiting", None), 0, Some(9));
    let mut read_back = job(words("queued", None), 0, None);
    read_back.origin = read(100);
    for order in orders(&[waiting, read_back]) {
        let (_, stages) = Stored::one_by_one(&order).mirrors();
        let mirror = stages.values().next().unwrap();
        assert_eq!((mirror.state(), mirror.contested), (PipelineRunState::Queued, false));
    }
}

#[test]
fn a_repository_that_was_renamed_between_two_words_contests_nothing() {
    let named = |label| {
        let mut observation = run(1, words("queued", None), 0, delivered(1));
        let Fact::Run(fact) = &mut observation.fact else { return observation };
        fact.content.repository_label = Text::new(label);
        observation
    };
    for order in orders(&[named("acme/old"), named("acme/new")]) {
        let stored = Stored::one_by_one(&order);
        let run = stored.runs.values().next().unwrap();
        assert!(!run.mirror.contested);
        assert_eq!(run.mirror.content.repository_label.as_str(), "acme/old", "in every order");
    }
}

#[test]
fn completed_before_queued_is_completed() {
    let history = [
        run(1, words("requested", None), 0, delivered(5)),
        run(1, words("in_progress", None), 3, delivered(5)),
        run(1, words("completed", Some("success")), 3, delivered(5)),
    ];
    for order in orders(&history) {
        assert_eq!(states(&order), [PipelineRunState::Succeeded]);
    }
}

#[test]
fn a_contest_that_is_settled_is_announced_when_it_is() {
    let history = [
        run(1, words("in_progress", None), 0, delivered(1)),
        run(1, words("completed", Some("failure")), 9, delivered(10)),
        run(1, words("completed", Some("success")), 9, delivered(10)),
        run(1, words("completed", Some("success")), 9, read(100)),
    ];
    let kinds = |stored: &Stored| -> Vec<_> {
        stored.events.values().flatten().map(|event| (event.kind, event.state)).collect()
    };
    let contested = Stored::of(&[&history[..1], &history[1..3]]);
    let started = (EventKind::PipelineRunStarted, PipelineRunState::Running);
    assert_eq!(kinds(&contested), [started]);
    let settled = Stored::of(&[&history[..1], &history[1..3], &history[3..]]);
    let completed = (EventKind::PipelineRunCompleted, PipelineRunState::Succeeded);
    assert_eq!(kinds(&settled), [started, completed]);
}

#[test]
fn an_end_that_was_never_seen_to_begin_is_told_with_its_start() {
    let stored =
        Stored::one_by_one(&[run(1, words("completed", Some("success")), 9, delivered(9))]);
    let events: Vec<_> = stored.events.values().flatten().collect();
    assert_eq!(
        events.iter().map(|event| event.kind).collect::<Vec<_>>(),
        [EventKind::PipelineRunStarted, EventKind::PipelineRunCompleted]
    );
    assert_ne!(events[0].id, events[1].id);
}

#[test]
fn a_settled_read_against_a_latched_final_disputes_it_and_changes_nothing() {
    let history = [
        run(1, words("completed", Some("success")), 9, delivered(10)),
        run(1, words("in_progress", None), 9, read(100)),
    ];
    for order in orders(&history) {
        let stored = Stored::one_by_one(&order);
        let run = stored.runs.values().next().unwrap();
        assert_eq!(run.mirror.state(), PipelineRunState::Succeeded);
        assert!(run.mirror.is_disputed() && !run.mirror.is_confirmed());
    }
}

#[test]
fn a_delivery_alone_confirms_nothing() {
    let delivery = run(1, words("completed", Some("success")), 9, delivered(10));
    let unsettled = run(1, words("completed", Some("success")), 9, read(20));
    let settled = run(1, words("completed", Some("success")), 9, read(69));
    let confirmed = |history: &[Observation]| {
        Stored::one_by_one(history).runs.values().all(|run| run.mirror.is_confirmed())
    };
    assert!(!confirmed(std::slice::from_ref(&delivery)));
    assert!(!confirmed(&[delivery.clone(), unsettled]));
    assert!(confirmed(&[delivery, settled]));
}

#[test]
fn a_version_of_the_far_future_is_recognised() {
    let limit = SignedDuration::from_mins(5).as_secs();
    let of = |at| run(1, words("queued", None), at, delivered(0)).is_from_the_future();
    assert!(!of(limit));
    assert!(of(limit + 1));
    assert!(!job(words("queued", None), 0, Some(limit)).is_from_the_future());
    assert!(job(words("queued", None), 0, Some(limit + 1)).is_from_the_future());
}

#[test]
fn every_native_word_has_its_state() {
    use PipelineRunState as S;
    let of = |status, result| words(status, result).reading().state;
    for (status, state) in [
        ("requested", S::Queued),
        ("queued", S::Queued),
        ("pending", S::Waiting),
        ("waiting", S::Waiting),
        ("in_progress", S::Running),
        ("completed", S::Unknown),
        ("paused", S::Unknown),
        ("COMPLETED", S::Unknown),
        ("", S::Unknown),
    ] {
        assert_eq!(of(status, None), state, "{status}");
    }
    for (result, state) in [
        ("success", S::Succeeded),
        ("failure", S::Failed),
        ("startup_failure", S::Failed),
        ("timed_out", S::TimedOut),
        ("cancelled", S::Cancelled),
        ("skipped", S::Skipped),
        ("neutral", S::Neutral),
        ("stale", S::Abandoned),
        ("action_required", S::ActionRequired),
        ("exploded", S::Unknown),
        ("", S::Unknown),
    ] {
        assert_eq!(of("completed", Some(result)), state, "{result}");
        for status in ["requested", "queued", "pending", "waiting", "in_progress", "paused"] {
            assert_eq!(of(status, Some(result)), S::Unknown, "{status} with {result}");
        }
    }
}

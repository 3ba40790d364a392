//! The laws of the fold for pull requests, reviews and whole proposals, over generated histories; and every state of a
//! proposal, from what was seen.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy's allow-in-tests does not reach the helpers of an integration test"
)]

use std::collections::{BTreeMap, BTreeSet};

use domain::change_proposal::{
    Binding, Branch, ChangeProposal, ChangeSetRef, Declared, MergeApproval, Observed,
    PULL_REQUESTS_MAX, ProposalSighting, ProposalState, Transition, transition,
};
use domain::delivery::{Delivery, Outcome, Scope};
use domain::fold::{AskReason, Content, Finality, Irregular, Mirror, Sighting, fold};
use domain::ids::{
    AccountId, AgentReleaseId, ArtifactRef, CommitId, DeliveryId, Host, ProjectId, ProposalId,
    PullRequestNumber, RepositoryId, RepositoryKey, ReviewId, Revision, Sha256Digest, SourceId,
    SystemOfRecord, TenantId, TreeId,
};
use domain::observation::{Doubt, Origin};
use domain::pipeline_run::Owner;
use domain::proposal_events::{
    ProposalAnnounced, ProposalEvent, ProposalEventKind, events_between,
};
use domain::provenance::{CommitKey, Provenance, SeenCommit};
use domain::pull_request::{
    AutoMerge, Labels, Merge, PullRequestContent, PullRequestFact, PullRequestState,
    PullRequestWords,
};
use domain::review::{
    Overall, REVIEWS_MAX, ReviewContent, ReviewWords, ReviewerKind, Reviews, Verdict,
};
use domain::trailers::FactoryTrailers;
use domain::words::{Text, Word};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use uuid::Uuid;

// ---- What is seen ----

fn second(offset: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + offset).unwrap()
}

fn delivered(at: i64) -> Origin {
    Origin::Delivery(Delivery {
        source: SourceId::new("acme").unwrap(),
        hook: None,
        id: DeliveryId::new("d").unwrap(),
        event: Word::new("pull_request"),
        action: None,
        body_sha256: String::new(),
        received_at: second(at),
    })
}

fn read(at: i64) -> Origin {
    Origin::Read { connection: "c".to_owned(), started_at: second(at) }
}

fn scope() -> Scope {
    Scope::Tenant(TenantId::new("t1").unwrap())
}

/// Commit `0` is the base, `f` the Factory's, every other digit somebody's.
fn commit(digit: char) -> CommitId {
    let digit = if digit == '0' { 'b' } else { digit };
    CommitId::new(&digit.to_string().repeat(40)).unwrap()
}

fn tree(digit: char) -> TreeId {
    TreeId::new(&digit.to_string().repeat(40)).unwrap()
}

fn repository_id(id: u64) -> RepositoryId {
    RepositoryId::from_number(id).unwrap()
}

fn number(number: u64) -> PullRequestNumber {
    PullRequestNumber::new(number).unwrap()
}

fn digest() -> Sha256Digest {
    Sha256Digest::new(&format!("sha256:{}", "d".repeat(64))).unwrap()
}

const RUN: Uuid = Uuid::from_u128(7);
const BRANCH: &str = "factory/change";

fn declared() -> Declared {
    let Scope::Tenant(tenant) = scope() else { panic!("a tenant") };
    Declared {
        id: ProposalId(Uuid::from_u128(1)),
        owner: Owner { tenant, project: ProjectId::new("p1").unwrap() },
        run: RUN,
        attempt: Uuid::from_u128(8),
        agent_release: AgentReleaseId::new("agent@1.0.0").unwrap(),
        change_set: ChangeSetRef {
            artifact: ArtifactRef::new("artifact://change-sets/1").unwrap(),
            sha256: digest(),
        },
        system: SystemOfRecord::GitHub,
        repository: RepositoryKey { host: Host::new("github.com").unwrap(), id: repository_id(11) },
        branch: Text::new(BRANCH),
        base_commit: commit('0'),
        expected_tree: tree('e'),
    }
}

fn no() -> Merge {
    Merge::No
}

fn merged(commit_digit: char) -> Merge {
    Merge::Yes { commit: Some(commit(commit_digit)) }
}

/// A snapshot of a pull request of the proposal's branch.
fn snapshot(state: &str, merge: Merge, head: char) -> PullRequestContent {
    PullRequestContent {
        words: PullRequestWords {
            state: Word::new(state),
            merge,
            head: commit(head),
            base_branch: Text::new("main"),
        },
        head_repository: Some(repository_id(11)),
        head_branch: Text::new(BRANCH),
        base_commit: Some(commit('0')),
        draft: false,
        auto_merge: AutoMerge::Off,
        author: AccountId::from_number(1).ok(),
        merged_by: None,
        merged_at: None,
        closed_at: None,
        labels: Labels::default(),
    }
}

fn fact(at: i64, content: PullRequestContent) -> PullRequestFact {
    PullRequestFact { number: number(1), updated_at: second(at), content }
}

fn sighting(at: i64, content: PullRequestContent, origin: &Origin) -> Sighting<PullRequestContent> {
    fact(at, content).sighting(origin, None).unwrap()
}

fn review(verdict: &str, on: char, reviewer: u64, at: i64) -> ReviewContent {
    ReviewContent {
        words: ReviewWords { verdict: Word::new(verdict), dismissed: false },
        submitted_at: second(at),
        commit: Some(commit(on)),
        reviewer: AccountId::from_number(reviewer).ok(),
        kind: ReviewerKind::Person,
    }
}

fn seen_commit(parents: &[char], holds: char, trailers: FactoryTrailers) -> SeenCommit {
    SeenCommit {
        tree: tree(holds),
        parents: parents.iter().copied().map(commit).collect(),
        trailers,
        listed_in: BTreeSet::from([number(1)]),
    }
}

fn our_trailers() -> FactoryTrailers {
    FactoryTrailers::Found { run: RUN, change_set: digest() }
}

fn key(repository: u64, id: char) -> CommitKey {
    (repository_id(repository), commit(id))
}

// ---- Anything that might be seen ----

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![3 => (0..10_i64).prop_map(delivered), 1 => (0..200_i64).prop_map(read)]
}

/// Snapshots with times that collide often: ties, contests, merged then open, closed then reopened, unknown words.
fn any_snapshot() -> impl Strategy<Value = (i64, PullRequestContent)> {
    let words = prop_oneof![
        8 => Just(("open", no())),
        3 => Just(("closed", no())),
        1 => Just(("closed", merged('5'))),
        1 => select(vec![
            ("closed", merged('6')),
            ("closed", Merge::Yes { commit: None }),
            ("open", merged('5')),
            ("locked", no()),
        ]),
    ];
    let rest = (
        select(vec!['f', 'f', 'a', 'c']),
        select(vec!["main", "main", "develop"]),
        select(vec![11_u64, 11, 11, 11, 11, 11, 11, 77]),
        select(vec![vec![], vec!["x"], vec!["y"]]),
        any::<bool>(),
    );
    (0..6_i64, words, rest).prop_map(|(at, (state, merge), (head, base, home, labels, draft))| {
        let mut content = snapshot(state, merge, head);
        content.words.base_branch = Text::new(base);
        content.head_repository = Some(repository_id(home));
        content.labels = Labels::new(labels);
        content.draft = draft;
        (at, content)
    })
}

fn any_sighting() -> impl Strategy<Value = Sighting<PullRequestContent>> {
    let doubt = option::weighted(0.1, Just(Doubt::ActionDisagrees));
    (any_snapshot(), any_origin(), doubt).prop_map(|((at, content), origin, doubt)| {
        fact(at, content).sighting(&origin, doubt).unwrap()
    })
}

fn any_review() -> impl Strategy<Value = (ReviewId, ReviewContent)> {
    let verdicts =
        vec!["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "SHRUGGED", "approved"];
    let whose = (
        select(vec!['f', 'f', 'a']),
        1..4_u64,
        prop_oneof![3 => Just(ReviewerKind::Person), 1 => select(ReviewerKind::ALL.to_vec())],
    );
    (1..6_u64, select(verdicts), any::<bool>(), whose, option::weighted(0.9, Just(()))).prop_map(
        |(id, verdict, dismissed, (on, reviewer, kind), known)| {
            // A review's id tells when it was submitted; everything else may have been told differently.
            let at = i64::try_from(id).unwrap() / 2;
            let mut content = review(verdict, on, reviewer, at);
            content.words.dismissed = dismissed && id % 2 == 0;
            content.kind = kind;
            if known.is_none() {
                (content.reviewer, content.commit) = (None, None);
            }
            (ReviewId(id), content)
        },
    )
}

fn any_reviews() -> impl Strategy<Value = Reviews> {
    (0..200_i64, vec(any_review(), 0..5))
        .prop_map(|(at, reviews)| Reviews::read(&read(at), &reviews).unwrap())
}

fn any_commits() -> impl Strategy<Value = BTreeMap<CommitKey, SeenCommit>> {
    let trailers = vec![
        our_trailers(),
        our_trailers(),
        FactoryTrailers::Absent,
        FactoryTrailers::Found { run: Uuid::nil(), change_set: digest() },
    ];
    let one = (
        (select(vec![11_u64, 11, 77]), select(vec!['f', 'f', 'a', 'c'])),
        (select(vec!['0', '0', 'f', 'a']), select(vec!['e', 'e', '9']), select(trailers)),
        vec(1..4_u64, 0..3),
    );
    vec(one, 1..4).prop_map(|commits| {
        commits
            .into_iter()
            .map(|((home, id), (parent, holds, trailers), listed)| {
                let mut seen = seen_commit(&[parent], holds, trailers);
                seen.listed_in = listed.into_iter().map(number).collect();
                (key(home, id), seen)
            })
            .collect()
    })
}

fn any_proposal_sighting() -> impl Strategy<Value = ProposalSighting> {
    let one_of_few = || select(vec![1_u64, 1, 1, 2, 3]);
    let pull_request = (one_of_few(), any_sighting()).prop_map(|(n, sighting)| {
        ProposalSighting::PullRequest { number: number(n), sighting: Box::new(sighting) }
    });
    let reviews = (one_of_few(), any_reviews())
        .prop_map(|(n, reviews)| ProposalSighting::Reviews { number: number(n), reviews });
    let branch = (0..300_i64, option::of(select(vec!['f', 'a']))).prop_map(|(at, head)| {
        ProposalSighting::Branch(match head {
            Some(head) => Branch::found(second(at), commit(head)),
            None => Branch::absent(second(at)),
        })
    });
    let commits =
        prop_oneof![2 => Just(pushed()), 1 => any_commits().prop_map(ProposalSighting::Commits)];
    prop_oneof![4 => pull_request, 2 => reviews, 2 => branch, 2 => commits]
}

/// The same things in another order, some of them again.
fn rearranged<T: Clone>(things: &[T], order: &[Index], again: &[Index]) -> Vec<T> {
    let mut all = things.to_vec();
    all.extend(again.iter().map(|index| index.get(things).clone()));
    for (place, index) in order.iter().enumerate() {
        let (place, other) = (place % all.len(), index.index(all.len()));
        all.swap(place, other);
    }
    all
}

/// Batches of the sizes given, over and over.
fn cut<'a, T>(things: &'a [T], sizes: &[usize]) -> Vec<&'a [T]> {
    let mut rest = things;
    let mut batches = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (batch, others) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
        batches.push(batch);
        rest = others;
    }
    batches
}

fn folded(batches: &[&[Sighting<PullRequestContent>]]) -> Mirror<PullRequestContent> {
    let mut mirror = None;
    for batch in batches {
        mirror = fold(mirror.as_ref(), batch).map(|folded| folded.next);
    }
    mirror.unwrap()
}

/// What a writer stores, and what it told the world on the way.
fn advanced(batches: &[&[ProposalSighting]]) -> (ChangeProposal, Vec<ProposalEvent>) {
    let mut proposal = ChangeProposal::propose(declared(), second(0));
    let mut events = Vec::new();
    for batch in batches {
        if let Some(next) = proposal.advance(batch, second(1000)).write {
            let id = proposal.declared.id;
            let (old, new) = (proposal.announced.as_ref(), next.announced.as_ref());
            events.extend(events_between(id, old, new));
            proposal = next;
        }
    }
    (proposal, events)
}

fn one_by_one(sightings: &[ProposalSighting]) -> (ChangeProposal, Vec<ProposalEvent>) {
    advanced(&sightings.chunks(1).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, ..ProptestConfig::default() })]

    /// Pull requests: commutative, idempotent, blind to batching.
    #[test]
    fn pull_requests_fold_in_any_order(
        sightings in vec(any_sighting(), 1..20),
        order in vec(any::<Index>(), 40),
        again in vec(any::<Index>(), 0..12),
        sizes in vec(1..8_usize, 1..6),
    ) {
        let straight = folded(&sightings.chunks(1).collect::<Vec<_>>());
        let shuffled = rearranged(&sightings, &order, &again);
        prop_assert_eq!(straight, folded(&cut(&shuffled, &sizes)));
    }

    /// Pull requests: associative, and a mirror joined with itself is itself.
    #[test]
    fn pull_requests_join_in_any_bracketing(parts in vec(vec(any_sighting(), 1..6), 3)) {
        let mirrors: Vec<_> = parts.iter().map(|part| folded(&[part])).collect();
        let [a, b, c] = mirrors.as_slice() else { panic!("three parts") };
        let left = a.clone().join(b.clone()).join(c.clone());
        prop_assert_eq!(&left, &a.clone().join(b.clone().join(c.clone())));
        prop_assert_eq!(&left, &c.clone().join(a.clone()).join(b.clone()));
        prop_assert_eq!(&left, &left.clone().join(left.clone()));
        prop_assert_eq!(left, folded(&[&parts.concat()]));
    }

    /// Against an oracle that knows all snapshots at once.
    #[test]
    fn the_greatest_snapshot_stands(seen in vec(any_sighting(), 1..20)) {
        let mirror = folded(&seen.chunks(1).collect::<Vec<_>>());
        // Merged is the only final; a merge and anything else never contest each other.
        for sighting in &seen {
            let is_merge = sighting.content.words.reading() == PullRequestState::Merged;
            prop_assert_eq!(sighting.version.finality == Finality::Final, is_merge);
        }
        let merges: Vec<_> =
            seen.iter().filter(|s| s.content.words.reading() == PullRequestState::Merged).collect();
        prop_assert_eq!(mirror.is_final(), !merges.is_empty());
        let top = seen.iter().map(|s| s.version).max().unwrap();
        let tops: Vec<_> = seen.iter().filter(|s| s.version == top).map(|s| &s.content).collect();
        prop_assert_eq!(mirror.version, top);
        prop_assert_eq!(&mirror.content, *tops.iter().max().unwrap());
        prop_assert_eq!(mirror.contested, tops.iter().any(|content| content.contradicts(tops[0])));
        // The first merge that was told, and what claims to be newer than the last.
        prop_assert_eq!(mirror.ended_at, merges.iter().map(|s| s.version.at).min());
        let lives_on = mirror.is_final() && seen.iter().any(|s| {
            s.content.words.reading() != PullRequestState::Merged && top.at < s.version.at
        });
        prop_assert_eq!(mirror.irregular().contains(&Irregular::LiveAfterFinal), lives_on);
        let changed = merges.iter().any(|s| s.content.words != merges[0].content.words);
        prop_assert_eq!(mirror.irregular().contains(&Irregular::FinalChanged), changed);
        // The latest settled read confirms what it repeats and disputes a merge that it does not know.
        let latest_read = seen.iter().filter_map(|s| s.confirmation.as_ref()).max();
        prop_assert_eq!(mirror.confirmation.as_ref(), latest_read);
        let settled = latest_read.filter(|r| r.started_at.duration_since(top.at).as_secs() >= 60);
        let same = settled.map(|r| r.words == mirror.content.words);
        prop_assert_eq!(mirror.is_confirmed(), same == Some(true) && !mirror.contested);
        prop_assert_eq!(mirror.is_disputed(), same == Some(false) && mirror.is_final());
        let closed = mirror.reading() == PullRequestState::Closed;
        prop_assert_eq!(mirror.is_over(), mirror.is_final() || (closed && mirror.is_confirmed()));
    }

    /// A settled read of the last second ends every contest about it.
    #[test]
    fn a_settled_read_settles_a_pull_request(
        seen in vec(any_sighting(), 1..20),
        (_, truth) in any_snapshot(),
    ) {
        let truth = sighting(5, truth, &read(1000));
        let mut all: Vec<_> =
            seen.into_iter().filter(|s| s.version.finality <= truth.version.finality).collect();
        all.push(truth.clone());
        let mirror = folded(&[&all]);
        prop_assert!(!mirror.contested);
        prop_assert_eq!(&mirror.content, &truth.content);
        prop_assert!(mirror.is_confirmed());
    }

    /// Reviews: commutative, associative, idempotent.
    #[test]
    fn reviews_join_in_any_order(
        reads in vec(any_reviews(), 1..8),
        order in vec(any::<Index>(), 20),
        again in vec(any::<Index>(), 0..6),
        middle in any::<Index>(),
    ) {
        let joined = |reads: &[Reviews]| reads.iter().cloned().fold(Reviews::default(), Reviews::join);
        let straight = joined(&reads);
        prop_assert_eq!(&straight, &joined(&rearranged(&reads, &order, &again)));
        let (one, two) = reads.split_at(middle.index(reads.len()));
        prop_assert_eq!(&straight, &joined(two).join(joined(one)));
    }

    /// Reviews against an oracle: a dismissed one stays dismissed, nothing that was read is lost, and the latest settled read
    /// of a review is what stands of it.
    #[test]
    fn a_review_is_what_was_read_last_unless_it_was_dismissed(
        reads in vec((0..200_i64, vec(any_review(), 0..5)), 1..8),
    ) {
        let mut known = Reviews::default();
        let mut told: BTreeMap<ReviewId, Vec<(i64, ReviewContent)>> = BTreeMap::new();
        for (at, reviews) in &reads {
            known = known.join(Reviews::read(&read(*at), reviews).unwrap());
            for (id, content) in reviews {
                told.entry(*id).or_default().push((*at, content.clone()));
            }
        }
        prop_assert_eq!(known.read_at, reads.iter().map(|(at, _)| second(*at)).max());
        prop_assert!(known.registers.keys().eq(told.keys()));
        for (id, told) in told {
            let mirror = &known.registers[&id];
            let is_dismissed = |c: &ReviewContent| c.words.reading() == Verdict::Dismissed;
            let dismissed = told.iter().any(|(_, content)| is_dismissed(content));
            prop_assert_eq!(is_dismissed(&mirror.content), dismissed);
            let submitted = told[0].1.submitted_at;
            let settled = |at: i64| second(at).duration_since(submitted).as_secs() >= 60;
            let last = told.iter().filter(|(at, c)| settled(*at) && is_dismissed(c) == dismissed)
                .map(|(at, _)| *at).max();
            if let Some(last) = last {
                let stands = |(at, c): &(i64, ReviewContent)| *at == last && *c == mirror.content;
                prop_assert!(told.iter().any(stands));
            }
        }
    }

    /// Proposals: whatever is seen, in whatever order, doubled and in whatever batches, the same is known and follows.
    #[test]
    fn a_proposal_follows_from_what_was_seen_in_any_order(
        sightings in vec(any_proposal_sighting(), 1..24),
        order in vec(any::<Index>(), 40),
        again in vec(any::<Index>(), 0..12),
        sizes in vec(1..8_usize, 1..6),
    ) {
        let (straight, _) = one_by_one(&sightings);
        let shuffled = rearranged(&sightings, &order, &again);
        let (other, _) = advanced(&cut(&shuffled, &sizes));
        prop_assert_eq!(&straight.observed, &other.observed);
        prop_assert_eq!(straight.state(), other.state());
        prop_assert_eq!(straight.provenance(), other.provenance());
        prop_assert_eq!(straight.merge_approval(), other.merge_approval());
        prop_assert_eq!(straight.needs_a_read(), other.needs_a_read());
        if straight.is_publishable() {
            let told = |proposal: &ChangeProposal| proposal.announced.unwrap().state;
            prop_assert_eq!(told(&straight), straight.state());
            prop_assert_eq!(told(&other), straight.state());
        }
    }

    /// What is known joins in any bracketing.
    #[test]
    fn what_is_known_of_a_proposal_joins_in_any_bracketing(
        parts in vec(vec(any_proposal_sighting(), 1..8), 3),
    ) {
        let known: Vec<_> = parts.iter().map(|part| one_by_one(part).0.observed).collect();
        let [a, b, c] = known.as_slice() else { panic!("three parts") };
        let left = a.clone().join(b.clone()).join(c.clone());
        prop_assert_eq!(&left, &a.clone().join(b.clone().join(c.clone())));
        prop_assert_eq!(&left, &c.clone().join(a.clone()).join(b.clone()));
        prop_assert_eq!(&left, &left.clone().join(Observed::default()));
        prop_assert_eq!(left, one_by_one(&parts.concat()).0.observed);
    }

    /// A merge is for ever, once the pull request is known to be the proposal's.
    #[test]
    fn merged_stays_merged(
        before in vec(any_proposal_sighting(), 0..12),
        after in vec(any_proposal_sighting(), 0..12),
    ) {
        let merge = sighting(3, snapshot("closed", merged('5'), 'f'), &delivered(3));
        let mut history = [before, vec![pushed(), seen(merge)], after].concat();
        // A commit has one content: what else was generated under the Factory's id is no host's answer.
        for sighting in &mut history {
            if let ProposalSighting::Commits(commits) = sighting {
                commits.retain(|id, commit| *id != key(11, 'f') || *commit == factory_commit());
            }
        }
        prop_assert_eq!(one_by_one(&history).0.state(), ProposalState::Merged);
    }

    /// The world hears of every change that it is told the outcome of, once and in order; of an opening and a merge at most
    /// once; and never of what is contested.
    #[test]
    fn events_tell_what_a_proposal_came_to(
        sightings in vec(any_proposal_sighting(), 1..24),
        sizes in vec(1..8_usize, 1..6),
    ) {
        let (proposal, events) = advanced(&cut(&sightings, &sizes));
        let of = |kind| events.iter().filter(move |event| event.kind == kind);
        prop_assert!(of(ProposalEventKind::ChangeProposalOpened).count() <= 1);
        let mut state = ProposalState::Proposed;
        for event in of(ProposalEventKind::ChangeProposalStateChanged) {
            prop_assert_eq!(event.from, Some(state));
            prop_assert_ne!(event.state, state);
            prop_assert_eq!(event.transition, transition(state, event.state));
            state = event.state;
        }
        prop_assert_eq!(proposal.announced.unwrap().state, state);
        let merges = of(ProposalEventKind::ChangeProposalMerged).count();
        let changes = of(ProposalEventKind::ChangeProposalStateChanged)
            .filter(|event| event.state == ProposalState::Merged).count();
        prop_assert_eq!(merges, changes);
        prop_assert!(events.is_sorted_by_key(|event| event.sequence));
        let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        prop_assert_eq!(ids.len(), events.len());
        prop_assert!(proposal.announced.unwrap().revision <= proposal.revision);
    }

    /// Doubt is asked when it arises; and what is not over is due.
    #[test]
    fn what_is_open_is_due(sightings in vec(any_proposal_sighting(), 1..24)) {
        let mut proposal = ChangeProposal::propose(declared(), second(0));
        for sighting in &sightings {
            let advanced = proposal.advance(std::slice::from_ref(sighting), second(1000));
            let Some(next) = advanced.write else { continue };
            if let Some(reason) = next.needs_a_read() {
                if next.observed != proposal.observed {
                    prop_assert_eq!(advanced.ask_again, Some(reason));
                }
                prop_assert!(next.due.is_some());
            }
            let over = match next.leading() {
                Some(leading) => leading.mirror.is_over(),
                None => next.state() == ProposalState::Abandoned,
            };
            prop_assert!(over || next.due.is_some());
            proposal = next;
        }
    }

    /// Lost deliveries: however many of the steps in between were never seen, the last words of each subject give the state.
    #[test]
    fn the_state_is_derived_and_not_stepped(
        steps in vec((select(vec!["open", "closed"]), select(vec!['f', 'a'])), 1..8),
        verdicts in vec((select(vec!["APPROVED", "CHANGES_REQUESTED"]), select(vec!['f', 'a'])), 0..4),
        kept in vec(any::<bool>(), 12),
    ) {
        let snapshots: Vec<_> = steps.iter().zip(1..).map(|((state, head), step)| {
            seen(sighting(step * 100, snapshot(state, no(), *head), &delivered(step * 100)))
        }).collect();
        let given: Vec<_> = verdicts.iter().zip(1_u32..)
            .map(|((verdict, on), at)| {
                (ReviewId(u64::from(at)), review(verdict, *on, 5, i64::from(at)))
            }).collect();
        let reads: Vec<_> = (0..=given.len()).zip(2000..)
            .map(|(some, at)| reviews_read(at, &given[..some])).collect();
        let all = [vec![pushed()], snapshots.clone(), reads.clone()].concat();
        let mut few = vec![pushed()];
        for subject in [snapshots, reads] {
            let (last, others) = subject.split_last().unwrap();
            few.extend(others.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(s, _)| s.clone()));
            few.push(last.clone());
        }
        prop_assert_eq!(one_by_one(&all).0.state(), one_by_one(&few).0.state());
    }
}

/// The laws say little about histories that lead nowhere.
#[test]
fn the_generated_histories_reach_every_state() {
    let mut runner = TestRunner::deterministic();
    let mut reached: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..2000 {
        let history = vec(any_proposal_sighting(), 1..24).new_tree(&mut runner).unwrap().current();
        let (proposal, _) = one_by_one(&history);
        let contested = proposal.leading().is_some_and(|leading| leading.mirror.contested);
        for reached_by in [proposal.state().as_str(), if contested { "contested" } else { "not" }] {
            *reached.entry(reached_by).or_default() += 1;
        }
    }
    for state in ProposalState::ALL.map(ProposalState::as_str).into_iter().chain(["contested"]) {
        assert!(reached.get(state).is_some_and(|times| *times > 20), "{state}: {reached:?}");
    }
}

// ---- Stories ----

fn seen(sighting: Sighting<PullRequestContent>) -> ProposalSighting {
    ProposalSighting::PullRequest { number: number(1), sighting: Box::new(sighting) }
}

fn factory_commit() -> SeenCommit {
    seen_commit(&['0'], 'e', our_trailers())
}

/// The Factory's commit, as it was read.
fn pushed() -> ProposalSighting {
    ProposalSighting::Commits(BTreeMap::from([(key(11, 'f'), factory_commit())]))
}

fn branch(at: i64, head: char) -> ProposalSighting {
    ProposalSighting::Branch(Branch::found(second(at), commit(head)))
}

fn no_branch(at: i64) -> ProposalSighting {
    ProposalSighting::Branch(Branch::absent(second(at)))
}

fn open(at: i64, head: char) -> ProposalSighting {
    seen(sighting(at, snapshot("open", no(), head), &delivered(at)))
}

fn closed(at: i64) -> ProposalSighting {
    seen(sighting(at, snapshot("closed", no(), 'f'), &delivered(at)))
}

fn merge(at: i64) -> ProposalSighting {
    seen(sighting(at, snapshot("closed", merged('5'), 'f'), &delivered(at)))
}

fn reviews_read(at: i64, reviews: &[(ReviewId, ReviewContent)]) -> ProposalSighting {
    let reviews = Reviews::read(&read(at), reviews).unwrap();
    ProposalSighting::Reviews { number: number(1), reviews }
}

fn verdict(at: i64, verdict: &str, on: char) -> ProposalSighting {
    let id = ReviewId(u64::try_from(at).unwrap());
    reviews_read(at + 1, &[(id, review(verdict, on, 5, at))])
}

fn state(history: &[ProposalSighting]) -> ProposalState {
    one_by_one(history).0.state()
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

/// A history, then one more thing: from this state to that one, told and judged so.
fn step(
    before: &[ProposalSighting],
    then: &[ProposalSighting],
    expected: (ProposalState, ProposalState, Transition),
) {
    let (proposal, _) = one_by_one(before);
    assert_eq!(proposal.state(), expected.0, "before {then:?}");
    let next = proposal.advance(then, second(5000)).write.unwrap();
    assert_eq!(next.state(), expected.1, "after {then:?}");
    let (old, new) = (proposal.announced.as_ref(), next.announced.as_ref());
    assert_eq!(new.unwrap().transition(), expected.2, "{} to {}", expected.0, expected.1);
    let events = events_between(proposal.declared.id, old, new);
    let change = events.iter().find(|e| e.kind == ProposalEventKind::ChangeProposalStateChanged);
    let change = change.unwrap();
    assert_eq!((change.from, change.state), (Some(expected.0), expected.1));
    assert_eq!(change.transition, expected.2);
}

#[test]
fn every_row_of_the_list_of_states_follows_from_what_was_seen() {
    use ProposalState as S;
    use Transition::{Expected, Irregular};
    let branched = vec![pushed(), branch(10, 'f')];
    let opened = [branched.clone(), vec![open(100, 'f')]].concat();
    let approved = [opened.clone(), vec![verdict(200, "APPROVED", 'f')]].concat();
    let refused = [opened.clone(), vec![verdict(200, "CHANGES_REQUESTED", 'f')]].concat();
    let dismissed = reviews_read(400, &[(ReviewId(200), review("DISMISSED", 'f', 5, 200))]);
    let abandoned = [opened.clone(), vec![closed(300)]].concat();
    // The diagram.
    step(&[], &branched, (S::Proposed, S::BranchCreated, Expected));
    step(&branched, &[open(100, 'f')], (S::BranchCreated, S::PullRequestOpen, Expected));
    let asks = verdict(200, "CHANGES_REQUESTED", 'f');
    step(&opened, &[asks], (S::PullRequestOpen, S::ChangesRequested, Expected));
    step(&refused, &[open(300, 'a')], (S::ChangesRequested, S::PullRequestOpen, Expected));
    let approves = verdict(300, "APPROVED", 'f');
    step(&opened, std::slice::from_ref(&approves), (S::PullRequestOpen, S::Approved, Expected));
    step(&approved, &[merge(500)], (S::Approved, S::Merged, Expected));
    step(&opened, &[closed(300)], (S::PullRequestOpen, S::Abandoned, Expected));
    // What systems of record do besides.
    step(&refused, &[approves], (S::ChangesRequested, S::Approved, Expected));
    let asks = verdict(300, "CHANGES_REQUESTED", 'f');
    step(&approved, &[asks], (S::Approved, S::ChangesRequested, Expected));
    step(&approved, std::slice::from_ref(&dismissed), (S::Approved, S::PullRequestOpen, Expected));
    step(&approved, &[open(300, 'a')], (S::Approved, S::PullRequestOpen, Expected));
    step(&refused, &[closed(300)], (S::ChangesRequested, S::Abandoned, Expected));
    step(&approved, &[closed(300)], (S::Approved, S::Abandoned, Expected));
    step(&abandoned, &[open(400, 'f')], (S::Abandoned, S::PullRequestOpen, Expected));
    step(&branched, &[no_branch(100)], (S::BranchCreated, S::Abandoned, Expected));
    // What is flagged: merges without an approval, and jumps.
    step(&opened, &[merge(500)], (S::PullRequestOpen, S::Merged, Irregular));
    step(&refused, &[merge(500)], (S::ChangesRequested, S::Merged, Irregular));
    step(&[], &[pushed(), open(100, 'f')], (S::Proposed, S::PullRequestOpen, Irregular));
    step(&[], &approved, (S::Proposed, S::Approved, Irregular));
    step(&[], &[pushed(), merge(500)], (S::Proposed, S::Merged, Irregular));
    step(&branched, &[merge(500)], (S::BranchCreated, S::Merged, Irregular));
    step(&abandoned, &[merge(500)], (S::Abandoned, S::Merged, Irregular));
}

#[test]
fn the_diagram_has_these_arrows_and_no_others() {
    use ProposalState as S;
    let drawn = [
        (S::Proposed, S::BranchCreated),
        (S::BranchCreated, S::PullRequestOpen),
        (S::BranchCreated, S::Abandoned),
        (S::PullRequestOpen, S::ChangesRequested),
        (S::PullRequestOpen, S::Approved),
        (S::PullRequestOpen, S::Abandoned),
        (S::ChangesRequested, S::PullRequestOpen),
        (S::ChangesRequested, S::Approved),
        (S::ChangesRequested, S::Abandoned),
        (S::Approved, S::PullRequestOpen),
        (S::Approved, S::ChangesRequested),
        (S::Approved, S::Merged),
        (S::Approved, S::Abandoned),
        (S::Abandoned, S::PullRequestOpen),
    ];
    for old in S::ALL {
        assert_eq!(S::from_word(old.as_str()), Some(old));
        for new in S::ALL {
            let expected = old == new || drawn.contains(&(old, new));
            let expected = if expected { Transition::Expected } else { Transition::Irregular };
            assert_eq!(transition(old, new), expected, "{old} to {new}");
        }
    }
}

#[test]
fn a_merge_without_an_approval_is_told_apart_once_the_reviews_were_read() {
    let merged_at = |content: &mut PullRequestContent| content.merged_at = Some(second(500));
    let mut content = snapshot("closed", merged('5'), 'f');
    merged_at(&mut content);
    let merge = seen(sighting(500, content, &delivered(500)));
    let approval = |reviews: &[ProposalSighting]| {
        let history = [vec![pushed(), open(100, 'f'), merge.clone()], reviews.to_vec()].concat();
        let (proposal, _) = one_by_one(&history);
        assert_eq!(proposal.state(), ProposalState::Merged);
        assert_eq!(proposal.merged_commit(), Some(&commit('5')));
        (proposal.merge_approval(), proposal.due.is_some())
    };
    let of = |at, verdict, on, submitted| {
        reviews_read(at, &[(ReviewId(1), review(verdict, on, 5, submitted))])
    };
    assert_eq!(approval(&[]), (MergeApproval::Unread, true));
    assert_eq!(approval(&[of(559, "APPROVED", 'f', 200)]), (MergeApproval::Unread, true));
    assert_eq!(approval(&[of(560, "APPROVED", 'f', 200)]), (MergeApproval::Given, false));
    assert_eq!(approval(&[of(560, "APPROVED", 'f', 500)]), (MergeApproval::Given, false));
    assert_eq!(approval(&[of(560, "APPROVED", 'f', 501)]), (MergeApproval::Missing, false));
    assert_eq!(approval(&[of(560, "APPROVED", 'a', 200)]), (MergeApproval::Missing, false));
    assert_eq!(
        approval(&[of(560, "CHANGES_REQUESTED", 'f', 200)]),
        (MergeApproval::Missing, false)
    );
    assert_eq!(approval(&[reviews_read(560, &[])]), (MergeApproval::Missing, false));
    assert!(!one_by_one(&[pushed(), open(100, 'f')]).0.merged_without_approval());
}

#[test]
fn a_read_that_lags_behind_a_dismissal_does_not_undo_it_and_is_asked_again() {
    let of = |at, verdict| reviews_read(at, &[(ReviewId(1), review(verdict, 'f', 5, 10))]);
    for order in orders(&[pushed(), open(5, 'f'), of(200, "DISMISSED"), of(300, "APPROVED")]) {
        let (proposal, _) = one_by_one(&order);
        assert_eq!(proposal.state(), ProposalState::PullRequestOpen);
        assert_eq!(proposal.needs_a_read(), Some(AskReason::Disputed));
    }
}

#[test]
fn a_snapshot_that_does_not_tell_of_a_merge_observes_nothing() {
    // What a review embeds: closed, and no word of a merge.
    let embedded = fact(900, snapshot("closed", Merge::told(None, None, Some(commit('5'))), 'f'));
    assert_eq!(embedded.sighting(&delivered(900), None), None);
    assert_eq!(embedded.sighting(&read(2000), None), None);
    let open = fact(900, snapshot("open", Merge::NotTold, 'f'));
    assert_eq!(open.sighting(&delivered(900), None), None);
}

#[test]
fn two_pushes_of_one_second_are_contested_and_asked_and_told_when_settled() {
    let before = [pushed(), branch(10, 'f'), open(100, 'f'), verdict(150, "APPROVED", 'f')];
    let (proposal, _) = one_by_one(&before);
    let one = proposal.advance(&[open(300, 'a')], second(301)).write.unwrap();
    let contested = one.advance(&[open(300, 'f')], second(302));
    assert_eq!(contested.ask_again, Some(AskReason::Contested));
    assert_eq!(contested.outcomes, [Outcome::Contested]);
    let two = contested.write.unwrap();
    assert!(two.leading().unwrap().mirror.contested);
    assert_eq!(two.announced, one.announced, "nothing is told of a contest");
    let truth = seen(sighting(300, snapshot("open", no(), 'f'), &read(360)));
    let settled = two.advance(&[truth], second(361)).write.unwrap();
    assert_eq!(settled.announced.unwrap().state, ProposalState::Approved);
    for order in orders(&[open(300, 'a'), open(300, 'f')]) {
        let (other, _) = one_by_one(&[before.to_vec(), order].concat());
        assert_eq!(other.observed, two.observed);
    }
}

#[test]
fn a_label_of_the_same_second_contests_nothing() {
    let mut labelled = snapshot("open", no(), 'f');
    labelled.labels = Labels::new(["factory"]);
    labelled.base_commit = Some(commit('c'));
    let labelled = seen(sighting(100, labelled, &delivered(100)));
    for order in orders(&[pushed(), open(100, 'f'), labelled]) {
        let (proposal, _) = one_by_one(&order);
        let mirror = proposal.leading().unwrap().mirror;
        assert!(!mirror.contested);
        assert_eq!(mirror.content.labels.as_slice().len(), 1, "in every order");
    }
}

#[test]
fn an_open_snapshot_after_the_merge_is_recorded_and_changes_nothing() {
    for order in orders(&[pushed(), merge(100), open(200, 'a')]) {
        let (proposal, _) = one_by_one(&order);
        assert_eq!(proposal.state(), ProposalState::Merged);
        assert_eq!(proposal.irregular(), [Irregular::LiveAfterFinal]);
        assert_eq!(proposal.merged_commit(), Some(&commit('5')));
    }
}

#[test]
fn a_settled_read_against_a_told_merge_disputes_it() {
    let truth = seen(sighting(100, snapshot("open", no(), 'f'), &read(160)));
    for order in orders(&[pushed(), merge(100), truth]) {
        let (proposal, _) = one_by_one(&order);
        assert_eq!(proposal.state(), ProposalState::Merged);
        assert!(proposal.irregular().contains(&Irregular::Disputed));
        assert_eq!(proposal.needs_a_read(), Some(AskReason::Disputed));
        assert!(!proposal.is_confirmed());
    }
}

#[test]
fn closed_without_a_merge_is_due_until_one_settled_read_confirms_it() {
    let read_closed = |at| seen(sighting(300, snapshot("closed", no(), 'f'), &read(at)));
    let due = |history: &[ProposalSighting]| {
        let history = [vec![pushed(), open(100, 'f')], history.to_vec()].concat();
        one_by_one(&history).0.due.is_some()
    };
    assert!(due(&[]));
    assert!(due(&[closed(300)]));
    assert!(due(&[closed(300), read_closed(359)]), "an unsettled read counts like a delivery");
    assert!(!due(&[closed(300), read_closed(360)]));
    assert!(due(&[closed(300), read_closed(360), open(400, 'f')]), "reopened");
    let read_open = seen(sighting(100, snapshot("open", no(), 'f'), &read(250)));
    assert!(due(&[read_open, closed(300)]), "a settled read of before confirms nothing");
}

#[test]
fn a_deleted_branch_is_an_end_only_when_the_answer_cannot_lag() {
    let of = |history: &[ProposalSighting]| state(&[vec![pushed()], history.to_vec()].concat());
    assert_eq!(of(&[]), ProposalState::Proposed);
    assert_eq!(of(&[no_branch(5)]), ProposalState::Proposed, "never seen");
    assert_eq!(of(&[branch(10, 'f'), no_branch(69)]), ProposalState::BranchCreated);
    assert_eq!(of(&[branch(10, 'f'), no_branch(70)]), ProposalState::Abandoned);
    assert_eq!(of(&[no_branch(70), branch(10, 'f')]), ProposalState::Abandoned);
    assert_eq!(
        of(&[branch(10, 'f'), no_branch(70), branch(80, 'f')]),
        ProposalState::BranchCreated
    );
    assert_eq!(one_by_one(&[pushed(), branch(10, 'f'), no_branch(70)]).0.due, None);
}

#[test]
fn a_name_proves_nothing() {
    // A pull request and a branch of that name, unread: asked, and nothing follows.
    let (proposal, events) = one_by_one(&[branch(10, 'f'), open(100, 'f')]);
    assert_eq!(proposal.state(), ProposalState::Proposed);
    assert_eq!(proposal.binding(number(1)), Some(Binding::Candidate));
    assert_eq!(proposal.needs_a_read(), Some(AskReason::Unproven));
    assert_eq!(events, []);
    for alone in [branch(10, 'f'), open(100, 'f')] {
        let (proposal, _) = one_by_one(&[alone]);
        assert_eq!(proposal.needs_a_read(), Some(AskReason::Unproven));
    }
    // Read, and somebody else's although its trailers name this proposal.
    let copied = seen_commit(&['0'], '9', our_trailers());
    let copied = ProposalSighting::Commits(BTreeMap::from([(key(11, 'f'), copied)]));
    let (proposal, events) = one_by_one(&[branch(10, 'f'), open(100, 'f'), copied]);
    assert_eq!(proposal.state(), ProposalState::Proposed);
    assert_eq!(proposal.binding(number(1)), Some(Binding::Foreign));
    assert_eq!(proposal.needs_a_read(), None);
    assert_eq!(events, []);
}

#[test]
fn a_fork_with_the_same_branch_and_even_the_same_commit_feeds_nothing() {
    for home in [Some(repository_id(77)), None] {
        let mut fork = snapshot("closed", merged('5'), 'f');
        fork.head_repository = home;
        let fork = seen(sighting(100, fork, &delivered(100)));
        let (proposal, _) = one_by_one(&[pushed(), branch(10, 'f'), fork]);
        assert_eq!(proposal.state(), ProposalState::BranchCreated);
        assert!(proposal.observed.pull_requests.is_empty());
    }
    let mut other = snapshot("open", no(), 'f');
    other.head_branch = Text::new("factory/changes");
    let other = seen(sighting(100, other, &delivered(100)));
    assert_eq!(state(&[pushed(), branch(10, 'f'), other]), ProposalState::BranchCreated);
}

#[test]
fn a_commit_on_top_is_kept_as_foreign_and_the_pull_request_still_is_the_proposals() {
    let on_top = seen_commit(&['f'], '9', FactoryTrailers::Absent);
    let on_top = ProposalSighting::Commits(BTreeMap::from([(key(11, 'a'), on_top)]));
    let (proposal, _) = one_by_one(&[pushed(), on_top, open(100, 'a')]);
    assert_eq!(proposal.state(), ProposalState::PullRequestOpen);
    let verdicts: Vec<_> = proposal.provenance().into_values().map(Provenance::as_str).collect();
    assert_eq!(verdicts, ["Foreign:NoTrailers", "Factory"]);
}

#[test]
fn the_first_merge_leads_and_then_the_latest_that_is_open() {
    let of = |n: u64, at: i64, state: &str, merge: Merge| ProposalSighting::PullRequest {
        number: number(n),
        sighting: Box::new(sighting(at, snapshot(state, merge, 'f'), &delivered(at))),
    };
    let leads = |history: &[ProposalSighting]| {
        let (proposal, _) = one_by_one(&[vec![pushed()], history.to_vec()].concat());
        (proposal.leading().unwrap().number.get(), proposal.state())
    };
    use ProposalState as S;
    let one_closed = of(1, 100, "closed", no());
    assert_eq!(leads(std::slice::from_ref(&one_closed)), (1, S::Abandoned));
    let two_open = of(2, 50, "open", no());
    assert_eq!(leads(&[one_closed.clone(), two_open.clone()]), (2, S::PullRequestOpen));
    assert_eq!(leads(&[one_closed, of(2, 200, "closed", no())]), (2, S::Abandoned));
    let one_merged = of(1, 300, "closed", merged('5'));
    assert_eq!(leads(&[one_merged.clone(), two_open]), (1, S::Merged));
    assert_eq!(leads(&[of(2, 100, "closed", merged('6')), one_merged]), (1, S::Merged));
    let many: Vec<_> = (1..=100).map(|n| of(n, 100, "open", no())).collect();
    let (proposal, _) = one_by_one(&[vec![pushed()], many].concat());
    assert_eq!(proposal.observed.pull_requests.len(), PULL_REQUESTS_MAX);
    assert!(proposal.observed.pull_requests.contains_key(&number(1)));
}

#[test]
fn a_decision_may_rest_on_settled_reads_of_the_pull_request_and_its_reviews_only() {
    let truth = |at| seen(sighting(100, snapshot("open", no(), 'f'), &read(at)));
    let confirmed = |history: &[ProposalSighting]| {
        one_by_one(&[vec![pushed()], history.to_vec()].concat()).0.is_confirmed()
    };
    assert!(!confirmed(&[open(100, 'f')]));
    assert!(!confirmed(&[open(100, 'f'), truth(160)]), "the reviews were not read");
    assert!(!confirmed(&[open(100, 'f'), truth(159), reviews_read(160, &[])]));
    assert!(!confirmed(&[open(100, 'f'), truth(160), reviews_read(159, &[])]));
    assert!(confirmed(&[open(100, 'f'), truth(160), reviews_read(160, &[])]));
    // A change of target moves no head, and takes the confirmation away all the same.
    let mut retargeted = snapshot("open", no(), 'f');
    retargeted.words.base_branch = Text::new("develop");
    let retargeted = seen(sighting(120, retargeted, &delivered(120)));
    assert!(!confirmed(&[truth(600), reviews_read(600, &[]), retargeted]));
}

#[test]
fn an_opening_that_was_never_seen_is_told_with_what_followed() {
    let kinds = |events: Vec<ProposalEvent>| -> Vec<_> {
        events.into_iter().map(|event| event.kind.as_str()).collect()
    };
    let (_, events) = advanced(&[&[pushed(), merge(500)]]);
    assert_eq!(
        kinds(events),
        ["ChangeProposalOpened", "ChangeProposalStateChanged", "ChangeProposalMerged"]
    );
    // Found closed after its branch was found deleted: opened after all, and nothing else changed.
    let (_, events) = advanced(&[&[pushed(), branch(10, 'f'), no_branch(90)], &[closed(50)]]);
    assert_eq!(kinds(events), ["ChangeProposalStateChanged", "ChangeProposalOpened"]);
    // One announcement after another: what is the same in both is not told again.
    let announced = |state, opened, revision| {
        Some(ProposalAnnounced { state, from: None, opened, revision: Revision(revision) })
    };
    let between = |old: Option<ProposalAnnounced>, new: Option<ProposalAnnounced>| {
        kinds(events_between(ProposalId(Uuid::nil()), old.as_ref(), new.as_ref())).join(" ")
    };
    let merged = |opened, revision| announced(ProposalState::Merged, opened, revision);
    assert_eq!(between(None, None), "");
    assert_eq!(between(merged(true, 2), merged(true, 3)), "");
    assert_eq!(between(merged(false, 2), merged(true, 3)), "ChangeProposalOpened");
    assert_eq!(between(None, announced(ProposalState::Proposed, false, 1)), "");
}

#[test]
fn a_version_of_the_far_future_is_recognised() {
    let limit = SignedDuration::from_mins(5).as_secs();
    let of = |at| fact(at, snapshot("open", no(), 'f')).is_from_the_future(&delivered(0));
    assert!(!of(limit));
    assert!(of(limit + 1));
}

#[test]
fn a_delivery_fills_no_reviews_and_too_many_reviews_keep_the_latest_in_any_order() {
    assert_eq!(Reviews::read(&delivered(1), &[]), None);
    let all: Vec<_> = (1..=u64::try_from(REVIEWS_MAX).unwrap() + 50)
        .map(|id| (ReviewId(id), review("APPROVED", 'f', id, 1)))
        .collect();
    let parts: Vec<_> =
        all.chunks(190).map(|part| Reviews::read(&read(500), part).unwrap()).collect();
    for order in orders(&parts) {
        let joined = order.into_iter().fold(Reviews::default(), Reviews::join);
        assert!(joined.truncated);
        assert_eq!(joined.registers.len(), REVIEWS_MAX);
        assert_eq!(joined.registers.first_key_value().unwrap().0, &ReviewId(51));
        assert_eq!(joined.overall(&commit('f'), None), Overall::None);
    }
}

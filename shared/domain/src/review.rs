//! The reviews of a pull request, as reads of its review list tell them.
//!
//! A delivered review carries no version and is only a hint. What is read is a list of registers, one per review, each a
//! mirror of its own: a review hardly ever changes, and once dismissed it stays dismissed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;

use crate::fold::{AskReason, Content, Finality, Mirror};
use crate::ids::{AccountId, CommitId, ReviewId};
use crate::observation::{self, Origin};
use crate::words::Word;

/// How many reviews of one pull request are kept: the latest, so that an item stays far below what a table can hold.
///
/// Where there were more, an older request for changes may be among those let go, so nothing counts as approved.
pub const REVIEWS_MAX: usize = 500;

/// What kind of account reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReviewerKind {
    /// A person's account.
    Person,
    /// A machine's account.
    Bot,
    /// An installed application.
    App,
    /// The account is gone, or the host does not tell it.
    Ghost,
}

impl ReviewerKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Person, Self::Bot, Self::App, Self::Ghost];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "Person",
            Self::Bot => "Bot",
            Self::App => "App",
            Self::Ghost => "Ghost",
        }
    }

    /// The kind that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What a review says, by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The change is good.
    Approved,
    /// The change must change.
    ChangesRequested,
    /// Neither; it takes nothing back.
    Commented,
    /// Somebody took the review's verdict away, for ever.
    Dismissed,
    /// A word that we do not know.
    Unknown,
}

impl Verdict {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "Approved",
            Self::ChangesRequested => "ChangesRequested",
            Self::Commented => "Commented",
            Self::Dismissed => "Dismissed",
            Self::Unknown => "Unknown",
        }
    }
}

/// A review's own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReviewWords {
    /// The verdict, verbatim.
    pub verdict: Word,
    /// Whether it was dismissed. The verdict's word may still be the old one.
    pub dismissed: bool,
}

impl ReviewWords {
    /// Reads GitHub's words, without case: deliveries write them in lower case and REST in upper case.
    #[must_use]
    pub fn reading(&self) -> Verdict {
        let is = |word: &str| self.verdict.as_str().eq_ignore_ascii_case(word);
        if self.dismissed || is("dismissed") {
            Verdict::Dismissed
        } else if is("approved") {
            Verdict::Approved
        } else if is("changes_requested") {
            Verdict::ChangesRequested
        } else if is("commented") {
            Verdict::Commented
        } else {
            Verdict::Unknown
        }
    }
}

/// What was seen of a review that was submitted; a pending one is its author's draft. The order of the fields is the fixed
/// order of contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReviewContent {
    /// Its words.
    pub words: ReviewWords,
    /// When it was submitted.
    pub submitted_at: Timestamp,
    /// The commit that was reviewed; none when the host no longer has it.
    pub commit: Option<CommitId>,
    /// Who reviewed; none when the account is gone.
    pub reviewer: Option<AccountId>,
    /// What kind of account that is.
    pub kind: ReviewerKind,
}

impl ReviewContent {
    /// Whether an approval of this account counts. A machine, an account that is gone and one that the host does not tell
    /// count as nobody.
    #[must_use]
    pub fn is_of_a_person(&self) -> bool {
        match self.kind {
            ReviewerKind::Person => self.reviewer.is_some(),
            ReviewerKind::Bot | ReviewerKind::App | ReviewerKind::Ghost => false,
        }
    }
}

impl Content for ReviewContent {
    type Words = ReviewWords;

    fn words(&self) -> &ReviewWords {
        &self.words
    }

    fn finality(&self) -> Finality {
        match self.words.reading() {
            Verdict::Dismissed => Finality::Final,
            Verdict::Approved
            | Verdict::ChangesRequested
            | Verdict::Commented
            | Verdict::Unknown => Finality::Live,
        }
    }

    fn is_unknown(&self) -> bool {
        self.words.reading() == Verdict::Unknown
    }

    fn contradicts(&self, other: &Self) -> bool {
        // Accounts and commits vanish by themselves.
        self.words != other.words
    }
}

/// The verdict of a reviewer that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The review that gave it.
    pub review: ReviewId,
    /// Approved or changes requested.
    pub verdict: Verdict,
    /// Who, on which commit, when.
    pub content: &'a ReviewContent,
}

/// What all reviews together say of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overall {
    /// Nothing that stands.
    None,
    /// A person approved it, and nobody wants it changed.
    Approved,
    /// Somebody wants it changed.
    ChangesRequested,
}

/// All that is known of a pull request's reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reviews {
    /// Each review's register.
    pub registers: BTreeMap<ReviewId, Mirror<ReviewContent>>,
    /// When the latest read of the whole list started.
    pub read_at: Option<Timestamp>,
    /// Whether there were more than [`REVIEWS_MAX`].
    pub truncated: bool,
}

impl Reviews {
    /// What one read of a whole review list knows. A read that could not page to its end is no read, and what was
    /// delivered is not one either: both give nothing.
    #[must_use]
    pub fn read(origin: &Origin, reviews: &[(ReviewId, ReviewContent)]) -> Option<Self> {
        let read_at = match origin {
            Origin::Delivery(_) => return None,
            Origin::Read { started_at, .. } => *started_at,
        };
        let mut known = Self { read_at: Some(read_at), ..Self::default() };
        for (id, content) in reviews {
            let at = (content.submitted_at, None);
            known.put(*id, Mirror::of(&observation::sighting(content, at, origin, None)));
        }
        Some(known.bounded())
    }

    /// The least that knows what both know.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        for (id, mirror) in other.registers {
            self.put(id, mirror);
        }
        self.read_at = self.read_at.max(other.read_at);
        self.truncated |= other.truncated;
        self.bounded()
    }

    /// The latest verdict of each reviewer, among the reviews submitted until a time, if there is one.
    ///
    /// A comment takes no verdict back. A dismissal does, and does not bring an earlier verdict of that reviewer back. An
    /// account that is gone is told apart from every other.
    #[must_use]
    pub fn standing(&self, until: Option<Timestamp>) -> Vec<Standing<'_>> {
        let mut latest: BTreeMap<Reviewer<'_>, (Timestamp, Standing<'_>)> = BTreeMap::new();
        for (review, mirror) in &self.registers {
            let content = &mirror.content;
            let at = content.submitted_at;
            let verdict = content.words.reading();
            let decides = match verdict {
                Verdict::Approved | Verdict::ChangesRequested | Verdict::Dismissed => true,
                Verdict::Commented | Verdict::Unknown => false,
            };
            if !decides || until.is_some_and(|until| until < at) {
                continue;
            }
            let reviewer = match &content.reviewer {
                Some(account) => Reviewer::Known(account),
                None => Reviewer::Gone(*review),
            };
            let standing = Standing { review: *review, verdict, content };
            match latest.entry(reviewer) {
                // Of two reviews of one second the later id is the later review, and ids come in their order.
                Entry::Occupied(mut before) if before.get().0 <= at => {
                    before.insert((at, standing));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert((at, standing));
                }
            }
        }
        let standing = latest.into_values().map(|(_, standing)| standing);
        standing.filter(|standing| standing.verdict != Verdict::Dismissed).collect()
    }

    /// What the reviews submitted until a time say of this commit.
    ///
    /// A verdict about another commit says nothing of this one, whether or not the host takes it back when commits are
    /// pushed: an approval is an approval of what was reviewed. [`standing`](Self::standing) tells those too.
    #[must_use]
    pub fn overall(&self, head: &CommitId, until: Option<Timestamp>) -> Overall {
        let standing = self.standing(until);
        let of = |verdict| {
            standing.iter().filter(move |standing| {
                standing.verdict == verdict && standing.content.commit.as_ref() == Some(head)
            })
        };
        if of(Verdict::ChangesRequested).next().is_some() {
            return Overall::ChangesRequested;
        }
        let approved = of(Verdict::Approved).any(|standing| standing.content.is_of_a_person());
        if approved && !self.truncated { Overall::Approved } else { Overall::None }
    }

    /// Why the reviews as they stand must be read again.
    #[must_use]
    pub fn needs_a_read(&self) -> Option<AskReason> {
        self.registers.values().find_map(Mirror::needs_a_read)
    }

    fn put(&mut self, id: ReviewId, mirror: Mirror<ReviewContent>) {
        let mirror = match self.registers.remove(&id) {
            Some(before) => before.join(mirror),
            None => mirror,
        };
        self.registers.insert(id, mirror);
    }

    /// Lets the oldest reviews go: which ones go depends on ids only, never on the order in which they were learned.
    fn bounded(mut self) -> Self {
        while self.registers.len() > REVIEWS_MAX {
            self.registers.pop_first();
            self.truncated = true;
        }
        self
    }
}

/// Whose verdict it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reviewer<'a> {
    Known(&'a AccountId),
    Gone(ReviewId),
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: char = 'a';

    fn commit(digit: char) -> CommitId {
        CommitId::new(&digit.to_string().repeat(40)).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + second).unwrap()
    }

    /// Reviews as `<reviewer><verdict letter><commit>`, submitted one second after the other. Reviewers are digits; `b` is a
    /// bot, `g` is gone.
    fn reviews(list: &str) -> Reviews {
        submitted(list, i64::from)
    }

    /// The same, submitted when their ids say.
    fn submitted(list: &str, second: impl Fn(u32) -> i64) -> Reviews {
        let reviews: Vec<_> = list
            .split_whitespace()
            .zip(1_u32..)
            .map(|(review, id)| {
                let [who, verdict, on] = review.chars().collect::<Vec<_>>()[..] else {
                    panic!("{review}")
                };
                let (reviewer, kind) = match who {
                    'b' => (Some(AccountId::from_number(99).unwrap()), ReviewerKind::Bot),
                    'g' => (None, ReviewerKind::Ghost),
                    'n' => (None, ReviewerKind::Person),
                    digit => (AccountId::parse(&digit.to_string()).ok(), ReviewerKind::Person),
                };
                let verdict = match verdict {
                    '+' => "APPROVED",
                    '-' => "CHANGES_REQUESTED",
                    '.' => "COMMENTED",
                    'x' => "DISMISSED",
                    _ => "SHRUGGED",
                };
                let words = ReviewWords { verdict: Word::new(verdict), dismissed: false };
                let commit = (on != '_').then(|| commit(on));
                let submitted_at = at(second(id));
                let content = ReviewContent { words, submitted_at, commit, reviewer, kind };
                (ReviewId(u64::from(id)), content)
            })
            .collect();
        let origin = Origin::Read { connection: "c".to_owned(), started_at: at(1000) };
        Reviews::read(&origin, &reviews).unwrap()
    }

    fn check(list: &str, expected: Overall) {
        assert_eq!(reviews(list).overall(&commit(HEAD), None), expected, "{list}");
    }

    #[test]
    fn the_latest_verdict_of_each_reviewer_stands() {
        check("", Overall::None);
        check("1+a", Overall::Approved);
        check("1-a", Overall::ChangesRequested);
        check("1-a 1+a", Overall::Approved);
        check("1+a 1-a", Overall::ChangesRequested);
        check("1+a 2-a", Overall::ChangesRequested);
        check("1-a 2+a", Overall::ChangesRequested);
    }

    #[test]
    fn a_comment_replaces_nothing_and_a_dismissal_removes() {
        check("1.a", Overall::None);
        check("1+a 1.a", Overall::Approved);
        check("1-a 1.a", Overall::ChangesRequested);
        check("1+a 1?a", Overall::Approved);
        check("1xa", Overall::None);
        check("1+a 1xa", Overall::None);
        check("1xa 1+a", Overall::Approved);
        check("1xa 2+a", Overall::Approved);
    }

    #[test]
    fn a_verdict_is_about_the_commit_that_was_reviewed() {
        check("1+b", Overall::None);
        check("1-b", Overall::None);
        check("1-b 2+a", Overall::Approved);
        check("1+a 1-b", Overall::None);
        check("1+_", Overall::None);
        let told: Vec<_> = reviews("1-b 2+a")
            .standing(None)
            .iter()
            .map(|standing| (standing.review.0, standing.verdict))
            .collect();
        assert_eq!(told, [(1, Verdict::ChangesRequested), (2, Verdict::Approved)]);
    }

    #[test]
    fn machines_and_accounts_that_are_gone_approve_nothing_and_may_object() {
        for who in ['b', 'g', 'n'] {
            check(&format!("{who}+a"), Overall::None);
            check(&format!("{who}-a 1+a"), Overall::ChangesRequested);
        }
        check("g-a g+a 1+a", Overall::ChangesRequested);
    }

    #[test]
    fn of_two_reviews_of_one_second_the_later_id_is_the_later_review() {
        let at_once = |list| submitted(list, |_| 1).overall(&commit(HEAD), None);
        assert_eq!(at_once("1+a 1-a"), Overall::ChangesRequested);
        assert_eq!(at_once("1-a 1+a"), Overall::Approved);
        // The time goes before the id.
        let backwards = |list| submitted(list, |id| -i64::from(id)).overall(&commit(HEAD), None);
        assert_eq!(backwards("1+a 1-a"), Overall::Approved);
    }

    #[test]
    fn what_was_submitted_later_does_not_count_before() {
        let reviews = reviews("1+a 1-a");
        assert_eq!(reviews.overall(&commit(HEAD), Some(at(0))), Overall::None);
        assert_eq!(reviews.overall(&commit(HEAD), Some(at(1))), Overall::Approved);
        assert_eq!(reviews.overall(&commit(HEAD), Some(at(2))), Overall::ChangesRequested);
    }

    #[test]
    fn too_many_reviews_approve_nothing_and_keep_the_latest() {
        let fits = vec!["1+a"; REVIEWS_MAX].join(" ");
        check(&fits, Overall::Approved);
        let many = reviews(&format!("2-a {fits}"));
        assert!(many.truncated);
        assert_eq!(many.registers.first_key_value().unwrap().0, &ReviewId(2));
        assert_eq!(many.overall(&commit(HEAD), None), Overall::None);
    }

    #[test]
    fn words_compare_without_case_and_unknown_ones_are_asked() {
        let reading =
            |verdict, dismissed| ReviewWords { verdict: Word::new(verdict), dismissed }.reading();
        assert_eq!(reading("approved", false), Verdict::Approved);
        assert_eq!(reading("Changes_Requested", false), Verdict::ChangesRequested);
        assert_eq!(reading("approved", true), Verdict::Dismissed);
        assert_eq!(reading("dismissed", false), Verdict::Dismissed);
        assert_eq!(reviews("1?a").needs_a_read(), Some(AskReason::UnknownWord));
        assert_eq!(reviews("1+a").needs_a_read(), None);
        for kind in ReviewerKind::ALL {
            assert_eq!(ReviewerKind::from_word(kind.as_str()), Some(kind));
        }
    }
}

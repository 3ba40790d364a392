//! Approvals: decisions of people about exactly one thing, and what makes one count at the moment of its use.
//!
//! An approval is bound to a subject: all that it covers, in one canonical text. Whatever moves (the head, the target, the
//! policy) is another subject, so an approval dies with what it approved. People are counted, not accounts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::Timestamp;

use crate::ids::{
    Actor, ActorKind, CommitId, PullRequestNumber, RepositoryKey, Sha256Digest, TenantId,
};
use crate::words::Text;

/// What names the canonical text of a merge, and nothing else that is ever digested. Fixed for ever.
const MERGE_DOMAIN: &str = "plumbline/merge/1";

/// A human being, as the identity service names one. Accounts and actors are many, people are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Person(Text);

impl Person {
    /// Takes the identity service's name of a person.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Text::new(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Who stands behind an actor or an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A person whom the identity service knows.
    Known(Person),
    /// Somebody whom it does not know: counts as nobody when a decision needs a person, and as anybody when it needs
    /// another person.
    Unknown,
    /// No person: an agent, a service, a bot, an application.
    Machine,
}

impl Party {
    /// Who stands behind a proven caller; `person` is what the identity service tells of the actor.
    #[must_use]
    pub fn of(kind: ActorKind, person: Option<Person>) -> Self {
        match (kind, person) {
            (ActorKind::Person, Some(person)) => Self::Known(person),
            (ActorKind::Person, None) => Self::Unknown,
            (ActorKind::Agent | ActorKind::Service, _) => Self::Machine,
        }
    }
}

/// What the approval of a merge is an approval of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeSubject<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The repository.
    pub repository: &'a RepositoryKey,
    /// The pull request.
    pub number: PullRequestNumber,
    /// The branch that it goes into.
    pub base_branch: &'a Text,
    /// The commit that would be merged.
    pub head: &'a CommitId,
    /// The digest of the policy under which it is judged.
    pub policy: &'a Sha256Digest,
}

impl MergeSubject<'_> {
    /// The text whose SHA-256 is the subject's digest: every part with its length before it, so that no two subjects have
    /// one text.
    #[must_use]
    pub fn canonical(&self) -> String {
        let number = self.number.to_string();
        let parts = [
            MERGE_DOMAIN,
            ApprovalClass::SharedWrite.as_str(),
            self.tenant.as_str(),
            self.repository.host.as_str(),
            self.repository.id.as_str(),
            &number,
            self.base_branch.as_str(),
            self.head.as_str(),
            self.policy.as_str(),
        ];
        let mut text = String::new();
        for part in parts {
            // Writing to a text can't fail.
            let _ = write!(text, "{}:{part},", part.len());
        }
        text
    }
}

/// What a decision may allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalClass {
    /// Writing to what is shared: a merge to a protected branch.
    SharedWrite,
    /// Changing production.
    Production,
}

impl ApprovalClass {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SharedWrite => "shared-write",
            Self::Production => "production",
        }
    }

    /// The class that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::SharedWrite, Self::Production].into_iter().find(|class| class.as_str() == word)
    }
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It may happen, once.
    Approved,
    /// It may not, ever: any rejection of a subject is final for it.
    Rejected,
}

impl Decision {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "Approved",
            Self::Rejected => "Rejected",
        }
    }

    /// The decision that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Approved, Self::Rejected].into_iter().find(|decision| decision.as_str() == word)
    }
}

/// A decision about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// What it may allow.
    pub class: ApprovalClass,
    /// The digest of what was decided about.
    pub subject: Sha256Digest,
    /// What was decided.
    pub decision: Decision,
    /// The actor who decided, as the call proved.
    pub decided_by: Actor,
    /// The person behind that actor.
    pub party: Party,
    /// When.
    pub decided_at: Timestamp,
    /// The first moment at which it no longer holds.
    pub expires_at: Timestamp,
    /// When it was used. It allows one use; a use that was refused is none.
    pub used_at: Option<Timestamp>,
}

/// Why an approval does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// It allows something else.
    WrongClass,
    /// What it approved is no longer what is asked about.
    SubjectChanged,
    /// It was decided against.
    Rejected,
    /// Its time is over.
    Expired,
    /// It allowed one use, and had it.
    Used,
    /// Whoever asked, wrote or pushed it may not decide about it.
    SelfApproval,
    /// Nobody knows which person decided.
    UnknownIdentity,
    /// No person decided.
    NotAPerson,
}

impl Defect {
    /// The word that is answered and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WrongClass => "WrongClass",
            Self::SubjectChanged => "SubjectChanged",
            Self::Rejected => "Rejected",
            Self::Expired => "Expired",
            Self::Used => "Used",
            Self::SelfApproval => "SelfApproval",
            Self::UnknownIdentity => "UnknownIdentity",
            Self::NotAPerson => "NotAPerson",
        }
    }
}

/// What an approval is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use<'a> {
    /// What must be allowed.
    pub class: ApprovalClass,
    /// The digest of the subject as it is now.
    pub subject: &'a Sha256Digest,
    /// Who asked for it, wrote it, or pushed it: none of them may decide.
    pub involved: &'a BTreeSet<Party>,
}

impl Approval {
    /// Everything that is wrong with it for this use at this moment. It holds when nothing is.
    ///
    /// An involved party whom nobody knows could be the very person who decided, so it makes the decision one of an unknown
    /// identity; machines are nobody, and involve nobody.
    #[must_use]
    pub fn defects(&self, wanted: &Use<'_>, now: Timestamp) -> BTreeSet<Defect> {
        let identity = match &self.party {
            Party::Machine => Some(Defect::NotAPerson),
            Party::Unknown => Some(Defect::UnknownIdentity),
            party @ Party::Known(_) if wanted.involved.contains(party) => {
                Some(Defect::SelfApproval)
            }
            Party::Known(_) if wanted.involved.contains(&Party::Unknown) => {
                Some(Defect::UnknownIdentity)
            }
            Party::Known(_) => None,
        };
        let others = [
            (self.class != wanted.class, Defect::WrongClass),
            (self.subject != *wanted.subject, Defect::SubjectChanged),
            (self.decision == Decision::Rejected, Defect::Rejected),
            (self.expires_at <= now, Defect::Expired),
            (self.used_at.is_some(), Defect::Used),
        ];
        let holds = |(holds, defect)| if holds { Some(defect) } else { None };
        others.into_iter().filter_map(holds).chain(identity).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Host, RepositoryId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + second).unwrap()
    }

    fn digest(digit: char) -> Sha256Digest {
        Sha256Digest::new(&format!("sha256:{}", digit.to_string().repeat(64))).unwrap()
    }

    fn known(name: &str) -> Party {
        Party::Known(Person::new(name))
    }

    fn approval() -> Approval {
        Approval {
            class: ApprovalClass::SharedWrite,
            subject: digest('a'),
            decision: Decision::Approved,
            decided_by: Actor::new("person:alice").unwrap(),
            party: known("alice"),
            decided_at: at(0),
            expires_at: at(100),
            used_at: None,
        }
    }

    /// The defects of an approval of subject `a` when these parties are involved, at second 10.
    fn defects(approval: &Approval, involved: &[Party]) -> Vec<&'static str> {
        used_at(approval, involved, 10)
    }

    fn used_at(approval: &Approval, involved: &[Party], second: i64) -> Vec<&'static str> {
        let involved = involved.iter().cloned().collect();
        let class = ApprovalClass::SharedWrite;
        let wanted = Use { class, subject: &digest('a'), involved: &involved };
        approval.defects(&wanted, at(second)).into_iter().map(Defect::as_str).collect()
    }

    #[test]
    fn a_decision_of_another_person_about_this_very_subject_holds() {
        assert!(defects(&approval(), &[]).is_empty());
        assert!(defects(&approval(), &[known("bob"), Party::Machine]).is_empty());
    }

    #[test]
    fn each_condition_is_needed() {
        let changed = |change: fn(&mut Approval)| {
            let mut approval = approval();
            change(&mut approval);
            defects(&approval, &[known("bob")])
        };
        assert_eq!(changed(|a| a.class = ApprovalClass::Production), ["WrongClass"]);
        assert_eq!(changed(|a| a.subject = digest('b')), ["SubjectChanged"]);
        assert_eq!(changed(|a| a.decision = Decision::Rejected), ["Rejected"]);
        assert_eq!(changed(|a| a.used_at = Some(at(5))), ["Used"]);
        assert_eq!(changed(|a| a.party = Party::Unknown), ["UnknownIdentity"]);
        assert_eq!(changed(|a| a.party = Party::Machine), ["NotAPerson"]);
        assert_eq!(changed(|a| a.party = known("bob")), ["SelfApproval"]);
    }

    #[test]
    fn an_approval_ends_at_the_moment_at_which_it_expires() {
        assert!(used_at(&approval(), &[], 99).is_empty());
        assert_eq!(used_at(&approval(), &[], 100), ["Expired"]);
        assert_eq!(used_at(&approval(), &[], 101), ["Expired"]);
    }

    #[test]
    fn somebody_involved_whom_nobody_knows_could_be_whoever_decided() {
        assert_eq!(defects(&approval(), &[Party::Unknown]), ["UnknownIdentity"]);
        assert_eq!(defects(&approval(), &[Party::Unknown, known("alice")]), ["SelfApproval"]);
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let mut approval = approval();
        approval.subject = digest('b');
        approval.used_at = Some(at(1));
        assert_eq!(used_at(&approval, &[], 500), ["SubjectChanged", "Expired", "Used"]);
    }

    #[test]
    fn only_a_person_whom_the_identity_service_knows_is_known() {
        let alice = || Some(Person::new("alice"));
        assert_eq!(Party::of(ActorKind::Person, alice()), known("alice"));
        assert_eq!(Party::of(ActorKind::Person, None), Party::Unknown);
        for kind in [ActorKind::Agent, ActorKind::Service] {
            assert_eq!(Party::of(kind, alice()), Party::Machine, "{kind}");
        }
    }

    #[test]
    fn whatever_moves_is_another_subject() {
        let text = |tenant: &str, id: u64, number: u64, base: &str, head: char, policy: char| {
            MergeSubject {
                tenant: &TenantId::new(tenant).unwrap(),
                repository: &RepositoryKey {
                    host: Host::new("github.com").unwrap(),
                    id: RepositoryId::from_number(id).unwrap(),
                },
                number: PullRequestNumber::new(number).unwrap(),
                base_branch: &Text::new(base),
                head: &CommitId::new(&head.to_string().repeat(40)).unwrap(),
                policy: &digest(policy),
            }
            .canonical()
        };
        let texts = [
            text("t1", 11, 41, "main", 'a', 'c'),
            text("t2", 11, 41, "main", 'a', 'c'),
            text("t1", 12, 41, "main", 'a', 'c'),
            text("t1", 11, 42, "main", 'a', 'c'),
            text("t1", 11, 41, "develop", 'a', 'c'),
            text("t1", 11, 41, "main", 'b', 'c'),
            text("t1", 11, 41, "main", 'a', 'd'),
            // Parts that would run together without their lengths.
            text("t1", 114, 1, "main", 'a', 'c'),
        ];
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len());
        let expected = "17:plumbline/merge/1,12:shared-write,2:t1,10:github.com,2:11,2:41,4:main,";
        assert!(texts[0].starts_with(expected), "{}", texts[0]);
    }

    #[test]
    fn words_read_back() {
        for class in [ApprovalClass::SharedWrite, ApprovalClass::Production] {
            assert_eq!(ApprovalClass::from_word(class.as_str()), Some(class));
        }
        for decision in [Decision::Approved, Decision::Rejected] {
            assert_eq!(Decision::from_word(decision.as_str()), Some(decision));
        }
        assert_eq!(ApprovalClass::from_word("Production"), None);
        assert_eq!(Decision::from_word("approved"), None);
    }
}

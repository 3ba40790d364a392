//! Identities. Each has its own type, is checked when it is made, and prints as people read it.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use uuid::Uuid;

/// Namespace of pipeline run ids (a random UUID, fixed for ever: ids derived from it are stored).
const PIPELINE_RUN_NAMESPACE: Uuid = Uuid::from_u128(0x1b0f_5b0e_6f0c_4e0e_9c39_5d6a_0a4e_7b11);
/// Namespace of domain event ids.
const EVENT_NAMESPACE: Uuid = Uuid::from_u128(0x7c3d_92a4_0b55_4f6b_8f0b_2f7e_61d8_c5a2);
/// Namespace of delivery ids that we mint for deliveries that came without a usable one.
const DELIVERY_NAMESPACE: Uuid = Uuid::from_u128(0xe2a7_4c19_9d3b_4a80_b1c5_3a96_77f4_0d63);

/// Longest tenant, project or source id.
const SLUG_LENGTH_MAX: usize = 63;
/// Longest host name (RFC 1035).
const HOST_LENGTH_MAX: usize = 253;
/// Longest reference: what is cut would refer to nothing, so what is longer is refused.
const REFERENCE_LENGTH_MAX: usize = 256;
/// Longest name of an actor.
const ACTOR_LENGTH_MAX: usize = 128;
/// Longest idempotency key.
const IDEMPOTENCY_KEY_LENGTH_MAX: usize = 128;
/// Longest delivery id that is kept as it came; GitHub sends 36 characters.
const DELIVERY_ID_LENGTH_MAX: usize = 64;

/// Why a text is not an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A tenant, project or source id must match `[a-z0-9][a-z0-9-]{0,62}`.
    #[error("must be 1 to 63 of a-z, 0-9 and '-', not starting with '-'")]
    Slug,
    /// A host must be a lower-case DNS name without a scheme or port.
    #[error("must be a DNS name, without scheme, port or path")]
    Host,
    /// Repository ids are positive numbers (GitHub) or GUIDs (Azure DevOps).
    #[error("must be a positive number or a GUID")]
    RepositoryId,
    /// Attempts count from one.
    #[error("must be between 1 and 4294967295")]
    Attempt,
    /// A delivery id must be printable ASCII without separators.
    #[error("must be 1 to 64 of a-z, A-Z, 0-9 and '-'")]
    DeliveryId,
    /// A Git object id has 40 digits (SHA-1) or 64 (SHA-256), and forty zeros name no object.
    #[error("must be 40 or 64 hexadecimal digits, not all zero")]
    GitObject,
    /// A digest is written as Factory documents write it.
    #[error("must be 'sha256:' and 64 lower-case hexadecimal digits")]
    Sha256Digest,
    /// An account's id is a positive number (GitHub) or a GUID (Azure DevOps).
    #[error("must be a positive number or a GUID")]
    AccountId,
    /// Pull requests count from one.
    #[error("must be a positive number")]
    PullRequestNumber,
    /// A reference is printable ASCII without spaces.
    #[error("must be 1 to 256 printable ASCII characters without spaces")]
    Reference,
    /// An actor's name is printable ASCII without spaces.
    #[error("must be 1 to 128 printable ASCII characters without spaces")]
    Actor,
    /// The kinds of actors are few.
    #[error("must be one of person, agent, service")]
    ActorKind,
    /// An idempotency key has characters that no store and no log mistakes for its own.
    #[error("must be 1 to 128 of A-Z, a-z, 0-9, '.', '_', ':' and '-'")]
    IdempotencyKey,
}

fn is_slug(text: &str) -> bool {
    text.len() <= SLUG_LENGTH_MAX
        && !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes a text of `[a-z0-9][a-z0-9-]{0,62}`; anything else is an [`IdError::Slug`].
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                if is_slug(&text) { Ok(Self(text)) } else { Err(IdError::Slug) }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

slug! {
    /// A customer of the Factory; the border that no data crosses.
    TenantId
}
slug! {
    /// A project of a tenant.
    ProjectId
}
slug! {
    /// A configured sender of deliveries: the last part of a webhook's path.
    SourceId
}

macro_rules! reference {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes 1 to 256 printable ASCII characters without spaces; anything else is an [`IdError::Reference`].
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let fits = (1..=REFERENCE_LENGTH_MAX).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_graphic());
                if fits { Ok(Self(text)) } else { Err(IdError::Reference) }
            }

            /// The reference as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

reference! {
    /// Where an artifact is stored. Opaque here: the store of artifacts understands it.
    ArtifactRef
}
reference! {
    /// A release of an agent of the Factory.
    AgentReleaseId
}

/// Who acts within a tenant, as the Factory's identity service names them: `person:alice`, `github:5`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor(String);

impl Actor {
    /// Takes 1 to 128 printable ASCII characters without spaces; anything else is an [`IdError::Actor`].
    pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let fits = (1..=ACTOR_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(IdError::Actor) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an actor is. Approvals count people: no agent and no service is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActorKind {
    /// A human being.
    Person,
    /// An agent of the Factory.
    Agent,
    /// A program that acts by itself.
    Service,
}

impl ActorKind {
    /// The word that is stored and sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Service => "service",
        }
    }

    /// Reads the word; any other is an [`IdError::ActorKind`].
    pub fn parse(word: &str) -> Result<Self, IdError> {
        let kinds = [Self::Person, Self::Agent, Self::Service];
        kinds.into_iter().find(|kind| kind.as_str() == word).ok_or(IdError::ActorKind)
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a caller names one intended effect by: within (tenant, tool, actor) the same key has one effect, however often
/// the call is repeated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Takes 1 to 128 of `[A-Za-z0-9._:-]`; anything else is an [`IdError::IdempotencyKey`].
    pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let fits = (1..=IDEMPOTENCY_KEY_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b));
        if fits { Ok(Self(text)) } else { Err(IdError::IdempotencyKey) }
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which kind of system tells the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemOfRecord {
    /// github.com, a ghe.com tenant, or a GitHub Enterprise Server.
    GitHub,
    /// Azure DevOps Services or Server.
    AzureDevOps,
}

impl SystemOfRecord {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::AzureDevOps => "AzureDevOps",
        }
    }
}

/// The host of a system of record, lower case. Numeric ids of two hosts collide, so every id is read together with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(String);

impl Host {
    /// Takes a DNS name in any case; a scheme, port, path or other character is an [`IdError::Host`].
    pub fn new(text: &str) -> Result<Self, IdError> {
        let host = text.to_ascii_lowercase();
        let fits = !host.is_empty()
            && host.len() <= HOST_LENGTH_MAX
            && host.split('.').all(|label| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            });
        if fits { Ok(Self(host)) } else { Err(IdError::Host) }
    }

    /// The host as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A repository's id at its host: a number at GitHub, a GUID at Azure DevOps. Names are labels that change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryId(String);

impl RepositoryId {
    /// A GitHub repository id. Zero is no id.
    pub fn from_number(number: u64) -> Result<Self, IdError> {
        number_text(number).map(Self).ok_or(IdError::RepositoryId)
    }

    /// Reads an id as it was printed: a positive decimal number or a GUID.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        number_or_guid(text).map(Self).ok_or(IdError::RepositoryId)
    }

    /// The id as text, canonical: equal ids print equally.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepositoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The canonical text of a positive number.
fn number_text(number: u64) -> Option<String> {
    (number != 0).then(|| number.to_string())
}

/// The canonical text of a positive number or a GUID.
fn number_or_guid(text: &str) -> Option<String> {
    match text.parse::<u64>() {
        Ok(number) => number_text(number),
        Err(_) => Uuid::try_parse(text).ok().map(|guid| guid.hyphenated().to_string()),
    }
}

/// What names a repository for ever: its host and its id there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryKey {
    /// Where the id is valid.
    pub host: Host,
    /// The id at that host.
    pub id: RepositoryId,
}

impl fmt::Display for RepositoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.id)
    }
}

/// A run's id at its host. Re-runs keep it; the attempt tells them apart. Ids beyond 2^32 are ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A job's id at its host. A re-run gives its jobs new ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which try of a run: 1 for the first, more after re-runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(NonZeroU32);

impl Attempt {
    /// Takes 1 to 2^32 − 1; zero is an [`IdError::Attempt`].
    pub fn new(number: u32) -> Result<Self, IdError> {
        NonZeroU32::new(number).map(Self).ok_or(IdError::Attempt)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether a text is the id of a Git object, in lower case.
fn is_git_object(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && text.bytes().any(|b| b != b'0')
}

macro_rules! git_object {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes 40 or 64 hexadecimal digits in any case; anything else, and the zeros that stand for "no object",
            /// are an [`IdError::GitObject`].
            pub fn new(text: &str) -> Result<Self, IdError> {
                let id = text.to_ascii_lowercase();
                if is_git_object(&id) { Ok(Self(id)) } else { Err(IdError::GitObject) }
            }

            /// The id as text, lower case.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

git_object! {
    /// A commit's id. It is a hash of the commit's tree, parents and message, so what was seen of a commit never changes.
    CommitId
}
git_object! {
    /// A tree's id: a hash of all that the files of a commit hold. Equal ids are equal contents, whoever made them.
    TreeId
}

/// A SHA-256 digest of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest(String);

impl Sha256Digest {
    /// What stands before the digits wherever a digest is written.
    const PREFIX: &str = "sha256:";

    /// Takes `sha256:` and 64 lower-case hexadecimal digits; anything else is an [`IdError::Sha256Digest`].
    pub fn new(text: &str) -> Result<Self, IdError> {
        let digits = text.strip_prefix(Self::PREFIX).ok_or(IdError::Sha256Digest)?;
        let fits = digits.len() == 64
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if fits { Ok(Self(text.to_owned())) } else { Err(IdError::Sha256Digest) }
    }

    /// The digest as text, with its prefix.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An account's id at its host: a number at GitHub, a GUID at Azure DevOps. Logins are labels: a freed one can be taken
/// by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(String);

impl AccountId {
    /// A GitHub account id. Zero is no id.
    pub fn from_number(number: u64) -> Result<Self, IdError> {
        number_text(number).map(Self).ok_or(IdError::AccountId)
    }

    /// Reads an id as it was printed: a positive decimal number or a GUID.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        number_or_guid(text).map(Self).ok_or(IdError::AccountId)
    }

    /// The id as text, canonical: equal ids print equally.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pull request's number within its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PullRequestNumber(NonZeroU64);

impl PullRequestNumber {
    /// Takes a positive number; zero is an [`IdError::PullRequestNumber`].
    pub fn new(number: u64) -> Result<Self, IdError> {
        NonZeroU64::new(number).map(Self).ok_or(IdError::PullRequestNumber)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for PullRequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A review's id at its host; later reviews have greater ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReviewId(pub u64);

impl fmt::Display for ReviewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a change proposal: minted by the call that proposed it, or given by its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(pub Uuid);

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// Our id of one attempt of one run: the same for everybody who sees the same attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineRunId(Uuid);

impl PipelineRunId {
    /// `UUIDv5` of (tenant, system, host, repository id, run id, attempt), each length-prefixed, so that no two
    /// lists of parts give the same name.
    #[must_use]
    pub fn derive(
        tenant: &TenantId,
        system: SystemOfRecord,
        repository: &RepositoryKey,
        run: RunId,
        attempt: Attempt,
    ) -> Self {
        Self(derive(
            PIPELINE_RUN_NAMESPACE,
            &[
                tenant.as_str(),
                system.as_str(),
                repository.host.as_str(),
                repository.id.as_str(),
                &run.to_string(),
                &attempt.to_string(),
            ],
        ))
    }

    /// Takes an id that was derived before, as it comes back from a store.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The UUID.
    #[must_use]
    pub const fn as_uuid(&self) -> &Uuid {
        &self.0
    }
}

impl fmt::Display for PipelineRunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// The sender's id of one delivery. A redelivery repeats it, and it is not signed: evidence, never proof.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// Takes the id as it was sent: 1 to 64 ASCII letters, digits and hyphens.
    pub fn new(text: &str) -> Result<Self, IdError> {
        let fits = (1..=DELIVERY_ID_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if fits { Ok(Self(text.to_owned())) } else { Err(IdError::DeliveryId) }
    }

    /// An id for a delivery that came without a usable one: the same body at the same source gets the same id.
    #[must_use]
    pub fn for_body(source: &SourceId, body_sha256: &str) -> Self {
        Self(derive(DELIVERY_NAMESPACE, &[source.as_str(), body_sha256]).hyphenated().to_string())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How often a stored item has been written: the condition of the next write, and a domain event's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision that the next write gets.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `UUIDv5` of a domain event: (subject, revision, type).
#[must_use]
pub(crate) fn event_id(subject: &str, revision: Revision, kind: &str) -> Uuid {
    derive(EVENT_NAMESPACE, &[subject, &revision.to_string(), kind])
}

/// `UUIDv5` over length-prefixed parts (`<bytes>:<part>,` each): `("t1", "x")` and `("t1:x")` differ.
fn derive(namespace: Uuid, parts: &[&str]) -> Uuid {
    let mut name = String::new();
    for part in parts {
        name.push_str(&part.len().to_string());
        name.push(':');
        name.push_str(part);
        name.push(',');
    }
    Uuid::new_v5(&namespace, name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_id(tenant: &str, host: &str, repository: u64, run: u64, attempt: u32) -> String {
        let repository = RepositoryKey {
            host: Host::new(host).unwrap(),
            id: RepositoryId::from_number(repository).unwrap(),
        };
        PipelineRunId::derive(
            &TenantId::new(tenant).unwrap(),
            SystemOfRecord::GitHub,
            &repository,
            RunId(run),
            Attempt::new(attempt).unwrap(),
        )
        .to_string()
    }

    #[test]
    fn a_pipeline_run_id_never_changes() {
        // Stored ids depend on this very value.
        assert_eq!(run_id("t1", "github.com", 11, 880, 1), "2e7ac96b-e860-5aea-b4a1-907d69683703");
    }

    #[test]
    fn each_part_of_a_run_tells_it_apart() {
        let ids = std::collections::BTreeSet::from([
            run_id("t1", "github.com", 11, 880, 1),
            run_id("t2", "github.com", 11, 880, 1),
            run_id("t1", "ghe.example.com", 11, 880, 1),
            run_id("t1", "github.com", 12, 880, 1),
            run_id("t1", "github.com", 11, 881, 1),
            run_id("t1", "github.com", 11, 880, 2),
            run_id("t1", "github.com", 1, 1880, 1),
            run_id("t1", "github.com", 11, 880 + (1 << 32), 1),
            run_id("t1", "github.com", 11, 880, u32::MAX),
        ]);
        assert_eq!(ids.len(), 9);
    }

    #[test]
    fn parts_that_join_to_one_text_give_two_ids() {
        let namespace = PIPELINE_RUN_NAMESPACE;
        assert_ne!(derive(namespace, &["t1", "GitHub"]), derive(namespace, &["t1:GitHub"]));
        assert_ne!(derive(namespace, &["a#b", "c"]), derive(namespace, &["a", "b#c"]));
        assert_ne!(derive(namespace, &["1:a,", ""]), derive(namespace, &["", "1:a,"]));
    }

    #[test]
    fn ids_of_tenants_admit_no_separator() {
        for good in ["t1", "0", "acme-2", &"a".repeat(63)] {
            assert!(TenantId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a#b", "a:b", "a/b", "a b", "ä", "a\n", &"a".repeat(64)] {
            assert_eq!(TenantId::new(bad), Err(IdError::Slug), "{bad}");
        }
    }

    #[test]
    fn a_host_is_a_bare_dns_name() {
        assert_eq!(Host::new("GitHub.com").unwrap().as_str(), "github.com");
        for bad in ["", "https://github.com", "github.com:443", "a/b", "a..b", "-a.b", "a b", "."] {
            assert_eq!(Host::new(bad), Err(IdError::Host), "{bad}");
        }
    }

    #[test]
    fn repository_ids_are_canonical() {
        assert_eq!(RepositoryId::parse("011").unwrap(), RepositoryId::from_number(11).unwrap());
        let guid = "4BC14D40-c903-45e2-872e-0462c7748079";
        assert_eq!(RepositoryId::parse(guid).unwrap().as_str(), guid.to_lowercase());
        for bad in ["", "0", "-1", "a/b", "1.5"] {
            assert_eq!(RepositoryId::parse(bad), Err(IdError::RepositoryId), "{bad}");
        }
    }

    #[test]
    fn git_objects_are_whole_ids_in_lower_case() {
        let sha1 = "C0FFEE0000000000000000000000000000000001";
        assert_eq!(CommitId::new(sha1).unwrap().as_str(), sha1.to_lowercase());
        assert!(TreeId::new(&"a".repeat(64)).is_ok());
        for bad in
            ["", "c0ffee", &"0".repeat(40), &"0".repeat(64), &"g".repeat(40), &"a".repeat(41)]
        {
            assert_eq!(CommitId::new(bad), Err(IdError::GitObject), "{bad}");
        }
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let good = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(Sha256Digest::new(&good).unwrap().to_string(), good);
        for bad in
            ["", "sha256:", &good.to_uppercase(), &good[..70], &good[7..], &format!("{good}0")]
        {
            assert_eq!(Sha256Digest::new(bad), Err(IdError::Sha256Digest), "{bad}");
        }
    }

    #[test]
    fn a_reference_is_kept_whole_or_refused() {
        let longest = "a".repeat(256);
        assert_eq!(ArtifactRef::new(longest.clone()).unwrap().as_str(), longest);
        for bad in ["", "a b", "a\n", "ä", &format!("{longest}a")] {
            assert_eq!(AgentReleaseId::new(bad), Err(IdError::Reference), "{bad}");
        }
    }

    #[test]
    fn an_actor_is_one_printable_word() {
        for good in ["person:alice", "github:5", "a", &"a".repeat(128)] {
            assert_eq!(Actor::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a\n", "\u{7f}", "\u{e4}", &"a".repeat(129)] {
            assert_eq!(Actor::new(bad), Err(IdError::Actor), "{bad}");
        }
    }

    #[test]
    fn kinds_of_actors_read_back_and_have_one_spelling() {
        for kind in [ActorKind::Person, ActorKind::Agent, ActorKind::Service] {
            assert_eq!(ActorKind::parse(kind.as_str()), Ok(kind));
        }
        for bad in ["", "Person", "human", "person "] {
            assert_eq!(ActorKind::parse(bad), Err(IdError::ActorKind), "{bad}");
        }
    }

    #[test]
    fn an_idempotency_key_admits_no_separator_of_ours() {
        for good in ["k", "promote-7:prod_eu.1", &"a".repeat(128)] {
            assert_eq!(IdempotencyKey::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a#b", "a/b", "\u{e4}", "a\n", &"a".repeat(129)] {
            assert_eq!(IdempotencyKey::new(bad), Err(IdError::IdempotencyKey), "{bad}");
        }
    }

    #[test]
    fn accounts_and_pull_requests_have_no_zero() {
        assert_eq!(AccountId::from_number(0), Err(IdError::AccountId));
        assert_eq!(AccountId::parse("05").unwrap(), AccountId::from_number(5).unwrap());
        assert_eq!(AccountId::parse("octocat"), Err(IdError::AccountId));
        assert_eq!(PullRequestNumber::new(0), Err(IdError::PullRequestNumber));
        assert_eq!(PullRequestNumber::new(7).unwrap().get(), 7);
    }
}

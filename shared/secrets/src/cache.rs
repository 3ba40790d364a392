//! The cache between ingest and the secret store.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ports::{SecretStore, SecretStoreError};

use crate::document::SecretDocument;

/// How long a secret is used and how often it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// A secret older than this is read again before use: how long a withdrawn secret still verifies.
    pub ttl: SignedDuration,
    /// When the store does not answer, a secret is used for this long beyond its TTL.
    pub stale: SignedDuration,
    /// A signature that does not verify reads the secret again, at most once in this time per source: anybody can send
    /// wrong signatures, and each read costs a call.
    pub reread: SignedDuration,
}

/// A secret as the cache gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The secret.
    pub document: SecretDocument,
    /// The store's trouble that the cache bridged with an older copy, for the caller's log.
    pub bridged: Option<String>,
}

#[derive(Debug)]
struct Entry {
    document: SecretDocument,
    read_at: Timestamp,
    /// The last time the store was asked out of turn: because a signature did not verify, or for a copy past its TTL that
    /// it did not give.
    asked: Option<Asked>,
}

#[derive(Debug)]
struct Asked {
    at: Timestamp,
    trouble: Option<Trouble>,
}

/// An error of the store, as it is remembered.
#[derive(Debug, Clone)]
enum Trouble {
    Unavailable(String),
    Unusable(&'static str),
}

/// Secrets by id. One environment handles one event at a time, so one copy needs no lock; a clone would be a second cache.
#[derive(Debug)]
pub struct SecretCache<S> {
    store: S,
    policy: CachePolicy,
    entries: BTreeMap<String, Entry>,
}

impl<S: SecretStore> SecretCache<S> {
    /// An empty cache before a store.
    #[must_use]
    pub const fn new(store: S, policy: CachePolicy) -> Self {
        Self { store, policy, entries: BTreeMap::new() }
    }

    /// The secret for a first try.
    ///
    /// Reads the store when there is no copy, or when the copy is older than the TTL. When the store does not answer, an
    /// older copy serves for `stale` beyond the TTL, and the store is left alone for `reread`: a store that hangs must not
    /// slow every delivery down. A secret that the store holds but that is unusable is never bridged: somebody put it
    /// there.
    pub async fn get(&mut self, id: &str, now: Timestamp) -> Result<Fetched, SecretStoreError> {
        let age = self.entries.get(id).map(|entry| now.duration_since(entry.read_at));
        let fresh = age.is_some_and(|age| !age.is_negative() && age < self.policy.ttl);
        let bridges = age.is_some_and(|age| age < self.policy.ttl + self.policy.stale);
        if let Some(entry) = self.entries.get(id) {
            if fresh {
                return Ok(Fetched { document: entry.document.clone(), bridged: None });
            }
            if let Some(Trouble::Unavailable(cause)) = self.recent_trouble(entry, now)
                && bridges
            {
                return Ok(entry.bridged(cause));
            }
        }
        let error = match self.read(id, now).await {
            Ok(document) => return Ok(Fetched { document, bridged: None }),
            Err(error) => error,
        };
        match (&error, self.entries.get_mut(id)) {
            (SecretStoreError::Unavailable(cause), Some(entry)) if bridges => {
                let cause = cause.to_string();
                let trouble = Some(Trouble::Unavailable(cause.clone()));
                entry.asked = Some(Asked { at: now, trouble });
                Ok(entry.bridged(&cause))
            }
            _ => Err(error),
        }
    }

    /// The secret read anew for a second try, after a well-formed signature did not verify.
    ///
    /// `None` when the store holds what was tried already, or was asked too recently. While the store's last answer was an
    /// error, that error: who can't read the secret can't call a signature wrong.
    pub async fn reread(
        &mut self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<SecretDocument>, SecretStoreError> {
        let Some(entry) = self.entries.get(id) else { return Ok(None) };
        if let Some(asked) = entry.asked.as_ref().filter(|asked| self.is_recent(asked, now)) {
            return match &asked.trouble {
                None => Ok(None),
                Some(trouble) => Err(trouble.clone().into()),
            };
        }
        let tried = entry.document.clone();
        let read = self.read(id, now).await;
        if let Some(entry) = self.entries.get_mut(id) {
            entry.asked = Some(Asked { at: now, trouble: read.as_ref().err().map(Trouble::from) });
        }
        Ok(Some(read?).filter(|document| *document != tried))
    }

    async fn read(&mut self, id: &str, now: Timestamp) -> Result<SecretDocument, SecretStoreError> {
        let document = SecretDocument::parse(&self.store.read(id).await?)?;
        // A store that answers is in no trouble any more; when it was asked out of turn stays known.
        let asked = self.entries.remove(id).and_then(|entry| entry.asked);
        let asked = asked.map(|asked| Asked { trouble: None, ..asked });
        let entry = Entry { document: document.clone(), read_at: now, asked };
        self.entries.insert(id.to_owned(), entry);
        Ok(document)
    }

    fn is_recent(&self, asked: &Asked, now: Timestamp) -> bool {
        now.duration_since(asked.at) < self.policy.reread
    }

    fn recent_trouble<'a>(&self, entry: &'a Entry, now: Timestamp) -> Option<&'a Trouble> {
        entry.asked.as_ref().filter(|asked| self.is_recent(asked, now))?.trouble.as_ref()
    }
}

impl Entry {
    fn bridged(&self, cause: &str) -> Fetched {
        Fetched { document: self.document.clone(), bridged: Some(cause.to_owned()) }
    }
}

impl From<&SecretStoreError> for Trouble {
    fn from(error: &SecretStoreError) -> Self {
        match error {
            SecretStoreError::Unavailable(cause) => Self::Unavailable(cause.to_string()),
            SecretStoreError::Unusable(why) => Self::Unusable(why),
        }
    }
}

impl From<Trouble> for SecretStoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unavailable(cause) => Self::Unavailable(cause.into()),
            Trouble::Unusable(why) => Self::Unusable(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const OLD: &str = "old-old-old-old-old";
    const NEW: &str = "new-new-new-new-new";

    /// A store whose answer a test sets, and which counts how often it was asked.
    #[derive(Debug)]
    struct Store(RefCell<(Option<&'static str>, u32)>);

    impl SecretStore for &Store {
        async fn read(&self, _: &str) -> Result<String, SecretStoreError> {
            let mut inner = self.0.borrow_mut();
            inner.1 += 1;
            inner.0.map(str::to_owned).ok_or_else(|| SecretStoreError::Unavailable("down".into()))
        }
    }

    impl Store {
        fn holds(&self, answer: Option<&'static str>) {
            self.0.borrow_mut().0 = answer;
        }

        fn reads(&self) -> u32 {
            self.0.borrow().1
        }
    }

    fn now_or_never<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the store of these tests answers at once"),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn cache(store: &Store) -> SecretCache<&Store> {
        let seconds = SignedDuration::from_secs;
        SecretCache::new(
            store,
            CachePolicy { ttl: seconds(300), stale: seconds(900), reread: seconds(30) },
        )
    }

    fn current(cache: &mut SecretCache<&Store>, second: i64) -> Option<String> {
        let fetched = now_or_never(cache.get("s", at(second))).ok()?;
        fetched.document.live(at(second)).next().map(str::to_owned)
    }

    #[test]
    fn a_copy_serves_for_its_ttl() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert_eq!(current(&mut cache, 0).as_deref(), Some(OLD));
        store.holds(Some(NEW));
        assert_eq!(current(&mut cache, 299).as_deref(), Some(OLD));
        assert_eq!(store.reads(), 1);
        assert_eq!(current(&mut cache, 300).as_deref(), Some(NEW));
        assert_eq!(store.reads(), 2);
    }

    #[test]
    fn a_store_that_is_down_is_bridged_for_fifteen_minutes_beyond_the_ttl() {
        let store = Store(RefCell::new((None, 0)));
        let mut cache = cache(&store);
        assert_eq!(current(&mut cache, 0), None, "cold");
        store.holds(Some(OLD));
        assert_eq!(current(&mut cache, 0).as_deref(), Some(OLD));
        store.holds(None);
        assert_eq!(current(&mut cache, 299).as_deref(), Some(OLD));
        assert_eq!(current(&mut cache, 1199).as_deref(), Some(OLD));
        assert_eq!(current(&mut cache, 1200), None);
    }

    #[test]
    fn an_unusable_secret_is_not_bridged() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert!(current(&mut cache, 0).is_some());
        store.holds(Some(""));
        assert_eq!(current(&mut cache, 301), None);
    }

    #[test]
    fn a_store_that_is_down_is_asked_once_in_thirty_seconds_while_a_copy_bridges() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert!(current(&mut cache, 0).is_some());
        store.holds(None);
        for second in 300..330 {
            assert_eq!(current(&mut cache, second).as_deref(), Some(OLD));
        }
        assert_eq!(store.reads(), 2);
        store.holds(Some(NEW));
        assert_eq!(current(&mut cache, 330).as_deref(), Some(NEW));
    }

    /// What a second try comes to: another secret, nothing, or the store's trouble.
    fn again(cache: &mut SecretCache<&Store>, second: i64) -> Result<Option<String>, &'static str> {
        match now_or_never(cache.reread("s", at(second))) {
            Ok(document) => Ok(document.and_then(|d| d.live(at(second)).next().map(str::to_owned))),
            Err(SecretStoreError::Unavailable(_)) => Err("unavailable"),
            Err(SecretStoreError::Unusable(_)) => Err("unusable"),
        }
    }

    #[test]
    fn wrong_signatures_read_the_store_once_in_thirty_seconds() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert!(current(&mut cache, 0).is_some());
        for second in 0..30 {
            assert_eq!(again(&mut cache, second), Ok(None));
        }
        assert_eq!(store.reads(), 2);
        store.holds(Some(NEW));
        assert_eq!(again(&mut cache, 30), Ok(Some(NEW.to_owned())));
        assert_eq!(store.reads(), 3);
    }

    #[test]
    fn a_signature_is_not_called_wrong_while_the_secret_cannot_be_read() {
        for (held, trouble) in [(None, "unavailable"), (Some(""), "unusable")] {
            let store = Store(RefCell::new((Some(OLD), 0)));
            let mut cache = cache(&store);
            assert!(current(&mut cache, 0).is_some());
            store.holds(held);
            for second in 0..30 {
                assert_eq!(again(&mut cache, second), Err(trouble));
            }
            assert_eq!(store.reads(), 2);
            store.holds(Some(NEW));
            assert_eq!(again(&mut cache, 30), Ok(Some(NEW.to_owned())));
        }
    }

    #[test]
    fn a_clock_that_went_back_does_not_keep_a_copy_for_ever() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert!(current(&mut cache, 1000).is_some());
        assert!(current(&mut cache, 0).is_some());
        assert_eq!(store.reads(), 2);
    }
}

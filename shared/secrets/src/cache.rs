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
    reread_at: Option<Timestamp>,
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

    /// The secret for a first try. Reads the store when there is no copy, or when the copy is older than the TTL; goes on
    /// with an older copy for `stale` when the store does not answer. A secret that the store holds but that is unusable
    /// is never bridged: somebody put it there.
    pub async fn get(&mut self, id: &str, now: Timestamp) -> Result<Fetched, SecretStoreError> {
        let age = self.entries.get(id).map(|entry| now.duration_since(entry.read_at));
        if let (Some(age), Some(entry)) = (age, self.entries.get(id))
            && SignedDuration::ZERO <= age
            && age < self.policy.ttl
        {
            return Ok(Fetched { document: entry.document.clone(), bridged: None });
        }
        let error = match self.read(id, now).await {
            Ok(document) => return Ok(Fetched { document, bridged: None }),
            Err(error) => error,
        };
        let bridges = age.is_some_and(|age| age < self.policy.ttl + self.policy.stale);
        match (&error, self.entries.get(id)) {
            (SecretStoreError::Unavailable(cause), Some(entry)) if bridges => {
                Ok(Fetched { document: entry.document.clone(), bridged: Some(cause.to_string()) })
            }
            _ => Err(error),
        }
    }

    /// The secret read anew for a second try, after a well-formed signature did not verify. `None` when the store was asked
    /// for this reason too recently, does not answer, or holds what was tried already.
    pub async fn reread(&mut self, id: &str, now: Timestamp) -> Option<SecretDocument> {
        let entry = self.entries.get_mut(id)?;
        let since = entry.reread_at.map(|at| now.duration_since(at));
        if since.is_some_and(|since| since < self.policy.reread) {
            return None;
        }
        entry.reread_at = Some(now);
        let tried = entry.document.clone();
        let document = self.read(id, now).await.ok()?;
        (document != tried).then_some(document)
    }

    async fn read(&mut self, id: &str, now: Timestamp) -> Result<SecretDocument, SecretStoreError> {
        let document = SecretDocument::parse(&self.store.read(id).await?)?;
        let reread_at = self.entries.get(id).and_then(|entry| entry.reread_at);
        let entry = Entry { document: document.clone(), read_at: now, reread_at };
        self.entries.insert(id.to_owned(), entry);
        Ok(document)
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
    fn wrong_signatures_read_the_store_once_in_thirty_seconds() {
        let store = Store(RefCell::new((Some(OLD), 0)));
        let mut cache = cache(&store);
        assert!(current(&mut cache, 0).is_some());
        for second in 0..30 {
            assert_eq!(now_or_never(cache.reread("s", at(second))), None);
        }
        assert_eq!(store.reads(), 2);
        store.holds(Some(NEW));
        let read = now_or_never(cache.reread("s", at(30))).unwrap();
        assert_eq!(read.live(at(30)).next(), Some(NEW));
        assert_eq!(store.reads(), 3);
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

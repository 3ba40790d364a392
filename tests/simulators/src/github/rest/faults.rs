//! Answers that go wrong on demand.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use crate::github::rest::route::Route;

/// What happens to a request instead of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This is answered: a rate limit, a gateway's error page, half of a JSON text.
    Answer {
        /// HTTP status.
        status: u16,
        /// Headers by name.
        headers: Vec<(String, String)>,
        /// The body, byte for byte.
        body: String,
    },
    /// Nothing is answered, and the connection stays open until the server stops.
    Hang,
    /// The connection is closed without an answer.
    CloseConnection,
    /// The right answer, whose next page is said to be elsewhere.
    ForeignLink(String),
    /// The client is sent elsewhere.
    Redirect {
        /// 301, 302, 307 or 308.
        status: u16,
        /// `Location`
        to: String,
    },
}

/// What is planned to go wrong, per route and in order.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<BTreeMap<Route, VecDeque<Fault>>>);

impl Faults {
    pub(crate) fn add(&self, route: Route, fault: Fault) {
        let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        planned.entry(route).or_default().push_back(fault);
    }

    pub(crate) fn take(&self, route: Route) -> Option<Fault> {
        let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        planned.get_mut(&route)?.pop_front()
    }
}

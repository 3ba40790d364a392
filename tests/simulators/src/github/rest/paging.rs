//! Pages and what the query asks for.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use crate::github::rest::answer::Answer;

/// What GitHub gives when nothing is asked for.
const PER_PAGE: usize = 30;

/// What GitHub gives at most.
const PER_PAGE_MAX: usize = 100;

const IN_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'&').add(b'+').add(b'%');

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let decode = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn count(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// How many per page, and which page, counted from 1.
    pub(crate) fn page(&self) -> (usize, usize) {
        let per_page = self.count("per_page").unwrap_or(PER_PAGE).clamp(1, PER_PAGE_MAX);
        (per_page, self.count("page").unwrap_or(1).max(1))
    }

    fn with_page(&self, page: usize) -> String {
        let mut query = self.0.clone();
        query.insert("page".to_owned(), page.to_string());
        let pairs = query
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, IN_QUERY)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The asked page of a list. `wrap` makes the body of it; `url` is the list's address without a query.
pub(crate) fn paged(
    query: &Query,
    url: &str,
    items: &[Value],
    wrap: impl FnOnce(Vec<Value>) -> Value,
) -> Answer {
    let (per_page, page) = query.page();
    let pages = items.len().div_ceil(per_page).max(1);
    let start = (page - 1).saturating_mul(per_page);
    let shown = items.iter().skip(start).take(per_page).cloned().collect();
    let mut links = Vec::new();
    let mut link = |page: usize, name: &str| {
        links.push(format!("<{url}?{}>; rel=\"{name}\"", query.with_page(page)));
    };
    if 1 < page {
        link(page - 1, "prev");
    }
    if page < pages {
        link(page + 1, "next");
        link(pages, "last");
    }
    if 1 < page {
        link(1, "first");
    }
    let answer = Answer::ok(wrap(shown));
    if links.is_empty() { answer } else { answer.with("link", &links.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn link(query: &str, items: usize) -> (String, usize) {
        let items: Vec<Value> = (0..items).map(|item| json!(item)).collect();
        let answer = paged(&Query::parse(query), "http://x/list", &items, Value::Array);
        let link = answer.headers.into_iter().find(|(name, _)| name == "link");
        (link.map(|(_, value)| value).unwrap_or_default(), answer.body.as_array().unwrap().len())
    }

    #[test]
    fn the_last_page_has_no_next_one() {
        assert_eq!(link("", 30), (String::new(), 30));
        let (first, shown) = link("head=a%3Ab&per_page=2", 5);
        assert!(
            first.contains("<http://x/list?head=a:b&page=2&per_page=2>; rel=\"next\""),
            "{first}"
        );
        assert_eq!(shown, 2);
        let (last, shown) = link("per_page=2&page=3", 5);
        assert!(!last.contains("next") && last.contains("rel=\"prev\""), "{last}");
        assert_eq!(shown, 1);
        assert_eq!(link("per_page=2&page=9", 5).1, 0);
    }

    #[test]
    fn no_page_is_larger_than_a_hundred() {
        assert_eq!(link("per_page=1000", 500).1, 100);
        assert_eq!(link("per_page=x", 500).1, 30);
    }
}

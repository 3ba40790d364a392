//! Where an answer leads: the next page, a redirect. Only ever to the connection's own origin.

use hyper::header::{HeaderMap, LINK, LOCATION};
use hyper::http::uri::{PathAndQuery, Uri};

use crate::connection::ApiBaseUrl;
use crate::error::{Foreign, ReadError, unreadable};

/// The next page, if there is one.
pub(crate) fn next_page(
    base: &ApiBaseUrl,
    headers: &HeaderMap,
) -> Result<Option<PathAndQuery>, ReadError> {
    for value in headers.get_all(LINK) {
        let text = value.to_str().map_err(|_| unreadable("link"))?;
        if let Some(url) = next_of(text) {
            return target(base, url, "link").map(Some);
        }
    }
    Ok(None)
}

/// Where a redirect leads.
pub(crate) fn location(base: &ApiBaseUrl, headers: &HeaderMap) -> Result<PathAndQuery, ReadError> {
    let value = headers.get(LOCATION).ok_or_else(|| unreadable("location is missing"))?;
    target(base, value.to_str().map_err(|_| unreadable("location"))?, "location")
}

/// The URL of `<url>; rel="next"` among others (RFC 8288). A URL may hold commas and semicolons.
fn next_of(mut text: &str) -> Option<&str> {
    while let Some((_, rest)) = text.split_once('<') {
        let (url, rest) = rest.split_once('>')?;
        let parameters = rest.split_once('<').map_or(rest, |(parameters, _)| parameters);
        if parameters.split([';', ',']).any(is_next) {
            return Some(url);
        }
        text = rest;
    }
    None
}

fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let relations = value.trim().trim_matches('"').split_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("rel")
        && relations.into_iter().any(|relation| relation.eq_ignore_ascii_case("next"))
}

/// What a URL asks for at the connection's origin.
fn target(base: &ApiBaseUrl, url: &str, place: &'static str) -> Result<PathAndQuery, ReadError> {
    let uri: Uri = url.parse().map_err(|_| unreadable(place))?;
    let parts = uri.into_parts();
    let is_ours = match (&parts.scheme, &parts.authority) {
        (Some(scheme), Some(authority)) => base.is_origin_of(scheme, authority),
        // A path. What begins with two slashes names a host.
        (None, None) => url.starts_with('/') && !url.starts_with("//"),
        _ => false,
    };
    if !is_ours {
        return Err(Foreign::ForeignLink { place }.into());
    }
    parts.path_and_query.ok_or_else(|| unreadable(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(link: &str) -> Result<Option<String>, ReadError> {
        let base = ApiBaseUrl::parse("https://api.github.com").unwrap();
        let headers = HeaderMap::from_iter([(LINK, link.parse().unwrap())]);
        Ok(next_page(&base, &headers)?.map(|target| target.to_string()))
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        for (link, expected) in [
            (r#"<https://api.github.com/a?page=2>; rel="next""#, Some("/a?page=2")),
            (
                r#"<https://api.github.com/a?x=1,2;3>; rel="prev", <https://api.github.com/b>; rel="next""#,
                Some("/b"),
            ),
            (r#"<https://API.github.com:443/a>;title="x";REL=next"#, Some("/a")),
            ("</a?page=2>; rel=\"last next\"", Some("/a?page=2")),
            (r#"<https://api.github.com/a>; rel="last""#, None),
            (r#"<https://api.github.com/a>; rel="nextish""#, None),
            (r#"<https://api.github.com/a"#, None),
            ("", None),
        ] {
            assert_eq!(check(link).unwrap().as_deref(), expected, "{link}");
        }
    }

    #[test]
    fn a_link_to_anywhere_else_is_foreign() {
        for url in [
            "https://evil.example/x?page=2",
            "http://api.github.com/a",
            "https://api.github.com:8443/a",
            "https://api.github.com.evil.example/a",
            "https://api.github.com@evil.example/a",
            "https://u@api.github.com/a",
            "//evil.example/a",
            "evil.example",
        ] {
            let error = check(&format!("<{url}>; rel=\"next\"")).unwrap_err();
            let foreign = Foreign::ForeignLink { place: "link" };
            assert!(matches!(error, ReadError::Foreign(f) if f == foreign), "{url}: {error}");
        }
        assert!(check(r#"<https://api.github.com\@evil.example/>; rel="next""#).is_err());
    }
}

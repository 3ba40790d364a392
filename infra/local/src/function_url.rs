//! Function URLs: an HTTP request becomes an event (payload format 2.0), and a result an HTTP answer.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{self, HeaderName, HeaderValue},
};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    REGION,
    http::{self, Answer},
};

/// Headers of one connection, which do not pass a gateway.
const HOP_BY_HOP: &[&str] =
    &["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// An HTTP request, read completely.
#[derive(Debug)]
pub(crate) struct UrlRequest<'a> {
    pub(crate) method: &'a Method,
    /// As it was sent: neither decoded nor normalised.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) function: &'a str,
    pub(crate) request_id: &'a str,
    pub(crate) now: Timestamp,
    /// The door's port.
    pub(crate) port: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    version: &'static str,
    route_key: &'static str,
    raw_path: &'a str,
    raw_query_string: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cookies: Vec<String>,
    headers: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    query_string_parameters: BTreeMap<String, String>,
    request_context: Context<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    is_base64_encoded: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Context<'a> {
    account_id: &'static str,
    api_id: &'a str,
    authentication: Option<()>,
    authorizer: Option<()>,
    domain_name: String,
    domain_prefix: &'a str,
    http: Http<'a>,
    request_id: &'a str,
    route_key: &'static str,
    stage: &'static str,
    time: String,
    time_epoch: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Http<'a> {
    method: &'a str,
    path: &'a str,
    protocol: &'a str,
    source_ip: &'static str,
    user_agent: String,
}

/// The event for a function, as JSON.
pub(crate) fn event(request: &UrlRequest<'_>) -> Vec<u8> {
    let content_type =
        request.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let text = match std::str::from_utf8(request.body) {
        Ok(text) if is_text(content_type) => Some(text),
        _ => None,
    };
    let encoded = if text.is_none() { STANDARD.encode(request.body) } else { String::new() };
    let body = if request.body.is_empty() { None } else { Some(text.unwrap_or(&encoded)) };
    let event = Event {
        version: "2.0",
        route_key: "$default",
        raw_path: request.path,
        raw_query_string: request.query,
        cookies: cookies(request.headers),
        headers: headers(request),
        query_string_parameters: query_parameters(request.query),
        request_context: context(request),
        body,
        is_base64_encoded: body.is_some() && text.is_none(),
    };
    // Strings and numbers with string keys always serialize.
    serde_json::to_vec(&event).unwrap_or_default()
}

fn context<'a>(request: &UrlRequest<'a>) -> Context<'a> {
    let user_agent = request.headers.get(header::USER_AGENT);
    Context {
        account_id: "anonymous",
        api_id: request.function,
        authentication: None,
        authorizer: None,
        domain_name: format!("{}.lambda-url.{REGION}.on.aws", request.function),
        domain_prefix: request.function,
        http: Http {
            method: request.method.as_str(),
            path: request.path,
            protocol: request.protocol,
            source_ip: "127.0.0.1",
            user_agent: user_agent.map(value_text).unwrap_or_default(),
        },
        request_id: request.request_id,
        route_key: "$default",
        stage: "$default",
        time: request.now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
        time_epoch: request.now.as_millisecond(),
    }
}

/// Names in lower case, values of repeated headers joined; cookies have their own place.
fn headers<'a>(request: &UrlRequest<'a>) -> BTreeMap<&'a str, String> {
    let mut joined: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in request.headers {
        let name = name.as_str();
        if name == "cookie" || HOP_BY_HOP.contains(&name) {
            continue;
        }
        let value = value_text(value);
        joined
            .entry(name)
            .and_modify(|before| {
                before.push(',');
                before.push_str(&value);
            })
            .or_insert(value);
    }
    joined.insert("x-forwarded-for", "127.0.0.1".to_owned());
    joined.insert("x-forwarded-proto", "http".to_owned());
    joined.insert("x-forwarded-port", request.port.to_string());
    joined
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(header::COOKIE).iter().map(value_text);
    let split = values.flat_map(|value| {
        value.split(';').map(|cookie| cookie.trim().to_owned()).collect::<Vec<_>>()
    });
    split.filter(|cookie| !cookie.is_empty()).collect()
}

fn query_parameters(query: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value);
        parameters
            .entry(decoded(name))
            .and_modify(|before| {
                before.push(',');
                before.push_str(&value);
            })
            .or_insert(value);
    }
    parameters
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Whether Lambda hands such a body over as text. Everything else is base64, forms included.
fn is_text(content_type: Option<&str>) -> bool {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("text/")
        || ["application/json", "application/xml", "application/javascript"]
            .contains(&essence.as_str())
}

fn value_text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UrlResult {
    status_code: u16,
    #[serde(default)]
    headers: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    cookies: Option<Vec<String>>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: Option<bool>,
}

/// The answer that a function's result means; `None` for a result that means none.
pub(crate) fn answer(result: &Bytes) -> Option<Answer> {
    let value: Value = serde_json::from_slice(result).ok()?;
    if value.get("statusCode").is_none() {
        return Some(http::answer(StatusCode::OK, "application/json", result.clone()));
    }
    let result: UrlResult = serde_json::from_value(value).ok()?;
    let status = StatusCode::from_u16(result.status_code).ok()?;
    let body = result.body.unwrap_or_default();
    let body = match result.is_base64_encoded {
        Some(true) => STANDARD.decode(body).ok()?,
        Some(false) | None => body.into_bytes(),
    };
    let mut answer = http::answer(status, "application/json", body);
    for (name, value) in result.headers.unwrap_or_default() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        // The length is that of the body, whatever the function believes.
        if HOP_BY_HOP.contains(&name.as_str()) || name == header::CONTENT_LENGTH {
            continue;
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        answer.headers_mut().insert(name, HeaderValue::from_str(&value).ok()?);
    }
    for cookie in result.cookies.unwrap_or_default() {
        answer.headers_mut().append(header::SET_COOKIE, HeaderValue::from_str(&cookie).ok()?);
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    fn built(path_and_query: &str, headers: &[(&'static str, &'static str)], body: &[u8]) -> Value {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let event = event(&UrlRequest {
            method: &Method::POST,
            path,
            query,
            protocol: "HTTP/1.1",
            headers: &map,
            body,
            function: "github-webhook",
            request_id: "4d8ed510",
            now: "2026-11-30T08:05:09.123Z".parse().unwrap(),
            port: 8780,
        });
        serde_json::from_slice(&event).unwrap()
    }

    #[test]
    fn the_whole_event_is_what_lambda_sends() {
        let event = built(
            "/github/acme",
            &[("content-type", "application/json"), ("User-Agent", "GitHub-Hookshot/1")],
            b"{}",
        );
        assert_eq!(
            event,
            json!({
                "version": "2.0", "routeKey": "$default", "rawPath": "/github/acme", "rawQueryString": "",
                "headers": {
                    "content-type": "application/json", "user-agent": "GitHub-Hookshot/1",
                    "x-forwarded-for": "127.0.0.1", "x-forwarded-port": "8780", "x-forwarded-proto": "http",
                },
                "requestContext": {
                    "accountId": "anonymous", "apiId": "github-webhook", "authentication": null, "authorizer": null,
                    "domainName": "github-webhook.lambda-url.us-east-1.on.aws", "domainPrefix": "github-webhook",
                    "http": { "method": "POST", "path": "/github/acme", "protocol": "HTTP/1.1",
                        "sourceIp": "127.0.0.1", "userAgent": "GitHub-Hookshot/1" },
                    "requestId": "4d8ed510", "routeKey": "$default", "stage": "$default",
                    "time": "30/Nov/2026:08:05:09 +0000", "timeEpoch": 1_796_025_909_123_i64,
                },
                "body": "{}", "isBase64Encoded": false,
            })
        );
    }

    #[test]
    fn paths_are_passed_verbatim_and_queries_decoded() {
        let event = built("//git%20hub/acme?a=1&a=2&b=x%26y+z&c", &[], b"");
        assert_eq!(event["rawPath"], "//git%20hub/acme");
        assert_eq!(event["rawQueryString"], "a=1&a=2&b=x%26y+z&c");
        assert_eq!(event["queryStringParameters"], json!({ "a": "1,2", "b": "x&y z", "c": "" }));
        assert_eq!((event.get("body"), &event["isBase64Encoded"]), (None, &json!(false)));
    }

    #[test]
    fn repeated_headers_are_joined_and_cookies_are_a_list() {
        let headers = [
            ("x-a", "1"),
            ("x-a", "2"),
            ("cookie", "a=1; b=2"),
            ("cookie", "c=3"),
            ("connection", "close"),
        ];
        let event = built("/", &headers, b"");
        assert_eq!(event["headers"]["x-a"], "1,2");
        assert_eq!(event["cookies"], json!(["a=1", "b=2", "c=3"]));
        assert_eq!(
            (event["headers"].get("cookie"), event["headers"].get("connection")),
            (None, None)
        );
    }

    #[test]
    fn only_text_types_with_valid_text_arrive_as_text() {
        for (content_type, body, expected) in [
            ("application/json; charset=utf-8", b"{}".as_slice(), ("{}", false)),
            ("Application/JSON", b"{}", ("{}", false)),
            ("text/plain", b"a", ("a", false)),
            (
                "application/x-www-form-urlencoded",
                b"payload=%7B%7D",
                ("cGF5bG9hZD0lN0IlN0Q=", true),
            ),
            ("application/octet-stream", b"a", ("YQ==", true)),
            ("application/json", b"\xff", ("/w==", true)),
        ] {
            let event = built("/", &[("content-type", content_type)], body);
            assert_eq!(
                (event["body"].as_str().unwrap(), event["isBase64Encoded"] == true),
                expected,
                "{content_type}"
            );
        }
        assert_eq!(built("/", &[], b"a")["isBase64Encoded"], true);
    }

    /// `status content-type body` of the answer, or `none`.
    fn check(result: &str, expected: &str) {
        let answer = answer(&Bytes::copy_from_slice(result.as_bytes())).map(|answer| {
            let (parts, body) = answer.into_parts();
            let body = pollster(body);
            let kind = parts.headers.get("content-type").unwrap().to_str().unwrap().to_owned();
            format!("{} {kind} {body}", parts.status.as_u16())
        });
        assert_eq!(answer.as_deref().unwrap_or("none"), expected, "{result}");
    }

    fn pollster(body: http_body_util::Full<Bytes>) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        String::from_utf8(runtime.block_on(body.collect()).unwrap().to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_result_with_a_status_is_an_answer_and_any_other_json_a_body() {
        check(r#"{"statusCode":202,"body":"ok"}"#, "202 application/json ok");
        check(
            r#"{"statusCode":200,"headers":{"Content-Type":"text/plain","content-length":"99"},"body":"ok"}"#,
            "200 text/plain ok",
        );
        check(
            r#"{"statusCode":200,"body":"b2s=","isBase64Encoded":true}"#,
            "200 application/json ok",
        );
        check(
            r#"{"statusCode":204,"headers":null,"cookies":null,"body":null}"#,
            "204 application/json ",
        );
        check(r#"{"hello":1}"#, r#"200 application/json {"hello":1}"#);
        check(r#""text""#, r#"200 application/json "text""#);
    }

    #[test]
    fn a_result_that_is_no_answer_is_an_error() {
        check("not json", "none");
        check(r#"{"statusCode":"two hundred"}"#, "none");
        check(r#"{"statusCode":42}"#, "none");
        check(r#"{"statusCode":200,"body":"%","isBase64Encoded":true}"#, "none");
        check(r#"{"statusCode":200,"headers":{"bad name":"x"}}"#, "none");
    }

    #[test]
    fn each_cookie_is_a_header_of_its_own() {
        let result = br#"{"statusCode":200,"cookies":["a=1","b=2"]}"#;
        let answer = answer(&Bytes::from_static(result)).unwrap();
        assert_eq!(answer.headers().get_all("set-cookie").iter().count(), 2);
    }
}

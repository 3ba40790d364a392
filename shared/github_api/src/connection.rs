//! How one tenant's GitHub is reached, checked before anything is asked.

use std::fmt;
use std::net::IpAddr;

use domain::ids::Host;
use hyper::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use serde::Deserialize;

use crate::app::AppKey;

/// Where github.com answers.
const GITHUB_COM: &str = "github.com";
/// Tenants with data residency live below this domain, their API at `api.` before their name.
const GHE_COM: &str = ".ghe.com";
/// Where a GitHub Enterprise Server has its API.
const SERVER_PREFIX: &str = "/api/v3";
/// Below what a stand-in on this machine may have its API. Nothing else that listens here is asked anything.
const LOCAL_PREFIXES: [&str; 3] = ["", "/api", SERVER_PREFIX];
/// Longest path below which a server has its API.
const PREFIX_BYTES_MAX: usize = 128;
/// Longest secret that is taken. An RSA key of 4096 bits has 3.3 KB as text.
const SECRET_BYTES_MAX: usize = 16 * 1024;

/// Something that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// How to reach one tenant's GitHub.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The connection's id: the evidence that reads carry.
    pub id: String,
    /// The host whose ids are read: `github.com`, a `ghe.com` tenant, a server of the tenant's own.
    pub host: Host,
    /// Where its API is.
    pub api_base_url: ApiBaseUrl,
    /// As whom.
    pub auth: Auth,
}

/// As whom a connection asks.
#[derive(Debug, Clone)]
pub enum Auth {
    /// As whoever owns the token.
    Token(Secret),
    /// As a GitHub App, with one installation's rights.
    App {
        /// The App's client id, or its id in digits.
        issuer: String,
        /// Its RSA key as PEM, PKCS#1 (as GitHub gives it) or PKCS#8.
        private_key_pem: Secret,
        /// The installation.
        installation: u64,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    token: Option<String>,
    issuer: Option<String>,
    private_key: Option<String>,
    installation_id: Option<u64>,
}

impl Auth {
    /// Reads a stored secret: `{"token": "…"}`, or `{"issuer": "<client id>", "privateKey": "<PEM>", "installationId": 1}`.
    ///
    /// # Errors
    /// [`ConnectError::Secret`] for anything else.
    pub fn parse(stored: &str) -> Result<Self, ConnectError> {
        let stored: Stored = serde_json::from_str(stored).map_err(|_| ConnectError::Secret)?;
        match (stored.token, stored.issuer, stored.private_key, stored.installation_id) {
            (Some(token), None, None, None) => Ok(Self::Token(Secret(token))),
            (None, Some(issuer), Some(key), Some(installation)) => {
                Ok(Self::App { issuer, private_key_pem: Secret(key), installation })
            }
            _ => Err(ConnectError::Secret),
        }
    }

    /// What is wrong with it, before anything is sent.
    pub(crate) fn check(&self) -> Result<(), ConnectError> {
        let fits = |secret: &Secret| (1..=SECRET_BYTES_MAX).contains(&secret.0.len());
        let printable =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        match self {
            Self::Token(token) if fits(token) && printable(&token.0) => Ok(()),
            Self::App { issuer, private_key_pem, installation } => {
                if !fits(private_key_pem) || !printable(issuer) || *installation == 0 {
                    return Err(ConnectError::Secret);
                }
                AppKey::from_pem(private_key_pem).map(|_| ())
            }
            Self::Token(_) => Err(ConnectError::Secret),
        }
    }
}

/// Why a connection can't be used. Somebody must mend its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The base URL must be `https://api.github.com` for github.com, and of the host itself or of `api.<host>`, by https,
    /// for any other. For local use it may be any port of a loopback address, by http too.
    #[error("the API's base URL is not the one of the connection's host")]
    BaseUrl,
    /// A host is a DNS name: an address has no certificate that names it.
    #[error("the connection's host is an address, not a DNS name")]
    Host,
    /// The stored secret must be a printable token, or an App's issuer, key and installation.
    #[error("the connection's secret is neither a token nor an App's")]
    Secret,
    /// The App's key must be an RSA key of 2048 to 4096 bits in PEM.
    #[error("the App's private key is no RSA key in PEM")]
    PrivateKey,
    /// TLS could not be set up.
    #[error("TLS can't be set up")]
    Tls,
}

/// Where an API is: an origin, and the path below which it lies.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiBaseUrl {
    scheme: Scheme,
    authority: Authority,
    prefix: String,
}

impl fmt::Debug for ApiBaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

impl ApiBaseUrl {
    /// The URL of a host's API, as GitHub lays it out.
    ///
    /// # Errors
    /// [`ConnectError::Host`] for an address.
    pub fn of_host(host: &Host) -> Result<Self, ConnectError> {
        // The last label of an address is a number, however the address is spelled; no top-level domain is one.
        let last = host.as_str().rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || is_loopback(host.as_str()) {
            return Err(ConnectError::Host);
        }
        let (name, prefix) = match host.as_str() {
            GITHUB_COM => (format!("api.{host}"), ""),
            tenant if tenant.ends_with(GHE_COM) => (format!("api.{host}"), ""),
            _ => (host.to_string(), SERVER_PREFIX),
        };
        let authority = name.parse().map_err(|_| ConnectError::Host)?;
        Ok(Self { scheme: Scheme::HTTPS, authority, prefix: prefix.to_owned() })
    }

    /// Reads a URL.
    ///
    /// # Errors
    /// [`ConnectError::BaseUrl`] for what can be no host's API: another scheme, a user, a query, an odd path. Whether it
    /// belongs to the connection's host is checked when the connection is used.
    pub fn parse(text: &str) -> Result<Self, ConnectError> {
        let uri: Uri = text.parse().map_err(|_| ConnectError::BaseUrl)?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(ConnectError::BaseUrl);
        };
        let path = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
        let prefix = path.trim_end_matches('/').to_owned();
        let is_local = is_loopback(authority.host());
        let fits = !authority.as_str().contains('@')
            && if is_local {
                LOCAL_PREFIXES.contains(&prefix.as_str())
            } else {
                scheme == Scheme::HTTPS && is_plain_path(&prefix)
            };
        let is_web = scheme == Scheme::HTTPS || scheme == Scheme::HTTP;
        if fits && is_web {
            Ok(Self { scheme, authority, prefix })
        } else {
            Err(ConnectError::BaseUrl)
        }
    }

    /// Whether this belongs to the host, or is a loopback address.
    pub(crate) fn check(&self, host: &Host) -> Result<(), ConnectError> {
        if self.is_loopback() {
            return Ok(());
        }
        let expected = Self::of_host(host)?;
        if host.as_str() == GITHUB_COM {
            let same = self.is_origin_of(&expected.scheme, &expected.authority)
                && self.prefix == expected.prefix;
            return if same { Ok(()) } else { Err(ConnectError::BaseUrl) };
        }
        let api_host = format!("api.{host}");
        let belongs = [host.as_str(), &api_host];
        let is_its = belongs.iter().any(|name| self.authority.host().eq_ignore_ascii_case(name));
        if is_its { Ok(()) } else { Err(ConnectError::BaseUrl) }
    }

    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(self.authority.host())
    }

    /// Whether an absolute URL has this origin: scheme, host and port, and no user.
    pub(crate) fn is_origin_of(&self, scheme: &Scheme, authority: &Authority) -> bool {
        let port = |authority: &Authority| {
            authority.port_u16().or(if *scheme == Scheme::HTTP { Some(80) } else { Some(443) })
        };
        *scheme == self.scheme
            && authority.host().eq_ignore_ascii_case(self.authority.host())
            && port(authority) == port(&self.authority)
            && !authority.as_str().contains('@')
    }

    /// The path of a call below the API's prefix.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The URL of a target at this origin. There is no way to make one at another.
    pub(crate) fn at(&self, target: &PathAndQuery) -> Option<Uri> {
        let (scheme, authority) = (self.scheme.clone(), self.authority.clone());
        let uri = Uri::builder().scheme(scheme).authority(authority);
        uri.path_and_query(target.clone()).build().ok()
    }
}

/// Whether a path is made of plain segments.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    path.len() <= PREFIX_BYTES_MAX
        && (path.is_empty() || path.split('/').skip(1).all(is_plain) && path.starts_with('/'))
}

/// Whether a URL's host is this very machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, url: &str) -> Result<(), ConnectError> {
        ApiBaseUrl::parse(url)?.check(&Host::new(host).unwrap())
    }

    #[test]
    fn a_base_url_belongs_to_its_host() {
        for (host, url) in [
            ("github.com", "https://api.github.com"),
            ("github.com", "https://API.github.com:443/"),
            ("acme.ghe.com", "https://api.acme.ghe.com"),
            ("ghe.example.com", "https://ghe.example.com/api/v3"),
            ("ghe.example.com", "https://ghe.example.com/api/v3/"),
            ("ghe.example.com", "https://api.ghe.example.com:8443"),
        ] {
            assert_eq!(check(host, url), Ok(()), "{host} {url}");
            let of_host = ApiBaseUrl::of_host(&Host::new(host).unwrap()).unwrap();
            assert_eq!(of_host.check(&Host::new(host).unwrap()), Ok(()), "{host}");
        }
    }

    #[test]
    fn what_a_token_must_not_reach_is_no_base_url() {
        for (host, url) in [
            ("github.com", "http://api.github.com"),
            ("github.com", "https://api.github.com.evil.example"),
            ("github.com", "https://evil.example"),
            ("github.com", "https://evil.example@api.github.com"),
            ("github.com", "https://api.github.com:8443"),
            ("github.com", "https://api.github.com/api/v3"),
            ("github.com", "https://github.com/api/v3"),
            ("github.com", "ftp://api.github.com"),
            ("github.com", "api.github.com"),
            ("github.com", "/"),
            ("github.com", ""),
            ("ghe.example.com", "https://ghe.example.com/api/v3?x"),
            ("ghe.example.com", "https://ghe.example.com/../x"),
            ("ghe.example.com", "https://evil-ghe.example.com/api/v3"),
            ("ghe.example.com", "http://ghe.example.com/api/v3"),
            ("169.254.169.254", "http://169.254.169.254/latest"),
            ("ghe.example.com", "http://127.0.0.1:9001/2018-06-01/runtime"),
            ("ghe.example.com", "http://localhost.evil.example"),
        ] {
            assert_eq!(check(host, url), Err(ConnectError::BaseUrl), "{host} {url}");
        }
    }

    #[test]
    fn a_host_that_is_an_address_is_refused_however_it_is_spelled() {
        for host in ["169.254.169.254", "127.0.0.1", "2130706433", "0x7f000001", "localhost"] {
            let host = Host::new(host).unwrap();
            assert_eq!(ApiBaseUrl::of_host(&host), Err(ConnectError::Host), "{host}");
        }
        let metadata = check("169.254.169.254", "https://169.254.169.254/api/v3");
        assert_eq!(metadata, Err(ConnectError::Host));
    }

    #[test]
    fn this_machine_may_stand_in_for_any_host() {
        for url in ["http://127.0.0.1:8080", "http://localhost:1/api/v3", "https://[::1]:8443"] {
            assert_eq!(check("github.com", url), Ok(()), "{url}");
        }
    }

    #[test]
    fn a_stored_secret_is_a_token_or_an_app() {
        assert!(matches!(Auth::parse(r#"{"token":"t"}"#), Ok(Auth::Token(_))));
        let app = r#"{"issuer":"Iv1.a","privateKey":"pem","installationId":7}"#;
        assert!(matches!(Auth::parse(app), Ok(Auth::App { installation: 7, .. })));
        for bad in [
            "",
            "t",
            "{}",
            r#"{"token":"t","issuer":"a"}"#,
            r#"{"issuer":"a","privateKey":"p"}"#,
            r#"{"tokens":"t"}"#,
        ] {
            assert_eq!(Auth::parse(bad).err(), Some(ConnectError::Secret), "{bad}");
        }
    }

    #[test]
    fn a_token_that_no_header_can_hold_is_refused() {
        for bad in ["", "a b", "a\nb", "ä", &"a".repeat(SECRET_BYTES_MAX + 1)] {
            assert_eq!(Auth::Token(Secret::new(bad)).check(), Err(ConnectError::Secret), "{bad}");
        }
        assert_eq!(Auth::Token(Secret::new("ghs_a.b-c_d")).check(), Ok(()));
    }

    #[test]
    fn no_secret_is_printed() {
        let auth = Auth::parse(r#"{"issuer":"i","privateKey":"CANARY","installationId":7}"#);
        assert!(!format!("{auth:?}").contains("CANARY"));
        assert!(!format!("{:?}", Auth::Token(Secret::new("CANARY"))).contains("CANARY"));
    }
}

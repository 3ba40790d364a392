//! One request, one answer: to one origin, over TLS by ring, within limits of time and size. Follows nothing.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, vec};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT,
};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use crate::client::Limits;
use crate::connection::{ApiBaseUrl, ConnectError};
use crate::error::{ReadError, unreadable};

/// Who asks. GitHub refuses requests that do not say.
const AGENT: HeaderValue = HeaderValue::from_static("plumbline");
const JSON: HeaderValue = HeaderValue::from_static("application/vnd.github+json");
/// Later versions no longer tell `merge_commit_sha`.
const API_VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");
/// How much of a refusal's body is looked at: only its words matter.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// A connection that was idle for longer is not used again: the host, or a frozen environment, has closed it.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// What is sent.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: Method,
    pub(crate) target: &'a PathAndQuery,
    pub(crate) authorization: HeaderValue,
    pub(crate) body: Bytes,
}

/// What came back, whatever it is.
pub(crate) struct RawAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The way to one origin.
pub(crate) struct Transport {
    base: ApiBaseUrl,
    limits: Limits,
    client: Client<HttpsConnector<HttpConnector<Vetted>>, Full<Bytes>>,
}

impl Transport {
    pub(crate) fn new(base: ApiBaseUrl, limits: Limits) -> Result<Self, ConnectError> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Self::trusting(roots, base, limits)
    }

    fn trusting(
        roots: RootCertStore,
        base: ApiBaseUrl,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| ConnectError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let reach = if base.is_loopback() { Reach::ThisMachine } else { Reach::Public };
        let mut tcp = HttpConnector::new_with_resolver(Vetted { reach, dns: GaiResolver::new() });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limits.connect));
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        let builder = match reach {
            Reach::ThisMachine => builder.https_or_http(),
            Reach::Public => builder.https_only(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .build(builder.enable_http1().wrap_connector(tcp));
        Ok(Self { base, limits, client })
    }

    pub(crate) const fn base(&self) -> &ApiBaseUrl {
        &self.base
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends one request and reads its answer, within the time of one attempt.
    pub(crate) async fn send(&self, outgoing: Outgoing<'_>) -> Result<RawAnswer, ReadError> {
        let attempt = Box::pin(self.attempt(outgoing));
        match tokio::time::timeout(self.limits.attempt, attempt).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(ReadError::Unavailable(elapsed.into())),
        }
    }

    async fn attempt(&self, outgoing: Outgoing<'_>) -> Result<RawAnswer, ReadError> {
        let uri = self.base.at(outgoing.target).ok_or_else(|| unreadable("the target"))?;
        let mut request = Request::new(Full::new(outgoing.body));
        *request.method_mut() = outgoing.method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT, JSON);
        headers.insert("x-github-api-version", API_VERSION);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(AUTHORIZATION, outgoing.authorization);
        let answer = self.client.request(request).await;
        self.read(answer.map_err(|error| ReadError::Unavailable(error.into()))?).await
    }

    async fn read(&self, answer: Response<Incoming>) -> Result<RawAnswer, ReadError> {
        let (parts, mut incoming) = answer.into_parts();
        if parts.headers.contains_key(CONTENT_ENCODING) {
            return Err(unreadable("content-encoding"));
        }
        let bytes_max = self.limits.body_bytes_max;
        let too_large = || ReadError::TooLarge {
            limit: u64::try_from(bytes_max).unwrap_or(u64::MAX),
            unit: "bytes of a body",
        };
        let is_refusal = !parts.status.is_success();
        if !is_refusal && exceeds(incoming.size_hint().lower(), bytes_max) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| ReadError::Unavailable(error.into()))?;
            let Ok(data) = frame.into_data() else { continue };
            if is_refusal && body.len() + data.len() > REFUSAL_BYTES_MAX {
                break;
            }
            if body.len() + data.len() > bytes_max {
                return Err(too_large());
            }
            body.extend_from_slice(&data);
        }
        Ok(RawAnswer { status: parts.status, headers: parts.headers, body: body.freeze() })
    }
}

fn exceeds(bytes: u64, max: usize) -> bool {
    usize::try_from(bytes).map_or(true, |bytes| bytes > max)
}

/// Where a name may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// To a stand-in on this machine.
    ThisMachine,
    /// To the public network. What a name resolves to is checked for each connection, so that it cannot change in between
    /// to an address that only this machine or its network reaches.
    Public,
}

/// Resolves names to addresses within reach.
#[derive(Clone)]
struct Vetted {
    reach: Reach,
    dns: GaiResolver,
}

impl Service<Name> for Vetted {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.dns.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.reach;
        let resolving = self.dns.call(name);
        Box::pin(async move {
            let within = |address: &SocketAddr| match reach {
                Reach::ThisMachine => address.ip().is_loopback(),
                Reach::Public => is_public(address.ip()),
            };
            let addresses: Vec<SocketAddr> = resolving.await?.filter(within).collect();
            if addresses.is_empty() {
                return Err(io::Error::other("the name leads to no address within reach"));
            }
            Ok(addresses.into_iter())
        })
    }
}

/// Whether an address belongs to the public network (IANA's registries of special addresses).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 224;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, ..] = address.segments();
    let embedded = || {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match (first, second) {
        // NAT64 leads to the address inside.
        (0x64, 0xff9b) if [third, fourth, fifth, sixth] == [0; 4] => is_public_v4(embedded()),
        (0x2001, 0x0db8) | (0x2001, 0..=0x01ff) | (0x2002, _) => false,
        _ => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection, Stream};

    use super::*;

    const ROOT: &[u8] = include_bytes!("../tests/keys/root.der");
    /// Names `localhost` and nothing else.
    const CERTIFICATE: &[u8] = include_bytes!("../tests/keys/localhost.der");
    const KEY: &[u8] = include_bytes!("../tests/keys/localhost-key.der");

    /// Answers one request over TLS. Gives its port, and what it heard.
    fn serve() -> (u16, JoinHandle<String>) {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CERTIFICATE.into()], PrivatePkcs8KeyDer::from(KEY).into());
        let mut tls = ServerConnection::new(Arc::new(config.unwrap())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = thread::spawn(move || {
            let (mut tcp, _) = listener.accept().unwrap();
            let mut stream = Stream::new(&mut tls, &mut tcp);
            let mut heard = vec![0; 4096];
            let Ok(length) = stream.read(&mut heard) else { return String::new() };
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
            String::from_utf8_lossy(&heard[..length]).into_owned()
        });
        (port, heard)
    }

    /// Asks with a token at a host of this machine, trusting only these roots.
    async fn ask(
        host: &str,
        roots: RootCertStore,
    ) -> (Result<RawAnswer, ReadError>, JoinHandle<String>) {
        let (port, heard) = serve();
        let base = ApiBaseUrl::parse(&format!("https://{host}:{port}")).unwrap();
        let transport = Transport::trusting(roots, base, Limits::default()).unwrap();
        let outgoing = Outgoing {
            method: Method::GET,
            target: &PathAndQuery::from_static("/x"),
            authorization: HeaderValue::from_static("Bearer CANARY"),
            body: Bytes::new(),
        };
        (transport.send(outgoing).await, heard)
    }

    fn our_root() -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(ROOT.into()).unwrap();
        roots
    }

    #[tokio::test]
    async fn a_host_that_proves_its_name_is_heard() {
        let (answer, heard) = ask("localhost", our_root()).await;
        assert_eq!(answer.ok().unwrap().body, "{}");
        let heard = heard.join().unwrap();
        assert!(heard.starts_with("GET /x HTTP/1.1\r\n") && heard.contains("Bearer CANARY"));
    }

    #[tokio::test]
    async fn a_host_that_does_not_prove_its_name_hears_nothing() {
        let public = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for (host, roots) in [("localhost", public), ("127.0.0.1", our_root())] {
            let (answer, heard) = ask(host, roots).await;
            assert!(matches!(answer, Err(ReadError::Unavailable(_))), "{host}");
            assert_eq!(heard.join().unwrap(), "", "{host}");
        }
    }

    #[test]
    fn only_public_addresses_are_reached() {
        for public in ["140.82.112.6", "1.1.1.1", "2606:50c0:8000::153", "64:ff9b::8c52:7006"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for special in [
            "127.0.0.1",
            "169.254.169.254",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "2001:db8::1",
            "ff02::1",
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_out_of_reach_of_a_public_origin() {
        let resolve = |reach| {
            let name = "localhost".parse().unwrap();
            Vetted { reach, dns: GaiResolver::new() }.call(name)
        };
        assert!(resolve(Reach::Public).await.is_err());
        assert!(resolve(Reach::ThisMachine).await.unwrap().all(|found| found.ip().is_loopback()));
    }
}

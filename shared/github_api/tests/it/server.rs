//! A scripted HTTP/1.1 server: one thread a connection, one answer a connection. It also misbehaves where a test wants it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `GET /path?query`.
    pub(crate) line: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Text(String),
    /// More and more, until the reader has enough.
    Endless,
    /// The length is announced, and half of it sent.
    Cut(String),
    /// Not even a status.
    Silence,
    /// A status, headers, and then nothing.
    Stall,
}

impl Reply {
    pub(crate) fn new(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: Body::Text(body.to_owned()) }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::of(200, value)
    }

    pub(crate) fn of(status: u16, value: &Value) -> Self {
        let reply = Self::new(status, &value.to_string());
        reply.header("content-type", "application/json; charset=utf-8")
    }

    pub(crate) fn missing() -> Self {
        Self::of(404, &serde_json::json!({ "message": "Not Found" }))
    }

    pub(crate) fn endless(status: u16) -> Self {
        let reply = Self { status, headers: Vec::new(), body: Body::Endless };
        reply.header("content-type", "application/json")
    }

    pub(crate) fn cut(text: &str) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Cut(text.to_owned()) }
    }

    pub(crate) fn silence() -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Silence }
    }

    pub(crate) fn stall() -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Stall }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn next(self, url: &str) -> Self {
        self.header("link", &format!("<{url}>; rel=\"next\""))
    }
}

/// What is answered to each request line. The replies of a line are given one after the other, and the last one again and
/// again. What is not scripted is 404.
#[derive(Debug, Default)]
pub(crate) struct Script(BTreeMap<String, Vec<Reply>>);

impl Script {
    /// Adds the next reply to a line.
    pub(crate) fn on(mut self, line: &str, reply: Reply) -> Self {
        self.0.entry(line.to_owned()).or_default().push(reply);
        self
    }

    /// Forgets the replies to a line.
    pub(crate) fn without(mut self, line: &str) -> Self {
        self.0.remove(line);
        self
    }

    fn next(&mut self, line: &str) -> Reply {
        let Some(replies) = self.0.get_mut(line) else { return Reply::missing() };
        if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() }
    }
}

/// A listening server. It listens until the tests end.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Mutex<Script>>,
}

impl Server {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Self { address, seen: Arc::default(), script: Arc::new(Mutex::new(script)) };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                // A client that goes away ends its own conversation only.
                thread::spawn(move || serving.serve(stream).unwrap_or_default());
            }
        });
        server
    }

    /// A server that is told what to answer once its address is known.
    pub(crate) fn scripted(script: impl FnOnce(&Self) -> Script) -> Self {
        let server = Self::start(Script::default());
        *server.script.lock().expect("a script") = script(&server);
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests that came, in their order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("requests").clone()
    }

    /// The lines of all requests that came.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let Some(seen) = read_request(&mut reader)? else { return Ok(()) };
        let reply = self.script.lock().expect("a script").next(&seen.line);
        self.seen.lock().expect("requests").push(seen);
        answer(stream, &mut reader, &reply)
    }
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Seen>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Seen { line, headers, body: String::from_utf8_lossy(&body).into_owned() }))
}

fn answer(mut stream: TcpStream, reader: &mut impl Read, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &reply.body {
        Body::Text(text) => {
            write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len())
        }
        Body::Cut(text) => {
            write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len() * 2)
        }
        Body::Endless => {
            write!(stream, "{head}transfer-encoding: chunked\r\n\r\n")?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            loop {
                stream.write_all(chunk.as_bytes())?;
            }
        }
        Body::Silence => gone(reader),
        Body::Stall => {
            write!(stream, "{head}content-type: application/json\r\ncontent-length: 9\r\n\r\n")?;
            gone(reader)
        }
    }
}

/// Waits until the client goes away.
fn gone(reader: &mut impl Read) -> std::io::Result<()> {
    std::io::copy(reader, &mut std::io::sink()).map(|_| ())
}

//! Where the output of function processes goes.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    sync::Notify,
    time::timeout,
};

/// Lines kept in memory: a run of 20,000 deliveries with a handful of lines each.
const LINES_MAX: usize = 200_000;

/// Bytes kept in memory, should the lines be long.
const BYTES_MAX: usize = 128 * 1024 * 1024;

/// Longer lines are cut: CloudWatch cuts at 256 KiB, and nobody reads further than this.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// One line of a function's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Short name of the function.
    pub function: Arc<str>,
    /// The process that wrote it.
    pub process: u32,
    /// The line, without its end.
    pub text: Arc<str>,
}

/// Where lines go besides memory.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// Show them on stderr, each after its function's name.
    pub stderr: bool,
    /// Append them to `<function>.log` in this folder.
    pub directory: Option<PathBuf>,
}

/// The newest lines, within both limits.
#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<LogLine>,
    bytes: usize,
}

/// Collects the output of all function processes.
#[derive(Debug)]
pub struct Logs {
    options: LogOptions,
    ring: Mutex<Ring>,
    files: Mutex<BTreeMap<Arc<str>, File>>,
    added: Notify,
}

impl Logs {
    /// Collects in memory, and wherever the options say.
    pub(crate) fn new(options: LogOptions) -> Self {
        Self { options, ring: Mutex::default(), files: Mutex::default(), added: Notify::new() }
    }

    /// All lines that are still kept, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<LogLine> {
        self.lock().lines.iter().cloned().collect()
    }

    /// Lines of one function that contain `text`.
    #[must_use]
    pub fn find(&self, function: &str, text: &str) -> Vec<LogLine> {
        let ring = self.lock();
        let found = ring
            .lines
            .iter()
            .filter(|line| &*line.function == function && line.text.contains(text));
        found.cloned().collect()
    }

    /// Waits for a line of one function that contains `text`; `None` when none came in time.
    pub async fn wait_for(&self, function: &str, text: &str, within: Duration) -> Option<LogLine> {
        let search = async {
            loop {
                let added = self.added.notified();
                if let Some(line) = self.find(function, text).pop() {
                    return line;
                }
                added.await;
            }
        };
        timeout(within, search).await.ok()
    }

    /// Forgets the lines so far.
    pub fn clear(&self) {
        *self.lock() = Ring::default();
    }

    pub(crate) fn add(&self, line: LogLine) {
        if self.options.stderr {
            // Nobody to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "{} | {}", line.function, line.text);
        }
        if self.options.directory.is_some() {
            self.append(&line);
        }
        self.lock().push(line);
        self.added.notify_waiters();
    }

    fn append(&self, line: &LogLine) {
        let Some(directory) = &self.options.directory else { return };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.contains_key(&line.function) {
            let path = directory.join(format!("{}.log", line.function));
            match OpenOptions::new().append(true).create(true).mode(0o600).open(path) {
                Ok(file) => drop(files.insert(Arc::clone(&line.function), file)),
                Err(_) => return,
            }
        }
        if let Some(file) = files.get_mut(&line.function) {
            let _ = writeln!(file, "{}", line.text);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn push(&mut self, line: LogLine) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while LINES_MAX < self.lines.len() || BYTES_MAX < self.bytes {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.text.len());
        }
    }
}

/// Calls `each` for every line until the stream ends; overlong lines are cut.
pub(crate) async fn read_lines(stream: impl AsyncRead + Unpin, mut each: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(buffer) => {
                let end = buffer.iter().position(|byte| *byte == b'\n');
                let piece = buffer.split_at(end.unwrap_or(buffer.len())).0;
                let room = LINE_BYTES_MAX.saturating_sub(line.len());
                line.extend(piece.iter().take(room));
                (piece.len() + usize::from(end.is_some()), end.is_some())
            }
        };
        reader.consume(used);
        if ended {
            each(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &str, expected: &[&str]) {
        let mut lines = Vec::new();
        read_lines(input.as_bytes(), |line| lines.push(line.to_owned())).await;
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn every_line_arrives_also_an_unfinished_last_one() {
        check("one\n\ntwo\nthree", &["one", "", "two", "three"]).await;
        check("", &[]).await;
    }

    #[tokio::test]
    async fn an_endless_line_is_cut_and_the_next_one_is_whole() {
        let long = "x".repeat(LINE_BYTES_MAX + 10_000);
        check(&format!("{long}\nnext\n"), &[&"x".repeat(LINE_BYTES_MAX), "next"]).await;
    }
}

//! The directory in which a stack keeps what outlives it, open to its owner only and to one stack at a time.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::error::StackError;

const LOCK_ATTEMPTS: u32 = 4;
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// A locked state directory. The lock ends with the process, however it ends.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
    _lock: File,
}

impl StateDirectory {
    /// Creates the directory where it is missing, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, StackError> {
        let failed =
            |source| StackError::Io { what: format!("state directory {}", path.display()), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut lock = options.open(path.join("lock")).map_err(failed)?;
        match locked(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = lock.read_to_string(&mut pid);
                return Err(StackError::StateInUse {
                    directory: path,
                    pid: pid.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let note = lock
            .set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        note.map_err(failed)?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, absolute.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Text of a file in it, `None` where there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, StackError> {
        let path = self.file(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StackError::io(format!("file {}", path.display()))(error)),
        }
    }

    /// Replaces a file in it, wholly or not at all, readable by its owner only.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), StackError> {
        let path = self.file(name);
        let partial = self.file(&format!("{name}.partial"));
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options
            .open(&partial)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&partial, &path));
        written.map_err(StackError::io(format!("file {}", path.display())))
    }

    /// Removes a file in it; a missing one is no error.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.file(name));
    }
}

/// A tool that asks whether a stack is running holds the lock for a moment.
fn locked(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..LOCK_ATTEMPTS {
        if lock.try_lock().is_ok() {
            return Ok(());
        }
        thread::sleep(LOCK_AGAIN_AFTER);
    }
    lock.try_lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("plumbline-state-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn one_directory_belongs_to_one_stack() {
        let path = scratch("lock");
        let first = StateDirectory::open(&path).unwrap();
        let second = StateDirectory::open(&path).unwrap_err().to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        assert!(second.contains("--state"), "{second}");
        drop(first);
        StateDirectory::open(&path).unwrap();
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn what_is_stored_is_private_and_replaced_as_a_whole() {
        let path = scratch("files");
        let state = StateDirectory::open(&path).unwrap();
        assert_eq!(state.read("secrets.json").unwrap(), None);
        state.write("secrets.json", "a longer text").unwrap();
        state.write("secrets.json", "short").unwrap();
        assert_eq!(state.read("secrets.json").unwrap().as_deref(), Some("short"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&state.file("secrets.json")), 0o600);
        assert_eq!(mode(state.path()), 0o700);
        fs::remove_dir_all(&path).unwrap();
    }
}

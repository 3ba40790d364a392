//! The workspace that the functions are built from, when there is one.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, bail};
use tokio::process::Command;

/// What marks a workspace.
const DESCRIPTION: &str = "infra/stack.json";

/// A folder with a description of the infrastructure.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace of `cargo run`, else the one that this program was built in, else the nearest one
    /// at or above the current folder.
    pub(crate) fn find() -> Option<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let built_in = Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let current = env::current_dir().ok();
        let starts = [manifest, built_in, current].into_iter().flatten();
        let mut found = starts.filter_map(|start| {
            let mut folders = start.ancestors();
            folders.find(|folder| folder.join(DESCRIPTION).is_file()).map(Path::to_path_buf)
        });
        found.next().map(|root| Self { root })
    }

    /// The description of the infrastructure.
    pub(crate) fn description(&self) -> PathBuf {
        self.root.join(DESCRIPTION)
    }

    /// Builds the binaries of these packages into the folder that holds this executable, and in the same
    /// profile. Does nothing without a manifest. Dropping the future ends the build.
    pub(crate) async fn build(&self, packages: &[String]) -> anyhow::Result<()> {
        if !self.root.join("Cargo.toml").is_file() {
            return Ok(());
        }
        let executable = env::current_exe().context("the current executable")?;
        let Some((target, profile)) = target_and_profile(&executable) else { return Ok(()) };
        let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut build = Command::new(cargo);
        build
            .kill_on_drop(true)
            .current_dir(&self.root)
            .arg("build")
            .arg("--target-dir")
            .arg(target);
        match profile.as_str() {
            "debug" => {}
            "release" => drop(build.arg("--release")),
            other => drop(build.args(["--profile", other])),
        }
        for package in packages {
            build.args(["--package", package]);
        }
        // Set by `cargo run` for this program. Build scripts that look at them would run again and again.
        for (name, _) in env::vars_os().filter(|(name, _)| is_about_a_package(name)) {
            build.env_remove(name);
        }
        let status =
            build.stdout(Stdio::null()).status().await.context("cargo could not be started")?;
        if !status.success() {
            bail!(
                "the functions could not be built; fix what cargo says above, or name built ones with --functions"
            );
        }
        Ok(())
    }
}

fn is_about_a_package(variable: &OsStr) -> bool {
    let variable = variable.to_string_lossy();
    let prefixes =
        ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    prefixes.iter().any(|prefix| variable.starts_with(prefix)) || variable == "OUT_DIR"
}

/// `target/debug/plumbline` → (`target`, `debug`). Anything outside a target folder is no build.
fn target_and_profile(executable: &Path) -> Option<(PathBuf, String)> {
    let folder = executable.parent()?;
    let target = folder.parent()?;
    if !target.join("CACHEDIR.TAG").is_file() {
        return None;
    }
    Some((target.to_path_buf(), folder.file_name()?.to_str()?.to_owned()))
}

//! The arrows between crates, and what every crate and file owes the reader.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::support::world::workspace;

/// What each shared crate may name of ours. A crate that nobody placed fails the test.
const ARROWS: [(&str, &[&str]); 8] = [
    ("domain", &[]),
    ("ports", &["domain"]),
    ("github", &["domain"]),
    // One dialect: what is delivered and what is read are the same words.
    ("github_api", &["domain", "github", "ports"]),
    ("mirror_store", &["domain", "ports"]),
    ("queues", &["domain", "ports"]),
    ("secrets", &["ports"]),
    ("lambda_entry", &["domain"]),
];

/// Crates that do no I/O, and all that they may use from outside.
const PURE: [(&str, &[&str]); 3] = [
    ("domain", &["jiff", "thiserror", "uuid"]),
    ("ports", &["jiff", "thiserror"]),
    (
        "github",
        &[
            "base64",
            "hmac",
            "jiff",
            "percent-encoding",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "sha2",
            "thiserror",
        ],
    ),
];

/// What no deployed function may carry: the embedded services, a second TLS stack.
const NEVER_DEPLOYED: [&str; 8] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "dynoxide-rs",
    "native-tls",
    "openssl-sys",
    "reqwest",
    "rustack-core",
    "local",
];

fn metadata() -> Metadata {
    let manifest = workspace().join("Cargo.toml");
    MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(["--locked".to_owned()])
        .exec()
        .unwrap()
}

/// The folder of a package, relative to the workspace.
fn folder(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap().strip_prefix(workspace()).unwrap().to_owned()
}

fn is_in(package: &Package, place: &str) -> bool {
    folder(package).starts_with(place)
}

fn normal_dependencies(package: &Package) -> BTreeSet<&str> {
    let dependencies = package.dependencies.iter();
    dependencies.filter(|d| d.kind == DependencyKind::Normal).map(|d| d.name.as_str()).collect()
}

#[test]
fn crates_name_only_whom_they_may() {
    let metadata = metadata();
    let members = metadata.workspace_packages();
    let ours: BTreeSet<&str> = members.iter().map(|package| package.name.as_str()).collect();
    let functions: BTreeSet<&str> =
        members.iter().filter(|p| is_in(p, "functions")).map(|p| p.name.as_str()).collect();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.into();
    for package in &members {
        let named: BTreeSet<&str> =
            normal_dependencies(package).intersection(&ours).copied().collect();
        if is_in(package, "shared") {
            let allowed = arrows.get(package.name.as_str());
            let allowed = allowed.unwrap_or_else(|| panic!("nobody placed {}", package.name));
            let allowed = allowed.iter().copied().collect();
            let undrawn: Vec<_> = named.difference(&allowed).collect();
            assert!(undrawn.is_empty(), "{} names {undrawn:?}", package.name);
        } else if is_in(package, "functions") {
            let peers: Vec<_> = named.intersection(&functions).collect();
            assert!(peers.is_empty(), "{} names {peers:?}", package.name);
            assert!(!named.contains("local"), "{} names the local stack", package.name);
        } else if is_in(package, "tests/simulators") {
            // What ours is compared with must not be made of ours.
            assert!(named.is_empty(), "{} names {named:?}", package.name);
        }
    }
    let placed: BTreeSet<_> = arrows.keys().copied().collect();
    assert!(placed.is_subset(&ours), "a placed crate does not exist");
}

#[test]
fn pure_crates_use_nothing_that_reaches_out() {
    let metadata = metadata();
    for (name, allowed) in PURE {
        let packages = metadata.workspace_packages();
        let package = packages.iter().find(|package| package.name == name).unwrap();
        let ours: BTreeSet<&str> = ARROWS.map(|(name, _)| name).into();
        let allowed: BTreeSet<&str> = allowed.iter().copied().chain(ours).collect();
        let foreign: Vec<_> = normal_dependencies(package).difference(&allowed).copied().collect();
        assert!(foreign.is_empty(), "{name} uses {foreign:?}");
    }
}

#[test]
fn folders_bear_the_names_of_their_crates() {
    for package in metadata().workspace_packages() {
        let folder = folder(package);
        let last = folder.file_name().unwrap().to_str().unwrap();
        assert_eq!(last, package.name.as_str(), "{}", folder.display());
    }
}

#[test]
fn no_function_carries_an_embedded_service_or_a_second_tls_stack() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().unwrap();
    let nodes: BTreeMap<&PackageId, _> =
        resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    for function in metadata.workspace_packages().into_iter().filter(|p| is_in(p, "functions")) {
        let mut seen = BTreeSet::new();
        let mut open = vec![&function.id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let normal = nodes[id].deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            });
            open.extend(normal.map(|dependency| &dependency.pkg));
        }
        let names: BTreeSet<&str> = seen.iter().map(|id| metadata[*id].name.as_str()).collect();
        for never in NEVER_DEPLOYED {
            assert!(!names.contains(never), "{} carries {never}", function.name);
        }
        assert!(names.contains("ring"), "{} speaks TLS by ring", function.name);
    }
}

#[test]
fn every_crate_is_held_to_the_lints_and_says_what_it_is() {
    for package in metadata().workspace_packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{}", package.name);
        for target in &package.targets {
            let source = std::fs::read_to_string(&target.src_path).unwrap();
            assert!(source.starts_with("//!"), "{} begins with //!", target.src_path);
        }
    }
}

#[test]
fn sources_leave_nothing_for_later_and_name_no_machine() {
    let mut files = Vec::new();
    for place in ["functions", "shared", "infra", "tests", "events"] {
        collect(&workspace().join(place), &mut files);
    }
    assert!(files.len() > 50, "the tree was found");
    let words = ["FIX".to_owned() + "ME", "TO".to_owned() + "DO:", "/ro".to_owned() + "ot/"];
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} says {word}", file.display());
        }
        if file.extension().is_some_and(|extension| extension == "json") {
            let json: Result<serde_json::Value, _> = serde_json::from_str(&text);
            // TypeScript's own configuration may hold comments.
            assert!(json.is_ok() || file.ends_with("tsconfig.json"), "{}", file.display());
        }
    }
}

#[test]
fn the_documents_name_every_folder() {
    let architecture = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    for package in metadata().workspace_packages() {
        let folder = folder(package);
        assert!(architecture.contains(folder.to_str().unwrap()), "{}", folder.display());
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("node_modules") {
                collect(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}

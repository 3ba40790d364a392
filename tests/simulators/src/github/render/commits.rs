//! Commits: in pushes, as Git objects, and as REST shows them.

use jiff::{
    Timestamp,
    tz::{Offset, TimeZone},
};
use serde_json::{Value, json};

use crate::{
    git::{Change, Commit, Difference, Objects, Sha, Signature},
    github::{
        model::{Repository, User},
        refusal::Refusal,
        render::{View, node_id},
        specs::noreply,
    },
};

/// Pushes tell of no more commits.
const PUSHED_COMMITS_MAX: usize = 2048;

/// Which commits a push tells of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PushedCommits {
    pub(crate) before: Sha,
    pub(crate) after: Sha,
}

impl View<'_> {
    /// `commits` and `head_commit` of a push.
    pub(crate) fn pushed(
        &self,
        repository: &Repository,
        pushed: PushedCommits,
    ) -> Result<(Value, Value), Refusal> {
        let PushedCommits { before, after } = pushed;
        if after == Sha::ZERO {
            return Ok((json!([]), Value::Null));
        }
        let objects = self.world.objects(repository)?;
        let commits = if before == Sha::ZERO {
            // A new branch tells of what no other branch has.
            let known = repository.branches.values().filter(|tip| **tip != after);
            let known = known.flat_map(|tip| objects.ancestry(*tip)).collect();
            let mut range = objects.range(before, after);
            range.retain(|commit| !std::collections::BTreeSet::contains(&known, commit));
            let is_known = repository.branches.values().filter(|tip| **tip == after).count() > 1;
            if is_known { Vec::new() } else { range }
        } else {
            objects.range(before, after)
        };
        let first = commits.len().saturating_sub(PUSHED_COMMITS_MAX);
        let told = commits.iter().skip(first);
        let told: Result<Vec<_>, _> =
            told.map(|sha| self.pushed_commit(repository, *sha)).collect();
        Ok((Value::Array(told?), self.pushed_commit(repository, after)?))
    }

    fn pushed_commit(&self, repository: &Repository, sha: Sha) -> Result<Value, Refusal> {
        let objects = self.world.objects(repository)?;
        let commit = objects.commit(sha).ok_or(Refusal::NoSuchCommit(sha))?;
        let difference = objects.difference(commit.parents.first().copied(), sha);
        let paths = |kind: &str| -> Vec<&String> {
            difference.iter().filter(|(_, c)| status(**c) == kind).map(|(path, _)| path).collect()
        };
        Ok(json!({
            "id": sha.to_string(),
            "tree_id": commit.tree.to_string(),
            "distinct": true,
            "message": commit.message,
            "timestamp": in_own_offset(&commit.committer),
            "url": format!("{}/commit/{sha}", self.page(repository)),
            "author": self.person(&commit.author),
            "committer": self.person(&commit.committer),
            "added": paths("added"),
            "removed": paths("removed"),
            "modified": paths("modified"),
        }))
    }

    /// `head_commit` of a merge group and of a run.
    pub(crate) fn head_commit(&self, repository: &Repository, sha: Sha) -> Result<Value, Refusal> {
        let objects = self.world.objects(repository)?;
        let commit = objects.commit(sha).ok_or(Refusal::NoSuchCommit(sha))?;
        let person = |who: &Signature| json!({ "name": who.name, "email": who.email });
        Ok(json!({
            "id": sha.to_string(),
            "tree_id": commit.tree.to_string(),
            "message": commit.message,
            "timestamp": in_own_offset(&commit.committer),
            "author": person(&commit.author),
            "committer": person(&commit.committer),
        }))
    }

    fn person(&self, signature: &Signature) -> Value {
        let mut person = json!({ "name": signature.name, "email": signature.email });
        if let Some(user) = self.committer_account(signature) {
            super::set(&mut person, "username", json!(user.login));
        }
        person
    }

    /// The account that GitHub finds for an address. Whoever commits chooses the address.
    fn committer_account(&self, signature: &Signature) -> Option<&User> {
        let mut accounts = self.world.accounts.values().map(|account| &account.user);
        accounts.find(|user| noreply(user) == signature.email)
    }

    /// `GET …/git/commits/{sha}`
    pub(crate) fn git_commit(&self, repository: &Repository, sha: Sha) -> Result<Value, Refusal> {
        let commit = self.commit_of(repository, sha)?;
        let url = self.api(repository);
        let parents = commit.parents.iter().map(|parent| {
            let html = format!("{}/commit/{parent}", self.page(repository));
            json!({ "sha": parent.to_string(), "url": format!("{url}/git/commits/{parent}"), "html_url": html })
        });
        Ok(json!({
            "sha": sha.to_string(),
            "node_id": node_id("C_", repository.id.number()) + &sha.to_string(),
            "url": format!("{url}/git/commits/{sha}"),
            "html_url": format!("{}/commit/{sha}", self.page(repository)),
            "author": dated(&commit.author),
            "committer": dated(&commit.committer),
            "tree": { "sha": commit.tree.to_string(), "url": format!("{url}/git/trees/{}", commit.tree) },
            "message": commit.message,
            "parents": parents.collect::<Vec<_>>(),
            "verification": unverified(),
        }))
    }

    /// A commit in lists.
    pub(crate) fn listed_commit(
        &self,
        repository: &Repository,
        sha: Sha,
    ) -> Result<Value, Refusal> {
        let commit = self.commit_of(repository, sha)?;
        let url = self.api(repository);
        let parents = commit.parents.iter().map(|parent| {
            let html = format!("{}/commit/{parent}", self.page(repository));
            json!({ "sha": parent.to_string(), "url": format!("{url}/commits/{parent}"), "html_url": html })
        });
        let account = |who| self.committer_account(who).map_or(Value::Null, |u| self.user(u.id));
        Ok(json!({
            "sha": sha.to_string(),
            "node_id": node_id("C_", repository.id.number()) + &sha.to_string(),
            "commit": {
                "author": dated(&commit.author),
                "committer": dated(&commit.committer),
                "message": commit.message,
                "tree": { "sha": commit.tree.to_string(), "url": format!("{url}/git/trees/{}", commit.tree) },
                "url": format!("{url}/git/commits/{sha}"),
                "comment_count": 0,
                "verification": unverified(),
            },
            "url": format!("{url}/commits/{sha}"),
            "html_url": format!("{}/commit/{sha}", self.page(repository)),
            "author": account(&commit.author),
            "committer": account(&commit.committer),
            "parents": parents.collect::<Vec<_>>(),
        }))
    }

    /// `GET …/commits/{ref}`: as in lists, with what it changed.
    pub(crate) fn commit(&self, repository: &Repository, sha: Sha) -> Result<Value, Refusal> {
        let mut told = self.listed_commit(repository, sha)?;
        let objects = self.world.objects(repository)?;
        let difference = objects.difference(objects.parents(sha).first().copied(), sha);
        let (additions, deletions) = lines(objects, &difference);
        let total = additions + deletions;
        let stats = json!({ "additions": additions, "deletions": deletions, "total": total });
        super::set(&mut told, "stats", stats);
        super::set(&mut told, "files", files(objects, &difference));
        Ok(told)
    }

    fn commit_of(&self, repository: &Repository, sha: Sha) -> Result<&Commit, Refusal> {
        let commit = self.world.objects(repository)?.commit(sha);
        commit.ok_or(Refusal::NoSuchCommit(sha))
    }

    pub(crate) fn api(&self, repository: &Repository) -> String {
        format!("{}/repos/{}", self.urls.api, self.world.full_name(repository))
    }

    pub(crate) fn page(&self, repository: &Repository) -> String {
        format!("{}/{}", self.urls.web, self.world.full_name(repository))
    }
}

/// `files` of a commit or a comparison.
pub(crate) fn files(objects: &Objects, difference: &Difference) -> Value {
    let files = difference.iter().map(|(path, change)| {
        let (additions, deletions) = objects.lines(*change);
        let (Change::Added(blob) | Change::Removed(blob) | Change::Modified { to: blob, .. }) =
            *change;
        json!({
            "sha": blob.to_string(),
            "filename": path,
            "status": status(*change),
            "additions": additions,
            "deletions": deletions,
            "changes": additions + deletions,
        })
    });
    Value::Array(files.collect())
}

/// Lines added and removed by all changes.
pub(crate) fn lines(objects: &Objects, difference: &Difference) -> (usize, usize) {
    let lines = difference.values().map(|change| objects.lines(*change));
    lines.fold((0, 0), |(more, less), (added, removed)| (more + added, less + removed))
}

fn status(change: Change) -> &'static str {
    match change {
        Change::Added(_) => "added",
        Change::Modified { .. } => "modified",
        Change::Removed(_) => "removed",
    }
}

fn dated(signature: &Signature) -> Value {
    let date = Timestamp::from_second(signature.at_seconds).unwrap_or_default();
    json!({ "name": signature.name, "email": signature.email, "date": date.to_string() })
}

fn unverified() -> Value {
    json!({ "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null })
}

/// Pushes keep the committer's own offset: `2015-05-05T19:40:15-04:00`.
fn in_own_offset(signature: &Signature) -> String {
    let time = Timestamp::from_second(signature.at_seconds).unwrap_or_default();
    let offset = Offset::from_seconds(signature.offset_minutes.saturating_mul(60));
    let offset = offset.unwrap_or(Offset::UTC);
    let zoned = time.to_zoned(TimeZone::fixed(offset));
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

//! Pull requests, reviews and labels.

use serde_json::{Value, json};

use crate::{
    git::Sha,
    github::{
        model::{Presence, PullRequest, Readiness, Repository, Review, Side, State},
        refusal::Refusal,
        render::{Audience, View, commits, node_id, set},
        world::World,
    },
};

/// How much of a pull request is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In lists, and in the events of reviews: without `merged`, `mergeable`, `merged_by` and the counts.
    Simple,
    /// Alone, and in its own events.
    Full,
}

/// The commits of a pull request, parents first.
pub(crate) fn pull_commits(
    world: &World,
    repository: &Repository,
    pull: &PullRequest,
) -> Result<Vec<Sha>, Refusal> {
    Ok(world.objects(repository)?.range(pull.base.sha, pull.head.sha))
}

impl View<'_> {
    pub(crate) fn pull(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        shape: Shape,
    ) -> Result<Value, Refusal> {
        let mut told = self.simple(repository, pull);
        if shape == Shape::Full {
            self.add_details(&mut told, repository, pull)?;
        }
        Ok(told)
    }

    fn simple(&self, repository: &Repository, pull: &PullRequest) -> Value {
        let PullRequest { id, number, .. } = pull;
        let url = format!("{}/pulls/{number}", self.api(repository));
        let page = format!("{}/pull/{number}", self.page(repository));
        let (state, merged_at) = match pull.state {
            State::Open => ("open", None),
            State::Closed => ("closed", None),
            State::Merged { at, .. } => ("closed", Some(at)),
        };
        let labels = pull.labels.iter().map(|name| self.label(repository, name));
        json!({
            "url": url,
            "id": id,
            "node_id": node_id("PR_kwDO", *id),
            "html_url": page,
            "issue_url": format!("{}/issues/{number}", self.api(repository)),
            "number": number,
            "state": state,
            "locked": false,
            "title": pull.title,
            "user": self.user(pull.author),
            "body": pull.body,
            "created_at": pull.created_at.to_string(),
            "updated_at": pull.updated_at.to_string(),
            "closed_at": pull.closed_at.map(|at| at.to_string()),
            "merged_at": merged_at.map(|at| at.to_string()),
            "merge_commit_sha": merge_commit(pull).map(|sha| sha.to_string()),
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": labels.collect::<Vec<_>>(),
            "milestone": null,
            "draft": pull.readiness == Readiness::Draft,
            "commits_url": format!("{url}/commits"),
            "head": self.side(&pull.head),
            "base": self.side(&pull.base),
            "_links": { "self": { "href": url }, "html": { "href": page } },
            "author_association": association(repository, pull.author),
            "auto_merge": self.auto_merge(pull),
            "active_lock_reason": null,
        })
    }

    fn add_details(
        &self,
        told: &mut Value,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<(), Refusal> {
        let objects = self.world.objects(repository)?;
        let base = objects.merge_base(pull.base.sha, pull.head.sha);
        let difference = objects.difference(base, pull.head.sha);
        let (additions, deletions) = commits::lines(objects, &difference);
        let merged_by = match pull.state {
            State::Merged { by, .. } => self.user(by),
            State::Open | State::Closed => Value::Null,
        };
        let (mergeable, mergeable_state) = self.mergeable(repository, pull)?;
        let is_merged = matches!(pull.state, State::Merged { .. });
        for (name, value) in [
            ("merged", json!(is_merged)),
            ("mergeable", json!(mergeable)),
            ("rebaseable", json!(mergeable)),
            ("mergeable_state", json!(mergeable_state)),
            ("merged_by", merged_by),
            ("comments", json!(0)),
            ("review_comments", json!(0)),
            ("maintainer_can_modify", json!(false)),
            ("commits", json!(pull_commits(self.world, repository, pull)?.len())),
            ("additions", json!(additions)),
            ("deletions", json!(deletions)),
            ("changed_files", json!(difference.len())),
        ] {
            set(told, name, value);
        }
        Ok(())
    }

    /// GitHub works it out after the event, so webhooks do not know it.
    fn mergeable(
        &self,
        repository: &Repository,
        pull: &PullRequest,
    ) -> Result<(Option<bool>, &'static str), Refusal> {
        if self.urls.audience == Audience::Hooks || !pull.is_open() {
            return Ok((None, "unknown"));
        }
        let Ok(tip) = self.world.branch(repository.id, &pull.base.branch) else {
            return Ok((None, "unknown"));
        };
        match self.world.merged_files(repository.id, tip, pull.head.sha) {
            Ok(_) if pull.readiness == Readiness::Draft => Ok((Some(true), "draft")),
            Ok(_) => Ok((Some(true), "clean")),
            Err(Refusal::Conflict(_)) => Ok((Some(false), "dirty")),
            Err(refusal) => Err(refusal),
        }
    }

    fn auto_merge(&self, pull: &PullRequest) -> Value {
        pull.auto_merge.map_or(Value::Null, |auto| {
            json!({
                "enabled_by": self.user(auto.by),
                "merge_method": auto.method.word(),
                "commit_title": null,
                "commit_message": null,
            })
        })
    }

    fn side(&self, side: &Side) -> Value {
        let repository = self.world.repositories.get(&side.repository);
        let here = repository.filter(|repository| repository.presence == Presence::Here);
        let owner = here.map_or(side.owner, |repository| repository.owner);
        json!({
            "label": format!("{}:{}", self.world.login(owner), side.branch),
            "ref": side.branch,
            "sha": side.sha.to_string(),
            "user": self.user(owner),
            "repo": here.map(|repository| self.repository(repository)),
        })
    }

    pub(crate) fn label(&self, repository: &Repository, name: &str) -> Value {
        json!({
            "id": 9_957_500_000 + u64::try_from(name.len()).unwrap_or_default(),
            "node_id": format!("LA_{name}"),
            "url": format!("{}/labels/{name}", self.api(repository)),
            "name": name,
            "color": "ededed",
            "default": false,
            "description": null,
        })
    }

    pub(crate) fn review(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        review: &Review,
    ) -> Value {
        let Review { id, .. } = review;
        let page = format!("{}/pull/{}#pullrequestreview-{id}", self.page(repository), pull.number);
        let url = format!("{}/pulls/{}", self.api(repository), pull.number);
        // Webhooks write the state in lower case, and say null for an empty text.
        let (state, body) = match self.urls.audience {
            Audience::Hooks if review.body.is_empty() => {
                (review.state.word().to_lowercase(), Value::Null)
            }
            Audience::Hooks => (review.state.word().to_lowercase(), json!(review.body)),
            Audience::Rest => (review.state.word().to_owned(), json!(review.body)),
        };
        let mut told = json!({
            "id": id,
            "node_id": node_id("PRR_kwDO", *id),
            "user": self.user_or_null(review.author),
            "body": body,
            "state": state,
            "html_url": page,
            "pull_request_url": url,
            "author_association": association(repository, review.author),
            "_links": { "html": { "href": page }, "pull_request": { "href": url } },
            "commit_id": review.commit.to_string(),
        });
        if let Some(at) = review.submitted_at {
            set(&mut told, "submitted_at", json!(at.to_string()));
        }
        told
    }
}

/// Of an open pull request the trial merge, which stays when it is closed unmerged.
fn merge_commit(pull: &PullRequest) -> Option<Sha> {
    match pull.state {
        State::Open | State::Closed => pull.test_merge,
        State::Merged { commit, .. } => Some(commit),
    }
}

fn association(repository: &Repository, user: u64) -> &'static str {
    if repository.owner == user {
        return "OWNER";
    }
    if repository.granted.contains_key(&user) { "COLLABORATOR" } else { "NONE" }
}

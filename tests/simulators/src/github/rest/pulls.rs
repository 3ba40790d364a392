//! Pull requests: alone, in lists, of a commit, with their reviews and commits.

use std::cmp::Reverse;

use serde_json::Value;

use crate::github::{
    model::{PullRequest, ReviewState, State},
    refusal::Refusal,
    render::{Shape, pull_commits},
    rest::{answer::Answer, authorization::Caller, handlers::Inquiry, paging::paged},
};

/// GitHub lists no more commits of a pull request.
const LISTED_COMMITS_MAX: usize = 250;

impl Inquiry<'_> {
    pub(crate) fn pulls(&self) -> Result<Answer, Answer> {
        let mut pulls: Vec<&PullRequest> =
            self.repository.pull_requests.values().filter(|pull| self.is_listed(pull)).collect();
        let is_by_update = self.query.get("sort") == Some("updated");
        let key = |pull: &&PullRequest| {
            let at = if is_by_update { pull.updated_at } else { pull.created_at };
            (at, pull.number)
        };
        // Documented: descending when sorted by creation or by nothing, ascending otherwise.
        let by_creation = matches!(self.query.get("sort"), None | Some("created"));
        let is_descending = match self.query.get("direction") {
            Some(direction) => direction == "desc",
            None => by_creation,
        };
        if is_descending {
            pulls.sort_by_key(|pull| Reverse(key(pull)));
        } else {
            pulls.sort_by_key(key);
        }
        self.listed(&pulls)
    }

    fn is_listed(&self, pull: &PullRequest) -> bool {
        let state = match self.query.get("state") {
            Some("all") => true,
            Some("closed") => !pull.is_open(),
            Some(_) | None => pull.is_open(),
        };
        let base = self.query.get("base").is_none_or(|base| base == pull.base.branch);
        // Documented as `owner:branch`; anything else is not looked at.
        let head = self.query.get("head").and_then(|head| head.split_once(':'));
        let head = head.is_none_or(|(owner, branch)| {
            let login = self.view.world.login(pull.head.owner);
            login.eq_ignore_ascii_case(owner) && branch == pull.head.branch
        });
        state && base && head
    }

    fn listed(&self, pulls: &[&PullRequest]) -> Result<Answer, Answer> {
        let told: Result<Vec<Value>, Refusal> =
            pulls.iter().map(|pull| self.view.pull(self.repository, pull, Shape::Simple)).collect();
        Ok(paged(&self.query, &self.list_url(), &told?, Value::Array))
    }

    fn asked_pull(&self) -> Result<&PullRequest, Answer> {
        let number = self.asked.number(0);
        let pull = number.and_then(|number| self.repository.pull_requests.get(&number));
        pull.ok_or_else(Answer::not_found)
    }

    pub(crate) fn pull(&self) -> Result<Answer, Answer> {
        let pull = self.asked_pull()?;
        Ok(Answer::ok(self.view.pull(self.repository, pull, Shape::Full)?))
    }

    /// In the order in which they were written. A pending one is shown to who writes it.
    pub(crate) fn reviews(&self) -> Result<Answer, Answer> {
        let pull = self.asked_pull()?;
        let own = match self.caller {
            Caller::User(user) => Some(*user),
            Caller::Installation(_) | Caller::App(_) => None,
        };
        let seen = pull
            .reviews
            .iter()
            .filter(|review| review.state != ReviewState::Pending || Some(review.author) == own);
        let told: Vec<Value> =
            seen.map(|review| self.view.review(self.repository, pull, review)).collect();
        Ok(paged(&self.query, &self.list_url(), &told, Value::Array))
    }

    pub(crate) fn pull_commits(&self) -> Result<Answer, Answer> {
        let pull = self.asked_pull()?;
        let commits = pull_commits(self.view.world, self.repository, pull)?;
        let told: Result<Vec<Value>, Refusal> = commits
            .iter()
            .take(LISTED_COMMITS_MAX)
            .map(|sha| self.view.listed_commit(self.repository, *sha))
            .collect();
        Ok(paged(&self.query, &self.list_url(), &told?, Value::Array))
    }

    /// Documented: of a commit in the default branch, the merged pull request that brought it; of another, the open ones.
    pub(crate) fn commit_pulls(&self) -> Result<Answer, Answer> {
        let sha = self.resolved(self.asked.argument(0))?;
        let world = self.view.world;
        let objects = world.objects(self.repository)?;
        let default = self.repository.branches.get(&self.repository.default_branch);
        let is_default = default.is_some_and(|default| objects.descends(*default, sha));
        let mut pulls = Vec::new();
        for pull in self.repository.pull_requests.values() {
            let is_associated = match pull.state {
                State::Open => !is_default,
                State::Closed => false,
                State::Merged { .. } => is_default,
            };
            let is_merge = matches!(pull.state, State::Merged { commit, .. } if commit == sha);
            let is_own =
                || Ok::<_, Refusal>(pull_commits(world, self.repository, pull)?.contains(&sha));
            if is_associated && (is_merge || is_own()?) {
                pulls.push(pull);
            }
        }
        self.listed(&pulls)
    }
}

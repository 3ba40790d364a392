//! What is read: one thing each, checked to be the one that was asked for.

use std::collections::BTreeMap;

use domain::change_proposal::Branch;
use domain::ids::{Attempt, CommitId, PullRequestNumber, RepositoryId, ReviewId, RunId};
use domain::observation::RunFact;
use domain::provenance::{CommitKey, SeenCommit};
use domain::pull_request::PullRequestFact;
use domain::review::{ReviewContent, Reviews};
use domain::words::Text;
use hyper::http::StatusCode;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::client::{Answer, GitHub};
use crate::error::{NoAccess, ReadError, mismatch, unreadable};
use crate::limits::Judged;
use crate::wire::repository::{Repository, RepositorySeen};
use crate::wire::{self, branch, commit, pull_request, review, run};

/// What stands in a URL as it is; a branch's slashes do not.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What all reads have in common.
///
/// `now` is the caller's clock as the read starts. An answer about another repository, number or id than was asked for is
/// [`Foreign`](crate::Foreign) and nothing of it is told; so is a link that leads away. [`ReadError::Gone`] is said only of
/// what is missing in a repository that answers.
impl GitHub {
    /// Reads a repository.
    ///
    /// # Errors
    /// [`NoAccess::NoRepository`] when it does not answer: GitHub tells a deleted repository and a forbidden one apart for
    /// nobody. [`ReadError::Gone`] when GitHub says of it that it is gone.
    pub async fn repository(
        &self,
        id: &RepositoryId,
        now: Timestamp,
    ) -> Result<Answer<RepositorySeen>, ReadError> {
        let fetched = self.get(id, self.target(&format!("/repositories/{id}"))?, now).await?;
        match (fetched.judged, fetched.status) {
            (Judged::Found, _) => {
                let repository: Repository = wire::object(&fetched.body)?;
                Ok(Answer { started_at: fetched.started_at, value: repository.seen(id)? })
            }
            (Judged::Missing, StatusCode::NOT_FOUND) => {
                Err(ReadError::NoAccess(NoAccess::NoRepository))
            }
            (Judged::Missing, StatusCode::GONE) => Err(ReadError::Gone),
            (Judged::Missing, status) => Err(unreadable(format!("status {}", status.as_u16()))),
        }
    }

    /// Reads a branch: its head, or that it is not there. It is told absent only where the repository answers.
    pub async fn branch(
        &self,
        repository: &RepositoryId,
        name: &Text,
        now: Timestamp,
    ) -> Result<Branch, ReadError> {
        let encoded = utf8_percent_encode(name.as_str(), ENCODED);
        let target = self.target(&format!("/repositories/{repository}/branches/{encoded}"))?;
        let fetched = self.get(repository, target, now).await?;
        let started_at = fetched.started_at;
        let Judged::Found = fetched.judged else {
            return match self.missing(repository, fetched.status, now).await {
                ReadError::Gone => Ok(Branch::absent(started_at)),
                error => Err(error),
            };
        };
        let told: branch::Branch = wire::object(&fetched.body)?;
        let told_name = wire::required(told.name.as_deref(), "name")?;
        if Text::new(told_name) != *name {
            // A branch that was renamed redirects to its new name: the old one is no more.
            let is_renamed = fetched.hops > 0;
            return if is_renamed { Ok(Branch::absent(started_at)) } else { Err(mismatch("name")) };
        }
        Ok(Branch::found(started_at, told.head()?))
    }

    /// Lists the pull requests whose head is this branch of the repository itself, whatever their state.
    pub async fn pull_requests_of_branch(
        &self,
        repository: &RepositorySeen,
        branch: &Text,
        now: Timestamp,
    ) -> Result<Answer<Vec<PullRequestNumber>>, ReadError> {
        let owner = utf8_percent_encode(repository.owner(), ENCODED);
        let name = utf8_percent_encode(branch.as_str(), ENCODED);
        let target = self.target(&format!(
            "/repositories/{}/pulls?state=all&head={owner}:{name}&sort=created&direction=asc&per_page=100",
            repository.id
        ))?;
        let mut numbers = Vec::new();
        let take = |listed: pull_request::Listed| {
            numbers.extend(listed.number_if_from(&repository.id, branch)?);
            Ok(())
        };
        let started_at = self.list(&repository.id, target, now, take).await?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Answer { started_at, value: numbers })
    }

    /// Reads a pull request.
    pub async fn pull_request(
        &self,
        repository: &RepositoryId,
        number: PullRequestNumber,
        now: Timestamp,
    ) -> Result<Answer<PullRequestFact>, ReadError> {
        let path = format!("/repositories/{repository}/pulls/{number}");
        let Answer { started_at, value } =
            self.one::<pull_request::PullRequest>(repository, &path, now).await?;
        Ok(Answer { started_at, value: value.fact(repository, number)? })
    }

    /// Reads all submitted reviews of a pull request.
    pub async fn reviews(
        &self,
        repository: &RepositoryId,
        number: PullRequestNumber,
        now: Timestamp,
    ) -> Result<Reviews, ReadError> {
        let path = format!("/repositories/{repository}/pulls/{number}/reviews?per_page=100");
        let mut reviews: BTreeMap<ReviewId, ReviewContent> = BTreeMap::new();
        let take = |listed: review::Review| {
            reviews.extend(listed.submitted()?);
            Ok(())
        };
        let started_at = self.list(repository, self.target(&path)?, now, take).await?;
        let reviews: Vec<_> = reviews.into_iter().collect();
        // Only of a delivery it gives nothing.
        Reviews::read(&self.origin(started_at), &reviews).ok_or_else(|| unreadable("reviews"))
    }

    /// Reads the commits of a pull request: the first 250, as many as GitHub lists.
    pub async fn commits_of_pull_request(
        &self,
        repository: &RepositoryId,
        number: PullRequestNumber,
        now: Timestamp,
    ) -> Result<BTreeMap<CommitKey, SeenCommit>, ReadError> {
        let path = format!("/repositories/{repository}/pulls/{number}/commits?per_page=100");
        let mut commits = BTreeMap::new();
        let take = |listed: commit::Commit| {
            let (id, seen) = listed.seen(Some(number))?;
            commits.insert((repository.clone(), id), seen);
            Ok(())
        };
        self.list(repository, self.target(&path)?, now, take).await?;
        Ok(commits)
    }

    /// Reads a commit. None when the repository answers and does not have it.
    pub async fn commit(
        &self,
        repository: &RepositoryId,
        id: &CommitId,
        now: Timestamp,
    ) -> Result<Option<SeenCommit>, ReadError> {
        // A page of its changed files comes along, and can't be declined: one file is the least.
        let target = self.target(&format!("/repositories/{repository}/commits/{id}?per_page=1"))?;
        let fetched = self.get(repository, target, now).await?;
        match (fetched.judged, fetched.status) {
            (Judged::Found, _) => {
                let commit: commit::Commit = wire::object(&fetched.body)?;
                let (told, seen) = commit.seen(None)?;
                if told == *id { Ok(Some(seen)) } else { Err(mismatch("sha")) }
            }
            // "No commit found for SHA", and of an empty repository 409: the repository has answered.
            (Judged::Missing, StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT) => Ok(None),
            (Judged::Missing, status) => match self.missing(repository, status, now).await {
                ReadError::Gone => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Reads one attempt of a run.
    pub async fn run_attempt(
        &self,
        repository: &RepositoryId,
        run: RunId,
        attempt: Attempt,
        now: Timestamp,
    ) -> Result<Answer<RunFact>, ReadError> {
        let path = format!("/repositories/{repository}/actions/runs/{run}/attempts/{attempt}");
        let Answer { started_at, value } = self.one::<run::Run>(repository, &path, now).await?;
        Ok(Answer { started_at, value: value.fact(repository, run, attempt)? })
    }
}

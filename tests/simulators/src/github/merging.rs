//! How a pull request becomes part of its base: by GitHub's button, or by a push.

use std::collections::BTreeSet;

use crate::{
    git::{Commit, Files, Sha, Signature},
    github::{
        GitHub,
        model::{Method, PullRequest, Readiness, RepositoryId, State, User},
        refusal::Refusal,
        render::PushedCommits,
        specs::MergeSpec,
        world::{Simulation, World},
    },
};

impl GitHub {
    /// Merges a pull request with GitHub's own words, and gives the commit by which the base now ends.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], [`Refusal::Draft`], [`Refusal::Conflict`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn merge(
        &self,
        repository: RepositoryId,
        number: u64,
        method: Method,
        by: &User,
    ) -> Result<Sha, Refusal> {
        self.merge_with(repository, number, &MergeSpec::new(method), by)
    }

    /// The same with other words.
    ///
    /// # Errors
    /// As of [`GitHub::merge`].
    pub fn merge_with(
        &self,
        repository: RepositoryId,
        number: u64,
        spec: &MergeSpec,
        by: &User,
    ) -> Result<Sha, Refusal> {
        self.change(|simulation| {
            let base = simulation.mergeable(repository, number)?.base.branch.clone();
            let tip = simulation.world.branch(repository, &base)?;
            let commit = simulation.merged(repository, number, (tip, spec), by.id)?;
            simulation.finish_merge(repository, number, commit, by.id)?;
            Ok(commit)
        })
    }
}

impl World {
    /// The files of a merge of `theirs` into `ours`.
    pub(crate) fn merged_files(
        &self,
        repository: RepositoryId,
        ours: Sha,
        theirs: Sha,
    ) -> Result<Files, Refusal> {
        let objects = self.objects_of(repository)?;
        let files = |sha| objects.files(sha).ok_or(Refusal::NoSuchCommit(sha));
        let base = match objects.merge_base(ours, theirs) {
            Some(base) => files(base)?.clone(),
            None => Files::new(),
        };
        Ok(crate::git::merge(&base, files(ours)?, files(theirs)?)?)
    }
}

impl Simulation {
    /// A pull request that may be merged as far as its state goes.
    pub(crate) fn mergeable(
        &self,
        repository: RepositoryId,
        number: u64,
    ) -> Result<&PullRequest, Refusal> {
        let pull = self.world.pull(repository, number)?;
        if !pull.is_open() {
            return Err(Refusal::NotOpen(number));
        }
        match pull.readiness {
            Readiness::Draft => Err(Refusal::Draft(number)),
            Readiness::Ready => Ok(pull),
        }
    }

    /// Makes the commits by which a pull request lies on top of `tip`, and gives the last one.
    pub(crate) fn merged(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (tip, spec): (Sha, &MergeSpec),
        by: u64,
    ) -> Result<Sha, Refusal> {
        let pull = self.world.pull(repository, number)?.clone();
        match spec.method {
            Method::Merge => {
                let files = self.world.merged_files(repository, tip, pull.head.sha)?;
                let message = self.merge_message(&pull, spec);
                let author = self.signature(by)?;
                let parents = vec![tip, pull.head.sha];
                self.add_commit(repository, files, (parents, author, message))
            }
            Method::Squash => {
                let files = self.world.merged_files(repository, tip, pull.head.sha)?;
                let message = self.squash_message(repository, (tip, &pull), spec)?;
                let author = self.signature(pull.author).or_else(|_| self.signature(by))?;
                self.add_commit(repository, files, (vec![tip], author, message))
            }
            Method::Rebase => self.rebased(repository, tip, pull.head.sha),
        }
    }

    fn add_commit(
        &mut self,
        repository: RepositoryId,
        files: Files,
        (parents, author, message): (Vec<Sha>, Signature, String),
    ) -> Result<Sha, Refusal> {
        let committer = self.web_flow();
        let objects = self.world_mut().objects_mut(repository)?;
        let tree = objects.add_tree(files)?;
        Ok(objects.add_commit(Commit { tree, parents, author, committer, message }))
    }

    fn merge_message(&self, pull: &PullRequest, spec: &MergeSpec) -> String {
        let (number, branch) = (pull.number, &pull.head.branch);
        let owner = self.world.login(pull.head.owner);
        let title = spec.title.clone();
        let title =
            title.unwrap_or_else(|| format!("Merge pull request #{number} from {owner}/{branch}"));
        let body = spec.message.as_ref().unwrap_or(&pull.title);
        joined(&title, body)
    }

    /// One commit gives its own words; of several, GitHub makes a list. Authors other than the pull request's are named below.
    fn squash_message(
        &self,
        repository: RepositoryId,
        (tip, pull): (Sha, &PullRequest),
        spec: &MergeSpec,
    ) -> Result<String, Refusal> {
        let objects = self.world.objects_of(repository)?;
        let range = objects.range(tip, pull.head.sha);
        let commits: Vec<&Commit> = range.iter().filter_map(|sha| objects.commit(*sha)).collect();
        let single = if let [single] = commits.as_slice() { Some(*single) } else { None };
        let title = single.map_or(pull.title.as_str(), Commit::title);
        let title = spec.title.clone().unwrap_or_else(|| format!("{title} (#{})", pull.number));
        if let Some(message) = &spec.message {
            return Ok(joined(&title, message));
        }
        if let Some(single) = single {
            return Ok(joined(&title, single.body()));
        }
        let list: Vec<String> =
            commits.iter().map(|commit| format!("* {}", commit.message.trim_end())).collect();
        let author = self.signature(pull.author).map(|author| author.email).unwrap_or_default();
        let others: BTreeSet<String> = commits
            .iter()
            .filter(|commit| commit.author.email != author)
            .map(|it| format!("Co-authored-by: {} <{}>", it.author.name, it.author.email))
            .collect();
        let mut body = list.join("\n\n");
        if !others.is_empty() {
            let others: Vec<String> = others.into_iter().collect();
            body = format!("{body}\n\n---------\n\n{}", others.join("\n"));
        }
        Ok(joined(&title, &body))
    }

    /// Each commit anew on top of the tip, merges left out. GitHub always makes new commits, also where none were needed.
    fn rebased(&mut self, repository: RepositoryId, tip: Sha, head: Sha) -> Result<Sha, Refusal> {
        let committer = self.web_flow();
        let range = self.world.objects_of(repository)?.range(tip, head);
        let objects = self.world_mut().objects_mut(repository)?;
        let mut last = tip;
        for sha in range {
            let commit = objects.commit(sha).cloned().ok_or(Refusal::NoSuchCommit(sha))?;
            if 1 < commit.parents.len() {
                continue;
            }
            let none = Files::new();
            let parent = commit.parents.first().and_then(|parent| objects.files(*parent));
            let files = |sha| objects.files(sha).unwrap_or(&none);
            let files = crate::git::merge(parent.unwrap_or(&none), files(last), files(sha))?;
            let tree = objects.add_tree(files)?;
            let committer = committer.clone();
            last = objects.add_commit(Commit { tree, parents: vec![last], committer, ..commit });
        }
        Ok(last)
    }

    /// Moves the base to `commit` and tells that the pull request is merged by it.
    pub(crate) fn finish_merge(
        &mut self,
        repository: RepositoryId,
        number: u64,
        commit: Sha,
        by: u64,
    ) -> Result<(), Refusal> {
        let branch = self.world.pull(repository, number)?.base.branch.clone();
        let tip = self.world.branch(repository, &branch)?;
        self.mark_merged(repository, number, (tip, commit), by)?;
        self.set_branch(repository, &branch, commit, by)?;
        self.raise_pull(repository, number, "closed", by)
    }

    /// A push to the base that brings the head along merges the pull request.
    pub(crate) fn merge_indirectly(
        &mut self,
        repository: RepositoryId,
        number: u64,
        pushed: PushedCommits,
        by: u64,
    ) -> Result<(), Refusal> {
        let head = self.world.pull(repository, number)?.head.sha;
        let objects = self.world.objects_of(repository)?;
        if !objects.descends(pushed.after, head) {
            return Ok(());
        }
        // The first commit of the base that has it: the head itself, or somebody's merge.
        let mut commit = pushed.after;
        while let Some(parent) = objects.parents(commit).first() {
            if !objects.descends(*parent, head) {
                break;
            }
            commit = *parent;
        }
        self.mark_merged(repository, number, (pushed.before, commit), by)?;
        self.raise_pull(repository, number, "closed", by)
    }

    fn mark_merged(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (base, commit): (Sha, Sha),
        by: u64,
    ) -> Result<(), Refusal> {
        self.leave_queue(repository, number, by)?;
        let pull = self.touched(repository, number)?;
        let now = pull.updated_at;
        pull.state = State::Merged { at: now, by, commit };
        pull.base.sha = base;
        pull.closed_at = Some(now);
        Ok(())
    }

    /// Makes the trial merge that an open pull request shows; where there is a conflict the last one stays.
    pub(crate) fn try_merge(
        &mut self,
        repository: RepositoryId,
        number: u64,
    ) -> Result<(), Refusal> {
        let pull = self.world.pull(repository, number)?;
        let (head, author) = (pull.head.sha, pull.author);
        let Ok(tip) = self.world.branch(repository, &pull.base.branch) else { return Ok(()) };
        let Ok(files) = self.world.merged_files(repository, tip, head) else { return Ok(()) };
        let author = self.signature(author).unwrap_or_else(|_| self.web_flow());
        let message = format!("Merge {head} into {tip}");
        let commit = self.add_commit(repository, files, (vec![tip, head], author, message))?;
        self.world_mut().pull_mut(repository, number)?.test_merge = Some(commit);
        Ok(())
    }
}

fn joined(title: &str, body: &str) -> String {
    if body.is_empty() { title.to_owned() } else { format!("{title}\n\n{body}") }
}

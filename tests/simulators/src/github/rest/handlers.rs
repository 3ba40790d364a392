//! Repositories, branches, commits, runs: what each question is answered.

use serde_json::{Value, json};

use crate::{
    git::Sha,
    github::{
        GitHub,
        model::Repository,
        refusal::Refusal,
        render::{Urls, View, files, set},
        rest::{
            answer::Answer,
            authorization::{Allowance, Caller, may_ask, token},
            paging::{Query, paged},
            route::{Asked, Route, Target},
        },
        world::{Simulation, World},
    },
};

/// GitHub shows so many commits of a comparison that is not asked for by pages.
const COMPARED_COMMITS_MAX: usize = 250;

/// GitHub shows so many files of a comparison.
const COMPARED_FILES_MAX: usize = 300;

/// A request as far as it decides the answer.
pub(crate) struct Question<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) query: &'a str,
    pub(crate) authorization: Option<&'a str>,
    pub(crate) if_none_match: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// Where this server listens.
    pub(crate) api: &'a str,
}

/// A question about a repository that the caller may ask.
pub(crate) struct Inquiry<'a> {
    pub(crate) view: View<'a>,
    pub(crate) repository: &'a Repository,
    pub(crate) asked: &'a Asked,
    pub(crate) query: Query,
    pub(crate) caller: &'a Caller,
}

impl GitHub {
    /// What GitHub answers, and what is left of the token's hour.
    pub(crate) fn answer(&self, question: &Question<'_>) -> (Answer, Option<Allowance>) {
        let mut simulation = self.lock();
        let token = match token(question.authorization) {
            Ok(token) => token,
            Err(refused) => return (refused, None),
        };
        let caller = match simulation.caller(token, question.asked.route) {
            Ok(caller) => caller,
            Err(refused) => return (refused, None),
        };
        let (mut allowance, counted) = simulation.count(token);
        if let Err(refused) = counted {
            return (refused, Some(allowance));
        }
        let answer = simulation.answered(question, &caller).unwrap_or_else(|refused| refused);
        let answer = tagged(answer, token);
        if answer.status == 200 && question.if_none_match.is_some_and(|tag| has_tag(&answer, tag)) {
            simulation.uncount(token);
            allowance.used = allowance.used.saturating_sub(1);
            return (Answer { status: 304, body: Value::Null, ..answer }, Some(allowance));
        }
        (answer, Some(allowance))
    }
}

/// Entity tags differ from token to token.
fn tagged(answer: Answer, token: &str) -> Answer {
    let tag = crate::git::blob_sha(format!("{token} {}", answer.body).as_bytes());
    if answer.status == 200 { answer.with("etag", &format!("W/\"{tag}\"")) } else { answer }
}

fn has_tag(answer: &Answer, tag: &str) -> bool {
    answer.headers.iter().any(|(name, value)| name == "etag" && value == tag)
}

impl Simulation {
    fn answered(&mut self, question: &Question<'_>, caller: &Caller) -> Result<Answer, Answer> {
        let Question { asked, query, body, api, .. } = *question;
        let world = self.shown();
        let view = View::of(&world, Urls::rest(api));
        let query = Query::parse(query);
        match (asked.route, caller) {
            (Route::App, Caller::App(app)) => app_itself(&view, *app),
            (Route::AppInstallations, Caller::App(app)) => {
                super::installations::all(&view, *app, &query)
            }
            (Route::AppInstallation, Caller::App(app)) => {
                super::installations::one(&view, *app, asked.number(0))
            }
            (Route::AccessTokens, Caller::App(app)) => {
                self.issue_installation_token(&view, *app, asked.number(0), body)
            }
            (Route::InstallationRepositories, caller) => {
                super::installations::repositories(&view, caller, &query)
            }
            (Route::Unknown, _) => Err(Answer::not_found()),
            (_, caller) => {
                let repository = found(&world, asked, question.query, (caller, api))?;
                may_ask(&world, caller, repository, asked.route)?;
                let inquiry = Inquiry { view, repository, asked, query, caller };
                inquiry.answer()
            }
        }
    }
}

fn app_itself(view: &View<'_>, app: u64) -> Result<Answer, Answer> {
    let app = view.world.apps.get(&app).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(view.app(app)))
}

/// The repository that a path names. A former name leads to it by a redirect, for those who see it.
fn found<'a>(
    world: &'a World,
    asked: &Asked,
    query: &str,
    (caller, api): (&Caller, &str),
) -> Result<&'a Repository, Answer> {
    let name = match &asked.target {
        Target::Numbered(id) => {
            let id = crate::github::model::RepositoryId(*id);
            return world.repository(id).map_err(|_| Answer::not_found());
        }
        Target::None => return Err(Answer::not_found()),
        Target::Named(name) => name,
    };
    if let Some(repository) = world.named(name) {
        return Ok(repository);
    }
    let id = world.former_names.get(&name.to_lowercase()).ok_or_else(Answer::not_found)?;
    let repository = world.repository(*id).map_err(|_| Answer::not_found())?;
    may_ask(world, caller, repository, Route::Repository)?;
    let (slash, mark) =
        (if asked.rest.is_empty() { "" } else { "/" }, if query.is_empty() { "" } else { "?" });
    let to = format!("{api}/repositories/{id}{slash}{}{mark}{query}", asked.rest);
    Err(Answer::moved(&to))
}

impl Inquiry<'_> {
    fn answer(&self) -> Result<Answer, Answer> {
        match self.asked.route {
            Route::Repository => Ok(Answer::ok(self.repository_alone())),
            Route::RepositoryInstallation => super::installations::of(&self.view, self),
            Route::Branch => self.branch(),
            Route::Reference => self.reference(),
            Route::Commit => {
                let sha = self.resolved(self.asked.argument(0))?;
                Ok(Answer::ok(self.view.commit(self.repository, sha)?))
            }
            Route::GitCommit => self.git_commit(),
            Route::Compare => self.comparison(),
            Route::Pulls => self.pulls(),
            Route::Pull => self.pull(),
            Route::Reviews => self.reviews(),
            Route::PullCommits => self.pull_commits(),
            Route::CommitPulls => self.commit_pulls(),
            Route::Run => self.run(Attempt::Latest),
            Route::RunAttempt => self.run(Attempt::Asked),
            Route::App
            | Route::AppInstallations
            | Route::AppInstallation
            | Route::AccessTokens
            | Route::InstallationRepositories
            | Route::Unknown => Err(Answer::not_found()),
        }
    }

    /// A list's address, as its pages give it.
    pub(crate) fn list_url(&self) -> String {
        format!("{}/repositories/{}/{}", self.view.urls.api, self.repository.id, self.asked.rest)
    }

    fn repository_alone(&self) -> Value {
        let world = self.view.world;
        let mut told = self.view.repository(self.repository);
        let held = match self.caller {
            Caller::User(user) => world.permission(*user, self.repository),
            // What an App may do is not told here.
            Caller::Installation(_) | Caller::App(_) => None,
        };
        set(&mut told, "permissions", View::permissions(held));
        for (name, is_allowed) in [
            ("allow_merge_commit", true),
            ("allow_squash_merge", true),
            ("allow_rebase_merge", true),
            ("allow_auto_merge", true),
            ("delete_branch_on_merge", false),
        ] {
            set(&mut told, name, json!(is_allowed));
        }
        if let Some(parent) = self.repository.parent.and_then(|id| world.repository(id).ok()) {
            set(&mut told, "parent", self.view.repository(parent));
        }
        told
    }

    fn branch(&self) -> Result<Answer, Answer> {
        let name = self.asked.argument(0);
        let sha = self.view.world.branch(self.repository.id, name)?;
        let commit = self.view.listed_commit(self.repository, sha)?;
        let url = format!("{}/branches/{name}", self.view.api(self.repository));
        let html = format!("{}/tree/{name}", self.view.page(self.repository));
        Ok(Answer::ok(json!({
            "name": name,
            "commit": commit,
            "_links": { "self": url, "html": html },
            "protected": false,
            "protection": { "enabled": false },
            "protection_url": format!("{url}/protection"),
        })))
    }

    fn reference(&self) -> Result<Answer, Answer> {
        let name = self.asked.argument(0);
        let sha = self.repository.branches.get(name).ok_or_else(Answer::not_found)?;
        let api = self.view.api(self.repository);
        Ok(Answer::ok(json!({
            "ref": format!("refs/heads/{name}"),
            "node_id": format!("REF_{name}"),
            "url": format!("{api}/git/refs/heads/{name}"),
            "object": { "sha": sha.to_string(), "type": "commit", "url": format!("{api}/git/commits/{sha}") },
        })))
    }

    fn git_commit(&self) -> Result<Answer, Answer> {
        let sha = self.asked.argument(0).parse().map_err(|_| Answer::not_found())?;
        let told = self.view.git_commit(self.repository, sha);
        told.map(Answer::ok).map_err(|_| Answer::not_found())
    }

    /// A commit by its name, or by a branch.
    pub(crate) fn resolved(&self, reference: &str) -> Result<Sha, Answer> {
        let branch = reference.strip_prefix("heads/").unwrap_or(reference);
        if let Some(sha) = self.repository.branches.get(branch) {
            return Ok(*sha);
        }
        let unknown = format!("No commit found for SHA: {reference}");
        let sha: Sha = reference.parse().map_err(|_| Answer::refused(422, &unknown))?;
        let objects = self.view.world.objects(self.repository)?;
        objects.commit(sha).map(|_| sha).ok_or(Answer::refused(422, &unknown))
    }

    fn comparison(&self) -> Result<Answer, Answer> {
        let objects = self.view.world.objects(self.repository)?;
        let side = |index| {
            let found = self.compared(self.asked.argument(index));
            found.map_err(|_| Answer::not_found())
        };
        let (base, head) = (side(0)?, side(1)?);
        let (ahead, behind) = (objects.range(base, head), objects.range(head, base));
        let status = match (ahead.is_empty(), behind.is_empty()) {
            (true, true) => "identical",
            (false, true) => "ahead",
            (true, false) => "behind",
            (false, false) => "diverged",
        };
        let common = objects.merge_base(base, head).ok_or_else(Answer::not_found)?;
        let mut difference = objects.difference(Some(common), head);
        if let Some((first, _)) = difference.iter().nth(COMPARED_FILES_MAX) {
            let first = first.clone();
            difference.split_off(&first);
        }
        let is_paged = self.query.get("page").is_some() || self.query.get("per_page").is_some();
        let shown: &[Sha] =
            if is_paged { &ahead } else { ahead.get(..COMPARED_COMMITS_MAX).unwrap_or(&ahead) };
        let commits: Result<Vec<Value>, Refusal> =
            shown.iter().map(|sha| self.view.listed_commit(self.repository, *sha)).collect();
        let commits = commits?;
        let told = |commits: Vec<Value>| {
            Ok::<_, Answer>(json!({
                "url": format!("{}/{}", self.view.api(self.repository), self.asked.rest),
                "base_commit": self.view.listed_commit(self.repository, base)?,
                "merge_base_commit": self.view.listed_commit(self.repository, common)?,
                "status": status,
                "ahead_by": ahead.len(),
                "behind_by": behind.len(),
                "total_commits": ahead.len(),
                "commits": commits,
                "files": files(objects, &difference),
            }))
        };
        if !is_paged {
            return Ok(Answer::ok(told(commits)?));
        }
        let mut answer = paged(&self.query, &self.list_url(), &commits, Value::Array);
        let Value::Array(page) = answer.body.take() else { return Err(Answer::not_found()) };
        answer.body = told(page)?;
        Ok(answer)
    }

    /// One side of a comparison: a commit, a branch, or a fork's branch as `owner:branch`.
    fn compared(&self, side: &str) -> Result<Sha, Answer> {
        let Some((owner, branch)) = side.split_once(':') else { return self.resolved(side) };
        let world = self.view.world;
        let mut network = world.repositories.values().filter(|other| {
            other.network == self.repository.network && world.login(other.owner) == owner
        });
        let tip = network.find_map(|other| world.branch(other.id, branch).ok());
        tip.ok_or_else(Answer::not_found)
    }

    fn run(&self, attempt: Attempt) -> Result<Answer, Answer> {
        let run = self.asked.number(0).and_then(|id| self.repository.runs.get(&id));
        let run = run.ok_or_else(Answer::not_found)?;
        let number = match attempt {
            Attempt::Latest => run.attempts.len(),
            Attempt::Asked => self.asked.argument(1).parse().unwrap_or_default(),
        };
        Ok(Answer::ok(self.view.run(self.repository, run, number)?))
    }
}

#[derive(Debug, Clone, Copy)]
enum Attempt {
    Latest,
    Asked,
}

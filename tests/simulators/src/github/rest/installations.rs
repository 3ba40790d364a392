//! Installations, and the tokens that they get.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::github::{
    accounts::secret_text,
    apps::told_permissions,
    clock::later,
    model::RepositoryId,
    render::{View, set},
    rest::{
        answer::Answer,
        authorization::{Caller, reaches},
        handlers::Inquiry,
        paging::{Query, paged},
    },
    world::{Access, Bearer, Installation, InstallationToken, Permissions, Simulation},
};

/// Documented: a token is good for one hour.
const TOKEN_SECONDS: i64 = 3_600;

/// Documented: no token is limited to more.
const TOKEN_REPOSITORIES_MAX: usize = 500;

/// `GET /app/installations`
pub(crate) fn all(view: &View<'_>, app: u64, query: &Query) -> Result<Answer, Answer> {
    let own = view.world.installations.values().filter(|it| it.app == app);
    let told: Result<Vec<Value>, _> = own.map(|it| view.installation(it)).collect();
    let url = format!("{}/app/installations", view.urls.api);
    Ok(paged(query, &url, &told?, Value::Array))
}

/// `GET /app/installations/{id}`
pub(crate) fn one(view: &View<'_>, app: u64, id: Option<u64>) -> Result<Answer, Answer> {
    Ok(Answer::ok(view.installation(owned(view, app, id)?)?))
}

fn owned<'a>(view: &View<'a>, app: u64, id: Option<u64>) -> Result<&'a Installation, Answer> {
    let installation = id.and_then(|id| view.world.installations.get(&id));
    installation.filter(|it| it.app == app).ok_or_else(Answer::not_found)
}

/// `GET …/installation`: the asking App's, if it is installed there.
pub(crate) fn of(view: &View<'_>, inquiry: &Inquiry<'_>) -> Result<Answer, Answer> {
    let Caller::App(app) = inquiry.caller else { return Err(Answer::not_found()) };
    let mut own = view.world.installations.values().filter(|it| it.app == *app);
    let here = own.find(|it| view.world.reaches(it, inquiry.repository));
    Ok(Answer::ok(view.installation(here.ok_or_else(Answer::not_found)?)?))
}

/// `GET /installation/repositories`
pub(crate) fn repositories(
    view: &View<'_>,
    caller: &Caller,
    query: &Query,
) -> Result<Answer, Answer> {
    let Caller::Installation(issued) = caller else {
        return Err(Answer::refused(
            403,
            "You must authenticate with an installation access token in order to list repositories for an installation.",
        ));
    };
    let installation = view.world.installations.get(&issued.installation);
    let installation = installation.ok_or_else(Answer::not_found)?;
    let told: Vec<Value> = view
        .world
        .reached(installation)
        .into_iter()
        .filter(|repository| reaches(view.world, issued, repository))
        .map(|repository| {
            let mut told = view.repository(repository);
            set(&mut told, "permissions", View::permissions(None));
            told
        })
        .collect();
    let is_selected = installation.selected.is_some() || issued.repositories.is_some();
    let total = told.len();
    let url = format!("{}/installation/repositories", view.urls.api);
    Ok(paged(query, &url, &told, |page| {
        json!({
            "total_count": total,
            "repository_selection": if is_selected { "selected" } else { "all" },
            "repositories": page,
        })
    }))
}

impl Simulation {
    /// `POST /app/installations/{id}/access_tokens`
    pub(crate) fn issue_installation_token(
        &mut self,
        view: &View<'_>,
        app: u64,
        id: Option<u64>,
        body: &[u8],
    ) -> Result<Answer, Answer> {
        let world = std::sync::Arc::clone(&self.world);
        let installation = id.and_then(|id| world.installations.get(&id));
        let installation = installation.filter(|it| it.app == app).ok_or_else(Answer::not_found)?;
        if installation.suspended.is_some() {
            return Err(Answer::refused(403, "This installation has been suspended"));
        }
        let body: Value = match body {
            [] => json!({}),
            body => serde_json::from_slice(body)
                .map_err(|_| Answer::refused(400, "Problems parsing JSON"))?,
        };
        let view = View::of(&world, view.urls.clone());
        let repositories = asked_repositories(&view, installation, &body)?;
        let permissions = asked_permissions(installation, &body)?;
        let expires_at = later(self.now(), TOKEN_SECONDS);
        let token = self.token_text(app, expires_at.as_second());
        let issued = InstallationToken {
            installation: installation.id,
            repositories,
            permissions: permissions.clone(),
            expires_at,
        };
        let is_selected = installation.selected.is_some() || issued.repositories.is_some();
        let mut told = json!({
            "token": token,
            "expires_at": expires_at.to_string(),
            "permissions": told_permissions(&permissions),
            "repository_selection": if is_selected { "selected" } else { "all" },
        });
        if let Some(some) = &issued.repositories {
            let some: Result<Vec<Value>, _> =
                some.iter().map(|id| Ok(view.repository(world.repository(*id)?))).collect();
            let some = some.map_err(|refusal: crate::github::Refusal| Answer::from(refusal))?;
            set(&mut told, "repositories", Value::Array(some));
        }
        self.tokens.insert(token, Bearer::Installation(issued));
        Ok(Answer { status: 201, ..Answer::ok(told) })
    }

    /// As GitHub's newer ones: long, with dots and dashes, and different each time. Nobody may look into it.
    fn token_text(&mut self, app: u64, expires_at: i64) -> String {
        let number = self.ids.next();
        let part = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
        let header = part(json!({ "alg": "ES256", "typ": "JWT" }).to_string());
        let claims = part(json!({ "exp": expires_at, "jti": secret_text(number) }).to_string());
        let signature = part(secret_text(number + 1) + &secret_text(number + 2));
        format!("ghs_{app}_{header}.{claims}.{signature}-_~+/=")
    }
}

/// What `repositories` or `repository_ids` limit a token to.
fn asked_repositories(
    view: &View<'_>,
    installation: &Installation,
    body: &Value,
) -> Result<Option<BTreeSet<RepositoryId>>, Answer> {
    let list = |name: &str| body.get(name).and_then(Value::as_array);
    let (ids, names) = (list("repository_ids"), list("repositories"));
    if ids.is_none() && names.is_none() {
        return Ok(None);
    }
    let unknown = || {
        Answer::refused(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let reached = view.world.reached(installation);
    let mut asked = BTreeSet::new();
    for id in ids.into_iter().flatten() {
        let id = id.as_u64().ok_or_else(unknown)?;
        let found = reached.iter().find(|repository| repository.id.number() == id);
        asked.insert(found.ok_or_else(unknown)?.id);
    }
    for name in names.into_iter().flatten() {
        let name = name.as_str().ok_or_else(unknown)?;
        let found = reached.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        asked.insert(found.ok_or_else(unknown)?.id);
    }
    if TOKEN_REPOSITORIES_MAX < asked.len() {
        return Err(unknown());
    }
    Ok(Some(asked))
}

/// What `permissions` limit a token to: nothing beyond the installation's.
fn asked_permissions(installation: &Installation, body: &Value) -> Result<Permissions, Answer> {
    let Some(asked) = body.get("permissions").and_then(Value::as_object) else {
        return Ok(installation.permissions.clone());
    };
    let mut permissions = Permissions::new();
    for (name, word) in asked {
        let access = match word.as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            Some(_) | None => return Err(Answer::refused(422, "Invalid request.")),
        };
        if installation.permissions.get(name).is_none_or(|held| *held < access) {
            return Err(Answer::refused(
                422,
                "The permissions requested are not granted to this installation.",
            ));
        }
        permissions.insert(name.clone(), access);
    }
    // Whoever reads anything reads metadata.
    permissions.entry("metadata".to_owned()).or_insert(Access::Read);
    Ok(permissions)
}

//! Who hears of what, and in which form.

use std::collections::BTreeSet;

use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::{Scene, name};
use crate::github::{
    AccountKind, CommitSpec, GitHub, Hook, RepositorySpec, Selection, permissions, post, sign,
    world::Access,
};

/// An App that may read all that events tell of.
fn install(scene: &Scene, selection: Selection) -> (u64, u64) {
    let may = permissions(&[
        ("pull_requests", Access::Read),
        ("contents", Access::Write),
        ("merge_queues", Access::Read),
        ("actions", Access::Read),
    ]);
    let app = scene.github.register_app(&scene.acme, "plumb", may, b"").unwrap().id;
    (app, scene.github.install(app, &scene.acme, selection).unwrap())
}

#[test]
fn every_hook_gets_its_own_body_under_one_id() {
    let scene = Scene::new();
    let (app, installation) = install(&scene, Selection::All);
    let organization = scene.github.add_organization_hook(&scene.acme).unwrap();
    scene.push("topic", "a.txt", "1");
    scene.taken();
    scene.propose("topic");
    let taken = scene.taken();
    let hooks: Vec<Hook> = taken.iter().map(|delivery| delivery.hook).collect();
    assert!(matches!(hooks[0], Hook::Repository { .. }));
    assert_eq!(hooks[1], Hook::Organization { id: organization, organization: scene.acme.id });
    assert_eq!(hooks[2], Hook::App { id: app, app });
    assert_eq!(hooks.len(), 3);
    let ids: BTreeSet<&str> = taken.iter().map(|delivery| delivery.guid.as_str()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(taken[0].json()["installation"], Value::Null);
    assert_eq!(taken[2].json()["installation"]["id"], installation);
    assert_eq!(taken[2].repository_id, Some(scene.repository));
}

#[test]
fn delivery_ids_are_version_1_uuids_of_their_time_and_never_the_same() {
    let scene = Scene::new();
    for number in 0..50 {
        scene.push("topic", "a.txt", &number.to_string());
    }
    let taken = scene.taken();
    let ids: BTreeSet<&str> = taken.iter().map(|delivery| delivery.guid.as_str()).collect();
    assert_eq!(ids.len(), taken.len());
    let id: uuid::Uuid = taken[0].guid.parse().unwrap();
    assert_eq!(id.get_version_num(), 1);
    let ticks = id.get_timestamp().unwrap().to_unix().0;
    assert_eq!(ticks.cast_signed(), scene.github.now().as_second());
}

#[test]
fn an_app_hears_of_what_it_may_read_where_it_is_installed() {
    let scene = Scene::new();
    let other = scene.github.create_repository(&scene.acme, RepositorySpec::new("other")).unwrap();
    let (_, installation) = install(&scene, Selection::Selected([other].into()));
    let by_app = |scene: &Scene| {
        let taken = scene.taken();
        let by_app = taken.iter().filter(|it| matches!(it.hook, Hook::App { .. })).map(name);
        by_app.collect::<Vec<String>>()
    };
    assert_eq!(by_app(&scene), ["installation.created"]);
    scene.open("topic");
    assert!(by_app(&scene).is_empty());
    scene.github.select_repository(installation, scene.repository, &scene.ada).unwrap();
    assert_eq!(by_app(&scene), ["installation_repositories.added"]);
    scene.open("second");
    assert_eq!(by_app(&scene), ["create", "push", "pull_request.opened"]);
    let may = permissions(&[("pull_requests", Access::Read)]);
    scene.github.accept_permissions(installation, may, &scene.ada).unwrap();
    scene.open("third");
    assert_eq!(by_app(&scene), ["installation.new_permissions_accepted", "pull_request.opened"]);
    scene.github.suspend(installation, &scene.ada).unwrap();
    let suspended = scene.last("installation.suspend");
    assert_eq!(suspended["installation"]["suspended_by"]["login"], "ada");
    assert_eq!(suspended["repositories"].as_array().unwrap().len(), 2);
    assert!(suspended.get("repository").is_none());
    scene.open("fourth");
    assert!(by_app(&scene).is_empty());
    scene.github.unsuspend(installation, &scene.ada).unwrap();
    scene.github.deselect_repository(installation, other, &scene.ada).unwrap();
    let removed = scene.last("installation_repositories.removed");
    assert_eq!(removed["repositories_removed"][0]["id"], other.number());
    assert_eq!(removed["repositories_added"], json!([]));
    scene.github.uninstall(installation, &scene.ada).unwrap();
    assert_eq!(by_app(&scene), ["installation.deleted"]);
}

#[test]
fn of_a_deletion_only_the_organization_hears() {
    let scene = Scene::new();
    install(&scene, Selection::All);
    scene.github.add_organization_hook(&scene.acme).unwrap();
    scene.taken();
    scene.github.delete_repository(scene.repository, &scene.ada).unwrap();
    let taken = scene.taken();
    assert_eq!(taken.len(), 1);
    assert!(matches!(taken[0].hook, Hook::Organization { .. }));
    assert_eq!(name(&taken[0]), "repository.deleted");
    assert_eq!(taken[0].json()["repository"]["id"], scene.repository.number());
}

#[test]
fn a_push_tells_its_commits_in_their_own_offset_and_what_they_touched() {
    let scene = Scene::new();
    let main = scene.tip("main");
    let spec = CommitSpec::on(main, "One\n\nFactory-Proposal: p-1").file("src/a.txt", "1");
    let spec = spec.without("README.md").signed("Ada", "ada@example.com").at_offset(-240);
    let one = scene.github.commit(scene.repository, spec).unwrap();
    let spec = CommitSpec::on(one, "Two").file("src/a.txt", "2").by(&scene.ada);
    let two = scene.github.commit(scene.repository, spec).unwrap();
    scene.taken();
    scene.github.push(scene.repository, "main", two, &scene.bob).unwrap();
    let told = scene.last("push");
    assert_eq!((&told["ref"], &told["created"]), (&json!("refs/heads/main"), &json!(false)));
    assert_eq!(
        (&told["before"], &told["after"]),
        (&json!(main.to_string()), &json!(two.to_string()))
    );
    let [first, second] = told["commits"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!(first["id"], one.to_string());
    assert_eq!(first["message"], "One\n\nFactory-Proposal: p-1");
    assert_eq!(first["timestamp"], "2026-03-01T08:00:00-04:00");
    assert_eq!(
        (&first["added"], &first["removed"]),
        (&json!(["src/a.txt"]), &json!(["README.md"]))
    );
    assert_eq!(first["author"], json!({ "name": "Ada", "email": "ada@example.com" }));
    assert_eq!(second["modified"], json!(["src/a.txt"]));
    assert_eq!(second["timestamp"], "2026-03-01T12:00:00+00:00");
    assert_eq!(second["author"]["username"], "ada");
    assert_eq!(told["head_commit"]["id"], two.to_string());
    assert_eq!(told["pusher"]["name"], "bob");
    assert_eq!(told["repository"]["created_at"], scene.github.now().as_second());
    // What is there already is not pushed again.
    scene.github.push(scene.repository, "main", two, &scene.bob).unwrap();
    assert!(scene.taken().is_empty());
}

#[test]
fn a_new_branch_tells_only_commits_that_no_other_has() {
    let scene = Scene::new();
    let main = scene.tip("main");
    scene.github.push(scene.repository, "same", main, &scene.ada).unwrap();
    let taken = scene.taken();
    let [.., created, pushed] = taken.as_slice() else { panic!("{taken:?}") };
    let created = created.json();
    assert_eq!((&created["ref"], &created["ref_type"]), (&json!("same"), &json!("branch")));
    assert_eq!(
        (&created["master_branch"], &created["pusher_type"]),
        (&json!("main"), &json!("user"))
    );
    let pushed = pushed.json();
    assert_eq!((&pushed["created"], &pushed["commits"]), (&json!(true), &json!([])));
    let sha = scene.push("topic", "a.txt", "1");
    let told = scene.last("push");
    assert_eq!(told["commits"].as_array().unwrap().len(), 1);
    assert_eq!(told["commits"][0]["id"], sha.to_string());
}

#[test]
fn a_deleted_sender_is_null() {
    let scene = Scene::new();
    let number = scene.open("topic");
    scene.github.delete_user(&scene.ada).unwrap();
    scene.github.close(scene.repository, number, &scene.bob).unwrap();
    let told = scene.last("pull_request.closed");
    assert_eq!(told["pull_request"]["user"], Value::Null);
    assert_eq!(told["sender"]["login"], "bob");
}

#[test]
fn signatures_are_githubs() {
    // Documented: "Testing the webhook payload validation".
    let signature = sign(b"It's a Secret to Everybody", b"Hello, World!");
    let expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert_eq!(signature, expected);
}

#[test]
fn bodies_stay_out_of_what_is_printed() {
    let scene = Scene::new();
    scene.open("topic");
    let token = scene.github.issue_token(&scene.ada).unwrap();
    let printed = format!("{:?} {:?}", scene.github, scene.taken());
    assert!(printed.contains("pull_request") && !printed.contains("Propose topic"), "{printed}");
    assert!(!printed.contains(&token));
}

#[tokio::test]
async fn a_delivery_is_posted_with_its_headers_and_exact_body() {
    let scene = Scene::new();
    scene.open("topic");
    let delivery = scene.taken().pop().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/github/acme", listener.local_addr().unwrap());
    let expected = delivery.clone();
    let receive = async {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(move |request: Request<Incoming>| {
            let expected = expected.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                assert_eq!(body, expected.body);
                let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
                assert_eq!(header("x-hub-signature-256"), sign(b"secret", &body));
                assert_eq!(header("x-github-event"), "pull_request");
                assert_eq!(header("x-github-delivery"), expected.guid);
                assert_eq!(header("x-github-hook-installation-target-type"), "repository");
                assert_eq!(header("content-type"), "application/json");
                Response::builder().status(202).body(Empty::<Bytes>::new())
            }
        });
        let mut connection = http1::Builder::new();
        let connection = connection.keep_alive(false);
        let _ = connection.serve_connection(TokioIo::new(stream), service).await;
    };
    let (status, ()) = tokio::join!(post(&url, b"secret", &delivery), receive);
    assert_eq!(status.unwrap(), 202);
}

#[test]
fn a_clock_that_follows_the_machines_moves_on() {
    let github = GitHub::following_the_clock();
    let machine = github.now();
    github.advance_clock(3_600);
    assert!(3_600 <= github.now().as_second() - machine.as_second());
    github.set_now("2026-03-01T12:00:00.9Z".parse().unwrap());
    let ahead = github.now().as_second() - 1_772_366_400;
    assert!((0..60).contains(&ahead), "{ahead}");
    assert_eq!(github.now().subsec_nanosecond(), 0);
    assert!(github.create_user("ada", AccountKind::User).is_ok());
}

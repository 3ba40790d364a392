//! `plumbline demo`: plays a story on a stack in memory, and says whether it ended as the story does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::Context as _;
use clap::Args;
use local::{
    Description, Infrastructure, Stack, StackOptions,
    tools::stories::{
        Compared, MirrorReport, MirrorView, StepReport, Story, Telling, differences, play,
    },
};

use super::{
    terminal::{clean, json_line, print, say},
    workspace::Workspace,
};

/// Where the story is, seen from the workspace.
const STORY: &str = "events/stories/demo.json";

/// Play a story on a stack in memory, and check that it ends as told
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Story to play; without it, events/stories/demo.json of the workspace
    #[arg(long, value_name = "FILE")]
    story: Option<PathBuf>,
    /// Print one JSON object per step, and then one per mirror
    #[arg(long)]
    json: bool,
    /// Folder with built functions; without it they are built from the workspace
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
}

/// Plays the story. The exit code is 1 if anything happened otherwise than it says.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()
        .context("no infra/stack.json found; run plumbline inside its workspace")?;
    let story = Story::load(&arguments.story.clone().unwrap_or_else(|| default_story(&workspace)))?;
    let description = workspace.description();
    let text =
        fs::read_to_string(&description).with_context(|| description.display().to_string())?;
    if arguments.functions.is_none() {
        say("building the functions");
        let functions = Infrastructure::parse(&text)?.functions;
        let packages: Vec<_> = functions.into_iter().map(|function| function.short).collect();
        workspace.build(&packages).await?;
    }
    let began = Instant::now();
    let stack = Stack::start(StackOptions {
        functions: arguments.functions,
        ..StackOptions::ephemeral(Description::Text(text))
    })
    .await?;
    let mut show = Show { json: arguments.json, steps: story.steps.len(), number: 0 };
    show.opening(&story)?;
    let mut shown = Ok(());
    let report = play(&stack, &story, |step| {
        let shows = story.steps.get(show.number).map(|step| step.shows.as_str());
        let printed = show.step(step, shows.unwrap_or_default());
        shown = std::mem::replace(&mut shown, Ok(())).and(printed);
    })
    .await?;
    shown?;
    show.mirrors(&report.mirrors)?;
    stack.stop().await?;
    let seconds = began.elapsed().as_secs_f32();
    if report.is_as_told() {
        let (steps, mirrors) = (report.steps.len(), report.mirrors.len());
        say(&format!("{steps} steps and {mirrors} mirrors, all as told, in {seconds:.1} s"));
        return Ok(ExitCode::SUCCESS);
    }
    let differ = report.steps.iter().filter(|step| !step.ok).count()
        + report.mirrors.iter().filter(|mirror| !mirror.ok).count();
    say(&format!("NOT as told: {differ} of {} differ", report.steps.len() + report.mirrors.len()));
    Ok(ExitCode::FAILURE)
}

fn default_story(workspace: &Workspace) -> PathBuf {
    let description = workspace.description();
    let root = description.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    root.join(STORY)
}

/// Prints a story while it is played.
struct Show {
    json: bool,
    steps: usize,
    number: usize,
}

impl Show {
    fn opening(&self, story: &Story) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut text = format!("{}\n\n", clean(&story.title));
        for claim in &story.registrations {
            let (repository, tenant) = (clean(&claim.repository), clean(&claim.tenant_id));
            let project = clean(&claim.project_id);
            text += &format!("{repository} belongs to tenant {tenant}, project {project}.\n");
        }
        print(&text)
    }

    fn step(&mut self, step: &StepReport, shows: &str) -> anyhow::Result<()> {
        self.number += 1;
        if self.json {
            return print(&json_line(step)?);
        }
        let (number, steps, name) = (self.number, self.steps, clean(&step.step));
        let mut text = format!("\n{} {number:2}/{steps}  {name}\n", mark(step));
        text += &format!("         {}\n", clean(shows));
        let width = |column: fn(&Telling) -> &str| {
            let told = step.observed.deliveries.iter();
            told.map(|told| column(told).chars().count()).max().unwrap_or_default()
        };
        let widths = [width(|told| &told.source), width(|told| &told.sent)];
        for told in &step.observed.deliveries {
            text += &delivery_line(told, widths);
        }
        for mirror in &step.observed.mirrors {
            text += &format!(
                "         = {}\n",
                mirror_line(mirror, state_width(&step.observed.mirrors))
            );
        }
        print(&(text + &differing(step)))
    }

    fn mirrors(&self, mirrors: &[MirrorReport]) -> anyhow::Result<()> {
        if self.json {
            for mirror in mirrors {
                print(&json_line(mirror)?)?;
            }
            return Ok(());
        }
        let mut text = "\nAll mirrors at the end\n".to_owned();
        let width = state_width(mirrors.iter().filter_map(|mirror| mirror.observed.as_ref()));
        for mirror in mirrors {
            let line = match &mirror.observed {
                Some(seen) => mirror_line(seen, width),
                None => format!("{}: there is none", mirror.step),
            };
            text += &format!("{} {line}\n{}", mark(mirror), differing(mirror));
        }
        print(&(text + "\n"))
    }
}

/// `acme  workflow_run completed  1f3a…  → 202  → applied`
fn delivery_line(told: &Telling, [source_width, sent_width]: [usize; 2]) -> String {
    let answers: Vec<_> = told.answers.iter().map(ToString::to_string).collect();
    let (source, sent, id) = (clean(&told.source), clean(&told.sent), clean(&told.delivery_id));
    let answers = answers.join(" ");
    let ledger = told.ledger.as_deref().map_or("no row".into(), clean);
    format!("         {source:source_width$}  {sent:sent_width$}  {id}  → {answers}  → {ledger}\n")
}

/// `run 33714470481 attempt 1  Succeeded  build Succeeded, deploy Succeeded  (contested)`
fn mirror_line(mirror: &MirrorView, state_width: usize) -> String {
    let MirrorView { external_run_id, attempt, state, .. } = mirror;
    let stages = mirror.stages.iter().map(|(name, state)| format!("{name} {state}"));
    let stages = stages.collect::<Vec<_>>().join(", ");
    let contested = mirror.contested.then_some("contested");
    let doubts = contested.into_iter().chain(mirror.irregular.iter().map(String::as_str));
    let doubts = doubts.collect::<Vec<_>>().join(", ");
    let mut line = format!("run {external_run_id} attempt {attempt}  {state:state_width$}");
    for (text, [before, after]) in [(stages, ["", ""]), (doubts, ["(", ")"])] {
        if !text.is_empty() {
            line += &format!("  {before}{text}{after}");
        }
    }
    clean(line.trim_end()).into_owned()
}

fn state_width<'a>(mirrors: impl IntoIterator<Item = &'a MirrorView>) -> usize {
    mirrors.into_iter().map(|mirror| mirror.state.len()).max().unwrap_or_default()
}

const fn mark<T>(compared: &Compared<T>) -> char {
    if compared.ok { '✓' } else { '✗' }
}

/// Where something happened otherwise than it was told, if it did.
fn differing<T: serde::Serialize>(compared: &Compared<T>) -> String {
    let lines = differences(&compared.expected, &compared.observed).into_iter();
    lines.map(|difference| format!("       ✗ {}\n", clean(&difference))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn mirror() -> MirrorView {
        MirrorView {
            tenant_id: "t1".to_owned(),
            project_id: "p".to_owned(),
            repository: "a/b".to_owned(),
            external_run_id: 7,
            attempt: 2,
            state: "Succeeded".to_owned(),
            contested: true,
            irregular: vec!["FinalChanged".to_owned()],
            stages: BTreeMap::from([("te\u{1b}[1mst".to_owned(), "Failed".to_owned())]),
        }
    }

    #[test]
    fn a_mirror_is_one_line() {
        assert_eq!(
            mirror_line(&mirror(), 10),
            "run 7 attempt 2  Succeeded   test Failed  (contested, FinalChanged)"
        );
    }

    #[test]
    fn a_delivery_is_one_line() {
        let told = Telling {
            source: "acme".to_owned(),
            delivery_id: "d-1".to_owned(),
            sent: "push".to_owned(),
            answers: vec![202, 503],
            ledger: None,
        };
        assert_eq!(
            delivery_line(&told, [5, 6]),
            "         acme   push    d-1  → 202 503  → no row\n"
        );
    }

    #[test]
    fn the_story_can_be_read_and_fits_the_screen() {
        let story = Story::load(&default_story(&Workspace::find().unwrap())).unwrap();
        for step in &story.steps {
            assert!(step.shows.chars().count() <= 91, "{}", step.shows);
        }
    }

    #[test]
    fn a_difference_is_shown_with_both_sides() {
        let expected = MirrorView { state: "Failed".to_owned(), ..mirror() };
        let compared = Compared { step: String::new(), expected, observed: mirror(), ok: false };
        assert_eq!(differing(&compared), "       ✗ state: expected Failed, observed Succeeded\n");
    }
}

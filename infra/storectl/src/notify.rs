//! `notify …`: the targets of notices, what waits for them, and a test (rules.md, "Notices").

use crate::arguments::secret;
use crate::chat::{deploy, next_revision, shown};
use crate::prelude::*;
use shared::config::{NoticeAddress, NoticeKeys, SigningKey};
use shared::model::{NoticeTarget, Sending, TargetKind};
use shared::notify::{CALL, READ, Targets, check_address};
use shared::rules::notice::word;
use shared::rules::sending::{Outcome as Taken, short};
use shared::shop::notices::{self, MOST_LISTED, NoticeRow};
use shared::table::connector;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, Subcommand)]
pub enum NotifyCommand {
    /// Connect a target of store.yaml: store its address, and make the key that signs what is sent there.
    #[command(after_help = "Examples:\n  storectl notify connect sales --stack storefront\n  \
                            storectl notify connect own --url-file url.txt --stack storefront\n  \
                            storectl notify connect own --rotate --stack storefront\n  \
                            storectl notify connect own --drop-old --stack storefront\n\n\
                            The address is a secret: it is asked for, or read from a file or standard input, and never an \
                            argument. The signing key of an address of your own is shown when it is made. After --rotate \
                            both keys sign, and --rotate shows the new one again; --drop-old is for when the receiver knows \
                            it. Run again with another address, the keys stay.")]
    Connect(ConnectTarget),
    /// List the targets, and what is not sent to all of them yet, with attempts and answers.
    #[command(after_help = "Examples:\n  storectl notify list --stack storefront\n  \
                            storectl notify list --waiting --json --stack storefront\n\n\
                            What waits was tried for a day and is not tried again by itself: see `storectl notify resend`.")]
    List {
        /// Only what is not tried again by itself.
        #[arg(long)]
        waiting: bool,
    },
    /// Send notices again that wait, or one at once.
    #[command(after_help = "Examples:\n  storectl notify resend paid-6f1d0a3c --stack storefront\n  \
                            storectl notify resend --all --stack storefront\n\n\
                            They are sent in the next minute, to the targets that do not have them, with the same ids, and \
                            are tried for another day.")]
    Resend {
        /// Id of a notice, as `notify list` shows it.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// All that wait.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Send a message to a target now that says that it is a test.
    #[command(after_help = "Example:\n  storectl notify test sales --stack storefront")]
    Test {
        /// The target's name in store.yaml.
        name: String,
    },
}

#[derive(Debug, Clone, Args)]
pub struct ConnectTarget {
    /// The target's name in store.yaml.
    pub name: String,
    /// File with the address and nothing else; by default it is asked for, or read from standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rotate", "drop_old"])]
    pub url_file: Option<PathBuf>,
    /// Make another signing key beside the present one.
    #[arg(long)]
    pub rotate: bool,
    /// Remove the older of two signing keys.
    #[arg(long, conflicts_with = "rotate")]
    pub drop_old: bool,
}

impl NotifyCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Connect(options) => connect(at, console, options).await,
            Self::List { waiting } => list(at, *waiting).await,
            Self::Resend { id, .. } => resend(at, id.as_deref()).await,
            Self::Test { name } => test(at, name).await,
        }
    }
}

/// The most bytes of an address.
const LONGEST_URL: u64 = 2_000;

/// The target with this name in the published store.
async fn find(at: &Deployment, name: &str) -> Result<NoticeTarget> {
    let targets = at.published().await?.config.notify;
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    targets.into_iter().find(|target| target.name == name).ok_or_else(|| {
        let what = format!("The published store has no target {name} under `notify`; it has: {names}.");
        Failure::refused(what, "Add it to store.yaml and publish that first, or correct the name.")
    })
}

async fn connect(at: &Deployment, console: &Console, options: &ConnectTarget) -> Outcome {
    let target = find(at, &options.name).await?;
    let mut keys = at.notices.read().await?;
    let (said, shown_key) = if options.rotate || options.drop_old {
        change_keys(&mut keys, &target, options.rotate)?
    } else {
        let url = address(console, options)?;
        check_address(target.kind, &url, at.notices.allows_here)
            .map_err(|what| Failure::refused(what, "Copy it again, whole, and run the same command again."))?;
        let before = keys.0.get(&target.name).map(|address| address.keys.clone()).filter(|keys| !keys.is_empty());
        let (signing, new) = match (target.kind, before) {
            (TargetKind::Discord, _) => (Vec::new(), None),
            (TargetKind::Webhook, Some(keys)) => (keys, None),
            (TargetKind::Webhook, None) => {
                let key = new_key()?;
                (vec![key.clone()], Some(key))
            }
        };
        keys.0.insert(target.name.clone(), NoticeAddress { url, keys: signing });
        (format!("The target {} is connected.", target.name), new)
    };
    if !options.rotate && !options.drop_old {
        // It was the address before that took nothing.
        notices::end_pause(&at.db, &target.name).await?;
    }
    at.notices.write(&keys).await.map_err(|failure| failure.done("It is not known whether the secret was written."))?;
    let signing_key = shown_key.map(|key| key.expose());
    let mut text = ok!("{said}");
    if let Some(key) = &signing_key {
        text = format!("{text}\nIts new signing key: {}", paint(STRONG, key));
    }
    let deploy = at.stack.as_ref().map(|stack| {
        let revision = next_revision(&stack.key_revision, at.clock.seconds());
        deploy(&stack.name, &format!("Notices=true KeyRevision={revision}"))
    });
    if let Some(deploy) = &deploy {
        text = format!("{text}\n{}", shown("The function has it after the next deploy", deploy));
    }
    text = format!("{text}\nTry it: `storectl notify test {}`", target.name);
    Ok(Printed::new(text, &facts! { target: &target.name, signing_key, deploy }))
}

/// Adds a signing key to a target, or removes the older one. Returns what was done, and a new key.
fn change_keys(keys: &mut NoticeKeys, target: &NoticeTarget, rotate: bool) -> Result<(String, Option<SigningKey>)> {
    let name = &target.name;
    let is_connected = keys.of(target).is_some();
    let Some(address) = keys.0.get_mut(name).filter(|_| is_connected) else {
        let next = format!("Connect it first: `storectl notify connect {name}`.");
        return Err(Failure::refused(format!("The target {name} is not connected."), next));
    };
    match (target.kind, address.keys.len(), rotate) {
        (TargetKind::Discord, ..) => {
            let next = format!("Make another webhook in Discord, and connect that: `storectl notify connect {name}`.");
            Err(Failure::refused("A channel of Discord has no signing key: its address is the secret.", next))
        }
        (TargetKind::Webhook, 0 | 1, true) => {
            let key = new_key()?;
            address.keys.push(key.clone());
            let said =
                format!("{name} has another signing key. Both sign until `storectl notify connect {name} --drop-old`.");
            Ok((said, Some(key)))
        }
        // Who was interrupted has not seen it; and the older one is all that the receiver knows.
        (TargetKind::Webhook, _, true) => {
            let said =
                format!("{name} has two signing keys already, until `storectl notify connect {name} --drop-old`.");
            Ok((said, address.keys.last().cloned()))
        }
        (TargetKind::Webhook, 0 | 1, false) => {
            Err(Failure::refused(format!("{name} has no older signing key."), "There is nothing to remove."))
        }
        (TargetKind::Webhook, _, false) => {
            address.keys.remove(0);
            Ok((format!("The older signing key of {name} is removed."), None))
        }
    }
}

fn new_key() -> Result<SigningKey> {
    let none = || Failure::new(Exit::Local, "The system provides no random numbers.", "Report this.");
    SigningKey::random().ok_or_else(none)
}

/// The address, as it is asked for or read.
fn address(console: &Console, options: &ConnectTarget) -> Result<String> {
    let typed = if options.url_file.is_none() { console.secret("Address (it is not shown)") } else { None };
    let read = || secret(options.url_file.as_deref(), LONGEST_URL + 2, "--url-file");
    let text = typed.map_or_else(read, Ok)?;
    let url = text.trim().to_owned();
    if url.is_empty() || url.len() as u64 > LONGEST_URL || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = format!("The address must be one word of 1 to {LONGEST_URL} ASCII characters.");
        return Err(Failure::refused(what, "Copy it again, whole, and run the same command again."));
    }
    Ok(url)
}

/// The names of targets of the published store that have no address, or one of another kind; none if it cannot be known.
pub async fn not_connected(at: &Deployment, targets: &[NoticeTarget]) -> Result<Vec<String>> {
    if targets.is_empty() || !at.notices.is_known() {
        return Ok(Vec::new());
    }
    let keys = at.notices.read().await?;
    Ok(targets.iter().filter(|target| keys.of(target).is_none()).map(|target| target.name.clone()).collect())
}

async fn list(at: &Deployment, only_waiting: bool) -> Outcome {
    let targets = at.published().await?.config.notify;
    let keys = at.notices.read().await?;
    let found =
        if only_waiting { notices::waiting(&at.db, MOST_LISTED).await? } else { notices::listed(&at.db).await? };
    let (mut text, mut rows, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for target @ NoticeTarget { name, kind, events, .. } in &targets {
        let events: Vec<&str> = events.iter().map(|event| word(*event)).collect();
        let (kind, signing_keys) = (value(kind), keys.of(target).map(|address| address.keys.len()));
        let state = match signing_keys {
            None => "not connected",
            Some(0 | 1) => "connected",
            Some(_) => "connected, two signing keys",
        };
        rows.push([name.as_str(), kind.as_str().unwrap_or_default(), state, &events.join(", ")].map(str::to_owned));
        let (connected, signing_keys) = (signing_keys.is_some(), signing_keys.unwrap_or_default());
        shown.push(facts! { name, kind, events, connected, signing_keys });
    }
    if !only_waiting {
        text.push(columns(["TARGET", "KIND", "", "EVENTS"], rows));
    }
    if targets.is_empty() && found.is_empty() {
        text.push(note!("No notices are sent: name targets under `notify` in store.yaml."));
    } else if found.is_empty() {
        text.push(if only_waiting { "No notice waits.".to_owned() } else { "Every notice is sent.".to_owned() });
    } else {
        text.push(columns(["NOTICE", "AT", "TARGET", "TRIED", "NEXT", "ANSWER"], found.iter().flat_map(unsent)));
    }
    if found.len() >= MOST_LISTED {
        text.push(note!("These are the first {MOST_LISTED}."));
    }
    let notices: Vec<_> = found.iter().map(|row| &row.notice).collect();
    Ok(Printed::new(text.join("\n"), &facts! { targets: shown, notices }))
}

/// What is not sent yet, by targets; one line without a target if it was not tried.
fn unsent(row: &NoticeRow) -> Vec<[String; 6]> {
    let line = |target: &str, tried: u32, next: String, answer: &str| {
        let (id, at) = (row.notice.id.clone(), Time(row.notice.at).to_string());
        [id, at, target.to_owned(), tried.to_string(), next, answer.to_owned()]
    };
    if row.notice.targets.is_empty() {
        return vec![line("", 0, "now".to_owned(), "")];
    }
    let open = row.notice.targets.iter().filter(|(_, sending)| sending.sent_at.is_none());
    let next = |sending: &Sending| sending.again_at.map_or_else(|| "waits".to_owned(), |at| Time(at).to_string());
    open.map(|(name, sending)| line(name, sending.attempts, next(sending), &sending.answer)).collect()
}

async fn resend(at: &Deployment, id: Option<&str>) -> Outcome {
    let now = at.clock.seconds();
    let mut resent: Vec<&str> = Vec::new();
    let rows = match id {
        None => notices::waiting(&at.db, MOST_LISTED).await?,
        Some(id) => notices::listed(&at.db).await?.into_iter().filter(|row| row.notice.id == id).collect(),
    };
    if let (Some(id), true) = (id, rows.is_empty()) {
        let what = format!("There is no notice {id} that is not sent to all.");
        return Err(Failure::refused(what, "Look at `storectl notify list`."));
    }
    for row in &rows {
        // If it was not as it was read, it is being sent.
        if notices::resend(&at.db, row, now).await? {
            resent.push(&row.notice.id);
        }
    }
    let more = rows.len() >= MOST_LISTED;
    let mut text = ok!("{} notices are sent in the next minute.", resent.len());
    if more {
        text = format!("{text}\n{}", note!("More may wait: run it again."));
    }
    Ok(Printed::new(text, &facts! { resent, more }))
}

async fn test(at: &Deployment, name: &str) -> Outcome {
    let target = find(at, name).await?;
    let client = outgoing::public::PublicClient::new(connector::roots(), CALL, READ);
    let client = client.with_this_machine(at.notices.allows_here);
    let targets = Targets::new(at.notices.read().await?, client, Arc::clone(&at.clock));
    let id = shared::random::id().map_or_else(|| "test".to_owned(), |id| format!("test-{id}"));
    match targets.test(&target, &id).await {
        Taken::Taken(answer) => {
            Ok(Printed::new(ok!("{name} took the test ({answer})."), &facts! { target: name, id, answer }))
        }
        Taken::Refused(answer) | Taken::Failed(answer) | Taken::Paused(_, answer) => {
            let next = "Correct the address (`storectl notify connect`), or look at the receiver; then test again.";
            Err(Failure::refused(format!("{name} did not take the test: {}.", short(&answer)), next))
        }
    }
}

//! `server …`: the keys of game servers.

use crate::delivery::queue;
use crate::prelude::*;
use serde::Serialize;
use shared::model::{Command, CommandState, Server, ServerId};
use shared::shop::delivery::servers::StoredKey;
use shared::shop::delivery::{add_key, revoke_key};
use shared::table::StoreError;
use shared::table::bulk::each;
use shared::table::codec::{decode_live, key_of};
use shared::table::keys::prefix;
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[derive(Debug, Clone, Subcommand)]
pub enum ServerCommand {
    /// Make a key for a game server of store.yaml, and print what to enter there.
    #[command(after_help = "Examples:\n  storectl server add Survival --stack storefront\n  \
                            storectl server add 1 --drop --stack storefront\n  \
                            storectl server add 2 --agent --stack storefront\n\n\
                            The key is shown once: only its hash is stored. What was sold for this server before is shown, \
                            and delivered or dropped as you decide.")]
    Add(AddServer),
    /// List the game servers, their keys by the beginning of the hash, what waits for each, and how long its commands took.
    #[command(after_help = "Example:\n  storectl server list --stack storefront")]
    List,
    /// Make a key void at once; the game server's plugin is then refused.
    #[command(after_help = "Examples:\n  storectl server revoke Survival --stack storefront\n  \
                            storectl server revoke Survival --key 3f9a0c21 --stack storefront\n\n\
                            After 17 minutes of refusals the plugin gives up, until `/ms reload` or a restart.")]
    Revoke(RevokeServer),
    /// Make another key for a game server; the older ones work until --finish.
    #[command(after_help = "Examples:\n  storectl server rotate Survival --stack storefront\n  \
                            storectl server rotate Survival --finish --stack storefront")]
    Rotate(RotateServer),
}

#[derive(Debug, Clone, Args)]
pub struct AddServer {
    /// The server's id or name in store.yaml.
    pub server: String,
    /// Deliver what is due for it already; do not ask.
    #[arg(long)]
    pub deliver: bool,
    /// Cancel what is due for it already, and not what is due later, such as the end of a timed item; do not ask.
    #[arg(long, conflicts_with = "deliver")]
    pub drop: bool,
    /// Address of the API that the game server calls; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print the file of an agent in place of the settings of the plugin.
    #[arg(long)]
    pub agent: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RevokeServer {
    /// The server's id or name.
    pub server: String,
    /// Only the key whose hash begins like this, as `server list` shows it; all of the server by default.
    #[arg(long, value_name = "HASH")]
    pub key: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RotateServer {
    /// The server's id or name.
    pub server: String,
    /// Make all keys but the newest void.
    #[arg(long)]
    pub finish: bool,
    /// Do not ask, also if no poll has used the newest key yet.
    #[arg(long, short)]
    pub yes: bool,
    /// Address of the API that the game server calls; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print the file of an agent in place of the settings of the plugin.
    #[arg(long, conflicts_with = "finish")]
    pub agent: bool,
}

impl ServerCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Add(options) => add(at, console, options).await,
            Self::List => list(at).await,
            Self::Revoke(options) => revoke(at, console, options).await,
            Self::Rotate(options) => rotate(at, console, options).await,
        }
    }
}

/// Digits of a hash that are shown.
const SHOWN_DIGITS: usize = 8;

/// The path below which the API has the calls of game servers.
const PLUGIN: &str = "/plugin/";

/// A key without its text, which is not stored.
struct Key {
    hash: String,
    stored: StoredKey,
}

impl Key {
    fn shown(&self) -> &str {
        self.hash.get(..SHOWN_DIGITS).unwrap_or(&self.hash)
    }
}

/// All keys, oldest first.
async fn all(at: &Deployment) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    each(&at.db, prefix::SERVER, |item| {
        let key = key_of(&item)?;
        let hash = key.pk.strip_prefix(prefix::SERVER).unwrap_or_default().to_owned();
        keys.push(Key { hash, stored: decode_live(&key, item)? });
        Ok::<(), StoreError>(())
    })
    .await?;
    keys.sort_by(|one, other| (one.stored.created_at, &one.hash).cmp(&(other.stored.created_at, &other.hash)));
    Ok(keys)
}

async fn of_server(at: &Deployment, server: ServerId) -> Result<Vec<Key>> {
    let mut keys = all(at).await?;
    keys.retain(|key| key.stored.server == server);
    Ok(keys)
}

/// The answer of `server add` and `rotate`.
#[derive(Serialize)]
struct NewKey<'a> {
    server: ServerId,
    name: &'a str,
    key: String,
    hash: String,
    store_url: String,
    autosetup: String,
    /// The file of an agent.
    agent: String,
    /// Whether the address of the API is known.
    #[serde(skip)]
    is_known: bool,
}

async fn add(at: &Deployment, console: &Console, options: &AddServer) -> Outcome {
    let active = at.published().await?;
    let server = queue::find(&active, &options.server)?;
    if !of_server(at, server.id).await?.is_empty() {
        let what = format!("{} ({}) has a key already.", server.name, server.id);
        let next = format!("`storectl server rotate {}` makes another, `server revoke` makes it void.", server.id);
        return Err(Failure::refused(what, next));
    }
    // What is due later, such as the end of a timed item, is not decided about.
    let now = at.clock.seconds();
    let waiting = queue::waiting(at, server.id, now).await?;
    let dropped = if !waiting.is_empty() && drops(console, options, server, &waiting)? {
        Some(queue::drop_all(at, server.id, now).await?)
    } else {
        None
    };
    let key = make(at, server, options.url.as_deref()).await?;
    let mut text = key.text(options.agent);
    match dropped {
        Some(count) => _ = write!(text, "\n{count} commands that waited for it were cancelled."),
        None => text.push_str(&told_waiting(server, &waiting)),
    }
    Ok(Printed::new(
        text,
        &facts! { #[serde(flatten)] key, waiting: waiting.len(), dropped: dropped.unwrap_or_default() },
    ))
}

/// The lines about commands that wait for a server. Those that a game server keeps for absent players are served to no other one.
fn told_waiting(server: &Server, waiting: &[Command]) -> String {
    let kept = waiting.iter().filter(|command| command.delivery.state == CommandState::Kept).count();
    let mut text = String::new();
    if waiting.len() > kept {
        _ = write!(text, "\n{} commands wait for it, and run after its first polls.", waiting.len() - kept);
    }
    if kept > 0 {
        _ = write!(
            text,
            "\n{kept} are kept by the game server that was connected, for players who are away. If it is another one now, \
             `storectl delivery list --server {} --state kept` shows them, and `delivery retry ID …` sends them again.",
            server.name
        );
    }
    text
}

/// Whether what waits for a server is dropped, which is asked if the options do not say.
fn drops(console: &Console, options: &AddServer, server: &Server, waiting: &[Command]) -> Result<bool> {
    if options.deliver || options.drop {
        return Ok(options.drop);
    }
    let oldest = waiting.iter().map(|command| command.delivery.due).min().unwrap_or_default();
    let shown = format!(
        "{} commands of earlier orders wait for {} ({}), the first since {}. They run as soon as it is connected.",
        waiting.len(),
        server.name,
        server.id,
        Time(oldest)
    );
    console.choose(&shown, "Deliver or drop them?", ["deliver", "drop"]).map(|place| place == 1)
}

/// The file of an agent, for Minecraft; the lines for Rust are comments.
fn agent_file(store_url: &str) -> String {
    format!(
        "store: {store_url}\n\
         key: {{file: key.txt}}\n\
         rcon: {{address: \"127.0.0.1:25575\", password: {{file: rcon.txt}}, protocol: source}}\n\
         players: minecraft\n\
         journal: ./journal\n\
         # For Rust, in place of rcon and players; for other games see operations.md, \"Agent or plugin\":\n\
         # rcon: {{address: \"127.0.0.1:28016\", password: {{file: rcon.txt}}, protocol: websocket}}\n\
         # players: rust\n"
    )
}

async fn make<'a>(at: &Deployment, server: &'a Server, url: Option<&str>) -> Result<NewKey<'a>> {
    let added = add_key(&at.db, at.clock.as_ref(), server.id).await;
    let next = "Look at `storectl server list`: revoke a key that you have not seen, then run it again.";
    let (key, stored) = added.unsure("It is not known whether a key was made.", next)?;
    let known = url.or_else(|| at.stack.as_ref().map(|stack| stack.api_url.as_str()));
    let store_url = format!("{}{PLUGIN}", known.unwrap_or("https://YOUR-API").trim_end_matches('/'));
    Ok(NewKey {
        server: server.id,
        name: &server.name,
        hash: stored.hash().get(..SHOWN_DIGITS).unwrap_or_default().to_owned(),
        autosetup: format!("/ms autosetup \"{store_url}\" {key} {key}"),
        agent: agent_file(&store_url),
        key,
        store_url,
        is_known: known.is_some(),
    })
}

impl NewKey<'_> {
    /// Where to enter the key: in the console of the game server, or in the files of an agent.
    fn text(&self, for_agent: bool) -> String {
        let Self { key, store_url, autosetup, agent, .. } = self;
        let mut text = ok!("{} ({}) has a new key. It is shown this once.\n", self.name, self.server);
        if for_agent {
            let config = "Write this to agent.yaml, with the game server's RCON password in rcon.txt:";
            let secret = "And this to key.txt, which only the agent's user may read:";
            _ = write!(text, "{}\n{agent}{}\n{key}", paint(STRONG, config), paint(STRONG, secret));
        } else {
            let setup = autosetup.trim_start_matches('/');
            let console = "Enter this in the game server's console (players with the right type it with a slash):";
            let settings = "Or write these settings of the plugin, then `ms reload`:";
            _ = write!(
                text,
                "{}\n  {setup}\n{}\n  store-url: {store_url}\n  api.key-enabled: true\n  api.key: {key}\n  \
                 weblistener.enabled: true\n  weblistener.secret-key: {key}",
                paint(STRONG, console),
                paint(STRONG, settings),
            );
        }
        if !self.is_known {
            let note = note!("The address of the API is not known here: replace https://YOUR-API, or add --url.");
            _ = write!(text, "\n{note}");
        } else if !store_url.starts_with("https://") {
            let said = "The plugin calls https addresses only, and an agent http only on its own machine.";
            _ = write!(text, "\n{}", warning!("{said}"));
        }
        text
    }
}

async fn rotate(at: &Deployment, console: &Console, options: &RotateServer) -> Outcome {
    let active = at.published().await?;
    let server = queue::find(&active, &options.server)?;
    let (id, name) = (server.id, &server.name);
    let keys = of_server(at, id).await?;
    let Some((newest, older)) = keys.split_last() else {
        let what = format!("{name} ({id}) has no key.");
        return Err(Failure::refused(what, format!("`storectl server add {id}` makes one.")));
    };
    if !options.finish {
        let key = make(at, server, options.url.as_deref()).await?;
        let next = format!("storectl server rotate {id} --finish");
        let older =
            format!("The older keys work until `{next}`; `storectl server list` shows when the new one is used.");
        return Ok(Printed::new(format!("{}\n{older}", key.text(options.agent)), &key));
    }
    if older.is_empty() {
        let text = format!("Nothing to do: {name} ({id}) has one key.");
        return Ok(Printed::new(text, &facts! { server: id, revoked: [(); 0] }));
    }
    if newest.stored.seen.is_none() {
        let shown = format!(
            "No poll of {name} has used its newest key, {}, yet. Without the older ones it is refused until it has the new one.",
            newest.shown()
        );
        console.confirm(&shown, "Make the older keys void all the same?", options.yes)?;
    }
    revoke_all(at, id, name, older, false).await
}

pub async fn revoke(at: &Deployment, console: &Console, options: &RevokeServer) -> Outcome {
    let active = at.published().await?;
    // A server that store.yaml no longer has may have keys.
    let (id, name) = match (queue::find(&active, &options.server), options.server.trim().parse::<ServerId>()) {
        (Ok(server), _) => (server.id, server.name.clone()),
        (Err(_), Ok(id)) => (id, format!("server {id}")),
        (Err(failure), Err(_)) => return Err(failure),
    };
    let mut keys = of_server(at, id).await?;
    let all = keys.len();
    if let Some(wanted) = &options.key {
        keys.retain(|key| key.hash.starts_with(&wanted.trim().to_lowercase()));
    }
    if keys.is_empty() {
        return Err(Failure::refused(format!("{name} has no such key."), "`storectl server list` shows all."));
    }
    let shown: Vec<&str> = keys.iter().map(Key::shown).collect();
    let shown = format!("{name} ({id}) is refused at once with: {}", shown.join(", "));
    console.confirm(&shown, "Make void?", options.yes)?;
    revoke_all(at, id, &name, &keys, keys.len() == all).await
}

/// Revokes keys of a server. `are_all`: it has no others.
async fn revoke_all(at: &Deployment, id: ServerId, name: &str, keys: &[Key], are_all: bool) -> Outcome {
    for (place, key) in (1..).zip(keys) {
        let last_of = (are_all && place == keys.len()).then_some(id);
        let revoked = revoke_key(&at.db, &key.hash, last_of).await;
        revoked.unsure(format!("It is not known whether the key {} is void.", key.shown()), AGAIN)?;
    }
    let revoked: Vec<&str> = keys.iter().map(Key::shown).collect();
    Ok(Printed::new(ok!("Void for {name} ({id}): {}.", revoked.join(", ")), &facts! { server: id, revoked }))
}

async fn list(at: &Deployment) -> Outcome {
    let active = at.published().await?;
    let keys = all(at).await?;
    let known = &active.config.delivery.servers;
    let gone = keys.iter().map(|key| key.stored.server).filter(|id| known.iter().all(|server| server.id != *id));
    let gone: BTreeSet<ServerId> = gone.collect();
    let names = known.iter().map(|server| (server.id, server.name.clone()));
    let names = names.chain(gone.into_iter().map(|id| (id, "(not in store.yaml)".to_owned())));
    let (mut rows, mut servers, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (id, name) in names {
        let waiting = queue::waiting(at, id, queue::FOREVER).await?.len();
        let [unknown, refused] = queue::undecided(at, id).await?;
        let (last_day, said) = queue::last_day(at, id).await?;
        lines.extend(said.map(|said| format!("{name}, {said}")));
        let row = |[key, made, last]: [String; 3]| {
            let [waiting, unknown, refused] = [waiting, unknown, refused].map(|count| count.to_string());
            [id.to_string(), name.clone(), key, made, last, waiting, unknown, refused]
        };
        let mut own = Vec::new();
        for key in keys.iter().filter(|key| key.stored.server == id) {
            let (hash, created_at, seen) = (key.shown(), Time(key.stored.created_at), key.stored.seen.map(Time));
            let last = seen.map_or_else(|| "never".to_owned(), |seen| seen.to_string());
            rows.push(row([hash.to_owned(), created_at.to_string(), last]));
            own.push(facts! { hash, created_at, seen });
        }
        if own.is_empty() {
            rows.push(row(["none".to_owned(), String::new(), String::new()]));
        }
        servers.push(facts! { id, name, keys: own, waiting, unknown, refused, last_day });
    }
    let text = columns(["ID", "NAME", "KEY", "MADE", "LAST POLL", "WAITING", "UNKNOWN", "REFUSED"], rows);
    let text = [text].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    Ok(Printed::new(text, &facts! { servers }))
}

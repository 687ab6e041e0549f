//! `server …`: the keys of game servers.

use super::common::{published, shown_time};
use super::queues;
use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::{AddServer, RevokeServer, RotateServer};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::{Command, CommandState, Server, ServerId};
use shared::shop::delivery::servers::StoredKey;
use shared::shop::delivery::{add_key, revoke_key};
use shared::table::StoreError;
use shared::table::bulk::each;
use shared::table::codec::{decode_live, key_of};
use shared::table::keys::prefix;
use std::collections::BTreeSet;
use std::fmt::Write as _;

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
async fn all(target: &Target) -> Result<Vec<Key>, Failure> {
    let mut keys = Vec::new();
    each(&target.db, prefix::SERVER, |item| {
        let key = key_of(&item)?;
        let hash = key.pk.strip_prefix(prefix::SERVER).unwrap_or_default().to_owned();
        keys.push(Key { hash, stored: decode_live(&key, item)? });
        Ok::<(), StoreError>(())
    })
    .await?;
    keys.sort_by(|one, other| (one.stored.created_at, &one.hash).cmp(&(other.stored.created_at, &other.hash)));
    Ok(keys)
}

async fn of_server(target: &Target, server: ServerId) -> Result<Vec<Key>, Failure> {
    let mut keys = all(target).await?;
    keys.retain(|key| key.stored.server == server);
    Ok(keys)
}

pub(super) async fn add(target: &Target, console: &Console, options: &AddServer) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let server = queues::find(&active, &options.server)?;
    if !of_server(target, server.id).await?.is_empty() {
        let what = format!("{} ({}) has a key already.", server.name, server.id);
        let next = format!("`storectl server rotate {}` makes another, `server revoke` makes it void.", server.id);
        return Err(Failure::refused(what, next));
    }
    // What is due later, such as the end of a timed item, is not decided about.
    let now = target.clock.seconds();
    let waiting = queues::waiting(target, server.id, now).await?;
    let dropped = if !waiting.is_empty() && drops(console, options, server, &waiting)? {
        Some(queues::drop_all(target, server.id, now).await?)
    } else {
        None
    };
    let (mut text, mut json) = make(target, server, options.url.as_deref(), options.agent).await?;
    match dropped {
        Some(count) => _ = write!(text, "\n{count} commands that waited for it were cancelled."),
        None => text.push_str(&told_waiting(server, &waiting)),
    }
    json["waiting"] = waiting.len().into();
    json["dropped"] = dropped.unwrap_or_default().into();
    Ok(Answer::new(text, json))
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
fn drops(console: &Console, options: &AddServer, server: &Server, waiting: &[Command]) -> Result<bool, Failure> {
    if options.deliver || options.drop {
        return Ok(options.drop);
    }
    let oldest = waiting.iter().map(|command| command.delivery.due).min().unwrap_or_default();
    let shown = format!(
        "{} commands of earlier orders wait for {} ({}), the first since {}. They run as soon as it is connected.",
        waiting.len(),
        server.name,
        server.id,
        shown_time(oldest)
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

/// Makes a key, and says where to enter it.
async fn make(
    target: &Target,
    server: &Server,
    url: Option<&str>,
    for_agent: bool,
) -> Result<(String, Value), Failure> {
    let (secret, key) = add_key(&target.db, target.clock.as_ref(), server.id).await.map_err(|error| {
        let next = "Look at `storectl server list`: revoke a key that you have not seen, then run it again.";
        Failure::from(error).done("It is not known whether a key was made.").next(next)
    })?;
    let known = url.or_else(|| target.stack.as_ref().map(|stack| stack.api_url.as_str()));
    let store_url = format!("{}{PLUGIN}", known.unwrap_or("https://YOUR-API").trim_end_matches('/'));
    let setup = format!("ms autosetup \"{store_url}\" {secret} {secret}");
    let file = agent_file(&store_url);
    let plugin = format!(
        "{console}\n  {setup}\n\
         {settings}\n  store-url: {store_url}\n  api.key-enabled: true\n  api.key: {secret}\n  \
         weblistener.enabled: true\n  weblistener.secret-key: {secret}",
        console =
            paint(STRONG, "Enter this in the game server's console (players with the right type it with a slash):"),
        settings = paint(STRONG, "Or write these settings of the plugin, then `ms reload`:"),
    );
    let agent = format!(
        "{config}\n{file}{key}\n{secret}",
        config = paint(STRONG, "Write this to agent.yaml, with the game server's RCON password in rcon.txt:"),
        key = paint(STRONG, "And this to key.txt, which only the agent's user may read:"),
    );
    let mut text = format!(
        "{} {} ({}) has a new key. It is shown this once.\n{}",
        paint(GOOD, "ok"),
        server.name,
        server.id,
        if for_agent { agent } else { plugin },
    );
    if known.is_none() {
        let note = "The address of the API is not known here: replace https://YOUR-API, or add --url.";
        _ = write!(text, "\n{} {note}", paint(WARN, "note"));
    } else if !store_url.starts_with("https://") {
        let note = "The plugin calls https addresses only, and an agent http only on its own machine.";
        _ = write!(text, "\n{} {note}", paint(WARN, "warning"));
    }
    let hash = key.hash().get(..SHOWN_DIGITS).unwrap_or_default();
    let json = json!({
        "server": server.id, "name": server.name, "key": secret, "hash": hash, "store_url": store_url,
        "autosetup": format!("/{setup}"), "agent": file,
    });
    Ok((text, json))
}

pub(super) async fn rotate(target: &Target, console: &Console, options: &RotateServer) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let server = queues::find(&active, &options.server)?;
    let keys = of_server(target, server.id).await?;
    let Some((newest, older)) = keys.split_last() else {
        let what = format!("{} ({}) has no key.", server.name, server.id);
        return Err(Failure::refused(what, format!("`storectl server add {}` makes one.", server.id)));
    };
    if !options.finish {
        let (mut text, json) = make(target, server, options.url.as_deref(), options.agent).await?;
        let next = format!("storectl server rotate {} --finish", server.id);
        _ = write!(
            text,
            "\nThe older keys work until `{next}`; `storectl server list` shows when the new one is used."
        );
        return Ok(Answer::new(text, json));
    }
    if older.is_empty() {
        let text = format!("Nothing to do: {} ({}) has one key.", server.name, server.id);
        return Ok(Answer::new(text, json!({ "server": server.id, "revoked": [] })));
    }
    if newest.stored.seen.is_none() {
        let shown = format!(
            "No poll of {} has used its newest key, {}, yet. Without the older ones it is refused until it has the new one.",
            server.name,
            newest.shown()
        );
        console.confirm(&shown, "Make the older keys void all the same?", options.yes)?;
    }
    revoke_all(target, server.id, &server.name, older, false).await
}

pub(super) async fn revoke(target: &Target, console: &Console, options: &RevokeServer) -> Result<Answer, Failure> {
    let active = published(target).await?;
    // A server that store.yaml no longer has may have keys.
    let (id, name) = match (queues::find(&active, &options.server), options.server.trim().parse::<ServerId>()) {
        (Ok(server), _) => (server.id, server.name.clone()),
        (Err(_), Ok(id)) => (id, format!("server {id}")),
        (Err(failure), Err(_)) => return Err(failure),
    };
    let mut keys = of_server(target, id).await?;
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
    revoke_all(target, id, &name, &keys, keys.len() == all).await
}

/// Revokes keys of a server. `are_all`: it has no others.
async fn revoke_all(target: &Target, id: ServerId, name: &str, keys: &[Key], are_all: bool) -> Result<Answer, Failure> {
    for (place, key) in (1..).zip(keys) {
        let last_of = (are_all && place == keys.len()).then_some(id);
        revoke_key(&target.db, &key.hash, last_of).await.map_err(|error| {
            let done = format!("It is not known whether the key {} is void.", key.shown());
            Failure::from(error).done(done).next("Run the same command again.")
        })?;
    }
    let hashes: Vec<&str> = keys.iter().map(Key::shown).collect();
    let text = format!("{} Void for {name} ({id}): {}.", paint(GOOD, "ok"), hashes.join(", "));
    Ok(Answer::new(text, json!({ "server": id, "revoked": hashes })))
}

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let keys = all(target).await?;
    let known = &active.config.delivery.servers;
    let gone = keys.iter().map(|key| key.stored.server).filter(|id| known.iter().all(|server| server.id != *id));
    let gone: BTreeSet<ServerId> = gone.collect();
    let names = known.iter().map(|server| (server.id, server.name.clone()));
    let names = names.chain(gone.into_iter().map(|id| (id, "(not in store.yaml)".to_owned())));
    let (mut rows, mut entries) = (Vec::new(), Vec::new());
    for (id, name) in names {
        let waiting = queues::waiting(target, id, queues::FOREVER).await?.len();
        let [unknown, refused] = queues::undecided(target, id).await?;
        let own: Vec<&Key> = keys.iter().filter(|key| key.stored.server == id).collect();
        let counts = [waiting, unknown, refused].map(|count| count.to_string());
        let row = |key: [String; 3]| [vec![id.to_string(), name.clone()], key.to_vec(), counts.to_vec()].concat();
        let seen = |key: &Key| key.stored.seen.map(shown_time);
        let of_key = |key: &&Key| {
            let last = seen(key).unwrap_or_else(|| "never".to_owned());
            row([key.shown().to_owned(), shown_time(key.stored.created_at), last])
        };
        if own.is_empty() {
            rows.push(row(["none".to_owned(), String::new(), String::new()]));
        }
        rows.extend(own.iter().map(of_key));
        let of_key = |key: &&Key| json!({ "hash": key.shown(), "created_at": shown_time(key.stored.created_at), "seen": seen(key) });
        entries.push(json!({
            "id": id, "name": name, "keys": own.iter().map(of_key).collect::<Vec<_>>(), "waiting": waiting,
            "unknown": unknown, "refused": refused,
        }));
    }
    let text = columns(&["ID", "NAME", "KEY", "MADE", "LAST POLL", "WAITING", "UNKNOWN", "REFUSED"], &rows);
    Ok(Answer::new(text, json!({ "servers": entries })))
}

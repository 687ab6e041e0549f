//! Whether every command is where its game server finds it, and nothing of it is stuck.

use super::finding::Finding;
use crate::commands::common::shown_time;
use crate::commands::queues::{of_unpublished, server_of};
use crate::error::Failure;
use crate::target::Target;
use shared::model::{Command, CommandId, CommandState, Delivery, InternalId, OrderStatus, ServerId, Standing};
use shared::rules::delivery::state_at;
use shared::store::bulk::each;
use shared::store::codec::{Item, Row, decode_live, key_of};
use shared::store::keys::{self, Key, prefix};
use shared::store::leases::Lease;
use shared::store::orders::{self, StoredOrder};
use shared::store::published::read_active_version;
use shared::store::transaction::{Sent, Write, send};
use shared::store::{StoreError, commands, queue};
use shared::usecases::delivery::{READY_TOO_LONG, SILENT_TOO_LONG, follow, measure, place_of};
use std::collections::{BTreeMap, BTreeSet};

const CHECK: &str = "delivery";
/// How many rows a finding names.
const NAMED: usize = 10;
/// For how many seconds a command that will not run is worth a note.
const RECENT: i64 = 30 * 86_400;
/// After how many seconds something that is under way is late.
const LATE: i64 = 15 * 60;

/// The rows of deliveries in the table.
#[derive(Default)]
struct Found {
    /// The places of commands in queues, by where they should be.
    places: BTreeMap<Key, CommandId>,
    /// The rows of queues that are copies of commands.
    pointers: BTreeSet<Key>,
    leases: Vec<(ServerId, Lease)>,
    /// How many commands may have run or not.
    unknown: usize,
    /// How many commands were stopped or cancelled without the owner, by order.
    withdrawn: BTreeMap<InternalId, usize>,
    /// Orders whose delivery should be further.
    orders: Vec<StoredOrder>,
    /// Orders that the sweep does not know of.
    lost: Vec<StoredOrder>,
}

impl Found {
    fn add(&mut self, item: Item, now: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::COMMAND) {
            let command: Command = decode_live(&key, item)?;
            self.unknown += usize::from(state_at(&command.delivery, now) == CommandState::Unknown);
            let Delivery { state, standing, due, .. } = command.delivery;
            let is_withdrawn = standing == Standing::Stopped
                && matches!(state, CommandState::Stopped | CommandState::Cancelled)
                && !command.player.is_empty();
            if is_withdrawn && due + RECENT > now {
                *self.withdrawn.entry(command.order.clone()).or_default() += 1;
            }
            self.places.extend(place_of(&command).map(|place| (place, command.id)));
        } else if key.pk.starts_with(prefix::QUEUE) {
            self.pointers.insert(key);
        } else if let Some(server) = key.pk.strip_prefix(prefix::LEASE) {
            if let Ok(server) = server.parse() {
                self.leases.push((server, decode_live(&key, item)?));
            }
        } else if keys::is_order(&key) {
            let stored = StoredOrder::decode(&key, Row::from(item))?;
            let is_late = stored.effects.due.is_none_or(|due| due + LATE < now);
            if stored.order.status == OrderStatus::Paid && stored.delivery_due() && is_late {
                let list = if stored.effects.due.is_none() { &mut self.lost } else { &mut self.orders };
                list.push(stored);
            }
        }
        Ok(())
    }
}

pub(super) async fn check(target: &Target, repairs: bool) -> Vec<Finding> {
    look(target, repairs).await.unwrap_or_else(|failure| vec![Finding::failed(CHECK, failure)])
}

async fn look(target: &Target, repairs: bool) -> Result<Vec<Finding>, Failure> {
    let now = target.clock.seconds();
    let mut found = Found::default();
    each(&target.db, "", |item| found.add(item, now)).await?;
    let (lost, stray) = differing(target, &found).await?;
    let mut findings = vec![
        without_pointer(target, &lost, repairs).await?,
        without_row(target, &stray, repairs).await?,
        unmarked(target, &found, repairs).await?,
    ];
    findings.extend(leases(target, &found.leases, now).await?);
    findings.extend(withdrawn(target, &found.withdrawn).await?);
    findings.extend(unpublished(target, &found).await?);
    findings.extend(late(target).await?);
    if found.unknown > 0 {
        let said = format!("{} may have run or not", found.unknown);
        let next = "`storectl delivery list --state unknown` shows them; `delivery retry` or `done` decides";
        findings.push(Finding::note("commands", said, next));
    }
    Ok(findings)
}

/// Commands that are not in the queue, and rows of the queue whose command is elsewhere. Commands move while the table is
/// read, so each is read again.
async fn differing(target: &Target, found: &Found) -> Result<(Vec<Command>, Vec<Key>), Failure> {
    let missing = found.places.iter().filter(|(place, _)| !found.pointers.contains(*place)).map(|(_, id)| *id);
    let mut lost = Vec::new();
    for command in commands::read(&target.db, missing).await?.into_values() {
        let Some(place) = place_of(&command) else { continue };
        if target.db.get(&place, true).await?.is_none() {
            lost.push(command);
        }
    }
    let mut stray = Vec::new();
    for place in found.pointers.iter().filter(|place| !found.places.contains_key(*place)) {
        let command = match id_of(place) {
            Some(id) => commands::get(&target.db, id).await?,
            None => None,
        };
        let is_its_place = command.as_ref().and_then(place_of).as_ref() == Some(place);
        if !is_its_place && target.db.get(place, true).await?.is_some() {
            stray.push(place.clone());
        }
    }
    Ok((lost, stray))
}

fn id_of(place: &Key) -> Option<CommandId> {
    place.sk.rsplit('#').next()?.parse::<u32>().ok().and_then(|number| CommandId::new(number).ok())
}

/// Some of them, for a finding.
fn named<T: ToString>(things: impl ExactSizeIterator<Item = T>) -> String {
    let more = if things.len() > NAMED { ", …" } else { "" };
    let named: Vec<String> = things.take(NAMED).map(|thing| thing.to_string()).collect();
    format!("{}{more}", named.join(", "))
}

async fn without_pointer(target: &Target, lost: &[Command], repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "commands in queues";
    if lost.is_empty() {
        return Ok(Finding::ok(CHECK, "each is where its game server finds it"));
    }
    let ids = named(lost.iter().map(|command| command.id));
    if !repairs {
        let said = format!("{} are in no queue: {ids}", lost.len());
        return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`"));
    }
    let mut repaired = 0;
    for command in lost {
        let Some(place) = place_of(command) else { continue };
        let same = Write::check(keys::command(command.id)).only_if_equal("version", command.version);
        let sent: Sent<_> = send(&target.db, vec![same, queue::put(&place, command)?]).await?;
        repaired += usize::from(sent == Sent::Written);
    }
    Ok(Finding::ok(CHECK, format!("{repaired} were in no queue and are again: {ids}")))
}

async fn without_row(target: &Target, stray: &[Key], repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "rows of queues";
    if stray.is_empty() {
        return Ok(Finding::ok(CHECK, "each is of a command that is due there"));
    }
    let keys_of = named(stray.iter().map(|key| format!("{} {}", key.pk, key.sk)));
    if !repairs {
        let said = format!("{} have no command: {keys_of}", stray.len());
        return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`"));
    }
    let mut removed = 0;
    for place in stray {
        let command = match id_of(place) {
            Some(id) => commands::get(&target.db, id).await?,
            None => None,
        };
        let own = match (&command, id_of(place)) {
            (Some(command), _) => {
                Some(Write::check(keys::command(command.id)).only_if_equal("version", command.version))
            }
            (None, Some(id)) => Some(Write::check(keys::command(id)).only_if_absent()),
            (None, None) => None,
        };
        let writes: Vec<Write> = own.into_iter().chain([Write::delete(place.clone())]).collect();
        let sent: Sent<_> = send(&target.db, writes).await?;
        removed += usize::from(sent == Sent::Written);
    }
    Ok(Finding::ok(CHECK, format!("{removed} had no command and are removed: {keys_of}")))
}

async fn unmarked(target: &Target, found: &Found, repairs: bool) -> Result<Finding, Failure> {
    const CHECK: &str = "delivery of orders";
    let all: Vec<&StoredOrder> = found.lost.iter().chain(&found.orders).collect();
    if all.is_empty() {
        return Ok(Finding::ok(CHECK, "the commands of every paid order are queued"));
    }
    let ids = named(all.iter().map(|stored| &stored.order.internal_id));
    if !repairs {
        let said = format!("{} paid orders wait for their commands to be queued: {ids}", all.len());
        return Ok(Finding::bad(CHECK, said, "see that the sweep runs, or run `storectl doctor --repair`"));
    }
    for stored in all.iter().copied() {
        follow(&target.db, target.clock.as_ref(), stored).await?;
    }
    Ok(Finding::ok(CHECK, format!("the commands of {} paid orders are queued now: {ids}", all.len())))
}

/// Commands of paid orders that will not run, although the owner did not decide it for each.
async fn withdrawn(target: &Target, found: &BTreeMap<InternalId, usize>) -> Result<Option<Finding>, Failure> {
    let (mut count, mut paid) = (0, Vec::new());
    for (id, commands) in found {
        let stored = orders::get(&target.db, id).await?;
        if stored.is_some_and(|stored| stored.order.status == OrderStatus::Paid) {
            count += commands;
            paid.push(id);
        }
    }
    let said = format!(
        "{count} of paid orders will not run, because their player is banned, their server is not published, or they are too \
         long: {}",
        named(paid.iter())
    );
    let next = "`storectl order show ID` shows them; refund the order, or run them with `delivery retry`";
    Ok((count > 0).then(|| Finding::note("commands that were withdrawn", said, next)))
}

/// Commands that wait for servers that are not published.
async fn unpublished(target: &Target, found: &Found) -> Result<Option<Finding>, Failure> {
    // Also the places of commands that were in no queue: a repair has put them there.
    let servers = found.pointers.iter().chain(found.places.keys()).filter_map(server_of).collect();
    let found = of_unpublished(target, servers).await?;
    let counts = found.iter().map(|(server, waiting)| format!("{} for server {server}", waiting.len()));
    let said = format!("commands wait for servers that are not published: {}", named(counts));
    let next = "`storectl publish DIR --drop-queue` cancels them; or publish the server again";
    Ok((!found.is_empty()).then(|| Finding::note("removed servers", said, next)))
}

/// Servers about which an alarm goes off.
async fn late(target: &Target) -> Result<Vec<Finding>, Failure> {
    const CHECK: &str = "game servers";
    let active = read_active_version(&target.db).await?.unwrap_or_default();
    let mut findings = Vec::new();
    for server in active.config.delivery.servers {
        let health = measure(&target.db, target.clock.as_ref(), server.id).await?;
        let named = format!("{} ({})", server.name, server.id);
        if let Some(silent) = health.silent_for.filter(|silent| *silent > SILENT_TOO_LONG) {
            let said = format!("{named} has not polled for {} minutes", silent / 60);
            findings.push(Finding::note(CHECK, said, "see that it runs, and enter `ms reload` into its console"));
        }
        if let Some(stuck) = health.stuck_for().filter(|stuck| *stuck > READY_TOO_LONG) {
            let said = format!("{named} polls, and commands have been ready for {} minutes", stuck / 60);
            let next =
                format!("see its console; `storectl delivery list --server {} --older 15m` shows them", server.id);
            findings.push(Finding::note(CHECK, said, next));
        }
    }
    Ok(findings)
}

/// Servers that took commands and have said nothing about them since.
async fn leases(target: &Target, leases: &[(ServerId, Lease)], now: i64) -> Result<Vec<Finding>, Failure> {
    const CHECK: &str = "game servers";
    let mut findings = Vec::new();
    for (server, lease) in leases.iter().filter(|(_, lease)| !lease.over && lease.taken_at + LATE < now) {
        let ids = lease.ids.iter().copied();
        let silent = commands::read(&target.db, ids).await?;
        let silent = silent.values().filter(|command| command.delivery.state == CommandState::Served).count();
        if silent > 0 {
            let since = shown_time(lease.taken_at);
            let said = format!("server {server} took {silent} commands at {since}, and said nothing about them since");
            let next =
                "see whether it runs; its next poll gets them again, and what it was served three times is unknown";
            findings.push(Finding::note(CHECK, said, next));
        }
    }
    Ok(findings)
}

//! `status`: one screen about today.

use crate::delivery::queue;
use crate::doctor::{Undecided, of_store};
use crate::prelude::*;
use serde::Serialize;
use shared::model::{InternalId, Money, OrderStatus, Server, ServerId, Settings};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::delivery::waits_long;
use shared::rules::report::seconds_of_day;
use shared::shop::delivery::measure;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::open_orders;
use shared::shop::statistics::paid_since;
use shared::table::{StoreError, keys, read_published};

/// A day in seconds.
const DAY: i64 = 86_400;
/// The most characters of a name, so that a line fits 80 columns.
const NAME: usize = 24;

/// What the command prints.
#[derive(Serialize)]
struct Status {
    target: String,
    store: String,
    now: Time,
    sold: Sold,
    /// Checkouts that are not paid yet.
    open: usize,
    /// Commands for game servers.
    waiting: usize,
    /// The checks of the doctor that have something for a person.
    todo: Vec<&'static str>,
    servers: Vec<ServerStatus>,
}

/// The paid orders of today in the store's time zone, in the store's currency, less refunds.
#[derive(Serialize)]
struct Sold {
    since: Time,
    orders: usize,
    amount: Decimal,
    currency: String,
}

/// A game server, and what it has still to run.
#[derive(Serialize)]
struct ServerStatus {
    id: ServerId,
    name: String,
    has_key: bool,
    /// Seconds since the last poll, to five minutes; `None` if it never polled.
    silent_for: Option<i64>,
    /// What is due, or kept for players who are away.
    waiting: usize,
    unknown: usize,
    refused: usize,
    /// Those that are kept for over three days.
    #[serde(skip)]
    waiting_long: usize,
}

pub async fn run(at: &Deployment) -> Outcome {
    let active = at.published().await?;
    let now = at.clock.seconds();
    let mut servers = Vec::new();
    for server in &active.config.delivery.servers {
        servers.push(of_server(at, server, now).await?);
    }
    let sum = |count: fn(&ServerStatus) -> usize| servers.iter().map(count).sum::<usize>();
    let undecided = Undecided {
        unknown: sum(|server| server.unknown),
        refused: sum(|server| server.refused),
        waiting_long: sum(|server| server.waiting_long),
    };
    let waiting = sum(|server| server.waiting);
    let (todo, connected) = of_store(at, &undecided).await?;
    for server in &mut servers {
        server.has_key = connected.contains(&server.id);
    }
    let settings: Option<Settings> = read_published(&at.db, &keys::settings(&active.version)).await?;
    let settings = settings.unwrap_or_default();
    let days = active.config.zone.days();
    let since = seconds_of_day(&days, days.number(now)).start;
    let (orders, total) = sold(at, since).await?;
    let amount = CurrencyFormat::new(active.config.digits).money(total);
    let sold = Sold { since: Time(since), orders, amount, currency: settings.system_currency.name };
    let status = Status {
        target: at.name.clone(),
        store: settings.website_name,
        now: Time(now),
        sold,
        open: open_orders(&at.db).await?.len(),
        waiting,
        todo,
        servers,
    };
    Ok(Printed::new(status.text(), &status))
}

impl Status {
    fn text(&self) -> String {
        let Self { store, now, sold: Sold { orders, amount, currency, .. }, open, waiting, todo, servers, .. } = self;
        let for_you = match todo.len() {
            0 => ok!("nothing waits"),
            count => format!("{}, `storectl doctor` says what to do:", paint(WARN, &count.to_string())),
        };
        let mut lines = vec![
            paint(STRONG, &format!("{}, {now}", short(store))),
            format!("Sold today  {amount} {currency} in {orders} orders"),
            format!("Open        {open} checkouts that are not paid yet"),
            format!("Waiting     {waiting} commands for game servers"),
            format!("For you     {for_you}"),
        ];
        lines.extend(todo.iter().map(|check| format!("            {check}")));
        if !servers.is_empty() {
            lines.push(String::new());
            let headings = ["ID", "SERVER", "LAST POLL", "WAITING", "UNKNOWN", "REFUSED"];
            lines.push(columns(headings, servers.iter().map(row)));
        }
        lines.join("\n")
    }
}

/// How many orders were made since a second and are paid, and their sum in the store's currency, less refunds.
async fn sold(at: &Deployment, since: i64) -> Result<(usize, Money), StoreError> {
    let ids: Vec<InternalId> = paid_since(&at.db, since).await?.into_iter().map(|paid| paid.order).collect();
    let mut rows = at.db.batch_get(ids.iter().map(keys::order).collect()).await?;
    let mut found = (0, Money::ZERO);
    for id in &ids {
        let stored = StoredOrder::take(&mut rows, id)?.filter(|stored| stored.order.status == OrderStatus::Paid);
        if let Some(stored) = stored {
            found = (found.0 + 1, found.1 + stored.order.total().less(stored.given_back()));
        }
    }
    Ok(found)
}

async fn of_server(at: &Deployment, server: &Server, now: i64) -> Result<ServerStatus> {
    let waiting = queue::waiting(at, server.id, now).await?;
    let [unknown, refused] = queue::undecided(at, server.id).await?;
    let health = measure(&at.db, at.clock.as_ref(), server.id).await?;
    Ok(ServerStatus {
        id: server.id,
        name: server.name.clone(),
        silent_for: health.silent_for,
        has_key: false,
        waiting: waiting.len(),
        unknown,
        refused,
        waiting_long: waiting.iter().filter(|command| waits_long(&command.delivery, now)).count(),
    })
}

fn row(server: &ServerStatus) -> [String; 6] {
    let polled = match server.silent_for {
        _ if !server.has_key => "no key".to_owned(),
        None => "never".to_owned(),
        Some(silent) if silent < 2 * 3_600 => format!("{} min ago", silent / 60),
        Some(silent) if silent < 2 * DAY => format!("{} h ago", silent / 3_600),
        Some(silent) => format!("{} days ago", silent / DAY),
    };
    let [waiting, unknown, refused] = [server.waiting, server.unknown, server.refused].map(|count| count.to_string());
    [server.id.to_string(), short(&server.name), polled, waiting, unknown, refused]
}

fn short(name: &str) -> String {
    name.chars().take(NAME).collect()
}

//! A flash sale: many buyers for a few units of one item.

use crate::client::Client;
use crate::error::LoadError;
use crate::record::Record;
use crate::report::{Promise, Summary, progress};
use crate::stage::{Stage, put, sold};
use crate::visit::{Doing, ON_SALE, Visitor};
use futures_util::stream::{StreamExt as _, iter};
use shared::clock::{Clock as _, SystemClock};
use shared::model::{ItemId, OrderStatus, PlayerName, User, UserId};
use shared::rules::order::by_item;
use shared::store::codec::{Row, encode_live, key_of};
use shared::store::orders::StoredOrder;
use shared::store::{Db, StoreError, keys};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// Buyers from this id on.
const FIRST: u64 = 1_000_000;
/// How long tokens are valid, in seconds.
const TOKEN: i64 = 86_400;
/// How many accounts are written at once.
const AT_ONCE: usize = 16;
/// How often progress is printed, in buyers.
const PROGRESS: u32 = 250;
/// The pause between two looks at whether a payment is known.
const LOOK: Duration = Duration::from_secs(1);

/// The outcome of a buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Bought,
    SoldOut,
    Failed,
}

/// Lets `buyers` come within a time, evenly, for `units` of one item.
///
/// # Errors
/// [`LoadError`] if the run cannot be made.
pub async fn run(buyers: u32, units: u32, within: Duration) -> Result<Summary, LoadError> {
    let item = ItemId::new(ON_SALE);
    let stage = Stage::open(Some((item, units))).await?;
    progress(&format!("{buyers} buyers get an account and a token"));
    let visitors = accounts(&stage, buyers).await?;
    let record = Arc::new(Record::default());
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, visitor) in (0..).zip(visitors) {
        let at = began + within * number / buyers;
        sleep_until(at).await;
        tasks.spawn(buy(stage.client.clone(), Arc::clone(&record), visitor, at));
        if number % PROGRESS == 0 {
            let (requests, errors) = record.counts();
            let seconds = began.elapsed().as_secs();
            progress(&format!("{seconds} s: {number} buyers came, {requests} requests, {errors} errors"));
        }
    }
    let (mut bought, mut sold_out, mut failed) = (0, 0, 0);
    while let Some(outcome) = tasks.join_next().await {
        match outcome.unwrap_or(Outcome::Failed) {
            Outcome::Bought => bought += 1,
            Outcome::SoldOut => sold_out += 1,
            Outcome::Failed => failed += 1,
        }
    }
    let took = began.elapsed();
    let Sold { paid, held, counter } = Sold::read(&stage.db, item).await?;
    let counted = counter - u64::from(stage.sold_before);
    let answered = Promise {
        text: format!("every buyer has an answer: {bought} bought, {sold_out} sold out, {failed} without"),
        is_kept: failed == 0,
    };
    let wanted = u64::from(units.min(buyers));
    let exact = Promise {
        text: format!("{wanted} sold: {paid} paid, {held} held, {counted} counted"),
        is_kept: paid + held == wanted && counted == wanted,
    };
    let summary = Summary::new("flash sale", &record, took).promise(answered).promise(exact);
    Ok(summary.fact("buyers", u64::from(buyers)).fact("units", u64::from(units)).fact("bought", bought))
}

/// Writes an account for every buyer.
async fn accounts(stage: &Stage, buyers: u32) -> Result<Vec<Visitor>, LoadError> {
    let now = SystemClock.seconds();
    let account = |number: u64| async move {
        let (id, name) = (UserId::new(FIRST + number), format!("buyer_{number}"));
        let name = PlayerName::parse(&name).map_err(|_| LoadError::Table(format!("{name} is not a name")))?;
        let user = User::of_player(id, &name, String::new(), String::new(), now);
        let key = keys::user(id);
        put(&stage.db, encode_live(&key, &user)?).await?;
        let token = stage.keys.sign(id, user.next_issue(now), TOKEN);
        let token = token.map_err(|error| LoadError::Table(error.to_string()))?;
        Ok(Visitor::buyer(number, token))
    };
    let written = iter(0..u64::from(buyers)).map(account).buffered(AT_ONCE).collect::<Vec<_>>().await;
    written.into_iter().collect()
}

/// Lets a buyer buy, from `scheduled` on.
async fn buy(client: Client, record: Arc<Record>, mut visitor: Visitor, scheduled: Instant) -> Outcome {
    let mut due = scheduled;
    while let Some(doing) = visitor.doing() {
        let (kind, outcome) = match doing {
            Doing::Pay(session) => {
                let outcome = client.pay(&session).await.map(|()| visitor.paid());
                ("paying at the stand-in", outcome)
            }
            Doing::Call(call) => {
                let response = client.call(&call, visitor.caller()).await;
                record.took(call.kind, due.elapsed());
                let outcome = response.and_then(|(status, body)| visitor.took(status, &body));
                if call.kind == "payments/checkStatus" && visitor.doing().is_some() {
                    sleep(LOOK).await;
                }
                (call.kind, outcome)
            }
        };
        if let Err(reason) = outcome {
            record.failed(kind, &reason);
            return Outcome::Failed;
        }
        // The next request is due when the last one has its response.
        due = Instant::now();
    }
    if visitor.has_order() { Outcome::Bought } else { Outcome::SoldOut }
}

/// Units of an item in the table.
struct Sold {
    paid: u64,
    held: u64,
    counter: u64,
}

impl Sold {
    async fn read(db: &Db, item: ItemId) -> Result<Self, LoadError> {
        let mut units: BTreeMap<bool, u64> = BTreeMap::new();
        let mut start = None;
        loop {
            let scan = db.client().scan().table_name(db.table()).filter_expression("attribute_exists(internal_id)");
            let page = scan.set_exclusive_start_key(start).send().await;
            let page = page.map_err(|error| StoreError::from_sdk("Scan", error))?;
            for row in page.items.unwrap_or_default() {
                let key = key_of(&row)?;
                let stored = StoredOrder::decode(&key, Row::from(row))?;
                let is_paid = stored.order.status == OrderStatus::Paid && stored.is_checkout();
                if is_paid || stored.effects.held {
                    let (count, _) = by_item(&stored.order).remove(&item).unwrap_or_default();
                    *units.entry(is_paid).or_default() += count;
                }
            }
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                break;
            }
        }
        let of = |is_paid| units.get(&is_paid).copied().unwrap_or_default();
        Ok(Self { paid: of(true), held: of(false), counter: u64::from(sold(db, item).await?) })
    }
}

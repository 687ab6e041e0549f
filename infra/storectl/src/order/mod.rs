//! `order …`: orders of checkouts, and those that were paid elsewhere. Here is `set-status`.

mod list;
mod paid;
mod record;
mod settle;
mod show;

pub use paid::give_back;
pub use settle::{end_order, provider};
pub use show::payout_format;

use crate::prelude::*;
use list::ListOrders;
use paid::{MoveOrder, RefundOrder};
use record::RecordOrder;
use shared::model::{InternalId, ItemId, OrderStatus};
use shared::shop::orders as store;
use shared::shop::orders::{self, SetStatusError, StoredOrder};
use shared::table::StoreError;
use show::facts;
use std::fmt::Write as _;

#[derive(Debug, Clone, Subcommand)]
pub enum OrderCommand {
    /// Record an order that was made or paid elsewhere; the same internal id has no second effect.
    #[command(
        after_help = "Examples:\n  storectl order record --owner 1 --gateway cardhouse --line 101:1:4.99 --local ./data\n  \
                            storectl order record --id xihrrpwsa7d4vdj2 --status PAID --price 18.48 --currency EUR \\\n    \
                            --gateway cardhouse --owner 7 --line 101:1:4.99 --line 111:2:13.49 --coupon SPRING --stack storefront\n  \
                            storectl order record --gateway cardhouse --owner 7 --line 201:1:1.99 --line 303:1:9.99@Thornwick --local ./data\n  \
                            storectl order record --gateway cardhouse --owner 7 --line 402:1:3.00 --line 921:1:2.00 \\\n    \
                            --server 1:1 --var 2:1=Newt --local ./data\n  \
                            storectl order record --session cs_live_a1B2c3 --owner 7 --line 201:2:3.98 --stack storefront\n\n\
                            Recorded again under the same --id, what is left out is what was recorded. What a checkout \
                            would refuse is refused: an item that is not on sale or sold out, a variable or server that \
                            is missing, a gift that its recipient owns. --past records it all the same; limits hold in \
                            any case.\n\n\
                            --session is for a payment at the provider whose order is missing, as after a restore to an \
                            earlier time. Id, amount and currency are those of the payment, the lines are yours, and \
                            what they cost must be what was paid."
    )]
    Record(RecordOrder),
    /// Change the stored status of an order that was paid or refunded elsewhere; a refund takes back counters and balance
    /// once.
    #[command(after_help = "Example:\n  storectl order set-status xihrrpwsa7d4vdj2 REFUNDED --stack storefront\n\n\
                            Nothing is charged or refunded at a payment provider: `order refund` does that. `order \
                            cancel` ends an order that is not paid.")]
    SetStatus(SetStatus),
    /// Show an order.
    #[command(after_help = "Example:\n  storectl order show xihrrpwsa7d4vdj2 --stack storefront")]
    Show(OneOrder),
    /// Print what is known of an order, as text for a dispute: payment, login, consent, and commands with their times.
    #[command(after_help = "Example:\n  storectl order evidence xihrrpwsa7d4vdj2 --stack storefront > evidence.txt")]
    Evidence(OneOrder),
    /// Deliver an order again after its dispute was won: its commands run again, under new ids.
    #[command(after_help = "Example:\n  storectl order redeliver xihrrpwsa7d4vdj2 --stack storefront\n\n\
                            Only a paid order that was taken back because of a dispute. The money is not touched.")]
    Redeliver(OneOrder),
    /// Move an order, or a gift of it, to another player: the buyer typed a wrong name.
    #[command(after_help = "Examples:\n  storectl order move xihrrpwsa7d4vdj2 --to Thornwick --stack storefront\n  \
                            storectl order move xihrrpwsa7d4vdj2 --line 2 --to Moss --stack storefront\n\n\
                            Ask for the id of the order, or the receipt, first: strangers ask for moves too. What ran for \
                            the wrong player is taken back, what has not is recalled, and all of it runs for the right \
                            one. Ownership, ends and statistics follow; a timed item ends when it would have. Who paid \
                            stays who paid: receipts, refunds and codes. Of a subscription, the subscription moves: later \
                            payments count for the new player. To take it back, move it again.")]
    Move(MoveOrder),
    /// List orders, or find them, newest first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl order list --open --stack storefront\n  \
                            storectl order list --status paid --user Thornwick --stack storefront\n  \
                            storectl order list --item 201 --from 2026-11-01 --to 2026-11-30 --stack storefront\n  \
                            storectl order list --amount 18.48 --stack storefront\n  \
                            storectl order list --provider-id pi_3NkQ2e --stack storefront\n  \
                            storectl order list --review --json --stack storefront")]
    List(ListOrders),
    /// Ask the payment provider about an order now, and write what it says.
    #[command(after_help = "Example:\n  storectl order settle xihrrpwsa7d4vdj2 --stack storefront")]
    Settle(OneOrder),
    /// Refund a payment at the payment provider, in full or up to a total.
    #[command(after_help = "Examples:\n  storectl order refund xihrrpwsa7d4vdj2 --stack storefront\n  \
                            storectl order refund xihrrpwsa7d4vdj2 --to 5.00 --stack storefront\n\n\
                            What was refunded before counts, also in the provider's dashboard: with --to 5.00, 5.00 are \
                            refunded afterwards, however often the command is repeated, and whenever. A refund that was \
                            begun to another total is finished first. A refund that failed is tried again. The refund of \
                            a payment that needed an operator is one in full, and ends that.")]
    Refund(RefundOrder),
    /// Make an order that needs an operator PAID unchanged, although its payment does not agree with it.
    #[command(after_help = "Example:\n  storectl order accept xihrrpwsa7d4vdj2 --stack storefront\n\n\
                            It is paid under the conditions of any order: limits and balances count. `order refund` is \
                            the other way to end a review.")]
    Accept(ConfirmedOrder),
    /// End an order that is not paid, also its checkout at the payment provider, and give back what it holds.
    #[command(after_help = "Example:\n  storectl order cancel xihrrpwsa7d4vdj2 --stack storefront\n\n\
                            An order that has ended already does not change. A paid one is refunded: `order refund`.")]
    Cancel(ConfirmedOrder),
}

/// An order and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneOrder {
    /// The internal id, matched exactly.
    pub id: String,
}

#[derive(Debug, Clone, Args)]
pub struct SetStatus {
    /// The internal id, matched exactly.
    pub id: String,
    /// The new status.
    #[arg(value_parser = status)]
    pub status: OrderStatus,
    /// Does not ask before an order that was paid at the payment provider becomes REFUNDED.
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ConfirmedOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// Do not ask, also if the provider has no such checkout.
    #[arg(long, short)]
    pub yes: bool,
}

impl OrderCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Record(options) => record::record(at, console, options).await,
            Self::SetStatus(options) => set_status(at, console, options).await,
            Self::Show(one) => show::show(at, &one.id).await,
            Self::Redeliver(one) => paid::redeliver(at, &one.id).await,
            Self::Move(options) => paid::move_order(at, console, options).await,
            Self::Evidence(one) => show::evidence(at, &one.id).await,
            Self::List(options) => list::list(at, options).await,
            Self::Settle(one) => settle::settle(at, &one.id).await,
            Self::Refund(options) => paid::refund(at, console, options).await,
            Self::Accept(options) => settle::accept(at, console, options).await,
            Self::Cancel(options) => settle::cancel(at, console, options).await,
        }
    }
}

/// Reads a status of the command line.
pub fn status(text: &str) -> Result<OrderStatus, String> {
    let wanted = text.trim().to_uppercase();
    let known = OrderStatus::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or_else(|| "must be PENDING, PAID, FAILED, CANCELLED or REFUNDED".to_owned())
}

/// An order by its id, which must be there.
pub async fn find(at: &Deployment, id: &InternalId) -> Result<StoredOrder> {
    store::get(&at.db, id).await?.ok_or_else(no_order)
}

pub fn no_order() -> Failure {
    Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
}

/// A write without a response. The id is named even if it was created here: with it the same can be tried again.
fn unknown(error: StoreError, id: &InternalId, what: &str) -> Failure {
    let next = format!("Run the same command with the id {id} again: nothing is taken twice.");
    if matches!(error, StoreError::Contended) {
        return Failure::from(error).done("Nothing was written.").next(next);
    }
    Failure::from(error).done(format!("It is not known whether {what}.")).next(next)
}

async fn set_status(at: &Deployment, console: &Console, options: &SetStatus) -> Outcome {
    let id = InternalId::new(&options.id);
    if let Some(stored) = store::get(&at.db, &id).await? {
        leaves_the_provider_right(&stored, console, options)?;
    }
    let changed = orders::set_status(&at.db, at.clock.as_ref(), &id, options.status).await;
    let changed = changed.map_err(|error| {
        let what = format!("The status is not changed: {error}.");
        match error {
            SetStatusError::Store(error) => unknown(error, &id, "the status was changed"),
            _ => Failure::refused(what, "Look at it with `storectl order show`."),
        }
    })?;
    let (from, to) = (changed.from.as_str(), changed.stored.order.status.as_str());
    let id = &changed.stored.order.internal_id;
    let mut text = if from == to {
        format!("Nothing to do: order {id} is {to}.")
    } else {
        let warning = "Only what is stored has changed: nothing was charged or refunded at a payment provider.";
        format!("{}\n{}", ok!("Order {id} was {from} and is {to}."), warning!("{warning}"))
    };
    let statistics = notes(&mut text, &changed.unguarded, &changed.stored);
    let order = facts(&changed.stored, None);
    Ok(Printed::new(text, &facts! { #[serde(flatten)] order, from, statistics }))
}

/// Refuses what would leave a checkout at the provider that can still be paid, and asks before an order whose payment is there
/// is called refunded.
fn leaves_the_provider_right(stored: &StoredOrder, console: &Console, options: &SetStatus) -> Result<()> {
    let (id, from) = (&stored.order.internal_id, stored.order.status);
    let payment = stored.effects.provider.as_ref().and_then(|checkout| checkout.intent.as_ref());
    match (from, options.status, payment) {
        (OrderStatus::Pending, OrderStatus::Failed | OrderStatus::Cancelled, _) => {
            let what = format!("The status is not changed: order {id} is {}.", from.as_str());
            let next = "ends it. One whose payment is being processed ends when the provider says so, within days.";
            Err(Failure::refused(what, format!("`storectl order cancel {id}` {next}")))
        }
        (OrderStatus::Pending, OrderStatus::Paid, _) if stored.is_checkout() => {
            let what =
                format!("The status is not changed: the checkout of order {id} can still be paid, or is paid already.");
            let next = format!(
                "`storectl order settle {id}` asks the provider. If it was paid elsewhere: `storectl order cancel {id}`, then \
                 the same command again."
            );
            Err(Failure::refused(what, next))
        }
        (OrderStatus::Paid, OrderStatus::Refunded, Some(payment)) => {
            let shown = format!(
                "Order {id} was paid at the payment provider ({payment}), which gives nothing back by this: \
                 `storectl order refund {id}` does."
            );
            console.confirm(&shown, "Call it REFUNDED all the same? It is final.", options.yes)
        }
        _ => Ok(()),
    }
}

/// Adds what an operator should know of a changed order. Returns whether the statistics show it, as a fact.
fn notes(text: &mut String, unguarded: &[ItemId], stored: &StoredOrder) -> &'static str {
    if !unguarded.is_empty() {
        let items: Vec<String> = unguarded.iter().map(ToString::to_string).collect();
        let items = items.join(", ");
        _ = write!(text, "\n{}", note!("No longer published, so without a limit: {items}"));
    }
    if !stored.statistics_due() {
        return "current";
    }
    let note = "Goals and donators do not show it yet; `storectl doctor` updates them.";
    _ = write!(text, "\n{}", note!("{note}"));
    "behind"
}

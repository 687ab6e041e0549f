//! `order` and `payments`.

use super::status::status;
use clap::{Args, Subcommand};
use shared::model::OrderStatus;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
pub struct ListOrders {
    /// Only orders with this status.
    #[arg(long, value_parser = status)]
    pub status: Option<OrderStatus>,
    /// Only orders that this user bought, or that have a gift for them: id or name, also a former one or one without an
    /// account.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
    /// Only orders with this item: its id, or a part of the name under which it was sold.
    #[arg(long, value_name = "ITEM")]
    pub item: Option<String>,
    /// Only orders made at or after this time, or on or after this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only orders made before this time, or up to the end of this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only orders of exactly this amount.
    #[arg(long, value_name = "A")]
    pub amount: Option<String>,
    /// Only the order with this id at the payment provider: of its checkout or of its payment.
    #[arg(long, value_name = "ID")]
    pub provider_id: Option<String>,
    /// Only orders with something left to do.
    #[arg(long)]
    pub open: bool,
    /// Only orders that need an operator, whose refund failed, or that are paid and in a dispute that is not decided.
    #[arg(long)]
    pub review: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RefundOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// The total to be refunded, in the order's currency, with what was refunded before; by default the whole payment.
    #[arg(long, value_name = "TOTAL")]
    pub to: Option<String>,
    /// Units of a line that are refunded afterwards, with those that were before, by the line's number in `order show`; may
    /// be given several times. Gives back their part of every means of payment, their stock and what they gave.
    #[arg(long = "line", value_name = "LINE:UNITS", conflicts_with = "to")]
    pub lines: Vec<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct MoveOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// The player who gets it: id or name. A name without an account gets one.
    #[arg(long, value_name = "PLAYER")]
    pub to: String,
    /// The gift that is moved, by the line's number in `order show`; by default all lines that are not gifts.
    #[arg(long, value_name = "LINE")]
    pub line: Option<u64>,
    /// Move it also if the player has as many of an item as one user may buy.
    #[arg(long)]
    pub force: bool,
    /// Do not ask.
    #[arg(long, short)]
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

#[derive(Debug, Clone, Subcommand)]
pub enum PaymentsCommand {
    /// Connect a payment provider: check its key, create the endpoint of its webhooks, and store both secrets.
    #[command(after_help = "Examples:\n  storectl payments connect stripe --stack storefront < key.txt\n  \
                            storectl payments connect stripe --stripe-key key.txt --stack storefront\n  \
                            storectl payments connect stripe --finish --stack storefront\n\n\
                            The key is read from standard input or a file, never from the command line. It should be a \
                            restricted key with the rights that operations.md lists. Nothing changes for buyers before \
                            the deploy that is printed. Run it again to change the key, or after an update of the \
                            functions: the endpoint's events are brought up to date. With --new-secret the secret of \
                            the webhooks is changed too: both are accepted until --finish. With a key of another account \
                            or mode it names what is open in the former one, and no checkout begins there any more.")]
    Connect(Connect),
    /// Show what is connected, without any secret.
    #[command(after_help = "Example:\n  storectl payments show --stack storefront")]
    Show,
    /// Compare the provider's payments with the orders, and show what does not agree.
    #[command(after_help = "Examples:\n  storectl payments reconcile --since '7 days ago' --stack storefront\n  \
                            storectl payments reconcile --since 2026-05-01 --refund cs_live_a1 --stack storefront\n\n\
                            Shows paid checkouts of this store without an order, amounts that differ, payments that are \
                            not settled, and paid orders without a payment. Nothing is changed unless --refund names a \
                            checkout without an order: then all that is left of its payment is refunded, once. To keep \
                            the payment, write its order: `storectl order record --session ID`.")]
    Reconcile(Reconcile),
}

#[derive(Debug, Clone, Args)]
pub struct Reconcile {
    /// Checkouts that were opened and orders that were made since then, such as `7 days ago`, 2026-05-01 (UTC) or
    /// 2026-05-01T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: String,
    /// Refund the payment of this checkout, which has no order.
    #[arg(long, value_name = "SESSION")]
    pub refund: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Connect {
    /// The provider.
    #[arg(value_parser = ["stripe"])]
    pub provider: String,
    /// File with the key; standard input if it is left out.
    #[arg(long, value_name = "FILE", conflicts_with = "finish")]
    pub stripe_key: Option<PathBuf>,
    /// The account of the key, if the key has no right to read it.
    #[arg(long, value_name = "ACCT", conflicts_with = "finish")]
    pub account: Option<String>,
    /// Do not ask, also if orders are open in another account or mode.
    #[arg(long, short, conflicts_with = "finish")]
    pub yes: bool,
    /// Address of the API that webhooks are sent to; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Create another endpoint although there is one, to change the secret of its webhooks.
    #[arg(long, conflicts_with = "finish")]
    pub new_secret: bool,
    /// After the deploy: delete the older endpoints of this address and forget their secrets.
    #[arg(long)]
    pub finish: bool,
}

//! `user`, `order` and `cart`.

use super::accounts::{CreditUser, RenameUser};
use super::orders::{ConfirmedOrder, ListOrders, MoveOrder, RefundOrder};
use super::status::status;
use clap::{Args, Subcommand};
use shared::model::{OrderStatus, UserId};

/// The user that is meant: an id or a name, or either with its option.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct WhichUser {
    /// The user's id if it consists of digits, else the user's name; case does not matter.
    #[arg(value_name = "USER")]
    pub either: Option<String>,
    /// The user's id.
    #[arg(long, value_name = "ID")]
    pub id: Option<UserId>,
    /// The user's name; never taken for an id.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// A user and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneUser {
    /// The user.
    #[command(flatten)]
    pub user: WhichUser,
}

#[derive(Debug, Clone, Subcommand)]
pub enum UserCommand {
    /// Make an account. Names are unique without regard to case.
    #[command(after_help = "Examples:\n  storectl user add Thornwick --local ./data\n  \
                            storectl user add Thornwick --if-absent --json --stack storefront\n  \
                            storectl user add Thornwick --uuid 5b0c2f4e-6d1a-4c07-9a53-1f7e8b2d4c60 --stack storefront")]
    Add(AddUser),
    /// Show an account: what it has bought, the credits that it got, and its ban.
    #[command(after_help = "Example:\n  storectl user show 7 --stack storefront")]
    Show(OneUser),
    /// List every account; looks through the whole table.
    #[command(after_help = "Example:\n  storectl user list --stack storefront")]
    List,
    /// Add to an account's balance in virtual currency, once per key.
    #[command(
        after_help = "Examples:\n  storectl user credit Thornwick 5.00 --note 'lost crate of May 3' --stack storefront\n  \
                            storectl user credit 7 5.00 --note 'lost crate' --key ticket-118 --stack storefront\n\n\
                            Run again, also after it was interrupted, it credits nothing a second time: an account gets one \
                            credit per key. Without --key, the same AMOUNT with the same note is the same credit."
    )]
    Credit(CreditUser),
    /// Give an account another name; its tokens, purchases and orders stay.
    #[command(after_help = "Example:\n  storectl user rename Thornwick Thornwick2 --stack storefront\n\n\
                            The former name is free after 30 days. Until then nobody can log in with it or get it, but \
                            this account can have it back. If it is interrupted, run it again: it completes what was \
                            begun.")]
    Rename(RenameUser),
    /// Erase an account, its cart, what it has bought, and its name in statistics; its orders stay without a name.
    #[command(after_help = "Example:\n  storectl user erase 7 --stack storefront")]
    Erase(EraseUser),
}

#[derive(Debug, Clone, Args)]
pub struct AddUser {
    /// Name in the game; not digits only, which would be taken for an id.
    pub username: String,
    /// Print the account that has the name already, instead of refusing.
    #[arg(long)]
    pub if_absent: bool,
    /// The account's UUID; a random one by default.
    #[arg(long, value_parser = uuid)]
    pub uuid: Option<String>,
    /// Image URL.
    #[arg(long, default_value = "")]
    pub avatar: String,
    /// The game system the account belongs to.
    #[arg(long, default_value = "")]
    pub system: String,
    /// The account's identifier in that system.
    #[arg(long, default_value = "")]
    pub identificator: String,
    /// Balance in virtual currency.
    #[arg(long, value_name = "A", default_value = "0")]
    pub virtual_currency: String,
}

#[derive(Debug, Clone, Args)]
pub struct EraseUser {
    /// The user.
    #[command(flatten)]
    pub user: WhichUser,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub enum OrderCommand {
    /// Record an order that was made or paid elsewhere; the same internal id has no second effect.
    #[command(
        after_help = "Examples:\n  storectl order record --owner 1 --gateway cardhouse --line 101 --local ./data\n  \
                            storectl order record --id xihrrpwsa7d4vdj2 --status PAID --price 18.48 --currency EUR \\\n    \
                            --gateway cardhouse --owner 7 --line 101:1:4.99 --line 111:2:13.49 --coupon SPRING --stack storefront\n  \
                            storectl order record --gateway cardhouse --owner 7 --line 201 --line 303@Thornwick --local ./data\n  \
                            storectl order record --gateway cardhouse --owner 7 --line 402 --line 921 \\\n    \
                            --server 1:1 --var 2:1=Newt --local ./data\n  \
                            storectl order record --session cs_live_a1B2c3 --owner 7 --line 201:2 --stack storefront\n\n\
                            A line without a TOTAL costs what the owner's cart would charge for it now, coupon included; \
                            if that is not known, the TOTAL must be given. Recorded again under the same --id, what is \
                            left out is what was recorded. What a checkout would refuse is refused: an item that is not \
                            on sale or sold out, a variable or server that is missing, a gift that its recipient owns. \
                            --past records it all the same; limits hold in any case.\n\n\
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
pub struct RecordOrder {
    /// The id that buyers and the gateway use; a random one by default.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// A paid checkout at the payment provider whose order is missing, by its id there (`cs_…`).
    #[arg(long, value_name = "ID", conflicts_with_all = ["id", "status", "price", "currency"])]
    pub session: Option<String>,
    /// PENDING, PAID, FAILED, CANCELLED or REFUNDED.
    #[arg(long, default_value = "PAID", value_parser = status)]
    pub status: OrderStatus,
    /// The amount charged, in `--currency`; if not given, the sum of the lines less the gift card.
    #[arg(long, value_name = "A")]
    pub price: Option<String>,
    /// Currency of the price: the store's (if not given), or another one that buyers may pay in.
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Name of the payment gateway.
    #[arg(long, value_name = "NAME", required_unless_present = "session")]
    pub gateway: Option<String>,
    /// The owner, id or name; without it the order has none, which is asked.
    #[arg(long, value_name = "USER")]
    pub owner: Option<String>,
    /// A line: item, count, and what the line cost after any coupon, in the store's currency; with @ and a player's
    /// name or a user's id, a gift for them: it counts for their limits and ownership, not the owner's.
    #[arg(long = "line", value_name = "ITEM:COUNT:TOTAL[@RECIPIENT]", required = true)]
    pub lines: Vec<String>,
    /// A variable's value; with more than one --line, LINE is the place of the one it belongs to, from 1.
    #[arg(long = "var", value_name = "[LINE:]ID=VALUE", value_parser = variable_of_line)]
    pub variables: Vec<ForLine<(u64, String)>>,
    /// The selected server; LINE as for --var.
    #[arg(long = "server", value_name = "[LINE:]ID", value_parser = server_of_line)]
    pub servers: Vec<ForLine<u64>>,
    /// Coupon that was used.
    #[arg(long, value_name = "CODE", conflicts_with = "gift")]
    pub coupon: Option<String>,
    /// Gift card that was used, and what was taken from it, at most what the lines cost.
    #[arg(long, value_name = "CODE:AMOUNT")]
    pub gift: Option<String>,
    /// When it was made, a time or the beginning of a day such as 2026-05-01 (UTC); now by default.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// It was sold before: record it although a checkout would refuse it now.
    #[arg(long)]
    pub past: bool,
    /// Run none of its commands on game servers: it was delivered before.
    #[arg(long)]
    pub no_delivery: bool,
    /// Do not ask about an order without an owner, or a recipient who has no account.
    #[arg(long, short)]
    pub yes: bool,
}

/// A value of one of an order's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForLine<T> {
    /// The line's place, from 1; `None` if the order has one line only.
    pub line: Option<usize>,
    pub value: T,
}

fn variable_of_line(text: &str) -> Result<ForLine<(u64, String)>, String> {
    let (id, value) = text.split_once('=').ok_or("write it as ID=VALUE, or LINE:ID=VALUE, such as 2:1=Morning")?;
    let ForLine { line, value: id } = server_of_line(id)?;
    Ok(ForLine { line, value: (id, value.to_owned()) })
}

fn server_of_line(text: &str) -> Result<ForLine<u64>, String> {
    let (line, id) = text.split_once(':').map_or((None, text), |(line, id)| (Some(line), id));
    let line = line.map(|line| line.trim().parse().map_err(|_| "the LINE before : must be a number".to_owned()));
    let id = id.trim().parse().map_err(|_| "the ID must be a number".to_owned())?;
    Ok(ForLine { line: line.transpose()?, value: id })
}

#[derive(Debug, Clone, Subcommand)]
pub enum CartCommand {
    /// Show a cart and what it costs now.
    #[command(after_help = "Example:\n  storectl cart show 7 --stack storefront")]
    Show(OneUser),
    /// Empty a cart: lines and codes.
    #[command(after_help = "Example:\n  storectl cart clear 7 --stack storefront")]
    Clear(OneUser),
}

/// A UUID of the command line.
fn uuid(text: &str) -> Result<String, &'static str> {
    let problem = "must be a UUID such as 5b0c2f4e-6d1a-4c07-9a53-1f7e8b2d4c60";
    if shared::random::is_uuid(text) { Ok(text.to_owned()) } else { Err(problem) }
}

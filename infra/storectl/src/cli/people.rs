//! `user`, `order` and `cart`.

use super::orders::{ListOrders, RefundOrder};
use clap::{Args, Subcommand, ValueEnum};
use shared::model::{OrderStatus, PaymentType, PlayerName, UserId};

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

/// `user …`.
#[derive(Debug, Clone, Subcommand)]
pub enum UserCommand {
    /// Make an account. Names are unique without regard to case.
    #[command(after_help = "Examples:\n  storectl user add Thornwick --local ./data\n  \
                            storectl user add Thornwick --if-absent --json --stack storefront\n  \
                            storectl user add Thornwick --uuid 5b0c2f4e-6d1a-4c07-9a53-1f7e8b2d4c60 --stack storefront")]
    Add(AddUser),
    /// Show an account and what it has bought.
    #[command(after_help = "Example:\n  storectl user show 7 --stack storefront")]
    Show(OneUser),
    /// List every account; looks through the whole table.
    #[command(after_help = "Example:\n  storectl user list --stack storefront")]
    List,
    /// Erase an account, its cart, what it has bought, and its name in statistics; its orders stay without a name.
    #[command(after_help = "Example:\n  storectl user erase 7 --stack storefront")]
    Erase(EraseUser),
}

/// `user add`.
#[derive(Debug, Clone, Args)]
pub struct AddUser {
    /// Name in the game; not digits only, which would be taken for an id.
    pub username: String,
    /// Print the account that has the name already, instead of refusing.
    #[arg(long)]
    pub if_absent: bool,
    /// The account's UUID; a random one by default.
    #[arg(long)]
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

/// `user erase`.
#[derive(Debug, Clone, Args)]
pub struct EraseUser {
    /// The user.
    #[command(flatten)]
    pub user: WhichUser,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// `order …`.
#[derive(Debug, Clone, Subcommand)]
pub enum OrderCommand {
    /// Record an order that was made or paid elsewhere; the same internal id has no second effect.
    #[command(
        after_help = "Examples:\n  storectl order record --owner 1 --gateway cardhouse --line 101 --local ./data\n  \
                            storectl order record --id xihrrpwsa7d4vdj2 --status PAID --price 18.48 --currency EUR \\\n    \
                            --gateway cardhouse --owner 7 --line 101:1:4.99 --line 111:2:13.49 --coupon SPRING --stack storefront\n  \
                            storectl order record --gateway cardhouse --owner 7 --line 201 --line 102@Thornwick --local ./data\n\n\
                            A line without a TOTAL costs what the owner's cart would charge for it now, coupon included; \
                            if that is not known, the TOTAL must be given. Recorded again under the same --id, what is \
                            left out is what was recorded."
    )]
    Record(RecordOrder),
    /// Change an order's status; a refund takes back counters and balance once.
    #[command(after_help = "Example:\n  storectl order set-status xihrrpwsa7d4vdj2 REFUNDED --stack storefront")]
    SetStatus(SetStatus),
    /// Show an order.
    #[command(after_help = "Example:\n  storectl order show xihrrpwsa7d4vdj2 --stack storefront")]
    Show(OneOrder),
    /// List orders, newest first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl order list --open --stack storefront\n  \
                            storectl order list --status paid --user Thornwick --stack storefront\n  \
                            storectl order list --review --json --stack storefront")]
    List(ListOrders),
    /// Ask the payment provider about an order now, and write what it says.
    #[command(after_help = "Example:\n  storectl order settle xihrrpwsa7d4vdj2 --stack storefront")]
    Settle(OneOrder),
    /// Refund a paid order at the payment provider, in full or in part.
    #[command(after_help = "Examples:\n  storectl order refund xihrrpwsa7d4vdj2 --stack storefront\n  \
                            storectl order refund xihrrpwsa7d4vdj2 --amount 5.00 --stack storefront\n\n\
                            What was refunded before counts, also in the provider's dashboard. Repeating a call whose \
                            response was lost refunds nothing twice.")]
    Refund(RefundOrder),
    /// End an open checkout at the payment provider, and give back what it holds.
    #[command(after_help = "Example:\n  storectl order cancel xihrrpwsa7d4vdj2 --stack storefront")]
    Cancel(OneOrder),
}

/// An order and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneOrder {
    /// The internal id, matched exactly.
    pub id: String,
}

/// `order set-status`.
#[derive(Debug, Clone, Args)]
pub struct SetStatus {
    /// The internal id, matched exactly.
    pub id: String,
    /// The new status.
    #[arg(value_parser = status)]
    pub status: OrderStatus,
}

/// `order record`.
#[derive(Debug, Clone, Args)]
pub struct RecordOrder {
    /// The id that buyers and the gateway use; a random one by default.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// PENDING, PAID, FAILED, CANCELLED or REFUNDED.
    #[arg(long, default_value = "PAID", value_parser = status)]
    pub status: OrderStatus,
    /// What was charged, in `--currency`; if not given, the sum of the lines less the gift card.
    #[arg(long, value_name = "A")]
    pub price: Option<String>,
    /// Currency of the price: the store's (if not given), or another one that buyers may pay in.
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Name of the payment gateway.
    #[arg(long, value_name = "NAME")]
    pub gateway: String,
    /// Whose it is, id or name; without it the order has no owner.
    #[arg(long, value_name = "USER")]
    pub owner: Option<String>,
    /// A line: item, count (1), and what the line cost after any coupon, in the store's currency; with @ and a user's
    /// id or name, a gift for that user: it counts for their limits and ownership, not the owner's.
    #[arg(long = "line", value_name = "ITEM[:COUNT[:TOTAL]][@RECIPIENT]", required = true)]
    pub lines: Vec<String>,
    /// Coupon that was used.
    #[arg(long, value_name = "CODE", conflicts_with = "gift")]
    pub coupon: Option<String>,
    /// Gift card that was used, and what was taken from it, at most what the lines cost.
    #[arg(long, value_name = "CODE:AMOUNT")]
    pub gift: Option<String>,
    /// When it was made; now by default.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

pub(super) fn status(text: &str) -> Result<OrderStatus, String> {
    let wanted = text.trim().to_uppercase();
    let known = OrderStatus::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or_else(|| "must be PENDING, PAID, FAILED, CANCELLED or REFUNDED".to_owned())
}

/// `cart …`.
#[derive(Debug, Clone, Subcommand)]
pub enum CartCommand {
    /// Show a cart and what it costs now.
    #[command(after_help = "Example:\n  storectl cart show 7 --stack storefront")]
    Show(OneUser),
    /// Put an item into a cart.
    #[command(after_help = "Examples:\n  storectl cart add 1 401 --count 2 --server 1 --local ./data\n  \
                            storectl cart add 1 601 --price 12.50 --local ./data\n  \
                            storectl cart add 1 311 --type gift --gift-to Pebble --var 1=Fly --var 2=Plain --local ./data")]
    Add(AddLine),
    /// Put a coupon or gift card on a cart, with the rules of the API; it replaces the one on the cart.
    #[command(after_help = "Example:\n  storectl cart code 7 SPRING --stack storefront")]
    Code(CartCode),
    /// Empty a cart: lines and codes.
    #[command(after_help = "Example:\n  storectl cart clear 7 --stack storefront")]
    Clear(OneUser),
}

/// `cart code`.
#[derive(Debug, Clone, Args)]
pub struct CartCode {
    /// The user's id or name.
    pub user: String,
    /// The coupon or gift card; case does not matter.
    pub code: String,
}

/// `cart add`.
#[derive(Debug, Clone, Args)]
pub struct AddLine {
    /// The user's id or name.
    pub user: String,
    /// The item's id.
    pub item: u64,
    /// Units.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    /// A variable's value; may be given more than once.
    #[arg(long = "var", value_name = "ID=VALUE", value_parser = variable)]
    pub variables: Vec<(u64, String)>,
    /// The selected server.
    #[arg(long, value_name = "ID")]
    pub server: Option<u64>,
    /// The buyer's price for one unit, if the item lets them name it.
    #[arg(long, value_name = "P")]
    pub price: Option<String>,
    /// How it is bought.
    #[arg(long = "type", value_name = "T", value_enum, default_value_t = Payment::OneOff)]
    pub payment: Payment,
    /// The name of the player that a gift is for; the player may have no account.
    #[arg(long, value_name = "NAME", value_parser = PlayerName::parse)]
    pub gift_to: Option<PlayerName>,
}

/// How a line is bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Payment {
    /// Once.
    OneOff,
    /// As a subscription.
    Subscription,
    /// Once, for another user.
    Gift,
}

impl From<Payment> for PaymentType {
    fn from(payment: Payment) -> Self {
        match payment {
            Payment::OneOff => Self::OneOff,
            Payment::Subscription => Self::Subscription,
            Payment::Gift => Self::Gift,
        }
    }
}

fn variable(text: &str) -> Result<(u64, String), String> {
    let (id, value) = text.split_once('=').ok_or("write it as ID=VALUE, such as 1=Morning")?;
    let id = id.trim().parse().map_err(|_| "the id before = must be a number".to_owned())?;
    Ok((id, value.to_owned()))
}

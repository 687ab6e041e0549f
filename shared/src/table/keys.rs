//! Every key of the table. Keys are built in this file only.
//!
//! One table, `pk` + `sk`. What a caller sends is in `pk`, never in `sk`: 255 characters can be 1,020 bytes, and a sort
//! key has at most 1,024. Every `pk` begins with the word that an IAM policy's `dynamodb:LeadingKeys` names, so that a
//! role reads only the kinds that it needs.
//!
//! | access pattern | pk | sk | operation |
//! |---|---|---|---|
//! | which version is published, its config, and the schema number of the data | `STORE` | `ACTIVE` | Get, Update |
//! | a restore that is not finished, in the place of the active version | `STORE` | `ACTIVE` | Get, Put, Update |
//! | what was published when | `STORE` | `HISTORY` | Get, Put |
//! | versions still in the table | `VERSIONS` | *version* | Query |
//! | the owner's own files of a version, compressed, in parts; no function reads them | `FILES#v` | *set*`#`*number* | Get, Query, Put and Delete by tools |
//! | settings, staff, patronage of a version | `CONTENT#v#SETTINGS` … | `DATA` | Get |
//! | a page of a version by its url | `PAGE#v#url` | `DATA` | Get |
//! | category list, deals, promotions of a version | `CATALOG#v#TREE` … | `DATA` | Get |
//! | a category with its subcategories, by slug or id | `CATALOG#v#/slug`, `CATALOG#v#id` | `0000`, then `0001` … | Query |
//! | items of a cart | `ITEM#v#id` | `DATA` | BatchGet |
//! | the prices that were asked for an item; no function reads them | `PRICES#item` | `PRICES` | BatchGet, Put in transactions by tools |
//! | a user | `USER#id` | `USER` | BatchGet |
//! | the user with a name | `NAME#name`, lower-cased | `NAME` | Get, BatchGet, Put and Delete in transactions |
//! | credits of virtual currency by the owner | `CREDIT#user` | *key* | Query, Put; Delete by the operations tool |
//! | whether a name is banned | `BAN#name`, lower-cased | `BAN` | BatchGet, Put, Delete, a condition in transactions |
//! | the banned names that paid with a card, by a hash of it | `CARD#hash` | `CARD` | Get, Update and Delete by the operations tool; a condition in transactions |
//! | a chat account that completed the login, for 6 hours | `CHAT#id` | `CHAT` | Put; Update in transactions |
//! | what a user has bought | `LEDGER#user` | `LEDGER` | BatchGet, Update |
//! | a user's cart | `CART#user` | `CART` | BatchGet, Update |
//! | a coupon or gift card by its text | `CODE#code` | `CODE` | BatchGet, Update |
//! | how often a user used a coupon | `USE#code#user` | `USE` | BatchGet, Update |
//! | what the owner added to a gift card | `TOPUP#code` | *key* | Query, Put |
//! | a referral code by its text | `REFERRAL#code` | `REFERRAL` | BatchGet |
//! | an order by its internal id | `ORDER#id` | `ORDER` | BatchGet, Put |
//! | the orders of an account, newest last | `ORDERS#user` | *seconds*`#`*number* | Query; Put in transactions |
//! | open checkouts of an address with limited items | `RATE#hold#address` | `RATE` | Update |
//! | requests of an address in its window | `RATE#address`, `RATE#kind#address` | `RATE` | BatchGet, Update, also in transactions |
//! | what was paid from an address on its first day, and what was refused, by a hash of it | `ADDRESS#hash` | `ADDRESS` | BatchGet; Update in transactions |
//! | units of an item sold in total | `COUNT#item` | `COUNT` | BatchGet, Update |
//! | goals, top and recent donators | `STATS` | `DONATIONS` | Get, Update |
//! | all-time sum of every patron | `PATRONS` | `USER#id` | Query, Get, Put |
//! | the largest of them, compiled | `STATS` | `PATRONS` | Get, Put |
//! | a month's sum of every donator | `MONTH#month` | `USER#id` | Query, Get, Put |
//! | paid orders with an owner and an amount above zero, newest last | `PAID` | *seconds*`#`*number* | Query, Put |
//! | orders with something left to do, their disputes, and units on their way into one, by the second it is due | `UNFINISHED` | *seconds*`#`*number* | Query, Put, Delete |
//! | the logins in the game of a name | `LOGIN#name`, lower-cased | `LOGIN` | Get, Put in transactions |
//! | logins that game servers are notified of, by their id | `LOGINS` | *id* | Get, Query; Put, Update and Delete in transactions |
//! | how far the provider's webhook events were asked for, and which failed | `UNFINISHED` | `EVENTS` | Get, Put |
//! | a subscription by the provider's id | `SUBSCRIPTION#id` | `SUBSCRIPTION` | Get, Put in transactions |
//! | the order of a provider's payment | `PAYMENT#intent` | `PAYMENT` | Get, Put |
//! | the commands of an order, as they were published when it was created | `ORDER#id` | `COMMANDS` | Get, Put |
//! | a command of an order | `COMMAND#id` | `COMMAND` | BatchGet, Put in transactions |
//! | what a game server's poll finds, by the second it is due | `QUEUE#server` | *seconds*`#`*id* | Query, Put and Delete in transactions |
//! | commands that are neither served nor finished, by state | `QUEUE#server` | *state*`#`*seconds*`#`*id* | Query, Put and Delete in transactions |
//! | a run of the owner's by its name | `RUN#name` | `RUN` | Get, Put by the operations tool |
//! | what a server's last poll was served, and when it polled | `LEASE#server` | `LEASE` | BatchGet, Update |
//! | how long the commands of a server took, by the hour in which they ran | `LEASE#server` | `TIMES#`*seconds*`#`*part* | Query; Update in transactions |
//! | a game server by the hash of its key | `SERVER#hash` | `SERVER` | Get, BatchGet, Update; Put and Delete by the operations tool |
//! | a text that takes something from an account on a server, and which orders hold it | `EXPIRY#user` | `TEXT#`*server*`#`*hash* | BatchGet; Put and Delete in transactions |
//! | the texts that run when an item of an account ends | `EXPIRY#user` | `ITEM#`*item*`#`*hash* | BatchGet, Put in transactions |
//! | what owners are notified of, by the second it is due | `NOTICES` | *seconds*`#`*id* | Query; Put and Delete in transactions |
//! | notices that every target knows, or that wait for the owner, by state | `NOTICES` | *state*`#`*seconds*`#`*id* | Query; Put and Delete in transactions |
//! | the notice that was written last of something that lasts, such as a silent server | `NOTICES` | `TOLD#`*what* | Put in transactions |
//! | a target of notices that takes nothing for a time | `NOTICES` | `TARGET#`*name* | Query; Put in transactions |
//! | the orders of a month in UTC, and what went back of orders in it | `SALES#month` | *seconds*`#`*number* | Query, Put in transactions |
//! | the last day of which the owner was told | `SALES#DAY` | `DAY` | Get, Put in transactions |
//! | the changes of the balance at the provider in a month in UTC | `BALANCE#month` | *seconds*`#`*id* | Query, Put in transactions |
//! | how far the provider's changes of the balance were asked for | `BALANCE#ASKED` | `ASKED` | Get, Put in transactions |
//! | the next integer id of a kind | `SEQ#kind` | `SEQ` | Update |

mod delivery;

pub use delivery::*;

use crate::model::{
    CategoryPath, ChatId, CodeText, Donations, InternalId, ItemId, OrderNumber, PageUrl, UserId, UserName,
};
use std::fmt;
use std::ops::Range;

/// Attribute name of the partition key.
pub const PK: &str = "pk";
/// Attribute name of the sort key.
pub const SK: &str = "sk";
/// Attribute name of the time to live, seconds since 1970 UTC.
pub const TTL: &str = "expires_at";
/// Attribute name of the mark of a restore that is not finished. It is in the item of the active version, which
/// everything that works on a store reads or names in a condition.
pub const RESTORING: &str = "restoring";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub pk: String,
    pub sk: String,
}

impl fmt::Display for Key {
    /// Only the kind of item (the text before the first `#`): a log line never contains a code or an address. The key itself of
    /// what has only ids and hashes in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if [prefix::COMMAND, prefix::QUEUE, prefix::LEASE, prefix::SERVER].iter().any(|kind| self.pk.starts_with(kind))
        {
            return write!(f, "{} {}", self.pk, self.sk);
        }
        f.write_str(self.pk.split('#').next().unwrap_or_default())
    }
}

fn key(pk: String, sk: &str) -> Key {
    Key { pk, sk: sk.to_owned() }
}

pub fn active_version() -> Key {
    key("STORE".to_owned(), "ACTIVE")
}

pub fn history() -> Key {
    key("STORE".to_owned(), "HISTORY")
}

/// The record of a version that was written to the table.
pub fn version(version: &str) -> Key {
    key(versions(), version)
}

pub fn versions() -> String {
    "VERSIONS".to_owned()
}

/// Partition of the owner's own files of a version. No role of a function reaches it.
pub fn version_files(version: &str) -> String {
    format!("FILES#{version}")
}

/// A part of a set of files of a version.
pub fn version_files_part(version: &str, set: &str, part: u32) -> Key {
    key(version_files(version), &format!("{set}#{part:04}"))
}

pub fn settings(version: &str) -> Key {
    key(format!("CONTENT#{version}#SETTINGS"), "DATA")
}

pub fn staff(version: &str) -> Key {
    key(format!("CONTENT#{version}#STAFF"), "DATA")
}

pub fn patronage(version: &str) -> Key {
    key(format!("CONTENT#{version}#PATRONAGE"), "DATA")
}

pub fn page(version: &str, url: &PageUrl) -> Key {
    key(format!("PAGE#{version}#{url}"), "DATA")
}

pub fn tree(version: &str) -> Key {
    key(format!("CATALOG#{version}#TREE"), "DATA")
}

pub fn deals(version: &str) -> Key {
    key(format!("CATALOG#{version}#DEALS"), "DATA")
}

pub fn promotions(version: &str) -> Key {
    key(format!("CATALOG#{version}#PROMOTIONS"), "DATA")
}

/// Partition of a version's category: the category itself first, then its subcategories in order. A slug begins
/// with a slash and an id with a digit, so that neither meets another kind of page.
pub fn category(version: &str, path: &CategoryPath) -> String {
    match path {
        CategoryPath::Slug(slug) => format!("CATALOG#{version}#{slug}"),
        CategoryPath::Id(id) => format!("CATALOG#{version}#{id}"),
    }
}

/// The `place`-th row of a category's partition: 0 is the category itself.
pub fn category_row(version: &str, path: &CategoryPath, place: usize) -> Key {
    key(category(version, path), &format!("{place:04}"))
}

pub fn item(version: &str, id: ItemId) -> Key {
    key(format!("ITEM#{version}#{id}"), "DATA")
}

/// The prices that were asked for an item, of whatever version.
pub fn prices(id: ItemId) -> Key {
    key(format!("PRICES#{id}"), "PRICES")
}

pub fn user(id: UserId) -> Key {
    key(format!("USER#{id}"), "USER")
}

pub fn ban(name: &UserName) -> Key {
    key(format!("BAN#{name}"), "BAN")
}

/// A banned card, by its hash.
pub fn card(hash: &str) -> Key {
    key(format!("CARD#{hash}"), "CARD")
}

/// The index row that makes a user's name unique.
pub fn name(name: &UserName) -> Key {
    key(format!("NAME#{name}"), "NAME")
}

/// Partition of the credits that the store's owner gave a user.
pub fn credits(user: UserId) -> String {
    format!("CREDIT#{user}")
}

/// A credit by its key, of which the operations tool takes ASCII only.
pub fn credit(user: UserId, credit_key: &str) -> Key {
    key(credits(user), credit_key)
}

/// Partition of what the store's owner added to a gift card.
pub fn top_ups(code: &CodeText) -> String {
    format!("TOPUP#{code}")
}

/// A top-up of a gift card, by a key of which the operations tool takes ASCII only.
pub fn top_up(code: &CodeText, top_up_key: &str) -> Key {
    key(top_ups(code), top_up_key)
}

/// A chat account that completed the login.
pub fn chat(id: &ChatId) -> Key {
    key(format!("CHAT#{id}"), "CHAT")
}

pub fn ledger(user: UserId) -> Key {
    key(format!("LEDGER#{user}"), "LEDGER")
}

pub fn cart(user: UserId) -> Key {
    key(format!("CART#{user}"), "CART")
}

pub fn code(code: &CodeText) -> Key {
    key(format!("CODE#{code}"), "CODE")
}

/// How often a user used a coupon. The user is last: an id contains no `#`, a code may.
pub fn code_use(code: &CodeText, user: UserId) -> Key {
    key(format!("USE#{code}#{user}"), "USE")
}

pub fn referral(code: &CodeText) -> Key {
    key(format!("REFERRAL#{code}"), "REFERRAL")
}

pub fn order(id: &InternalId) -> Key {
    key(format!("ORDER#{id}"), "ORDER")
}

/// Partition of the orders of an account.
pub fn orders_of(user: UserId) -> String {
    format!("ORDERS#{user}")
}

/// An order of an account, sorted by the second it was made and then by its number.
pub fn order_of(user: UserId, created_at: i64, number: OrderNumber) -> Key {
    key(orders_of(user), &place_of(created_at, number))
}

/// The requests counted for a client address (rules.md, "Rate limits"). `kind` is what is counted, empty for
/// payments/checkStatus.
pub fn rate(kind: &str, address: &str) -> Key {
    let separator = if kind.is_empty() { "" } else { "#" };
    key(format!("RATE#{kind}{separator}{address}"), "RATE")
}

/// What is known of an address that buyers pay from, by its hash.
pub fn address(hash: &str) -> Key {
    key(format!("ADDRESS#{hash}"), "ADDRESS")
}

/// Units of an item sold in total.
pub fn count(item: ItemId) -> Key {
    key(format!("COUNT#{item}"), "COUNT")
}

/// Goals, top donators and recent donators.
pub fn donations() -> Key {
    key("STATS".to_owned(), "DONATIONS")
}

/// The largest patrons, compiled from [`patrons`].
pub fn top_patrons() -> Key {
    key("STATS".to_owned(), "PATRONS")
}

pub fn patrons() -> String {
    "PATRONS".to_owned()
}

pub fn patron(user: UserId) -> Key {
    key(patrons(), &format!("USER#{user}"))
}

/// Partition of a month's sums; `month` is `YYYY-MM` in UTC.
pub fn month(month: &str) -> String {
    format!("MONTH#{month}")
}

pub fn month_sum(month: &str, user: UserId) -> Key {
    key(self::month(month), &format!("USER#{user}"))
}

/// Partition of the paid orders with an owner.
pub fn paid() -> String {
    "PAID".to_owned()
}

/// A paid order with an owner, sorted by the second it was made and then by its number.
pub fn paid_order(created_at: i64, number: OrderNumber) -> Key {
    key(paid(), &place_of(created_at, number))
}

/// The first sort key of [`paid`] of an order that was made at `second`, since 1970 UTC.
pub fn paid_from(second: i64) -> String {
    second_text(second)
}

/// Partition of the orders with something left to do.
pub fn unfinished() -> String {
    "UNFINISHED".to_owned()
}

/// An order with something left to do, sorted by the second it is due (since 1970 UTC) and then by its number.
pub fn unfinished_order(due: i64, number: OrderNumber) -> Key {
    key(unfinished(), &place_of(due, number))
}

/// A reservation of units for an order, sorted as [`unfinished_order`]: the order may be due at the same second.
pub fn unfinished_reservation(due: i64, number: OrderNumber) -> Key {
    key(unfinished(), &format!("{}#{:016}#TAKE", second_text(due), number.get()))
}

/// A subscription that the sweep looks at in the second `due` (since 1970 UTC).
pub fn unfinished_subscription(due: i64, id: &str) -> Key {
    key(unfinished(), &format!("{}#SUBSCRIPTION#{id}", second_text(due)))
}

/// A dispute of an order that the sweep looks at in the second `due` (since 1970 UTC), by the provider's id.
pub fn unfinished_dispute(due: i64, id: &str) -> Key {
    key(unfinished(), &format!("{}#DISPUTE#{id}", second_text(due)))
}

/// A subscription by the provider's id.
pub fn subscription(id: &str) -> Key {
    key(format!("{}{id}", prefix::SUBSCRIPTION), "SUBSCRIPTION")
}

pub fn is_unfinished_reservation(key: &Key) -> bool {
    key.pk == unfinished() && key.sk.ends_with("#TAKE")
}

/// The last sort key of [`unfinished`] that is due at `now`.
pub fn due_until(now: i64) -> String {
    format!("{}#~", second_text(now))
}

/// The second since when a row of [`unfinished`] is due; `None` if it is not a key of such a row.
pub fn due_second(row: &Key) -> Option<i64> {
    row.sk.split_once('#')?.0.parse().ok()
}

/// The sort key of an order by a second (since 1970 UTC), and then by its number.
fn place_of(second: i64, number: OrderNumber) -> String {
    format!("{}#{:016}", second_text(second), number.get())
}

/// A second since 1970 UTC as text that sorts like the number.
fn second_text(second: i64) -> String {
    format!("{:012}", second.max(0))
}

/// How far the provider's webhook events were asked for. It sorts behind every due order.
pub fn webhook_events() -> Key {
    key(unfinished(), "EVENTS")
}

pub fn payment(intent: &str) -> Key {
    key(format!("{}{intent}", prefix::PAYMENT), "PAYMENT")
}

/// Partition of what owners are notified of.
pub fn notices() -> String {
    "NOTICES".to_owned()
}

/// A notice that is sent in the second `due` (since 1970 UTC).
pub fn notice_due(due: i64, id: &str) -> Key {
    key(notices(), &format!("{}#{id}", second_text(due)))
}

/// A notice that every target knows (`SENT`), or that is tried no more until the owner says so (`WAITING`), by the second at which
/// it happened (since 1970 UTC).
pub fn notice_in(state: &str, at: i64, id: &str) -> Key {
    key(notices(), &format!("{state}#{}#{id}", second_text(at)))
}

/// The notice that was written last of something that lasts, or comes again.
pub fn notice_told(what: &str) -> Key {
    key(notices(), &format!("TOLD#{what}"))
}

/// A target of notices that takes nothing for a time.
pub fn paused_target(name: &str) -> Key {
    key(notices(), &format!("TARGET#{name}"))
}

/// The first and the last sort key of notices in a state, or of targets; of notices that are not finished with `None`.
pub fn notices_of(state: Option<&str>) -> (String, String) {
    state.map_or_else(|| ("0".to_owned(), ":".to_owned()), |state| (format!("{state}#"), format!("{state}#~")))
}

/// Partition of the orders of a month; `month` is `YYYY-MM` in UTC.
pub fn sales(month: &str) -> String {
    format!("SALES#{month}")
}

/// The row of an order in the month in which it was made.
pub fn sale(created_at: i64, number: OrderNumber) -> Key {
    key(sales(&Donations::month_of(created_at)), &place_of(created_at, number))
}

/// The row of the `nth` time at which something of an order went back, in the month of that.
pub fn sale_back(at: i64, number: OrderNumber, nth: u32) -> Key {
    key(sales(&Donations::month_of(at)), &format!("{}#BACK#{nth}", place_of(at, number)))
}

/// The last day of which the owner was told.
pub fn told_day() -> Key {
    key(sales("DAY"), "DAY")
}

/// The first and the last sort key of [`sales`] and [`balance`] of some seconds since 1970 UTC.
pub fn within(seconds: &Range<i64>) -> (String, String) {
    (second_text(seconds.start), format!("{}#~", second_text(seconds.end.saturating_sub(1))))
}

/// Partition of a month's changes of the balance at the provider; `month` is `YYYY-MM` in UTC.
pub fn balance(month: &str) -> String {
    format!("BALANCE#{month}")
}

/// A change of the balance, by the second at which it was made (since 1970 UTC) and the provider's id.
pub fn balance_change(created: i64, id: &str) -> Key {
    key(balance(&Donations::month_of(created)), &format!("{}#{id}", second_text(created)))
}

/// How far the changes of the balance were asked for.
pub fn balance_asked() -> Key {
    key(balance("ASKED"), "ASKED")
}

/// The counter from which a kind's integer ids are taken.
pub fn sequence(kind: &str) -> Key {
    key(format!("SEQ#{kind}"), "SEQ")
}

/// The prefixes of partition keys by kind, for the operations tool, which scans the whole table.
pub mod prefix {
    pub const USER: &str = "USER#";
    pub const NAME: &str = "NAME#";
    /// Bans of names.
    pub const BAN: &str = "BAN#";
    /// Chat accounts that completed the login; a backup leaves them out.
    pub const CHAT: &str = "CHAT#";
    /// Coupons and gift cards.
    pub const CODE: &str = "CODE#";
    /// Referral codes.
    pub const REFERRAL: &str = "REFERRAL#";
    /// The items that users have bought.
    pub const LEDGER: &str = "LEDGER#";
    pub const CART: &str = "CART#";
    pub const ORDER: &str = "ORDER#";
    /// The orders of accounts.
    pub const ORDERS: &str = "ORDERS#";
    /// Orders by the provider's payments.
    pub const PAYMENT: &str = "PAYMENT#";
    /// Subscriptions by the provider's ids.
    pub const SUBSCRIPTION: &str = "SUBSCRIPTION#";
    /// Commands of orders.
    pub const COMMAND: &str = "COMMAND#";
    /// Queues of game servers, written again from the commands after a restore.
    pub const QUEUE: &str = "QUEUE#";
    /// Leases of game servers; a backup leaves them out.
    pub const LEASE: &str = "LEASE#";
    /// Runs of the owner's.
    pub const RUN: &str = "RUN#";
    /// Game servers by the hashes of their keys.
    pub const SERVER: &str = "SERVER#";
    /// Logins in the game; a backup leaves them out.
    pub const LOGIN: &str = "LOGIN#";
    /// Texts that take something from accounts, and when they run.
    pub const EXPIRY: &str = "EXPIRY#";
    /// Requests of an address; a backup leaves them out.
    pub const RATE: &str = "RATE#";
    /// How often users used coupons.
    pub const USE: &str = "USE#";
    pub const COUNT: &str = "COUNT#";
    /// Orders by month.
    pub const SALES: &str = "SALES#";
    /// Every kind of live row with an amount of money or of virtual currency.
    pub const LIVE: [&str; 14] = [
        USER,
        CART,
        CODE,
        ORDER,
        SUBSCRIPTION,
        LEDGER,
        "CREDIT#",
        "TOPUP#",
        "STATS",
        "PATRONS",
        "MONTH#",
        "PAID",
        SALES,
        "BALANCE#",
    ];
}

//! Requests that are refused, one for each reason that the store makes reachable: what the ready line lists to try. Each
//! promises a status and a message; a test sends them all.

mod checkout;
mod codes;
mod lines;
mod others;

use publish::Compiled;
use publish::live::Live;
use serde::Serialize;
use serde_json::Value;
use shared::model::{Item, ItemId, Money, OrderStatus, PaymentType, PublishedItem, User, UserId};
use shared::money::CurrencyFormat;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;

/// A refused request, with what has to be sent before it. Every call is a POST.
#[derive(Debug, Clone, Serialize)]
pub struct TryRefusal {
    /// The refused request and the reason.
    pub name: &'static str,
    /// The player whose token of the ready line is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The player who logs in by POST /auth/username first, and whose new token is sent. Each has a cart of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The calls in their order. The last one is refused.
    pub calls: Vec<TryCall>,
    /// The status of the refusal.
    pub status: u16,
    /// Its message.
    pub message: String,
}

/// A POST.
#[derive(Debug, Clone, Serialize)]
pub struct TryCall {
    /// Its path.
    pub path: String,
    /// Its body.
    pub body: Value,
}

impl TryCall {
    fn new(path: impl Into<String>, body: Value) -> Self {
        Self { path: path.into(), body }
    }

    fn add(item: &Item, body: Value) -> Self {
        Self::new(format!("/cart/add/{}", item.id), body)
    }
}

/// Whose token is sent.
enum Who {
    /// No token is sent.
    Nobody,
    /// A player who logs in for this request.
    Visitor(String),
    /// A player whose token is printed.
    Player(String),
}

impl Who {
    fn refused(self, name: &'static str, calls: Vec<TryCall>, status: u16, message: impl Display) -> TryRefusal {
        let (user, login) = match self {
            Self::Nobody => (None, None),
            Self::Visitor(login) => (None, Some(login)),
            Self::Player(user) => (Some(user), None),
        };
        TryRefusal { name, user, login, calls, status, message: message.to_string() }
    }
}

/// The store, as far as it decides what is refused.
struct Shop<'a> {
    compiled: &'a Compiled,
    live: &'a Live,
    now: i64,
    sold: BTreeMap<ItemId, u64>,
    visitors: Cell<u32>,
}

/// Every refusal that the store makes reachable at `now`.
#[must_use]
pub fn pick(compiled: &Compiled, live: &Live, now: i64) -> Vec<TryRefusal> {
    let mut sold: BTreeMap<ItemId, u64> = BTreeMap::new();
    for line in live.orders.iter().filter(|order| order.status == OrderStatus::Paid).flat_map(|order| &order.lines) {
        *sold.entry(line.item).or_default() += u64::from(line.count);
    }
    let shop = Shop { compiled, live, now, sold, visitors: Cell::new(0) };
    [lines::all(&shop), codes::all(&shop), checkout::all(&shop), others::all(&shop)].into_iter().flatten().collect()
}

impl<'a> Shop<'a> {
    /// A player who has never been here: the name is of this start and of one refusal.
    fn visitor(&self) -> Who {
        Who::Visitor(self.visitor_name())
    }

    fn visitor_name(&self) -> String {
        let number = self.visitors.get() + 1;
        self.visitors.set(number);
        format!("Try{}n{number}", self.now.rem_euclid(1_000_000_000))
    }

    fn find(&self, wanted: impl Fn(&PublishedItem) -> bool) -> Option<&'a Item> {
        self.compiled.items.iter().find(|published| wanted(published)).map(|published| &published.item)
    }

    fn item(&self, id: ItemId) -> Option<&'a Item> {
        self.find(|published| published.item.id == id)
    }

    /// An item of which any number can be bought, with nothing to choose.
    fn plain(&self) -> Option<&'a Item> {
        self.find(|published| {
            let item = &published.item;
            is_simple(item) && !is_cumulative(published) && item.global_limit.is_none() && item.user_limit.is_none()
        })
    }

    /// Units of an item that can still be sold; `None` if there is no limit.
    fn left(&self, item: &Item) -> Option<u64> {
        let sold = self.sold.get(&item.id).copied().unwrap_or_default();
        item.global_limit.map(|limit| u64::from(limit).saturating_sub(sold))
    }

    fn user(&self, id: UserId) -> Option<&'a User> {
        self.live.users.iter().find(|user| user.id == id)
    }

    /// A player with a token that is accepted.
    fn player(&self, id: UserId) -> Option<Who> {
        let user = self.user(id).filter(|user| !self.is_refused(user))?;
        Some(Who::Player(user.username.clone()))
    }

    /// Whether the tokens of a user are refused.
    fn is_refused(&self, user: &User) -> bool {
        user.banned || user.next_issue(self.now) > self.now + shared::model::LEEWAY
    }

    /// The items that users have bought for themselves.
    fn bought(&self) -> impl Iterator<Item = (UserId, ItemId, u32)> + use<'a> {
        let paid = self.live.orders.iter().filter(|order| order.status == OrderStatus::Paid);
        paid.flat_map(|order| {
            let own = order.lines.iter().filter(|line| line.recipient.is_none());
            own.filter_map(move |line| Some((order.owner?, line.item, line.count)))
        })
    }

    fn money(&self, amount: Money) -> String {
        CurrencyFormat::new(self.compiled.config.digits).money(amount).to_string()
    }
}

/// Whether an item can be added without any choice, for its price.
fn is_simple(item: &Item) -> bool {
    item.active && !item.virtual_only && !item.any_price && !item.is_subscription && has_no_choices(item)
}

fn has_no_choices(item: &Item) -> bool {
    item.variables.is_empty() && !item.allow_select_server && !item.needs_chat
}

fn is_cumulative(published: &PublishedItem) -> bool {
    !published.price_tiers.is_empty() && !published.item.is_subscription && !published.item.any_price
}

const fn number_of(payment_type: PaymentType) -> u8 {
    match payment_type {
        PaymentType::OneOff => 0,
        PaymentType::Subscription => 1,
        PaymentType::Gift => 2,
    }
}

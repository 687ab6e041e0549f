//! Whether and how an item comes into a cart. A pure decision over what was read.

use shared::model::{
    Cart, Item, ItemId, Items, Ledger, Line, LineId, LineVariable, MAX_LINES, Money, PaymentType, ServerId, Sold,
};
use shared::rules::cart::is_own_step;
use shared::rules::pricing::{Limits, availability, is_cumulative};

/// What is to be put into a cart.
#[derive(Debug, Clone)]
pub(super) struct LineToAdd {
    pub(super) item: ItemId,
    pub(super) count: u32,
    /// By id.
    pub(super) variables: Vec<LineVariable>,
    pub(super) server: Option<ServerId>,
    pub(super) price: Option<Money>,
    pub(super) payment_type: PaymentType,
    /// Whether the store uses virtual currency.
    pub(super) virtual_currency: bool,
}

/// Why it is not put there, in the order in which the reasons are looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is not published")]
    NotPublished,
    #[error("it is not on sale")]
    Inactive,
    #[error("the buyer owns it already, or one above it")]
    Owned,
    #[error("it is sold for virtual currency, which the store does not use")]
    NoVirtualCurrency,
    #[error("it has no variable {0}")]
    UnknownVariable(u64),
    #[error("variable {0} is given twice")]
    TwiceVariable(u64),
    #[error("variable {id} must be one of {options}")]
    WrongOption { id: u64, options: String },
    #[error("variable {0} is missing (--var {0}=VALUE)")]
    MissingVariable(u64),
    #[error("it cannot be delivered to server {0}")]
    WrongServer(ServerId),
    #[error("the buyer must select a server (--server ID)")]
    MissingServer,
    #[error("the buyer names its price (--price P)")]
    MissingPrice,
    #[error("it has its own price")]
    FixedPrice,
    #[error("its price must not be below {0} minor units")]
    BelowMinimum(i64),
    #[error("it is no subscription")]
    NoSubscription,
    #[error("only one can be bought")]
    OnlyOne,
    #[error("only {left} more can be bought in all")]
    GlobalLimit { left: u64 },
    #[error("this buyer can buy only {left} more")]
    UserLimit { left: u64 },
    #[error("a cart has at most {MAX_LINES} lines")]
    Full,
}

/// A cart with an item placed in it.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) cart: Cart,
    /// The items whose lines the new one replaces: other steps of its cumulative category.
    pub(super) replaced: Vec<ItemId>,
}

/// The cart with the item in it: more of a line that says the same, or a line of its own. What the buyer owns, their
/// limit and the one step of a category that a cart holds concern lines for themselves; the recipient's limit on a
/// gift is guarded when it is paid (rules.md, "Gifts").
pub(super) fn place(
    cart: &Cart,
    items: &Items,
    sold: &Sold,
    ledger: &Ledger,
    wanted: &LineToAdd,
) -> Result<Placed, Refusal> {
    let published = items.get(&wanted.item).ok_or(Refusal::NotPublished)?;
    let item = &published.item;
    if !item.active {
        return Err(Refusal::Inactive);
    }
    if item.virtual_only && !wanted.virtual_currency {
        return Err(Refusal::NoVirtualCurrency);
    }
    check_choices(item, wanted)?;
    check_price(item, wanted)?;
    let is_gift = wanted.payment_type == PaymentType::Gift;
    let units = |counts: &dyn Fn(&Line) -> bool| -> u64 {
        let lines = cart.lines.iter().filter(|line| line.item == wanted.item && counts(line));
        lines.map(|line| u64::from(line.count)).sum()
    };
    let in_cart = units(&|_| true);
    let for_whom = units(&|line| (line.payment_type == PaymentType::Gift) == is_gift);
    let count = u64::from(wanted.count);
    if is_cumulative(item, &published.price_tiers) && for_whom + count > 1 {
        return Err(Refusal::OnlyOne);
    }
    let buyer = (!is_gift).then_some(ledger);
    let limits = Limits::of(item, sold, buyer);
    if let Some(left) = left(limits.global, limits.global_current).filter(|left| in_cart + count > *left) {
        return Err(Refusal::GlobalLimit { left: left.saturating_sub(in_cart) });
    }
    if let Some(left) = left(limits.user, limits.user_current).filter(|left| for_whom + count > *left) {
        return Err(Refusal::UserLimit { left: left.saturating_sub(for_whom) });
    }
    if availability(item, &published.price_tiers, sold, buyer).unavailable {
        return Err(Refusal::Owned);
    }
    with(cart, items, wanted)
}

fn left(limit: Option<u32>, current: Option<u64>) -> Option<u64> {
    limit.map(|limit| u64::from(limit).saturating_sub(current.unwrap_or_default()))
}

fn check_choices(item: &Item, wanted: &LineToAdd) -> Result<(), Refusal> {
    for (place, chosen) in wanted.variables.iter().enumerate() {
        let variable = item.variables.iter().find(|variable| variable.id == chosen.id);
        let variable = variable.ok_or(Refusal::UnknownVariable(chosen.id))?;
        if wanted.variables.iter().take(place).any(|other| other.id == chosen.id) {
            return Err(Refusal::TwiceVariable(chosen.id));
        }
        if !variable.options.is_empty() && !variable.options.contains(&chosen.value) {
            return Err(Refusal::WrongOption { id: chosen.id, options: variable.options.join(", ") });
        }
    }
    let given = |id: u64| wanted.variables.iter().any(|chosen| chosen.id == id);
    if let Some(missing) = item.variables.iter().find(|variable| !given(variable.id)) {
        return Err(Refusal::MissingVariable(missing.id));
    }
    match wanted.server {
        Some(server) if !(item.allow_select_server && item.servers.iter().any(|known| known.id == server)) => {
            Err(Refusal::WrongServer(server))
        }
        None if item.allow_select_server => Err(Refusal::MissingServer),
        _ => Ok(()),
    }
}

fn check_price(item: &Item, wanted: &LineToAdd) -> Result<(), Refusal> {
    if wanted.payment_type == PaymentType::Subscription && !item.is_subscription {
        return Err(Refusal::NoSubscription);
    }
    match wanted.price {
        None if item.any_price => Err(Refusal::MissingPrice),
        Some(_) if !item.any_price => Err(Refusal::FixedPrice),
        Some(price) if price < item.min_price => Err(Refusal::BelowMinimum(item.min_price.minor())),
        _ => Ok(()),
    }
}

/// Lines whose item is no longer published are removed by this write (rules.md, "Carts"), and so is another step of the
/// item's cumulative category (rules.md, "Cumulative categories").
fn with(cart: &Cart, items: &Items, wanted: &LineToAdd) -> Result<Placed, Refusal> {
    let mut cart = cart.clone();
    cart.lines.retain(|line| items.contains_key(&line.item));
    let same = |line: &&mut Line| {
        line.item == wanted.item
            && line.variables == wanted.variables
            && line.server == wanted.server
            && line.price == wanted.price
            && line.payment_type == wanted.payment_type
            && !line.promoted
    };
    if let Some(line) = cart.lines.iter_mut().find(same) {
        line.count = line.count.saturating_add(wanted.count);
        return Ok(Placed { cart, replaced: Vec::new() });
    }
    let line = Line {
        id: LineId::new(cart.next_line),
        item: wanted.item,
        count: wanted.count,
        variables: wanted.variables.clone(),
        server: wanted.server,
        price: wanted.price,
        payment_type: wanted.payment_type,
        promoted: false,
    };
    let category = |line: &Line| {
        let published = items.get(&line.item)?;
        is_own_step(line, published).then_some(published.category)
    };
    let step = category(&line);
    let is_other_step = |other: &Line| step.is_some() && category(other) == step;
    let replaced = cart.lines.iter().filter(|other| is_other_step(other)).map(|other| other.item).collect();
    cart.lines.retain(|other| !is_other_step(other));
    if cart.lines.len() >= MAX_LINES {
        return Err(Refusal::Full);
    }
    cart.lines.push(line);
    cart.next_line = cart.next_line.saturating_add(1);
    Ok(Placed { cart, replaced })
}

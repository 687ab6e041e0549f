//! Whether and how an item comes into a cart. A pure decision over what was read.

use shared::model::{
    Cart, Item, ItemId, Items, Ledger, Line, LineId, LineVariable, MAX_LINES, Money, PaymentType, ServerId, Sold,
};
use shared::rules::pricing::{Limits, is_cumulative, standing};

/// What is to be put into a cart.
#[derive(Debug, Clone)]
pub(super) struct Wish {
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

/// The cart with the item in it: more of a line that says the same, or a line of its own.
pub(super) fn place(cart: &Cart, items: &Items, sold: &Sold, ledger: &Ledger, wish: &Wish) -> Result<Cart, Refusal> {
    let published = items.get(&wish.item).ok_or(Refusal::NotPublished)?;
    let item = &published.item;
    if !item.active {
        return Err(Refusal::Inactive);
    }
    if item.virtual_only && !wish.virtual_currency {
        return Err(Refusal::NoVirtualCurrency);
    }
    check_choices(item, wish)?;
    check_price(item, wish)?;
    let in_cart =
        cart.lines.iter().filter(|line| line.item == wish.item).map(|line| u64::from(line.count)).sum::<u64>();
    let wanted = in_cart + u64::from(wish.count);
    let cumulative = is_cumulative(item, &published.ladder);
    if cumulative && wanted > 1 {
        return Err(Refusal::OnlyOne);
    }
    let limits = Limits::of(item, sold, Some(ledger));
    if let Some(left) = left(limits.global, limits.global_current).filter(|left| wanted > *left) {
        return Err(Refusal::GlobalLimit { left: left.saturating_sub(in_cart) });
    }
    if let Some(left) = left(limits.user, limits.user_current).filter(|left| wanted > *left) {
        return Err(Refusal::UserLimit { left: left.saturating_sub(in_cart) });
    }
    if standing(item, &published.ladder, sold, Some(ledger)).unavailable {
        return Err(Refusal::Owned);
    }
    with(cart, items, wish)
}

fn left(limit: Option<u32>, current: Option<u64>) -> Option<u64> {
    limit.map(|limit| u64::from(limit).saturating_sub(current.unwrap_or_default()))
}

fn check_choices(item: &Item, wish: &Wish) -> Result<(), Refusal> {
    for (place, chosen) in wish.variables.iter().enumerate() {
        let variable = item.variables.iter().find(|variable| variable.id == chosen.id);
        let variable = variable.ok_or(Refusal::UnknownVariable(chosen.id))?;
        if wish.variables.iter().take(place).any(|other| other.id == chosen.id) {
            return Err(Refusal::TwiceVariable(chosen.id));
        }
        if !variable.options.is_empty() && !variable.options.contains(&chosen.value) {
            return Err(Refusal::WrongOption { id: chosen.id, options: variable.options.join(", ") });
        }
    }
    let given = |id: u64| wish.variables.iter().any(|chosen| chosen.id == id);
    if let Some(missing) = item.variables.iter().find(|variable| !given(variable.id)) {
        return Err(Refusal::MissingVariable(missing.id));
    }
    match wish.server {
        Some(server) if !(item.allow_select_server && item.servers.iter().any(|known| known.id == server)) => {
            Err(Refusal::WrongServer(server))
        }
        None if item.allow_select_server => Err(Refusal::MissingServer),
        _ => Ok(()),
    }
}

fn check_price(item: &Item, wish: &Wish) -> Result<(), Refusal> {
    if wish.payment_type == PaymentType::Subscription && !item.is_subscription {
        return Err(Refusal::NoSubscription);
    }
    match wish.price {
        None if item.any_price => Err(Refusal::MissingPrice),
        Some(_) if !item.any_price => Err(Refusal::FixedPrice),
        Some(price) if price < item.min_price => Err(Refusal::BelowMinimum(item.min_price.minor())),
        _ => Ok(()),
    }
}

/// Lines whose item is no longer published go with this write (ruling 8).
fn with(cart: &Cart, items: &Items, wish: &Wish) -> Result<Cart, Refusal> {
    let mut cart = cart.clone();
    cart.lines.retain(|line| items.contains_key(&line.item));
    let same = |line: &&mut Line| {
        line.item == wish.item
            && line.variables == wish.variables
            && line.server == wish.server
            && line.price == wish.price
            && line.payment_type == wish.payment_type
            && !line.promoted
    };
    if let Some(line) = cart.lines.iter_mut().find(same) {
        line.count = line.count.saturating_add(wish.count);
        return Ok(cart);
    }
    if cart.lines.len() >= MAX_LINES {
        return Err(Refusal::Full);
    }
    cart.lines.push(Line {
        id: LineId::new(cart.next_line),
        item: wish.item,
        count: wish.count,
        variables: wish.variables.clone(),
        server: wish.server,
        price: wish.price,
        payment_type: wish.payment_type,
        promoted: false,
    });
    cart.next_line = cart.next_line.saturating_add(1);
    Ok(cart)
}

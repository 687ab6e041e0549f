//! Whether an item can be added to a cart, and the cart with it.

use super::cart::is_own_step;
use super::pricing::{Limits, availability, is_cumulative};
use crate::model::{Cart, Item, ItemId, Items, Ledger, Line, LineId, LineVariable, Money, PaymentType, ServerId, Sold};

/// A line that is to be added to a cart.
#[derive(Debug, Clone)]
pub struct LineToAdd {
    /// The item.
    pub item: ItemId,
    /// Units.
    pub count: u32,
    /// Chosen variables, by id.
    pub variables: Vec<LineVariable>,
    /// The selected server.
    pub server: Option<ServerId>,
    /// The buyer's price for one unit.
    pub price: Option<Money>,
    /// How it is bought.
    pub payment_type: PaymentType,
}

/// Why a line is not added, in the order in which the reasons are checked. The text is a sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddLineRefusal {
    /// The item is not published.
    #[error("This item is not available.")]
    NotPublished,
    /// The item is not active.
    #[error("This item is not on sale.")]
    Inactive,
    /// The item is sold for virtual currency, which the store does not use.
    #[error("This item is sold for virtual currency, which this store does not use.")]
    NoVirtualCurrency,
    /// A quantity of zero.
    #[error("The quantity must be at least 1.")]
    NoUnits,
    /// A variable that the item does not have.
    #[error("This item has no variable {0}.")]
    UnknownVariable(u64),
    /// A variable with two values.
    #[error("\"{name}\" is given twice.")]
    DuplicateVariable {
        /// The variable's name.
        name: String,
    },
    /// A value that is not one of the variable's options.
    #[error("\"{name}\" must be one of: {options}.")]
    WrongOption {
        /// The variable's name.
        name: String,
        /// The options, separated by commas.
        options: String,
    },
    /// A variable without a value.
    #[error("\"{name}\" is missing.")]
    MissingVariable {
        /// The variable's id.
        id: u64,
        /// The variable's name.
        name: String,
    },
    /// A server that the item is not delivered to.
    #[error("This item cannot be delivered to the selected server.")]
    WrongServer(ServerId),
    /// No server is selected.
    #[error("A server must be selected for this item.")]
    MissingServer,
    /// A subscription to an item that has none.
    #[error("This item is not a subscription.")]
    NotASubscription,
    /// No price is chosen for an any-price item.
    #[error("A price must be chosen for this item.")]
    MissingPrice,
    /// A chosen price for an item that has a price.
    #[error("The price of this item cannot be chosen.")]
    FixedPrice,
    /// A chosen price below the item's minimum.
    #[error("The price is below this item's minimum.")]
    BelowMinimum {
        /// The minimum.
        minimum: Money,
    },
    /// A chosen price above the largest amount.
    #[error("The price is too high.")]
    PriceTooHigh,
    /// More than one unit of an item of a cumulative category.
    #[error("Only one of this item can be bought.")]
    OnlyOne,
    /// More units than are left in all.
    #[error("{}", only(*.left))]
    GlobalLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than the buyer may buy.
    #[error("{} The limit is per buyer.", only(*.left))]
    UserLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// The buyer owns the item, or one of its category whose regular price is not lower.
    #[error("This item, or one that includes it, is owned already.")]
    Owned,
    /// The cart has no room for another line.
    #[error("The cart is full: it has at most {} lines.", Cart::MAX_LINES)]
    Full,
}

fn only(left: u64) -> String {
    if left == 0 { "No more can be bought.".to_owned() } else { format!("Only {left} more can be bought.") }
}

/// A cart with the line in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The cart.
    pub cart: Cart,
    /// The items whose lines the new one replaces: other steps of its cumulative category.
    pub replaced: Vec<ItemId>,
}

/// The cart with the line in it: more units of an equal line, or a line of its own. Ownership, the limit per user and
/// the one step of a category that a cart has concern only lines for the buyer. The recipient's limit on a gift is
/// checked when it is paid (rules.md, "Gifts").
///
/// # Errors
/// The first [`AddLineRefusal`] that applies.
pub fn place(
    cart: &Cart,
    items: &Items,
    sold: &Sold,
    ledger: &Ledger,
    wanted: &LineToAdd,
    has_virtual_currency: bool,
) -> Result<Placed, AddLineRefusal> {
    let published = items.get(&wanted.item).ok_or(AddLineRefusal::NotPublished)?;
    let item = &published.item;
    if !item.active {
        return Err(AddLineRefusal::Inactive);
    }
    if item.virtual_only && !has_virtual_currency {
        return Err(AddLineRefusal::NoVirtualCurrency);
    }
    if wanted.count == 0 {
        return Err(AddLineRefusal::NoUnits);
    }
    check_variables(item, &wanted.variables)?;
    check_server(item, wanted.server)?;
    check_price(item, wanted)?;
    let is_gift = wanted.payment_type == PaymentType::Gift;
    let units = |counts: &dyn Fn(&Line) -> bool| -> u64 {
        let lines = cart.lines.iter().filter(|line| line.item == wanted.item && counts(line));
        lines.map(|line| u64::from(line.count)).sum()
    };
    let in_cart = units(&|_| true);
    let alike = units(&|line| (line.payment_type == PaymentType::Gift) == is_gift);
    let count = u64::from(wanted.count);
    if is_cumulative(item, &published.price_tiers) && alike + count > 1 {
        return Err(AddLineRefusal::OnlyOne);
    }
    let buyer = (!is_gift).then_some(ledger);
    let limits = Limits::of(item, sold, buyer);
    if let Some(left) = left(limits.global, limits.global_current).filter(|left| in_cart + count > *left) {
        return Err(AddLineRefusal::GlobalLimit { left: left.saturating_sub(in_cart) });
    }
    if let Some(left) = left(limits.user, limits.user_current).filter(|left| alike + count > *left) {
        return Err(AddLineRefusal::UserLimit { left: left.saturating_sub(alike) });
    }
    if availability(item, &published.price_tiers, sold, buyer).unavailable {
        return Err(AddLineRefusal::Owned);
    }
    with(cart, items, wanted)
}

fn left(limit: Option<u32>, current: Option<u64>) -> Option<u64> {
    limit.map(|limit| u64::from(limit).saturating_sub(current.unwrap_or_default()))
}

fn check_variables(item: &Item, chosen: &[LineVariable]) -> Result<(), AddLineRefusal> {
    for (place, choice) in chosen.iter().enumerate() {
        let variable = item.variables.iter().find(|variable| variable.id == choice.id);
        let variable = variable.ok_or(AddLineRefusal::UnknownVariable(choice.id))?;
        let name = variable.name.clone();
        if chosen.iter().take(place).any(|other| other.id == choice.id) {
            return Err(AddLineRefusal::DuplicateVariable { name });
        }
        if !variable.options.is_empty() && !variable.options.contains(&choice.value) {
            return Err(AddLineRefusal::WrongOption { name, options: variable.options.join(", ") });
        }
    }
    let is_missing = |id: u64| chosen.iter().all(|choice| choice.id != id);
    match item.variables.iter().find(|variable| is_missing(variable.id)) {
        Some(missing) => Err(AddLineRefusal::MissingVariable { id: missing.id, name: missing.name.clone() }),
        None => Ok(()),
    }
}

fn check_server(item: &Item, selected: Option<ServerId>) -> Result<(), AddLineRefusal> {
    match selected {
        Some(server) if !(item.allow_select_server && item.servers.iter().any(|known| known.id == server)) => {
            Err(AddLineRefusal::WrongServer(server))
        }
        None if item.allow_select_server => Err(AddLineRefusal::MissingServer),
        _ => Ok(()),
    }
}

fn check_price(item: &Item, wanted: &LineToAdd) -> Result<(), AddLineRefusal> {
    if wanted.payment_type == PaymentType::Subscription && !item.is_subscription {
        return Err(AddLineRefusal::NotASubscription);
    }
    match wanted.price {
        None if item.any_price => Err(AddLineRefusal::MissingPrice),
        Some(_) if !item.any_price => Err(AddLineRefusal::FixedPrice),
        Some(price) if price < item.min_price => Err(AddLineRefusal::BelowMinimum { minimum: item.min_price }),
        Some(price) if price > Money::LARGEST => Err(AddLineRefusal::PriceTooHigh),
        _ => Ok(()),
    }
}

/// Adds the line. Another step of the item's cumulative category is removed (rules.md, "Cumulative categories").
fn with(cart: &Cart, items: &Items, wanted: &LineToAdd) -> Result<Placed, AddLineRefusal> {
    let mut cart = cart.clone();
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
        gift_to: None,
    };
    let category = |line: &Line| {
        let published = items.get(&line.item)?;
        is_own_step(line, published).then_some(published.category)
    };
    let step = category(&line);
    let is_other_step = |other: &Line| step.is_some() && category(other) == step;
    let replaced = cart.lines.iter().filter(|other| is_other_step(other)).map(|other| other.item).collect();
    cart.lines.retain(|other| !is_other_step(other));
    if cart.lines.len() >= Cart::MAX_LINES {
        return Err(AddLineRefusal::Full);
    }
    cart.lines.push(line);
    cart.next_line = cart.next_line.saturating_add(1);
    Ok(Placed { cart, replaced })
}

#[cfg(test)]
#[path = "add_line_tests.rs"]
mod tests;

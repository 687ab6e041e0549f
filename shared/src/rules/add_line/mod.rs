//! Whether a line can be added to a cart or changed, and the cart with it (rules.md, "Adding and changing lines").

mod check;

pub use check::LineRefusal;
pub(in crate::rules) use check::{ALREADY_SUBSCRIBED, SUBSCRIPTION_NOT_ALONE};

use super::cart::{is_own_step, with_valid_choices};
use super::command_servers::are_too_many;
use super::sets::is_own_choice;
use super::{sets, variable};
use crate::model::{
    Cart, Item, ItemId, Items, Line, LineId, LineVariable, Money, PaymentType, PlayerName, PublishedItem, ServerId,
    StoreDelivery, UserName,
};
use crate::rules::pricing::{Buyer, Terms};
use check::{check, recipients};
use std::borrow::Cow;

/// A line that is to be added to a cart. It may lack choices, see [`missing`](super::cart::missing).
#[derive(Debug, Clone)]
pub struct LineToAdd {
    pub item: ItemId,
    pub count: u32,
    /// Chosen variables, in any order.
    pub variables: Vec<LineVariable>,
    pub server: Option<ServerId>,
    pub price: Option<Money>,
    pub payment_type: PaymentType,
    /// Whether it is added from a promotion; ignored if the item is not promoted, and for gifts and subscriptions.
    pub promoted: bool,
    pub gift_to: Option<PlayerName>,
    pub is_recipient_banned: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub cart: Cart,
    /// The line that was added, or that has more units now.
    pub line: LineId,
    /// The items whose lines the new one replaces: other steps of its cumulative category, or others of one of whose items a
    /// player has one.
    pub replaced: Vec<ItemId>,
}

/// The cart with the line in it: more units of an equal line, or a line of its own. Ownership, the limit per user and
/// the one step of a category that a cart has concern only lines for the buyer. The recipient's are checked when a gift
/// is paid (rules.md, "Gifts"). Fails with the first [`LineRefusal`] that applies.
pub fn place(inputs: &CartInputs<'_>, wanted: &LineToAdd) -> Result<Placed, LineRefusal> {
    if wanted.count == 0 {
        return Err(LineRefusal::NoUnits);
    }
    let published = inputs.items.get(&wanted.item).ok_or(LineRefusal::NotPublished)?;
    let new = line(inputs.cart, &published.item, wanted);
    let equal = inputs.cart.lines.iter().find(|line| is_equal(line, &new));
    let placed = match equal {
        Some(equal) => Line { count: equal.count.saturating_add(wanted.count), ..equal.clone() },
        None => new,
    };
    check(inputs, published, &placed, equal)?;
    if wanted.is_recipient_banned {
        return Err(LineRefusal::Banned);
    }
    check_company(inputs.cart, &placed)?;
    with(inputs, placed)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Count(u32),
    /// The value of a variable.
    Variable(LineVariable),
    Server(ServerId),
    /// The buyer's price for one unit.
    Price(Money),
}

/// The line that is to be changed; `None` if it has that many units already. Nothing needs to be read for that:
/// storefronts send the count of every line when the cart is opened.
pub fn to_change<'a>(cart: &'a Cart, id: LineId, change: &Change) -> Result<Option<&'a Line>, LineRefusal> {
    let line = cart.line(id).ok_or(LineRefusal::NoSuchLine)?;
    Ok((*change != Change::Count(line.count)).then_some(line))
}

/// The cart with a changed line; `None` if nothing changes. The whole line is checked as if it were added now. Choices
/// that its item no longer has are unset. A line that becomes equal to another stays a line of its own. Fails with the
/// first [`LineRefusal`] that applies.
pub fn change(inputs: &CartInputs<'_>, id: LineId, change: &Change) -> Result<Option<Cart>, LineRefusal> {
    let Some(old) = to_change(inputs.cart, id, change)? else { return Ok(None) };
    if *change == Change::Count(0) {
        return Err(LineRefusal::NoUnits);
    }
    let published = inputs.items.get(&old.item).ok_or(LineRefusal::NotPublished)?;
    let mut new = with_valid_choices(old, &published.item);
    match change {
        Change::Count(count) => new.count = *count,
        Change::Variable(choice) => {
            new.variables.retain(|other| other.id != choice.id);
            let place = new.variables.partition_point(|other| other.id < choice.id);
            new.variables.insert(place, as_stored(&published.item, choice.clone()));
        }
        Change::Server(server) => new.server = Some(*server),
        Change::Price(price) => new.price = Some(*price),
    }
    check(inputs, published, &new, Some(old))?;
    if new == *old {
        return Ok(None);
    }
    let mut cart = inputs.cart.clone();
    cart.lines.iter_mut().filter(|line| line.id == new.id).for_each(|line| line.clone_from(&new));
    Ok(Some(cart))
}

/// A choice with its value as it is stored. One that is not right stays as it is, and is refused.
fn as_stored(item: &Item, choice: LineVariable) -> LineVariable {
    let variable = item.variables.iter().find(|variable| variable.id == choice.id);
    let value = variable.and_then(|variable| variable::parse(variable, &choice.value).ok());
    match value.map(Cow::into_owned) {
        Some(value) => LineVariable { value, ..choice },
        None => choice,
    }
}

/// The line as it would be added to a cart without an equal one.
fn line(cart: &Cart, item: &Item, wanted: &LineToAdd) -> Line {
    let variables = wanted.variables.iter().cloned();
    let mut variables: Vec<_> = variables.map(|choice| as_stored(item, choice)).collect();
    variables.sort_by_key(|variable| variable.id);
    Line {
        id: cart.new_line_id(wanted.item),
        item: wanted.item,
        count: wanted.count,
        variables,
        server: wanted.server,
        price: wanted.price,
        payment_type: wanted.payment_type,
        promoted: wanted.promoted && item.promotion.is_some() && wanted.payment_type.is_one_off(),
        gift_to: wanted.gift_to.clone(),
    }
}

/// Whether two lines are of the same item with the same choices.
fn is_equal(line: &Line, other: &Line) -> bool {
    let recipient = |line: &Line| line.gift_to.as_ref().map(|name| name.key().clone());
    line.item == other.item
        && line.variables == other.variables
        && line.server == other.server
        && line.price == other.price
        && line.payment_type == other.payment_type
        && line.promoted == other.promoted
        && recipient(line) == recipient(other)
}

/// Checks a line against the other lines of the cart.
fn check_company(cart: &Cart, placed: &Line) -> Result<(), LineRefusal> {
    let is_subscription = |line: &Line| line.payment_type == PaymentType::Subscription;
    let mut others = cart.lines.iter().filter(|line| line.id != placed.id);
    if others.any(|other| is_subscription(placed) || is_subscription(other)) {
        return Err(LineRefusal::SubscriptionNotAlone);
    }
    if recipients(cart.lines.iter().chain([placed])) > Cart::MAX_RECIPIENTS {
        return Err(LineRefusal::TooManyRecipients);
    }
    Ok(())
}

/// Adds the line, or replaces the one with its id. Another step of the item's cumulative category is removed (rules.md,
/// "Cumulative categories"), and another item of a category of which a player has one.
fn with(inputs: &CartInputs<'_>, placed: Line) -> Result<Placed, LineRefusal> {
    let mut cart = inputs.cart.clone();
    let id = placed.id;
    if let Some(line) = cart.lines.iter_mut().find(|line| line.id == id) {
        *line = placed;
        return Ok(Placed { cart, line: id, replaced: Vec::new() });
    }
    let category = |line: &Line| {
        let published = inputs.items.get(&line.item)?;
        (is_own_step(line, published) || is_own_choice(line, published)).then_some(published.category)
    };
    let step = category(&placed);
    let is_other_step = |other: &Line| step.is_some() && category(other) == step;
    let replaced = cart.lines.iter().filter(|other| is_other_step(other)).map(|other| other.item).collect();
    cart.lines.retain(|other| !is_other_step(other));
    cart.lines.push(placed);
    // An order has a line for each part of a bundle.
    let lines: Vec<(&PublishedItem, &Line)> = cart.lines.iter().flat_map(|line| given(inputs.items, line)).collect();
    if cart.lines.len().max(lines.len()) > Cart::MAX_LINES {
        return Err(LineRefusal::Full);
    }
    if are_too_many(lines, inputs.delivery) {
        return Err(LineRefusal::TooManyCommands);
    }
    cart.next_line = id.get().saturating_add(1);
    Ok(Placed { cart, line: id, replaced })
}

/// What a line gives, if its item is published: it, and the parts of a bundle.
fn given<'a>(items: &'a Items, line: &'a Line) -> Vec<(&'a PublishedItem, &'a Line)> {
    let Some(published) = items.get(&line.item) else { return Vec::new() };
    sets::items(published, line).map(|given| (given, line)).collect()
}

/// Everything besides the line itself that decides about it.
#[derive(Debug, Clone, Copy)]
pub struct CartInputs<'a> {
    pub cart: &'a Cart,
    /// The items of the cart's lines and of the line to add.
    pub items: &'a Items,
    pub terms: Terms<'a>,
    pub owner: Buyer<'a>,
    /// The owner's name.
    pub buyer: &'a str,
    pub has_virtual_currency: bool,
    /// The commands of every sale.
    pub delivery: &'a StoreDelivery,
}

impl CartInputs<'_> {
    /// Whether a recipient is the buyer, without regard to case.
    pub(super) fn is_buyer(&self, recipient: &PlayerName) -> bool {
        UserName::parse(self.buyer).is_ok_and(|buyer| buyer == *recipient.key())
    }

    /// Units of an item in the lines that `counts` is true of, those of bundles included.
    pub(super) fn units(&self, item: ItemId, counts: impl Fn(&Line) -> bool) -> u64 {
        let gives = |line: &Line| given(self.items, line).iter().any(|(given, _)| given.item.id == item);
        let lines = self.cart.lines.iter().filter(|line| counts(line) && (line.item == item || gives(line)));
        lines.map(|line| u64::from(line.count)).sum()
    }
}

#[cfg(test)]
mod place_tests;

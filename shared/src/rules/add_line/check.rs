//! The checks of every line of a cart, whether it is added or changed, and the reason why one is not.

use super::CartInputs;
use crate::model::{Cart, Item, Line, LineVariable, Money, PaymentType, PlayerName, PublishedItem, ServerId, UserName};
use crate::money::date_and_time;
use crate::rules::cart::{is_promoted, is_single};
use crate::rules::command_servers::{MOST_COMMANDS, MOST_PER_UNIT, runs_per_unit};
use crate::rules::limits;
use crate::rules::pricing::{Buyer, availability};
use crate::rules::sets::{self, Hindrance, exclude_each_other, is_own_choice, of_line, parts, player};
use crate::rules::variable::{self, WrongValue};
use std::collections::BTreeSet;

/// Checks a line that takes the place of `old`, or is added if there is none.
pub(super) fn check(
    inputs: &CartInputs<'_>,
    published: &PublishedItem,
    line: &Line,
    old: Option<&Line>,
) -> Result<(), LineRefusal> {
    let item = &published.item;
    let now = inputs.terms.now;
    if item.is_off_sale(now) {
        return Err(LineRefusal::Inactive);
    }
    if let Some(begins) = item.on_sale.begins(now) {
        return Err(LineRefusal::NotYet { begins });
    }
    if item.virtual_only && !inputs.has_virtual_currency {
        return Err(LineRefusal::NoVirtualCurrency);
    }
    if line.count > Line::MAX_COUNT {
        return Err(LineRefusal::TooManyUnits);
    }
    let mut given = sets::items(published, line);
    if line.count > MOST_PER_UNIT && given.any(|given| runs_per_unit(given, inputs.delivery)) {
        return Err(LineRefusal::AtOnce { most: MOST_PER_UNIT });
    }
    check_payment(inputs, item, line)?;
    check_variables(item, &line.variables)?;
    check_server(item, line.server)?;
    check_price(item, line)?;
    check_limits(inputs, published, line, old)
}

fn check_payment(inputs: &CartInputs<'_>, item: &Item, line: &Line) -> Result<(), LineRefusal> {
    match (line.payment_type, &line.gift_to) {
        (PaymentType::Subscription, _) if !item.is_subscription => Err(LineRefusal::NotASubscription),
        (PaymentType::OneOff, _) if item.is_subscription => Err(LineRefusal::SubscriptionOnly),
        // A gift is paid once, which a subscription is not.
        (PaymentType::Gift, _) if !item.gifting || item.is_subscription => Err(LineRefusal::NoGifting),
        (PaymentType::Gift, None) => Err(LineRefusal::NoRecipient),
        (PaymentType::Gift, Some(recipient)) if inputs.is_buyer(recipient) => Err(LineRefusal::GiftToOneself),
        (PaymentType::OneOff | PaymentType::Subscription, Some(_)) => Err(LineRefusal::NotAGift),
        _ => Ok(()),
    }
}

fn check_variables(item: &Item, chosen: &[LineVariable]) -> Result<(), LineRefusal> {
    for (place, choice) in chosen.iter().enumerate() {
        let variable = item.variables.iter().find(|variable| variable.id == choice.id);
        let variable = variable.ok_or(LineRefusal::UnknownVariable(choice.id))?;
        let name = || variable.name.clone();
        if chosen.iter().take(place).any(|other| other.id == choice.id) {
            return Err(LineRefusal::DuplicateVariable { name: name() });
        }
        variable::parse(variable, &choice.value).map_err(|wrong| LineRefusal::WrongValue { name: name(), wrong })?;
    }
    Ok(())
}

fn check_server(item: &Item, selected: Option<ServerId>) -> Result<(), LineRefusal> {
    match selected {
        Some(server) if !(item.allow_select_server && item.servers.iter().any(|known| known.id == server)) => {
            Err(LineRefusal::WrongServer(server))
        }
        _ => Ok(()),
    }
}

fn check_price(item: &Item, line: &Line) -> Result<(), LineRefusal> {
    match line.price {
        Some(_) if !item.any_price || is_promoted(line, item) => Err(LineRefusal::FixedPrice),
        Some(price) if price < item.min_price => Err(LineRefusal::BelowMinimum { minimum: item.min_price }),
        Some(price) if price > Money::LARGEST => Err(LineRefusal::PriceTooHigh),
        _ => Ok(()),
    }
}

/// Checks the units of the line's item in the whole cart, and whether the buyer may buy it at all.
fn check_limits(
    inputs: &CartInputs<'_>,
    published: &PublishedItem,
    line: &Line,
    old: Option<&Line>,
) -> Result<(), LineRefusal> {
    let item = &published.item;
    let count = u64::from(line.count);
    let replaced = old.map_or(0, |old| u64::from(old.count));
    let in_cart = inputs.units(item.id, |_| true);
    let alike = inputs.units(item.id, |other| counts_for(other) == counts_for(line));
    if is_single(published) && alike.saturating_sub(replaced) + count > 1 {
        return Err(LineRefusal::OnlyOne);
    }
    if let Some(most) = item.most.filter(|most| in_cart.saturating_sub(replaced) + count > u64::from(*most)) {
        return Err(LineRefusal::AtOnce { most });
    }
    let buyer = (line.payment_type != PaymentType::Gift).then_some(inputs.owner);
    for standing in limits::of(item, inputs.terms, buyer, line.server) {
        let counts = |other: &Line| {
            let is_player = !standing.per_user || counts_for(other) == counts_for(line);
            is_player && standing.server.is_none_or(|server| other.server == Some(server))
        };
        let (units, replaced) = (inputs.units(item.id, counts), old.filter(|old| counts(old)).map_or(0, |_| replaced));
        if units.saturating_sub(replaced) + count <= standing.left() {
            continue;
        }
        // The units in the cart now are subtracted from what is left: the buyer has them already.
        let left = standing.left().saturating_sub(units);
        return Err(match standing.again {
            Some(at) => LineRefusal::Later { at },
            None if standing.per_user => LineRefusal::UserLimit { left },
            None if standing.server.is_some() => LineRefusal::ServerLimit { left },
            None => LineRefusal::GlobalLimit { left },
        });
    }
    if item.is_subscription && inputs.owner.subscribes_to(item.id) {
        return Err(LineRefusal::AlreadySubscribed);
    }
    check_parts(inputs, published, line, buyer)?;
    if let Some(hindrance) = of_line(item, line, inputs.terms, inputs.owner) {
        return Err(LineRefusal::Hindered(hindrance));
    }
    check_apart(inputs, published, line)?;
    if availability(item, &published.price_tiers, inputs.terms, buyer).unavailable {
        return Err(LineRefusal::Owned);
    }
    Ok(())
}

/// Checks the units of a bundle's parts in the whole cart.
fn check_parts(
    inputs: &CartInputs<'_>,
    published: &PublishedItem,
    line: &Line,
    buyer: Option<Buyer<'_>>,
) -> Result<(), LineRefusal> {
    for part in parts(published, line) {
        let item = &part.item;
        let units = |counts: &dyn Fn(&Line) -> bool| {
            u64::from(line.count) + inputs.units(item.id, |other| other.id != line.id && counts(other))
        };
        let all = units(&|_| true);
        let alike = units(&|other| counts_for(other) == counts_for(line));
        let server = line.server.filter(|_| item.allow_select_server);
        let mut standings = limits::of(item, inputs.terms, buyer, server);
        let exceeded = standings.find(|standing| if standing.per_user { alike } else { all } > standing.left());
        if let Some(standing) = exceeded {
            return Err(match standing.again {
                Some(at) => LineRefusal::Later { at },
                None if standing.per_user => LineRefusal::Hindered(Hindrance::PartLimit(item.name.clone())),
                None if standing.server.is_some() => LineRefusal::Hindered(Hindrance::PartServer(item.name.clone())),
                None => LineRefusal::Hindered(Hindrance::PartSoldOut(item.name.clone())),
            });
        }
        if let Some(most) = item.most.filter(|most| all > u64::from(*most)) {
            return Err(LineRefusal::AtOnce { most });
        }
    }
    Ok(())
}

/// Checks a line against the others of its player. One that takes the place of others of its category replaces them.
fn check_apart(inputs: &CartInputs<'_>, published: &PublishedItem, line: &Line) -> Result<(), LineRefusal> {
    let others = inputs.cart.lines.iter().filter(|other| other.id != line.id && player(other) == player(line));
    let mut others = others.filter_map(|other| Some((other, inputs.items.get(&other.item)?)));
    let apart = others.find(|(other, of)| {
        let is_replaced =
            is_own_choice(line, published) && is_own_choice(other, of) && of.category == published.category;
        let given = |published, line| sets::items(published, line).collect::<Vec<_>>();
        !is_replaced && exclude_each_other(&given(of.as_ref(), other), &given(published, line))
    });
    match apart {
        Some((_, other)) => Err(LineRefusal::Hindered(Hindrance::Together(other.item.name.clone()))),
        None => Ok(()),
    }
}

/// Whether a line is a gift, and its recipient. Equal for two lines that count for the same player.
fn counts_for(line: &Line) -> (bool, Option<&UserName>) {
    (line.payment_type == PaymentType::Gift, line.gift_to.as_ref().map(PlayerName::key))
}

pub(super) fn recipients<'a>(lines: impl Iterator<Item = &'a Line>) -> usize {
    lines.filter_map(|line| Some(line.gift_to.as_ref()?.key())).collect::<BTreeSet<_>>().len()
}

/// Sentences of both cart/add and a checkout.
pub(in crate::rules) const ALREADY_SUBSCRIBED: &str = "You already have this subscription.";
pub(in crate::rules) const SUBSCRIPTION_NOT_ALONE: &str =
    "A subscription is bought separately: it cannot be in a cart with other items.";

/// The reason why a line is not placed or changed, in the order in which the reasons are checked. The text is a
/// sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineRefusal {
    /// The cart has no such line. Storefronts look for "does not exist".
    #[error("This line does not exist.")]
    NoSuchLine,
    #[error("The quantity must be at least 1.")]
    NoUnits,
    #[error("This item is not available.")]
    NotPublished,
    #[error("This item is not on sale.")]
    Inactive,
    #[error("This item is on sale from {} UTC.", date_and_time(*.begins))]
    NotYet {
        /// Seconds since 1970 UTC.
        begins: i64,
    },
    #[error("This item is sold for virtual currency, which this store does not use.")]
    NoVirtualCurrency,
    #[error("The quantity must be at most {}.", Line::MAX_COUNT)]
    TooManyUnits,
    /// More units than one order may have of the item.
    #[error("At most {most} of this item can be bought at once.")]
    AtOnce {
        /// The most units.
        most: u32,
    },
    #[error("This item is not a subscription.")]
    NotASubscription,
    #[error("This item can only be bought as a subscription.")]
    SubscriptionOnly,
    #[error("This item cannot be bought as a gift.")]
    NoGifting,
    #[error("The name of the player who receives the gift is missing.")]
    NoRecipient,
    #[error("Only a gift has a recipient.")]
    NotAGift,
    #[error("A gift must be for another player.")]
    GiftToOneself,
    #[error("This item has no variable {0}.")]
    UnknownVariable(u64),
    #[error("\"{name}\" is given twice.")]
    DuplicateVariable { name: String },
    #[error("\"{name}\" {wrong}.")]
    WrongValue {
        name: String,
        /// The reason why it is not right.
        wrong: WrongValue,
    },
    #[error("This item cannot be delivered to the selected server.")]
    WrongServer(ServerId),
    /// A chosen price for an item that has a price, or for a line at the promoted price.
    #[error("The price of this item cannot be chosen.")]
    FixedPrice,
    #[error("The price is below this item's minimum.")]
    BelowMinimum { minimum: Money },
    #[error("The price is too high.")]
    PriceTooHigh,
    /// More than one unit of a subscription or of an item of a cumulative category.
    #[error("Only one of this item can be bought.")]
    OnlyOne,
    /// A limit in time is reached.
    #[error("No more can be bought until {} UTC.", date_and_time(*.at))]
    Later {
        /// Seconds since 1970 UTC.
        at: i64,
    },
    /// More units than are left in all.
    #[error("{}", only(*.left))]
    GlobalLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than are left for the selected server.
    #[error("{} The limit is per server: select another one.", only(*.left))]
    ServerLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// More units than the buyer may buy.
    #[error("{} The limit is per buyer.", only(*.left))]
    UserLimit {
        /// The units that can still be added.
        left: u64,
    },
    /// The buyer has the item as a subscription that gives access.
    #[error("{ALREADY_SUBSCRIBED}")]
    AlreadySubscribed,
    #[error("This item cannot be bought: {0}.")]
    Hindered(Hindrance),
    /// The buyer owns the item, or one of its category whose regular price is not lower.
    #[error("This item, or one that includes it, is owned already.")]
    Owned,
    #[error("This player cannot receive gifts.")]
    Banned,
    #[error("{SUBSCRIPTION_NOT_ALONE}")]
    SubscriptionNotAlone,
    #[error("A cart can have gifts for at most {} players.", Cart::MAX_RECIPIENTS)]
    TooManyRecipients,
    #[error("The cart is full: it has at most {} lines.", Cart::MAX_LINES)]
    Full,
    /// The lines would make more commands on game servers than an order may.
    #[error("One order can run at most {MOST_COMMANDS} commands on game servers. Pay for what is in your cart first.")]
    TooManyCommands,
}

fn only(left: u64) -> String {
    if left == 0 { "No more can be bought.".to_owned() } else { format!("Only {left} more can be bought.") }
}

//! The checks of every line of a cart, whether it is added or changed.

use super::CartInputs;
use super::refusal::LineRefusal;
use crate::model::{Item, Line, LineVariable, Money, PaymentType, PlayerName, PublishedItem, ServerId, UserName};
use crate::rules::command_servers::{MOST_PER_UNIT, runs_per_unit};
use crate::rules::missing::is_promoted;
use crate::rules::pricing::{Limits, availability, is_cumulative};
use crate::rules::variable;
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
    if line.count > MOST_PER_UNIT && runs_per_unit(published, inputs.delivery) {
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
    let single = item.is_subscription || is_cumulative(item, &published.price_tiers);
    if single && alike.saturating_sub(replaced) + count > 1 {
        return Err(LineRefusal::OnlyOne);
    }
    if let Some(most) = item.most.filter(|most| in_cart.saturating_sub(replaced) + count > u64::from(*most)) {
        return Err(LineRefusal::AtOnce { most });
    }
    let buyer = (line.payment_type != PaymentType::Gift).then_some(inputs.owner);
    let limits = Limits::of(item, inputs.terms, buyer);
    // The units in the cart now are subtracted from what is left: the buyer has them already.
    let exceeded = |limit: Option<u32>, current: Option<u64>, units: u64| {
        let left = limit.map(|limit| u64::from(limit).saturating_sub(current.unwrap_or_default()))?;
        (units.saturating_sub(replaced) + count > left).then(|| left.saturating_sub(units))
    };
    if let Some(left) = exceeded(limits.global, limits.global_current, in_cart) {
        return Err(LineRefusal::GlobalLimit { left });
    }
    if let Some(left) = exceeded(limits.user, limits.user_current, alike) {
        return Err(LineRefusal::UserLimit { left });
    }
    if item.is_subscription && inputs.owner.subscribes_to(item.id) {
        return Err(LineRefusal::AlreadySubscribed);
    }
    if availability(item, &published.price_tiers, inputs.terms, buyer).unavailable {
        return Err(LineRefusal::Owned);
    }
    Ok(())
}

/// Whether a line is a gift, and its recipient. Equal for two lines that count for the same player.
fn counts_for(line: &Line) -> (bool, Option<&UserName>) {
    (line.payment_type == PaymentType::Gift, line.gift_to.as_ref().map(PlayerName::key))
}

pub(super) fn recipients<'a>(lines: impl Iterator<Item = &'a Line>) -> usize {
    lines.filter_map(|line| Some(line.gift_to.as_ref()?.key())).collect::<BTreeSet<_>>().len()
}

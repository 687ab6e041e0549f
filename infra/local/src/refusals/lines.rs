//! Lines that are not added to a cart, or not changed (rules.md, "Adding and changing lines").

use super::{Shop, TryCall, TryRefusal, Who, has_no_choices, is_cumulative, is_simple, number_of};
use serde_json::{Value, json};
use shared::model::{Cart, Item, Line, Money, PaymentType, ServerId};
use shared::rules::add_line::LineRefusal;
use shared::rules::variable;

const GIFT: u8 = number_of(PaymentType::Gift);
const SUBSCRIPTION: u8 = number_of(PaymentType::Subscription);

pub(super) fn all(shop: &Shop<'_>) -> Vec<TryRefusal> {
    let kinds = [items, units, payments, gifts, choices, prices, carts];
    kinds.into_iter().flat_map(|kind| kind(shop)).flatten().collect()
}

type Found = Vec<Option<TryRefusal>>;

/// A visitor adds an item.
fn refused(
    shop: &Shop<'_>,
    name: &'static str,
    item: Option<&Item>,
    body: Value,
    why: &LineRefusal,
) -> Option<TryRefusal> {
    Some(shop.visitor().refused(name, vec![TryCall::add(item?, body)], 422, why))
}

fn items(shop: &Shop<'_>) -> Found {
    let unknown = shop.compiled.items.iter().map(|published| published.item.id.get()).max().unwrap_or_default() + 1;
    let call = TryCall::new(format!("/cart/add/{unknown}"), json!({}));
    let inactive = shop.find(|published| !published.item.active);
    let owned = shop.bought().find_map(|(user, id, _)| {
        let item =
            shop.find(|published| published.item.id == id && is_cumulative(published) && published.item.active)?;
        let call = TryCall::add(item, json!({}));
        Some(shop.player(user)?.refused("an item that the player owns", vec![call], 422, LineRefusal::Owned))
    });
    vec![
        Some(shop.visitor().refused("an item that does not exist", vec![call], 422, LineRefusal::NotPublished)),
        refused(shop, "an item that is not on sale", inactive, json!({}), &LineRefusal::Inactive),
        owned,
    ]
}

fn units(shop: &Shop<'_>) -> Found {
    let sold_out = shop.find(|published| is_simple(&published.item) && shop.left(&published.item) == Some(0));
    let few = shop.find(|published| {
        is_simple(&published.item)
            && shop.left(&published.item).is_some_and(|left| left > 0 && left < u64::from(Line::MAX_COUNT))
    });
    let left = few.and_then(|item| shop.left(item)).unwrap_or_default();
    let own = shop.find(|published| {
        let item = &published.item;
        is_simple(item) && item.user_limit.is_some() && item.global_limit.is_none() && !is_cumulative(published)
    });
    let most = own.and_then(|item| item.user_limit).map_or(0, u64::from);
    let single = shop.find(|published| is_simple(&published.item) && is_cumulative(published));
    let too_many = shop.plain().map(|item| {
        let calls = vec![TryCall::add(item, json!({"count": Line::MAX_COUNT})), TryCall::add(item, json!({}))];
        shop.visitor().refused("more units than a line may have", calls, 422, LineRefusal::TooManyUnits)
    });
    vec![
        refused(shop, "an item that is sold out", sold_out, json!({}), &LineRefusal::GlobalLimit { left: 0 }),
        refused(shop, "more units than are left", few, json!({"count": left + 1}), &LineRefusal::GlobalLimit { left }),
        refused(
            shop,
            "more units than a player may buy",
            own,
            json!({"count": most + 1}),
            &LineRefusal::UserLimit { left: most },
        ),
        refused(shop, "two units of a rank", single, json!({"count": 2}), &LineRefusal::OnlyOne),
        too_many,
    ]
}

fn payments(shop: &Shop<'_>) -> Found {
    let subscription = shop.find(|published| published.item.active && published.item.is_subscription);
    let not_alone = shop.plain().zip(subscription).map(|(item, subscription)| {
        let second = TryCall::add(subscription, json!({"payment_type": SUBSCRIPTION}));
        let calls = vec![TryCall::add(item, json!({})), second];
        shop.visitor().refused("a subscription with another item", calls, 422, LineRefusal::SubscriptionNotAlone)
    });
    let body = json!({"payment_type": SUBSCRIPTION});
    vec![
        refused(shop, "a subscription to an item that has none", shop.plain(), body, &LineRefusal::NotASubscription),
        refused(shop, "a subscription that is bought once", subscription, json!({}), &LineRefusal::SubscriptionOnly),
        not_alone,
    ]
}

fn gifts(shop: &Shop<'_>) -> Found {
    let given = shop.find(|published| published.item.active && published.item.gifting);
    let gift = |name: &str| json!({"payment_type": GIFT, "gift_to": name});
    let for_other =
        |name: &'static str, item: Option<&Item>, body: Value, why: LineRefusal| refused(shop, name, item, body, &why);
    let own = given.map(|item| {
        let name = shop.visitor_name();
        let call = TryCall::add(item, gift(&name));
        Who::Visitor(name).refused("a gift for oneself", vec![call], 422, LineRefusal::GiftToOneself)
    });
    let banned = shop
        .live
        .users
        .iter()
        .find(|user| user.banned)
        .and_then(|user| for_other("a gift for a banned player", given, gift(&user.username), LineRefusal::Banned));
    let many = given.map(|item| {
        let calls =
            (0..=Cart::MAX_RECIPIENTS).map(|number| TryCall::add(item, gift(&format!("Friend{number}")))).collect();
        shop.visitor().refused("gifts for too many players", calls, 422, LineRefusal::TooManyRecipients)
    });
    let without_recipient = json!({"payment_type": GIFT});
    let once = json!({"gift_to": "Friend1"});
    vec![
        for_other("a gift of an item that cannot be given", shop.plain(), gift("Friend1"), LineRefusal::NoGifting),
        for_other("a gift without a recipient", given, without_recipient, LineRefusal::NoRecipient),
        for_other("a recipient of what is not a gift", given, once, LineRefusal::NotAGift),
        own,
        banned,
        many,
    ]
}

fn choices(shop: &Shop<'_>) -> Found {
    let served = shop.find(|published| published.item.active && published.item.allow_select_server);
    let other =
        served.map_or(0, |item| item.servers.iter().map(|server| server.id.get()).max().unwrap_or_default() + 1);
    let wrong_server = LineRefusal::WrongServer(ServerId::new(other));
    let mut found =
        vec![refused(shop, "a server that is not the item's", served, json!({"server_id": other}), &wrong_server)];
    let varied = shop.find(|published| published.item.active && !published.item.variables.is_empty());
    let unknown =
        varied.map_or(0, |item| item.variables.iter().map(|variable| variable.id).max().unwrap_or_default() + 1);
    let body = json!({"variables": {unknown.to_string(): "x"}});
    found.push(refused(
        shop,
        "a variable that the item does not have",
        varied,
        body,
        &LineRefusal::UnknownVariable(unknown),
    ));
    // A value that no variable takes, for each kind of variable.
    for (name, has_options) in [("a value that is not an option", true), ("a value of another kind", false)] {
        let of_kind =
            |item: &Item| item.variables.iter().position(|variable| variable.options.is_empty() != has_options);
        let item = shop.find(|published| published.item.active && of_kind(&published.item).is_some());
        let variable = item.and_then(|item| item.variables.get(of_kind(item)?));
        found.push(item.zip(variable).and_then(|(item, variable)| {
            let wrong = variable::check(variable, "/op @a").err()?;
            let why = LineRefusal::WrongValue { name: variable.name.clone(), wrong };
            refused(shop, name, Some(item), json!({"variables": {variable.id.to_string(): "/op @a"}}), &why)
        }));
    }
    found
}

fn prices(shop: &Shop<'_>) -> Found {
    let any = shop
        .find(|published| published.item.active && published.item.any_price && published.item.min_price > Money::ZERO);
    let minimum = any.map_or(Money::ZERO, |item| item.min_price);
    let price = |amount: i64| json!({"price": shop.money(Money::from_minor(amount))});
    vec![
        refused(shop, "a price for an item with a fixed one", shop.plain(), price(100), &LineRefusal::FixedPrice),
        refused(
            shop,
            "a price below the minimum",
            any,
            price(minimum.minor() - 1),
            &LineRefusal::BelowMinimum { minimum },
        ),
        refused(shop, "a price that is too high", any, price(Money::LARGEST.minor() + 1), &LineRefusal::PriceTooHigh),
    ]
}

fn carts(shop: &Shop<'_>) -> Found {
    let any =
        shop.find(|published| published.item.active && published.item.any_price && has_no_choices(&published.item));
    let full = any.map(|item| {
        let lines = 0..=i64::try_from(Cart::MAX_LINES).unwrap_or_default();
        let price = |more: i64| json!({"price": shop.money(Money::from_minor(item.min_price.minor() + more))});
        let calls = lines.map(|more| TryCall::add(item, price(more))).collect();
        shop.visitor().refused("more lines than a cart may have", calls, 422, LineRefusal::Full)
    });
    let missing = |name: &'static str, path: &str, body: Value, status: u16| {
        Some(shop.visitor().refused(name, vec![TryCall::new(path, body)], status, LineRefusal::NoSuchLine))
    };
    vec![
        full,
        missing("units of a line that does not exist", "/cart/reload/999", json!({"count": 1}), 200),
        missing("a price of a line that does not exist", "/cart/changePrice/999", json!({"price": "1"}), 422),
    ]
}

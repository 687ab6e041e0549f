//! Refusals of a gift, a subscription and a changed line, by example.

use super::place_tests::wanted;
use super::*;
use crate::model::{
    CategoryId, CommandTemplate, ItemDelivery, Items, Ledger, PublishedItem, Sold, StoreDelivery, SubscriptionStatus,
    UserId, UserSubscription,
};
use crate::rules::missing::{Missing, missing};
use crate::rules::pricing::Buyer;
use crate::rules::variable::WrongValue;
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: i64 = 1_000;
const PLAIN: u64 = 1;
const GIVEN: u64 = 2;
const MONTHLY: u64 = 3;
const CHOSEN: u64 = 4;
const ANY: u64 = 5;
const LIMITED: u64 = 6;

/// The items, each with what is particular to it.
fn items() -> Items {
    let item = |(id, more): (u64, Value)| {
        let mut item = json!({ "id": id, "name": "I", "price": 500, "active": true });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let item: Item = serde_json::from_value(item).unwrap();
        let published = PublishedItem {
            item,
            category: CategoryId::new(1),
            parent: None,
            price_tiers: Vec::new(),
            delivery: ItemDelivery::default(),
        };
        (ItemId::new(id), Arc::new(published))
    };
    let promotion = json!({ "price": 300, "sorting": 0 });
    let variables = json!([{ "id": 1, "name": "When", "options": ["Morning", "Evening"] }, { "id": 2, "name": "Who" }]);
    let chosen = json!({
        "allow_select_server": true, "servers": [{ "id": 1, "name": "A" }, { "id": 2, "name": "B" }],
        "variables": variables,
    });
    [
        (PLAIN, json!({ "promotion": promotion })),
        (GIVEN, json!({ "gifting": true, "promotion": promotion })),
        (MONTHLY, json!({ "is_subscription": true, "gifting": true })),
        (CHOSEN, chosen),
        (ANY, json!({ "any_price": true, "min_price": 200, "promotion": promotion })),
        (LIMITED, json!({ "user_limit": 5 })),
    ]
    .into_iter()
    .map(item)
    .collect()
}

/// A cart, and the items around it.
struct Shop {
    items: Items,
    sold: Sold,
    ledger: Ledger,
    subscriptions: Vec<UserSubscription>,
    cart: Cart,
    delivery: StoreDelivery,
}

impl Shop {
    fn open() -> Self {
        Self {
            items: items(),
            sold: Sold::new(),
            ledger: Ledger::default(),
            subscriptions: Vec::new(),
            cart: Cart::empty(UserId::new(1)),
            delivery: StoreDelivery::default(),
        }
    }

    fn inputs(&self) -> CartInputs<'_> {
        let Self { items, sold, ledger, subscriptions, cart, .. } = self;
        CartInputs {
            cart,
            items,
            sold,
            owner: Buyer { ledger, subscriptions, now: NOW },
            buyer: "Thornwick",
            has_virtual_currency: false,
            delivery: &self.delivery,
        }
    }

    fn add(&mut self, line: &LineToAdd) -> Result<LineId, LineRefusal> {
        let placed = place(&self.inputs(), line)?;
        self.cart = placed.cart;
        Ok(placed.line)
    }

    fn change(&mut self, line: u64, change: &Change) -> Result<bool, LineRefusal> {
        let changed = super::change(&self.inputs(), LineId::new(line), change)?;
        let is_changed = changed.is_some();
        self.cart = changed.unwrap_or_else(|| self.cart.clone());
        Ok(is_changed)
    }

    fn edit(&mut self, item: u64, edit: impl FnOnce(&mut Item)) {
        edit(&mut Arc::make_mut(self.items.get_mut(&ItemId::new(item)).unwrap()).item);
    }

    fn missing(&self) -> Vec<Missing> {
        self.cart.lines.iter().flat_map(|line| missing(line, &self.items[&line.item].item)).collect()
    }
}

fn one(item: u64) -> LineToAdd {
    wanted(item, 1)
}

fn gift(item: u64, name: &str) -> LineToAdd {
    let gift_to = Some(PlayerName::parse(name).unwrap());
    LineToAdd { payment_type: PaymentType::Gift, gift_to, ..one(item) }
}

fn subscription(item: u64) -> LineToAdd {
    LineToAdd { payment_type: PaymentType::Subscription, ..one(item) }
}

fn choice(id: u64, value: &str) -> LineVariable {
    LineVariable { id, value: value.to_owned() }
}

#[test]
fn a_gift_is_for_another_player_and_of_an_item_that_can_be_given() {
    let mut shop = Shop::open();
    assert_eq!(shop.add(&gift(PLAIN, "Pebble")), Err(LineRefusal::NoGifting));
    assert_eq!(shop.add(&gift(MONTHLY, "Pebble")), Err(LineRefusal::NoGifting));
    assert_eq!(shop.add(&LineToAdd { gift_to: None, ..gift(GIVEN, "Pebble") }), Err(LineRefusal::NoRecipient));
    assert_eq!(
        shop.add(&LineToAdd { payment_type: PaymentType::OneOff, ..gift(GIVEN, "Pebble") }),
        Err(LineRefusal::NotAGift)
    );
    assert_eq!(shop.add(&gift(GIVEN, "tHORNWICK")), Err(LineRefusal::GiftToOneself));
    assert_eq!(shop.add(&LineToAdd { is_recipient_banned: true, ..gift(GIVEN, "Pebble") }), Err(LineRefusal::Banned));
    assert_eq!(shop.add(&gift(GIVEN, "Pebble")), Ok(LineId::new(1)));
}

#[test]
fn a_gift_for_the_same_player_in_any_case_is_the_same_line() {
    let mut shop = Shop::open();
    for (name, line) in [("Pebble", 1), ("Quill", 2), ("PEBBLE", 1)] {
        assert_eq!(shop.add(&gift(GIVEN, name)), Ok(LineId::new(line)), "{name}");
    }
    assert_eq!(shop.add(&one(GIVEN)), Ok(LineId::new(3)), "not a gift");
    let lines: Vec<(u32, Option<&str>)> =
        shop.cart.lines.iter().map(|line| (line.count, line.gift_to.as_ref().map(PlayerName::as_str))).collect();
    assert_eq!(lines, [(2, Some("Pebble")), (1, Some("Quill")), (1, None)], "the name as it was first written");
}

#[test]
fn a_cart_has_gifts_for_at_most_ten_players() {
    let mut shop = Shop::open();
    for number in 0..10 {
        shop.add(&gift(GIVEN, &format!("Player{number}"))).unwrap();
    }
    assert_eq!(shop.add(&gift(GIVEN, "Player10")), Err(LineRefusal::TooManyRecipients));
    assert_eq!(shop.add(&gift(GIVEN, "player9")), Ok(LineId::new(10)));
    assert_eq!(shop.add(&one(GIVEN)), Ok(LineId::new(11)));
}

#[test]
fn a_subscription_is_bought_as_one_alone_and_once() {
    let mut shop = Shop::open();
    assert_eq!(shop.add(&one(MONTHLY)), Err(LineRefusal::SubscriptionOnly));
    assert_eq!(shop.add(&subscription(PLAIN)), Err(LineRefusal::NotASubscription));
    assert_eq!(shop.add(&LineToAdd { count: 2, ..subscription(MONTHLY) }), Err(LineRefusal::OnlyOne));
    shop.add(&subscription(MONTHLY)).unwrap();
    assert_eq!(shop.add(&subscription(MONTHLY)), Err(LineRefusal::OnlyOne));
    assert_eq!(shop.add(&one(PLAIN)), Err(LineRefusal::SubscriptionNotAlone));
    assert_eq!(shop.change(1, &Change::Count(2)), Err(LineRefusal::OnlyOne));
    let mut shop = Shop::open();
    shop.add(&one(PLAIN)).unwrap();
    assert_eq!(shop.add(&subscription(MONTHLY)), Err(LineRefusal::SubscriptionNotAlone));
}

#[test]
fn a_subscription_that_the_buyer_has_is_not_added_until_it_is_over() {
    use SubscriptionStatus::{Active, Cancelled, Ended, PastDue};
    for (item, status, until, has_it) in [
        (MONTHLY, Active, NOW + 1, true),
        (MONTHLY, Active, NOW - 1, true), // its renewal is on its way
        (MONTHLY, PastDue, NOW - 1, true),
        (MONTHLY, Cancelled, NOW + 1, true),
        (MONTHLY, Cancelled, NOW, false),
        (MONTHLY, Ended, NOW, false),
        (PLAIN, Active, NOW + 1, false),
    ] {
        let mut shop = Shop::open();
        let (id, name) = ("sub_1".to_owned(), "I".to_owned());
        shop.subscriptions =
            vec![UserSubscription { id, item: ItemId::new(item), name, price: Money::ZERO, status, until }];
        let expected = if has_it { Err(LineRefusal::AlreadySubscribed) } else { Ok(LineId::new(1)) };
        assert_eq!(shop.add(&subscription(MONTHLY)), expected, "{item} {status:?} until {until}");
        let mut shop = Shop { subscriptions: shop.subscriptions, ..Shop::open() };
        assert_eq!(shop.add(&one(PLAIN)), Ok(LineId::new(1)), "what is not a subscription");
    }
}

#[test]
fn a_promotion_counts_where_the_item_is_promoted_and_not_for_gifts() {
    let mut shop = Shop::open();
    let promoted = |line: LineToAdd| LineToAdd { promoted: true, ..line };
    for (line, is_promoted) in
        [(promoted(one(PLAIN)), true), (promoted(one(LIMITED)), false), (promoted(gift(GIVEN, "Pebble")), false)]
    {
        let id = shop.add(&line).unwrap();
        let stored = shop.cart.lines.iter().find(|line| line.id == id).unwrap();
        assert_eq!(stored.promoted, is_promoted, "{line:?}");
    }
    assert_eq!(shop.add(&one(PLAIN)), Ok(LineId::new(4)), "another price is another line");
    assert_eq!(shop.add(&promoted(one(PLAIN))), Ok(LineId::new(1)));
    assert_eq!(shop.add(&promoted(one(LIMITED))), Ok(LineId::new(2)));
    let priced = LineToAdd { price: Some(Money::from_minor(400)), ..promoted(one(ANY)) };
    assert_eq!(shop.add(&priced), Err(LineRefusal::FixedPrice));
    shop.add(&promoted(one(ANY))).unwrap();
    assert_eq!(shop.missing(), [], "a promoted line has its price");
}

#[test]
fn a_line_is_added_without_its_choices_and_completed_later() {
    let mut shop = Shop::open();
    shop.add(&one(CHOSEN)).unwrap();
    shop.add(&one(ANY)).unwrap();
    let unset = |id, name: &str| Missing::Variable { id, name: name.to_owned() };
    assert_eq!(shop.missing(), [unset(1, "When"), unset(2, "Who"), Missing::Server]);
    for (line, change) in [
        (1, Change::Variable(choice(2, "Ann"))),
        (1, Change::Variable(choice(1, "Evening"))),
        (1, Change::Server(ServerId::new(2))),
        (2, Change::Price(Money::from_minor(200))),
    ] {
        assert_eq!(shop.change(line, &change), Ok(true), "{change:?}");
        assert_eq!(shop.change(line, &change), Ok(false), "{change:?} again");
    }
    assert_eq!(shop.missing(), []);
    let choices = LineToAdd {
        variables: vec![choice(2, "Ann"), choice(1, "Evening")],
        server: Some(ServerId::new(2)),
        ..one(CHOSEN)
    };
    assert_eq!(shop.add(&choices), Ok(LineId::new(1)), "the order of the variables does not matter");
}

#[test]
fn a_changed_line_is_judged_as_if_it_were_added() {
    let mut shop = Shop::open();
    for item in [CHOSEN, ANY, LIMITED, PLAIN] {
        shop.add(&one(item)).unwrap();
    }
    shop.add(&LineToAdd { promoted: true, ..one(PLAIN) }).unwrap();
    let wrong = |name: &str, wrong| LineRefusal::WrongValue { name: name.to_owned(), wrong };
    let before = shop.cart.clone();
    for (line, change, refusal) in [
        (9, Change::Count(1), LineRefusal::NoSuchLine),
        (1, Change::Count(0), LineRefusal::NoUnits),
        (1, Change::Count(1_001), LineRefusal::TooManyUnits),
        (1, Change::Variable(choice(3, "x")), LineRefusal::UnknownVariable(3)),
        (1, Change::Variable(choice(1, "Noon")), wrong("When", WrongValue::Option("Morning, Evening".to_owned()))),
        (1, Change::Variable(choice(2, "a b")), wrong("Who", WrongValue::Word)),
        (1, Change::Server(ServerId::new(3)), LineRefusal::WrongServer(ServerId::new(3))),
        (4, Change::Server(ServerId::new(1)), LineRefusal::WrongServer(ServerId::new(1))),
        (2, Change::Price(Money::from_minor(199)), LineRefusal::BelowMinimum { minimum: Money::from_minor(200) }),
        (2, Change::Price(Money::from_minor(Money::LARGEST.minor() + 1)), LineRefusal::PriceTooHigh),
        (4, Change::Price(Money::from_minor(500)), LineRefusal::FixedPrice),
        (3, Change::Count(6), LineRefusal::UserLimit { left: 4 }),
    ] {
        assert_eq!(shop.change(line, &change), Err(refusal), "{line} {change:?}");
        assert_eq!(shop.cart, before);
    }
    assert_eq!(shop.change(3, &Change::Count(5)), Ok(true));
    assert_eq!(shop.change(3, &Change::Count(6)), Err(LineRefusal::UserLimit { left: 0 }));
    assert_eq!(shop.add(&one(LIMITED)), Err(LineRefusal::UserLimit { left: 0 }));
    assert_eq!(shop.change(4, &Change::Count(1_000)), Ok(true));
    assert_eq!(shop.add(&one(PLAIN)), Err(LineRefusal::TooManyUnits));
}

#[test]
fn the_same_count_is_no_change_whatever_became_of_the_item() {
    let mut shop = Shop::open();
    shop.add(&one(PLAIN)).unwrap();
    shop.edit(PLAIN, |item| item.active = false);
    assert_eq!(shop.change(1, &Change::Count(1)), Ok(false));
    assert_eq!(shop.change(1, &Change::Count(2)), Err(LineRefusal::Inactive));
    shop.items.clear();
    assert_eq!(shop.change(1, &Change::Count(1)), Ok(false));
    assert_eq!(shop.change(1, &Change::Count(2)), Err(LineRefusal::NotPublished));
}

#[test]
fn choices_that_the_item_no_longer_has_do_not_keep_the_buyer_from_choosing_again() {
    let mut shop = Shop::open();
    let choices = vec![choice(1, "Morning"), choice(2, "Ann")];
    shop.add(&LineToAdd { variables: choices, server: Some(ServerId::new(1)), ..one(CHOSEN) }).unwrap();
    shop.add(&LineToAdd { price: Some(Money::from_minor(250)), ..one(ANY) }).unwrap();
    shop.edit(CHOSEN, |item| {
        item.variables[0].options = vec!["Noon".to_owned()];
        item.variables[1].kind = crate::model::VariableKind::Number;
        item.servers.remove(0);
    });
    shop.edit(ANY, |item| item.min_price = Money::from_minor(300));
    assert_eq!(shop.missing().len(), 3);
    assert_eq!(shop.change(1, &Change::Variable(choice(1, "Noon"))), Ok(true));
    assert_eq!(shop.cart.lines[0].variables, [choice(1, "Noon")]);
    assert_eq!(shop.change(1, &Change::Server(ServerId::new(2))), Ok(true));
    assert_eq!(shop.change(1, &Change::Variable(choice(2, "7"))), Ok(true));
    assert_eq!(shop.missing(), []);
    assert_eq!(shop.change(2, &Change::Count(2)), Ok(true));
    assert_eq!(shop.cart.lines[1].price, Some(Money::from_minor(300)), "the price that the cart showed");
}

#[test]
fn a_cart_whose_order_would_make_more_than_a_thousand_commands_is_refused() {
    let mut shop = Shop::open();
    let command = CommandTemplate { run: "say".to_owned(), ..CommandTemplate::default() };
    let server = |id| crate::model::Server { id: ServerId::new(id), name: "S".to_owned() };
    shop.delivery.servers = (1..=25).map(server).collect();
    shop.delivery.commands = vec![command.clone(); 20];
    Arc::make_mut(shop.items.get_mut(&ItemId::new(PLAIN)).unwrap()).delivery.commands = vec![command.clone(); 20];
    shop.add(&one(PLAIN)).unwrap();
    assert_eq!(shop.add(&one(LIMITED)), Err(LineRefusal::TooManyCommands), "1,000 of one line, and 500 of another");
    assert_eq!(shop.cart.lines.len(), 1);
    assert_eq!(shop.add(&one(PLAIN)), Ok(LineId::new(1)), "units make no further commands");
    shop.delivery.commands.push(command);
    assert_eq!(shop.add(&one(PLAIN)), Ok(LineId::new(1)), "the order is refused, and not what is in the cart already");
}

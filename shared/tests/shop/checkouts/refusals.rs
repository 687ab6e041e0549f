//! Refusals to pay a cart, which leave nothing behind, and cards that were banned with a name and pay under another.

use crate::books::{assert_books, assert_quiet};
use crate::shop::{
    BOTH, CHAT, FIVE, FREE, GIFT, GONE, Instance, PLAIN, Refused, STEPS, Shop, TWENTY, TWO_EACH, VIRTUAL, code, gift,
    line, money, paid,
};
use serde_json::json;
use shared::model::{
    InternalId, Line, Login, LoginId, Money, OrderStatus, PaymentType, PlayerName, User, UserId, UserName,
};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::accounts::bans::unban;
use shared::shop::orders::{NewOrder, record};
use shared::shop::payments::Request;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::{StoreError, keys, read_live};
use stripe_stand_in::Action;
use tests::Fault;

fn by_name(login: &str) -> Request<'static> {
    let login = Login::Name(LoginId::parse(login).unwrap());
    Request { gateway: "Stripe", login, chat: None, has_consented: true, address: None, address_hash: None }
}

async fn assert_refused(shop: &Shop, text: &str) {
    assert_eq!(shop.refusal(1).await, text);
    assert_books(shop).await;
    assert_eq!((shop.received(""), shop.unfinished().await), (0, 0), "{text}");
}

#[tokio::test]
async fn every_refusal_of_a_line_names_it() {
    let shop = Shop::open_with(|payments| payments.hold_units = 4).await;
    assert_refused(&shop, "Your cart is empty.").await;
    shop.fill(1, &[(GONE, 1)], None).await;
    assert_refused(&shop, "Your cart is empty.").await;
    let was_subscription = Line { payment_type: PaymentType::Subscription, ..line(1, PLAIN, 1) };
    shop.fill_with(1, vec![was_subscription], None).await;
    assert_refused(&shop, "\"item 1\" cannot be bought now. Remove it from your cart.").await;
    let unknown = Line { gift_to: None, ..gift(1, GIFT, "Somebody") };
    shop.fill_with(1, vec![unknown], None).await;
    assert_refused(&shop, "\"item 21\" is not complete: The player who receives the gift is missing.").await;
    shop.fill(1, &[(FIVE, 6)], None).await;
    assert_refused(&shop, "Only 5 of \"item 2\" can still be bought.").await;
    shop.fill(1, &[(TWENTY, 5)], None).await;
    assert_refused(&shop, "At most 4 of \"item 22\" can be bought at once.").await;
    shop.fill(1, &[(TWO_EACH, 1), (TWO_EACH, 2)], None).await;
    assert_refused(&shop, "Only 2 of \"item 3\" can still be bought.").await;
    shop.fill(1, &[(CHAT, 1)], None).await;
    assert_refused(&shop, "\"item 26\" needs a linked chat account. Log in to the chat first.").await;
    shop.fill(1, &[(VIRTUAL, 1)], None).await;
    assert_refused(&shop, "You do not have enough virtual currency.").await;
    let refused = shop.create_as(&shop.instance(), 1, by_name("00c0ffee00c0ffee")).await.unwrap_err();
    assert_eq!(refused.to_string(), "Virtual currency needs a login proven in the game.");
    shop.set_payments(|payments| payments.least = money(150)).await;
    shop.fill(1, &[(PLAIN, 1)], None).await;
    assert_refused(&shop, "The amount is below the least that can be paid.").await;
    shop.fill(1, &[(FREE, 1)], None).await;
    assert_eq!(shop.create(1).await.unwrap().url, None, "nothing is not below the least");
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_was_sold_since_it_was_last_read_is_sold_out() {
    let shop = Shop::open().await;
    let instance = shop.instance();
    shop.fill(1, &[(FIVE, 3)], None).await;
    shop.fill(2, &[(FIVE, 3)], None).await;
    // The instance remembers that all five are left.
    shop.create_by(&instance, 1).await.unwrap();
    let refused = shop.create_by(&instance, 2).await.unwrap_err();
    assert_eq!(refused.to_string(), "\"item 2\" is sold out.");
    assert_eq!((shop.sold(FIVE).await, shop.unfinished().await, shop.stand_in.sessions().len()), (3, 1, 1));
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_gift_for_the_buyers_own_name_beside_the_same_item_is_refused() {
    let shop = Shop::open().await;
    shop.name(1, "Receiver").await;
    shop.fill_with(1, vec![gift(1, GIFT, "receiver"), line(2, GIFT, 1)], None).await;
    assert_refused(&shop, "\"item 21\" cannot be given: its recipient owns it or has reached the limit.").await;
}

#[tokio::test]
async fn the_recipient_of_a_gift_must_be_able_to_own_it() {
    let shop = Shop::open().await;
    shop.name(2, "Receiver").await;
    shop.fill_with(1, vec![gift(1, GIFT, "receiver"), line(2, PLAIN, 1)], None).await;
    let mut owned = paid("owned", Some(3), &[(GIFT, 1, 10)]);
    owned.lines = owned.lines.into_iter().map(|line| line.gift_for(UserId::new(2))).collect();
    shop.record(owned).await.unwrap();
    let text = "\"item 21\" cannot be given: its recipient owns it or has reached the limit.";
    assert_refused(&shop, text).await;
    let [low, high] = STEPS;
    shop.record(paid("high", Some(2), &[(high, 1, 10)])).await.unwrap();
    shop.fill_with(1, vec![gift(1, low, "Receiver")], None).await;
    assert_refused(&shop, "\"item 24\" cannot be given: its recipient owns it or has reached the limit.").await;
    let banned = PlayerName::parse("Villain").unwrap();
    shop.put(&keys::ban(banned.key()), &json!({})).await;
    shop.fill_with(1, vec![gift(1, GIFT, "VILLAIN")], None).await;
    assert_refused(&shop, "A player that a gift is for is banned.").await;
    // Who is banned under another name than this former one.
    shop.name(4, "Former").await;
    let renamed = UserId::new(4);
    shop.put(&keys::user(renamed), &User { banned: true, ..crate::shop::user(4) }).await;
    shop.fill_with(1, vec![gift(1, GIFT, "Former")], None).await;
    assert_refused(&shop, "A player that a gift is for is banned.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_bought_between_reading_and_writing_is_refused_by_the_write() {
    let shop = Shop::open().await;
    shop.fill(1, &[(BOTH, 1)], None).await;
    // Right before the transaction that writes the order, the second.
    let db = shop.interrupted(2, |db| async move {
        record(&db, &tests::TestClock::new(), paid("between", Some(1), &[(BOTH, 1, 10)])).await.unwrap();
    });
    let refused = shop.create_by(&Instance::new(db), 1).await.unwrap_err();
    assert_eq!(refused.to_string(), "\"item 4\" cannot be bought now. Remove it from your cart.");
    assert_eq!((shop.sold(BOTH).await, shop.unfinished().await), (1, 0));
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_no_longer_applies_is_removed_and_the_total_said() {
    let shop = Shop::open().await;
    shop.fill(1, &[(PLAIN, 3)], Some("once")).await;
    shop.delete(&keys::code(&code("once"))).await;
    let refused = shop.create(1).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Refused(CheckoutRefusal::CodeRemoved { total }) if total == Money::from_minor(300)),
        "{refused:?}"
    );
    assert_eq!(shop.cart(1).await.coupon, None);
    assert_eq!(shop.received(""), 0);
    let checkout = shop.create(1).await.unwrap();
    assert_eq!(shop.order(&checkout.order).await.order.price, Money::from_minor(300));
    // One that is used up between reading and writing is checked again.
    shop.fill(2, &[(PLAIN, 3)], Some("few")).await;
    let db = shop.interrupted(2, |db| async move {
        for number in 0..3 {
            let order = paid(&format!("between-{number}"), Some(3 + number), &[(PLAIN, 1, 10)]);
            let order = NewOrder { coupon: Some(code("few")), ..order };
            record(&db, &tests::TestClock::new(), order).await.unwrap();
        }
    });
    let refused = shop.create_by(&Instance::new(db), 2).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Refused(CheckoutRefusal::CodeRemoved { total }) if total == Money::from_minor(300)),
        "{refused:?}"
    );
    assert_eq!(shop.unfinished().await, 1, "only the first buyer's");
    assert_eq!(shop.sold(PLAIN).await, 6);
}

/// The numbers of two cards.
const ONE: Action = Action::PayCard(4_242_424_242_424_242);
const OTHER: Action = Action::PayCard(5_555_555_555_554_444);

fn name(user: u64) -> UserName {
    UserName::parse(&format!("user-{user}")).unwrap()
}

async fn pay(shop: &Shop, user: u64, item: u64, by: Action) -> InternalId {
    let order = shop.checkout(user, &[(item, 5)], None).await;
    shop.act(&order, by);
    shop.settle(&order).await;
    order
}

async fn cards(shop: &Shop) -> Vec<String> {
    let mut found = Vec::new();
    each(&shop.db, "CARD#", |item| {
        found.push(key_of(&item)?.pk);
        Ok::<(), StoreError>(())
    })
    .await
    .unwrap();
    found
}

async fn ban(shop: &Shop, user: u64) -> usize {
    shop.name(user, &format!("user-{user}")).await;
    shop.desk().ban_cards(&name(user), UserId::new(user)).await.unwrap()
}

#[tokio::test]
async fn a_banned_card_is_refunded_under_every_name_until_no_ban_has_it() {
    let shop = Shop::open().await;
    pay(&shop, 1, PLAIN, ONE).await;
    pay(&shop, 2, PLAIN, ONE).await;
    pay(&shop, 3, PLAIN, OTHER).await;
    // Repeated it is the same, and of two names with one card each bans it.
    assert_eq!([ban(&shop, 1).await, ban(&shop, 1).await, ban(&shop, 2).await], [1, 1, 1]);
    let order = pay(&shop, 4, FIVE, ONE).await;
    let (stored, said) = (shop.order(&order).await, shop.says(&order).await);
    assert_eq!((stored.order.status, stored.effects.card_banned), (OrderStatus::Cancelled, true));
    assert_eq!((said.refunded, shop.sold(FIVE).await), (stored.order.price, 0), "it is returned and holds nothing");
    let kept = pay(&shop, 4, PLAIN, OTHER).await;
    assert_eq!(shop.status(&kept).await, OrderStatus::Paid);
    unban(&shop.db, &name(1)).await.unwrap().unwrap();
    let again = pay(&shop, 5, PLAIN, ONE).await;
    assert_eq!(shop.status(&again).await, OrderStatus::Cancelled, "the other name is banned");
    unban(&shop.db, &name(2)).await.unwrap().unwrap();
    let last = pay(&shop, 5, PLAIN, ONE).await;
    assert_eq!(shop.status(&last).await, OrderStatus::Paid);
    assert!(cards(&shop).await.is_empty());
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_card_that_is_banned_after_it_paid_keeps_what_it_bought() {
    let shop = Shop::open().await;
    let paid = pay(&shop, 1, PLAIN, ONE).await;
    ban(&shop, 1).await;
    shop.settle(&paid).await;
    assert_eq!(shop.status(&paid).await, OrderStatus::Paid);
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_payment_by_a_banned_card_is_returned_once_whatever_fails() {
    for fault in [Fault::Internal, Fault::ResponseLost] {
        for place in 0..14 {
            let shop = Shop::open().await;
            pay(&shop, 1, PLAIN, ONE).await;
            ban(&shop, 1).await;
            let order = shop.checkout(2, &[(FIVE, 5)], None).await;
            shop.act(&order, ONE);
            let stored = shop.order(&order).await;
            let failing = shop.failing(move |number, _| (number == place).then_some(fault));
            _ = shop.desk_of(&failing.db).settle(&stored).await;
            shop.sweep_later().await;
            let stored = shop.order(&order).await;
            let state = (stored.order.status, stored.effects.card_banned, shop.received("POST /v1/refunds"));
            assert_eq!(state, (OrderStatus::Cancelled, true, 1), "{fault:?} {place}");
            assert_books(&shop).await;
        }
    }
}

#[tokio::test]
async fn a_ban_with_cards_that_is_killed_is_whole_or_not_there() {
    for place in 0..9 {
        let shop = Shop::open().await;
        pay(&shop, 1, PLAIN, ONE).await;
        shop.name(1, "user-1").await;
        let failing = shop.failing(move |number, _| (number >= place).then_some(Fault::Internal));
        let banned = shop.desk_of(&failing.db).ban_cards(&name(1), UserId::new(1)).await.is_ok();
        let row: Option<shared::shop::accounts::names::Ban> = read_live(&shop.db, &keys::ban(&name(1))).await.unwrap();
        assert_eq!(row.is_some_and(|ban| ban.cards.len() == 1), !cards(&shop).await.is_empty(), "{place}");
        assert!(!banned || !cards(&shop).await.is_empty());
        assert_eq!(ban(&shop, 1).await, 1);
        let order = pay(&shop, 2, PLAIN, ONE).await;
        assert_eq!(shop.status(&order).await, OrderStatus::Cancelled, "{place}");
    }
}

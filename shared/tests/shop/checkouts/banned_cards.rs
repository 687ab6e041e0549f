//! Cards that were banned with a name, and pay under another.

use crate::books::assert_books;
use crate::shop::{FIVE, PLAIN, Shop};
use shared::model::{InternalId, OrderStatus, UserId, UserName};
use shared::shop::accounts::bans::unban;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::{StoreError, keys, read_live};
use stripe_stand_in::Action;
use tests::Fault;

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

//! Subscriptions that are moved to another player: access and later payments are the new player's.

use crate::shop::Shop;
use crate::subscribers::{BUYER, MONTHLY};
use crate::sums::assert_audit;
use shared::model::{InternalId, User, UserId, UserSubscription};
use shared::shop::orders::{MoveError, Moved, NewPlayer, move_order};
use shared::table::{keys, read_live};

const FRIEND: UserId = UserId::new(2);

async fn move_to(shop: &Shop, order: &InternalId, to: UserId) -> Result<Moved, MoveError> {
    let to = NewPlayer { user: Some(to), name: None };
    move_order(&shop.db, &shop.clock, order, None, &to, false).await
}

async fn entries(shop: &Shop, user: UserId) -> Vec<UserSubscription> {
    let user: Option<User> = read_live(&shop.db, &keys::user(user)).await.unwrap();
    user.unwrap().subscriptions
}

#[tokio::test]
async fn access_and_later_payments_are_the_new_players_and_who_paid_stays() {
    let (mut shop, first) = Shop::subscribed().await;
    assert!(move_to(&shop, &first, FRIEND).await.unwrap().is_new);
    shop.run().await;
    assert_eq!(shop.ran, ["give user-1", "take user-1", "give user-2"]);
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (0, 1));
    assert_eq!((shop.held(1, MONTHLY).await, shop.held(2, MONTHLY).await), (0, 1));
    assert_audit(&shop.db).await;
    shop.renew(&first).await;
    let subscription = shop.subscription(&first).await;
    let renewal = shop.order(&subscription.newest).await.order;
    assert_eq!((subscription.user, renewal.owner, renewal.moved_to), (FRIEND, Some(BUYER), Some(FRIEND)));
    assert_eq!(shop.ran[3..], ["thank user-2"]);
    assert_audit(&shop.db).await;
    shop.begin_again().await.unwrap();
    shop.sweep_after(36).await;
    assert_eq!(shop.ran[4..], ["take user-2"], "it was not paid again");
}

#[tokio::test]
async fn a_renewed_one_is_moved_by_its_newest_order_and_gives_all_of_it() {
    let (mut shop, first) = Shop::subscribed().await;
    shop.renew(&first).await;
    let newest = shop.subscription(&first).await.newest;
    let refused = move_to(&shop, &first, FRIEND).await;
    assert!(matches!(&refused, Err(MoveError::Older(id)) if *id == newest), "{refused:?}");
    move_to(&shop, &newest, FRIEND).await.unwrap();
    shop.run().await;
    assert_eq!(shop.ran[2..], ["take user-1", "give user-2"]);
    assert_eq!(shop.held(2, MONTHLY).await, 1);
    assert_audit(&shop.db).await;
    move_to(&shop, &newest, BUYER).await.unwrap();
    shop.run().await;
    assert_eq!(shop.ran[4..], ["take user-2", "give user-1"]);
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (1, 0));
    assert_audit(&shop.db).await;
    shop.refund(&newest, None).await.unwrap();
    shop.sweep_and_run().await;
    assert_eq!(shop.ran[6..], ["take user-1"]);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_player_who_has_it_already_gets_no_second_one() {
    let (mut shop, first) = Shop::subscribed().await;
    move_to(&shop, &first, FRIEND).await.unwrap();
    let second = shop.subscribe().await;
    let refused = move_to(&shop, &second, FRIEND).await;
    assert!(matches!(refused, Err(MoveError::Subscribed)), "{refused:?}");
    assert_eq!((entries(&shop, BUYER).await.len(), entries(&shop, FRIEND).await.len()), (1, 1));
}

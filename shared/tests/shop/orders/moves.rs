//! Orders that are moved to another player: ownership with its ends, statistics, and what refuses a move.

use crate::shop::{DAY, PLAIN, Shop, TWO_EACH, id, paid, published_item};
use crate::sums::{assert_audit, shown};
use serde_json::json;
use shared::model::{ItemId, LineId, OrderStatus, PlayerName, UserId, UserName};
use shared::shop::accounts::bans;
use shared::shop::orders;
use shared::shop::orders::{MoveError, Moved, NewOrder, NewPlayer, OrderRefusal, StoredOrder, move_order};
use shared::shop::payments::{DisputeState, note_dispute};
use shared::shop::stock::ledgers;
use shared::table::transaction::{Write, send};
use shared::table::{Db, StoreError, keys};
use tests::Fault;

/// Lasts thirty days.
const CLAIM: u64 = 41;
const MONTH: i64 = 30 * DAY;

fn user(id: u64) -> NewPlayer {
    NewPlayer { user: Some(UserId::new(id)), name: None }
}

async fn move_by(shop: &Shop, db: &Db, order: &str, to: &NewPlayer, force: bool) -> Result<Moved, MoveError> {
    move_order(db, &shop.clock, &id(order), None, to, force).await
}

async fn move_to(shop: &Shop, order: &str, to: u64) -> Result<Moved, MoveError> {
    move_by(shop, &shop.db, order, &user(to), false).await
}

async fn stored(shop: &Shop, order: &str) -> StoredOrder {
    orders::get(&shop.db, &id(order)).await.unwrap().unwrap()
}

async fn top(shop: &Shop) -> Vec<(u64, i64)> {
    shown(&shop.db).await.top.iter().map(|donor| (donor.user.get(), donor.amount.minor())).collect()
}

/// Publishes an item that lasts thirty days.
async fn with_claims() -> Shop {
    let shop = Shop::open().await;
    let item = json!({ "id": CLAIM, "name": "claim", "price": 100, "active": true });
    let published = json!({ "item": item, "category": 1, "delivery": { "expires_after": MONTH } });
    shop.write_all(vec![published_item(&published)]).await;
    shop
}

/// Units that a user owns now, and in how many days they end.
async fn owned(shop: &Shop, user: u64) -> (u32, i64) {
    let user = UserId::new(user);
    let ledger = ledgers::take(&mut shop.db.batch_get(vec![keys::ledger(user)]).await.unwrap(), user).unwrap();
    let (holding, now) = (ledger.of(ItemId::new(CLAIM)), shop.now());
    (holding.at(now).units, holding.run.map_or(0, |run| (run.ends_at - now) / DAY))
}

#[tokio::test]
async fn ownership_and_statistics_follow_there_and_back_and_who_paid_stays() {
    let shop = Shop::open().await;
    shop.record(paid("a", Some(1), &[(TWO_EACH, 2, 180)])).await.unwrap();
    let before = stored(&shop, "a").await;
    let moved = move_to(&shop, "a", 2).await.unwrap();
    assert!(moved.is_new && !move_to(&shop, "a", 2).await.unwrap().is_new);
    assert_eq!((moved.stored.order.owner, moved.stored.order.moved_to), (Some(UserId::new(1)), Some(UserId::new(2))));
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (0, 2));
    assert_eq!((top(&shop).await, shop.sold(TWO_EACH).await), (vec![(2, 180)], 2));
    assert_eq!(shown(&shop.db).await.recent[0].user, UserId::new(2));
    shop.assert_sums().await;
    move_to(&shop, "a", 1).await.unwrap();
    let after = stored(&shop, "a").await;
    assert_eq!((after.order.moved_to, after.effects.credited), (None, None));
    assert_eq!(
        (&after.order.lines[0].term, &after.effects.goals),
        (&before.order.lines[0].term, &before.effects.goals)
    );
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (2, 0));
    assert_eq!(top(&shop).await, [(1, 180)]);
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_refund_afterwards_is_the_new_players() {
    let shop = Shop::open().await;
    shop.record(paid("a", Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    shop.record(paid("b", Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    move_to(&shop, "a", 2).await.unwrap();
    shop.set_status("a", OrderStatus::Refunded).await.unwrap();
    assert_eq!((shop.held(1, PLAIN).await, shop.held(2, PLAIN).await), (1, 0));
    assert_eq!(top(&shop).await, [(1, 100)]);
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_gift_is_another_recipients_and_counts_for_who_paid() {
    let shop = Shop::open().await;
    let order = paid("a", Some(1), &[(PLAIN, 1, 100), (TWO_EACH, 1, 90)]);
    let lines = order.lines.iter().map(|line| line.clone().gift_for(UserId::new(2))).collect();
    shop.record(NewOrder { lines, ..order }).await.unwrap();
    let moved = move_order(&shop.db, &shop.clock, &id("a"), Some(LineId::new(2)), &user(3), false).await.unwrap();
    assert_eq!((moved.stored.order.moved_to, moved.stored.order.lines[1].recipient), (None, Some(UserId::new(3))));
    assert_eq!((shop.held(2, PLAIN).await, shop.held(3, PLAIN).await), (1, 0));
    assert_eq!((shop.held(2, TWO_EACH).await, shop.held(3, TWO_EACH).await), (0, 1));
    assert_eq!(top(&shop).await, [(1, 190)]);
    shop.assert_sums().await;
}

#[tokio::test]
async fn what_is_owned_for_a_time_ends_when_it_would_have() {
    let shop = with_claims().await;
    for order in ["a", "b"] {
        shop.record(paid(order, Some(1), &[(CLAIM, 1, 100)])).await.unwrap();
    }
    shop.days(10);
    assert_eq!(owned(&shop, 1).await, (2, 50));
    move_to(&shop, "b", 2).await.unwrap();
    assert_eq!((owned(&shop, 1).await, owned(&shop, 2).await), ((1, 20), (1, 20)));
    assert_audit(&shop.db).await;
    move_to(&shop, "a", 2).await.unwrap();
    assert_eq!((owned(&shop, 1).await.0, owned(&shop, 2).await), (0, (2, 50)));
    assert_audit(&shop.db).await;
    for order in ["a", "b"] {
        move_to(&shop, order, 1).await.unwrap();
        assert_audit(&shop.db).await;
    }
    assert_eq!((owned(&shop, 1).await, owned(&shop, 2).await.0), ((2, 50), 0));
    shop.days(60);
    move_to(&shop, "a", 2).await.unwrap();
    assert_eq!((owned(&shop, 1).await.0, owned(&shop, 2).await.0), (0, 0), "it is over");
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_player_who_has_as_many_as_one_may_buy_gets_it_only_by_force() {
    let shop = Shop::open().await;
    shop.record(paid("own", Some(2), &[(TWO_EACH, 1, 90)])).await.unwrap();
    shop.record(paid("a", Some(1), &[(TWO_EACH, 2, 180)])).await.unwrap();
    let full = move_to(&shop, "a", 2).await;
    let limit = OrderRefusal::UserLimit { item: ItemId::new(TWO_EACH), limit: 2 };
    assert!(matches!(full, Err(MoveError::Refused(refusal)) if refusal == limit), "{full:?}");
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (2, 1));
    move_by(&shop, &shop.db, "a", &user(2), true).await.unwrap();
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (0, 3));
    shop.assert_sums().await;
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused_and_nothing_changes() {
    let shop = Shop::open().await;
    for (order, status) in [("pending", OrderStatus::Pending), ("refunded", OrderStatus::Refunded)] {
        let new = NewOrder { status, ..paid(order, Some(1), &[(PLAIN, 1, 100)]) };
        shop.record(new).await.unwrap();
        let refused = move_to(&shop, order, 2).await;
        assert!(matches!(refused, Err(MoveError::Status(found)) if found == status), "{refused:?}");
    }
    for order in ["disputed", "review", "banned"] {
        shop.record(paid(order, Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
    }
    shop.record(paid("guest", None, &[(PLAIN, 1, 100)])).await.unwrap();
    let guest = move_to(&shop, "guest", 2).await;
    assert!(matches!(guest, Err(MoveError::NoPlayer)), "{guest:?}");
    let unknown = move_to(&shop, "nope", 2).await;
    assert!(matches!(unknown, Err(MoveError::Unknown(_))), "{unknown:?}");
    let nobody = move_to(&shop, "banned", 999).await;
    assert!(matches!(nobody, Err(MoveError::NoAccount)), "{nobody:?}");
    for (line, wanted) in [(1, "line 1 is not a gift"), (2, "the order has no line 2")] {
        let line = Some(LineId::new(line));
        let refused = move_order(&shop.db, &shop.clock, &id("banned"), line, &user(2), false).await;
        assert_eq!(refused.unwrap_err().to_string(), wanted);
    }
    let dispute = DisputeState { id: "du_1".to_owned(), intent: None, state: "needs_response".to_owned() };
    note_dispute(&shop.db, &shop.clock, &id("disputed"), &dispute).await.unwrap();
    let disputed = move_to(&shop, "disputed", 2).await;
    assert!(matches!(disputed, Err(MoveError::Disputed(_))), "{disputed:?}");
    let review: Write = stored(&shop, "review").await.set_review("another amount", None);
    send(&shop.db, vec![review]).await.unwrap();
    let review = move_to(&shop, "review", 2).await;
    assert!(matches!(review, Err(MoveError::InReview)), "{review:?}");
    let name = UserName::parse("Grimble").unwrap();
    bans::ban(&shop.db, &name, None, &[], shop.now()).await.unwrap();
    let to = NewPlayer { user: None, name: Some(PlayerName::parse("Grimble").unwrap()) };
    let banned = move_by(&shop, &shop.db, "banned", &to, true).await;
    assert!(matches!(banned, Err(MoveError::Refused(OrderRefusal::Banned))), "{banned:?}");
    assert_eq!((shop.held(1, PLAIN).await, shop.held(2, PLAIN).await), (3, 0));
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn two_moves_at_once_are_one_after_the_other() {
    let shop = Shop::open().await;
    for round in 0..8 {
        let order = format!("o{round}");
        shop.record(paid(&order, Some(1), &[(PLAIN, 1, 100)])).await.unwrap();
        let refund = shop.set_status(&order, OrderStatus::Refunded);
        let (one, other, _) = tokio::join!(move_to(&shop, &order, 2), move_to(&shop, &order, 3), refund);
        for moved in [one, other] {
            assert!(
                matches!(moved, Ok(_) | Err(MoveError::Status(_) | MoveError::Store(StoreError::Contended))),
                "{moved:?}"
            );
        }
        shared::shop::statistics::catch_up(&shop.db, &id(&order)).await.unwrap();
        shop.assert_sums().await;
    }
}

#[tokio::test]
async fn whenever_it_is_killed_the_repeated_move_moves_once() {
    let shop = with_claims().await;
    for place in 1..20 {
        let order = format!("o{place}");
        shop.record(paid(&order, Some(1), &[(CLAIM, 1, 100), (PLAIN, 1, 50)])).await.unwrap();
        let fault = if place % 2 == 0 { Fault::Internal } else { Fault::ResponseLost };
        let killed = shop.failing_transactions(move |at| (at >= place).then_some(fault));
        let first = move_by(&shop, &killed, &order, &user(2), false).await;
        let done = move_to(&shop, &order, 2).await.unwrap();
        assert!(!done.stored.statistics_due());
        let moved: i64 = i64::try_from(place).unwrap();
        assert_eq!((shop.held(1, PLAIN).await, shop.held(2, PLAIN).await), (0, moved), "{place}");
        shop.assert_sums().await;
        if first.is_ok_and(|first| !first.stored.statistics_due()) {
            assert!(place > 2, "{place}");
            return;
        }
    }
    panic!("it never succeeds");
}

//! Functions parse rows directly into structs, tools read them through the SDK's maps. Both give the same result.

use shared::model::{CodeText, User, UserId};
use shared::shop::orders::StoredOrder;
use shared::shop::stock::ledgers;
use shared::shop::{carts, codes};
use shared::table::Rows;
use shared::table::keys::{self, Key};
use tests::TestStore;

#[tokio::test]
async fn a_row_is_read_the_same_by_functions_and_tools() {
    let store = TestStore::open().await;
    let live = &TestStore::sample().live;
    let mut compared = 0;
    for user in live.users.iter().map(|user| user.id).chain([UserId::new(0)]) {
        let keys = vec![keys::user(user), keys::cart(user), keys::ledger(user)];
        let [direct, client] = both(&store, keys).await;
        let read = |mut rows: Rows| {
            let account = rows.take(&keys::user(user)).map(|row| row.live::<User>(&keys::user(user)).unwrap());
            (account, carts::take(&mut rows, user).unwrap(), ledgers::take(&mut rows, user).unwrap())
        };
        assert_eq!(read(direct), read(client));
        compared += 1;
    }
    for code in live.codes.iter().map(|code| code.text().clone()).chain(CodeText::parse("nothing")) {
        let [mut direct, mut client] = both(&store, vec![keys::code(&code)]).await;
        assert_eq!(codes::take(&mut direct, &code).unwrap(), codes::take(&mut client, &code).unwrap());
        compared += 1;
    }
    for order in &live.orders {
        let [mut direct, mut client] = both(&store, vec![keys::order(&order.internal_id)]).await;
        let id = &order.internal_id;
        assert_eq!(StoredOrder::take(&mut direct, id).unwrap(), StoredOrder::take(&mut client, id).unwrap());
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

async fn both(store: &TestStore, keys: Vec<Key>) -> [Rows; 2] {
    [store.functions_db().batch_get(keys.clone()).await.unwrap(), store.db.batch_get(keys).await.unwrap()]
}

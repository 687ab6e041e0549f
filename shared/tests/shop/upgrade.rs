//! An upgrade to a next format that is planted here: it gives every user a row. Whatever happens, it is complete in the end.

use crate::shop::{Shop, USERS};
use futures_util::future::{BoxFuture, join_all};
use shared::model::SCHEMA;
use shared::shop::upkeep::upgrade::{FIRST, Lacking, Step, UpgradeError, Upgraded, upgrade};
use shared::table::bulk::{OnProgress, each};
use shared::table::codec::{key_attributes, key_of};
use shared::table::keys::{self, Key, prefix};
use shared::table::published::read_active_version;
use shared::table::transaction::Write;
use shared::table::{Db, StoreError};
use tests::Faults;

const NEXT: u32 = SCHEMA + 1;
const STEPS: &[Step] = &[Step { to: NEXT, rows: "planted rows", find: |db, progress| Box::pin(planted(db, progress)) }];

fn of_user(user: &Key) -> Key {
    Key { pk: user.pk.replace(prefix::USER, "PLANTED#"), sk: "PLANTED".to_owned() }
}

/// The writes of the rows that users do not have yet.
async fn planted(db: &Db, progress: OnProgress<'_>) -> Result<Vec<Write>, StoreError> {
    let mut missing = Vec::new();
    let mut users = Vec::new();
    each(db, prefix::USER, |item| {
        progress(1);
        users.push(of_user(&key_of(&item)?));
        Ok::<(), StoreError>(())
    })
    .await?;
    for key in users {
        if db.get(&key, true).await?.is_none() {
            missing.push(Write::put(key.clone(), key_attributes(&key)).only_if_absent());
        }
    }
    Ok(missing)
}

fn boxed(db: &Db) -> BoxFuture<'_, Result<Upgraded, UpgradeError>> {
    Box::pin(upgrade(db, STEPS, &|_| {}))
}

async fn schema(shop: &Shop) -> u32 {
    read_active_version(&shop.db).await.unwrap().unwrap().schema
}

#[tokio::test]
async fn an_upgrade_that_is_cut_off_at_any_write_is_completed_by_the_next() {
    for let_through in 0.. {
        let shop = Shop::open().await;
        let cut = upgrade(&shop.through(Faults::cut_after(let_through)), STEPS, &|_| {}).await;
        if cut.is_ok() {
            assert_eq!(let_through as u64, USERS + 1, "the rows and the number");
            break;
        }
        assert_eq!(schema(&shop).await, SCHEMA, "after {let_through} writes");
        let again = boxed(&shop.db).await.unwrap();
        let left = usize::try_from(USERS).unwrap() - let_through;
        assert_eq!(again.rows.get("planted rows").copied().unwrap_or_default(), left);
        assert_eq!(schema(&shop).await, NEXT);
    }
}

#[tokio::test]
async fn sixteen_upgrades_at_once_are_one_and_a_further_one_does_nothing() {
    let shop = Shop::open().await;
    let planned = Lacking::find(&shop.db, STEPS, &|_| {}).await.unwrap();
    assert_eq!(planned.rows().values().sum::<usize>() as u64, USERS);
    assert_eq!(schema(&shop).await, SCHEMA, "what is only looked for changes nothing");
    let all = join_all((0..16).map(|_| boxed(&shop.db))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(schema(&shop).await, NEXT);
    let again = boxed(&shop.db).await.unwrap();
    assert!(again.from == Some(NEXT) && again.rows.is_empty(), "{again:?}");
}

#[tokio::test]
async fn data_of_before_the_first_release_and_of_a_later_version_are_refused() {
    let shop = Shop::open().await;
    let later = Lacking::find(&shop.db, &[], &|_| {}).await.unwrap();
    assert_eq!(later.schema, Some(FIRST));
    boxed(&shop.db).await.unwrap();
    let refused = upgrade(&shop.db, &[], &|_| {}).await;
    assert!(matches!(refused, Err(UpgradeError::Later { found: NEXT, known: FIRST })), "{refused:?}");
    shop.set_number(&keys::active_version(), "schema", i64::from(FIRST) - 1).await;
    let refused = boxed(&shop.db).await;
    assert!(matches!(refused, Err(UpgradeError::Before(3))), "{refused:?}");
}

//! Changes to the settings of a published store, without a publish.

use crate::test_table::put;
use shared::model::StoreConfig;
use shared::table::published::read_active_version;
use shared::table::{Db, codec, keys};

/// Changes the settings of the published store in the table, until the next publish. Returns the new ones.
pub async fn configure(db: &Db, change: impl FnOnce(&mut StoreConfig)) -> StoreConfig {
    let active = read_active_version(db).await.expect("a database that responds");
    let mut active = active.expect("a published store");
    change(&mut active.config);
    let row = codec::encode_live(&keys::active_version(), &active).expect("settings that can be stored");
    Box::pin(put(db, row)).await;
    active.config
}

//! Looking through the whole table, page by page.

use aws_sdk_dynamodb::types::AttributeValue;
use shared::store::codec::{Item, Row, key_of};
use shared::store::keys::{self, PK, prefix};
use shared::store::orders::StoredOrder;
use shared::store::{Db, StoreError};

/// Hands every order to `take`, as [`each`] does.
///
/// # Errors
/// As [`each`].
pub async fn each_order<E: From<StoreError>>(
    db: &Db,
    mut take: impl FnMut(StoredOrder) -> Result<(), E>,
) -> Result<(), E> {
    each(db, prefix::ORDER, |item| {
        let key = key_of(&item)?;
        // An order's commands are in its partition.
        if keys::is_order(&key) { take(StoredOrder::decode(&key, Row::from(item))?) } else { Ok(()) }
    })
    .await
}

/// Hands every item of a kind (see [`shared::store::keys::prefix`]) to `take`, in no order; pages are read one
/// after another, so that memory does not grow with the table.
///
/// # Errors
/// [`StoreError`] if a page cannot be read, and the errors of `take`.
pub async fn each<E: From<StoreError>>(
    db: &Db,
    kind: &str,
    mut take: impl FnMut(Item) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = None;
    loop {
        let request = db.client().scan().table_name(db.table()).consistent_read(true);
        let request = if kind.is_empty() {
            request
        } else {
            let kind = AttributeValue::S(kind.to_owned());
            let request = request.filter_expression("begins_with(#pk, :kind)").expression_attribute_names("#pk", PK);
            request.expression_attribute_values(":kind", kind)
        };
        let page = Box::pin(request.set_exclusive_start_key(start).send()).await;
        let page = page.map_err(|error| StoreError::from_sdk("Scan", error))?;
        for item in page.items.unwrap_or_default() {
            take(item)?;
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            return Ok(());
        }
    }
}

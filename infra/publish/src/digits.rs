//! The digits of the currency never change under what is stored: a live amount is a number of minor units, and the
//! published digits say what one is worth. With other digits every balance and sum would be read as another amount.

use crate::error::PublishError;
use aws_sdk_dynamodb::types::AttributeValue;
use shared::store::codec::key_of;
use shared::store::keys::{PK, prefix};
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError};
use std::collections::BTreeSet;

/// What the live rows of a table say about digits.
#[derive(Debug, Default)]
struct Live {
    any: bool,
    of_orders: BTreeSet<u8>,
}

/// Refuses to publish `digits` if the published store has others and the table has live rows. A table whose orders
/// were all recorded with `digits` is let back to them.
///
/// # Errors
/// [`PublishError::Digits`], or if the database does not respond.
pub async fn check_digits(db: &Db, digits: u8) -> Result<(), PublishError> {
    let Some(published) = read_active_version(db).await?.map(|active| active.config.digits) else { return Ok(()) };
    if published == digits {
        return Ok(());
    }
    let live = read_live(db).await?;
    if !live.any || live.of_orders == BTreeSet::from([digits]) {
        return Ok(());
    }
    Err(PublishError::Digits { published, wanted: digits })
}

/// Looks through the whole table, which only a change of digits needs.
async fn read_live(db: &Db) -> Result<Live, StoreError> {
    let (mut live, mut start) = (Live::default(), None);
    loop {
        let mut request = db.client().scan().table_name(db.table()).consistent_read(true);
        request = request.expression_attribute_names("#pk", PK);
        let mut terms = Vec::new();
        for (place, kind) in prefix::LIVE.iter().enumerate() {
            terms.push(format!("begins_with(#pk, :k{place})"));
            request = request.expression_attribute_values(format!(":k{place}"), AttributeValue::S((*kind).to_owned()));
        }
        let page = request.filter_expression(terms.join(" OR ")).set_exclusive_start_key(start).send();
        let page = Box::pin(page).await.map_err(|error| StoreError::from_sdk("Scan", error))?;
        for item in page.items.unwrap_or_default() {
            live.any = true;
            if key_of(&item)?.pk.starts_with(prefix::ORDER) {
                let digits = item.get("digits").and_then(|value| value.as_n().ok());
                live.of_orders.extend(digits.and_then(|digits| digits.parse::<u8>().ok()));
            }
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            return Ok(live);
        }
    }
}

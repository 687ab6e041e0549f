//! The table itself: its shape, its time to live and its clock, for tools.

use super::client::Db;
use super::codec::key_attributes;
use super::{StoreError, keys};
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::{TableDescription, TimeToLiveDescription};
use jiff::fmt::rfc2822;
use std::sync::{Arc, Mutex, PoisonError};

pub async fn describe(db: &Db) -> Result<Option<TableDescription>, StoreError> {
    let answer = db.client().describe_table().table_name(db.table()).send().await;
    Ok(answer.map_err(|error| StoreError::from_sdk("DescribeTable", error))?.table)
}

pub async fn time_to_live(db: &Db) -> Result<Option<TimeToLiveDescription>, StoreError> {
    let answer = db.client().describe_time_to_live().table_name(db.table()).send().await;
    Ok(answer.map_err(|error| StoreError::from_sdk("DescribeTimeToLive", error))?.time_to_live_description)
}

#[derive(Debug, Clone, Default)]
struct Dated(Arc<Mutex<Option<i64>>>);

impl Intercept for Dated {
    fn name(&self) -> &'static str {
        "Dated"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").and_then(|date| rfc2822::parse(date).ok());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date.map(|date| date.timestamp().as_second());
        Ok(())
    }
}

/// The second that it is by the database's clock, since 1970 UTC: the `Date` of a response. `None` if that has none.
pub async fn seconds(db: &Db) -> Result<Option<i64>, StoreError> {
    let dated = Dated::default();
    let request = db.client().get_item().table_name(db.table());
    let request = request.set_key(Some(key_attributes(&keys::active_version()))).customize().interceptor(dated.clone());
    request.send().await.map_err(|error| StoreError::from_sdk("GetItem", error))?;
    Ok(*dated.0.lock().unwrap_or_else(PoisonError::into_inner))
}

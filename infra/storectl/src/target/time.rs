//! The database's clock: the `Date` of its responses. Whatever tokens are compared with is dated by it, so that an
//! operator's wrong clock neither leaves a revoked token valid nor locks an account.

use super::Target;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use jiff::fmt::rfc2822;
use shared::store::StoreError;
use shared::store::{codec::key_attributes, keys};
use std::sync::{Arc, Mutex, PoisonError};

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

impl Target {
    /// The second that it is by the database's clock, since 1970 UTC; `None` if its responses have no date.
    pub async fn database_time(&self) -> Result<Option<i64>, StoreError> {
        let dated = Dated::default();
        let request = self.db.client().get_item().table_name(self.db.table());
        let request =
            request.set_key(Some(key_attributes(&keys::active_version()))).customize().interceptor(dated.clone());
        Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk("GetItem", error))?;
        Ok(*dated.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The second that it is, since 1970 UTC: by the database's clock, or by this machine's if the database has none.
    pub async fn seconds(&self) -> Result<i64, StoreError> {
        Ok(self.database_time().await?.unwrap_or_else(|| self.clock.seconds()))
    }
}

//! How far this machine's clock is from the database's: tokens are dated by it.

use super::Finding;
use crate::target::Target;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use jiff::fmt::rfc2822;
use shared::store::StoreError;
use shared::store::{codec::key_attributes, keys};
use std::sync::{Arc, Mutex, PoisonError};

/// What a token forgives, in seconds (ruling 2).
const FORGIVEN: i64 = shared::token::LEEWAY;

/// The `Date` of the database's answer.
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

pub(super) async fn clock(target: &Target) -> Finding {
    const CHECK: &str = "clock";
    let dated = Dated::default();
    let request = target.db.client().get_item().table_name(target.db.table());
    let request = request.set_key(Some(key_attributes(&keys::pointer()))).customize().interceptor(dated.clone());
    if let Err(error) = Box::pin(request.send()).await {
        return Finding::failed(CHECK, StoreError::from_sdk("GetItem", error).into());
    }
    let theirs = *dated.0.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = target.clock.seconds();
    match theirs.map(|theirs| ours - theirs) {
        None => Finding::ok(CHECK, "this database does not say what time it is"),
        Some(skew) if skew.abs() <= FORGIVEN => {
            Finding::ok(CHECK, format!("{} s off, {FORGIVEN} s are forgiven", skew.abs()))
        }
        Some(skew) => {
            let way = if skew > 0 { "ahead of" } else { "behind" };
            let said = format!("{} s {way} the database's", skew.abs());
            Finding::bad(CHECK, said, "set this machine's clock (NTP): tokens and orders are dated by it")
        }
    }
}

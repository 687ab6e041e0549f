//! Open orders whose checkout the payment provider does not have, and whether checkouts may begin.

use super::finding::Finding;
use crate::commands::common::shown_account;
use crate::error::Failure;
use crate::target::Target;
use futures_util::{StreamExt as _, stream};
use shared::config::StripeKeys;
use shared::model::InternalId;
use shared::rules::payment::{Origin, is_drained, origin};
use shared::store::orders::StoredOrder;
use shared::store::published::read_active_version;
use shared::usecases::checkouts::{Provider, ProviderError, open_orders};

/// The most orders that the provider is asked about, those due first.
const ASKED: usize = 100;
/// How many are asked about at once.
const AT_ONCE: usize = 8;

/// Asks the provider for the checkouts of open orders.
pub(super) async fn check(target: &Target, keys: &StripeKeys) -> Vec<Finding> {
    const CHECK: &str = "open checkouts";
    let mut findings = vec![at_provider(target, CHECK).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))];
    if keys.account.is_none() {
        let said = "the account of the keys is not stored, so that orders do not have it";
        findings.push(Finding::note("account", said, "run `storectl payments connect stripe` with the same key"));
    }
    if let Ok(Some(active)) = read_active_version(&target.db).await {
        let account = keys.provider_account();
        findings.extend(is_drained(active.drained.as_ref(), &account).then(|| {
            let said = format!("none begins in {}: it is drained", shown_account(&account));
            Finding::note("new checkouts", said, "connect another account, or run `storectl payments drain --off`")
        }));
    }
    findings
}

async fn at_provider(target: &Target, check: &'static str) -> Result<Finding, Failure> {
    let Some(provider) = target.payments.stripe().await? else {
        return Ok(Finding::ok(check, "not known without keys"));
    };
    let ours = provider.account();
    let open = open_orders(&target.db).await?;
    let number = open.len();
    let where_is = async |stored: StoredOrder| {
        let id = stored.order.internal_id.clone();
        let checkout = stored.effects.provider.as_ref()?;
        let origin = origin(checkout, &ours);
        let is_missing = match (&checkout.session, origin) {
            (_, Origin::Other) => true,
            (Some(session), _) => matches!(provider.fetch(session).await, Err(ProviderError::NoCheckout(_))),
            (None, _) => false,
        };
        is_missing.then_some((id, origin))
    };
    let missing: Vec<(InternalId, Origin)> = stream::iter(open.into_iter().take(ASKED))
        .map(where_is)
        .buffered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    let names = |is_own: bool| {
        let of = missing.iter().filter(|(_, origin)| (*origin == Origin::Own) == is_own);
        of.map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ")
    };
    Ok(match (names(true), names(false)) {
        (own, other) if own.is_empty() && other.is_empty() => {
            Finding::ok(check, format!("{number}, none of them unknown to the provider"))
        }
        (own, other) if other.is_empty() => {
            let next = "`storectl order cancel ID` ends one; they end by themselves once their time is over";
            Finding::bad(check, format!("the provider does not have those of {own}"), next)
        }
        (own, other) => {
            let also = if own.is_empty() { String::new() } else { format!("; and it does not have those of {own}") };
            let next = "connect the former account again, or let them end by themselves, marked for review";
            Finding::bad(check, format!("those of {other} are of another account or mode{also}"), next)
        }
    })
}

//! Stripe's customer portal, on which buyers cancel subscriptions: its settings are those of the account's default
//! configuration.

use super::of_stripe;
use crate::answer::{GOOD, WARN, paint};
use crate::error::{Exit, Failure};
use serde_json::{Value, json};
use stripe::{Client, IdempotencyKey, PortalConfiguration};

/// The advice for an account that has no default configuration: only the dashboard creates it.
const SAVE: &str = "save the portal's settings once in Stripe's dashboard (Settings, Billing, Customer portal), and run \
                    `storectl payments connect stripe` again";

/// The configuration that buyers' visits use, if the account has one.
pub(super) async fn default(client: &Client) -> Result<Option<PortalConfiguration>, Failure> {
    Ok(all(client).await?.into_iter().find(|configuration| configuration.is_default))
}

async fn all(client: &Client) -> Result<Vec<PortalConfiguration>, Failure> {
    Ok(client.send(&PortalConfiguration::list()).await.map_err(|error| of_stripe(&error))?.data)
}

/// Gives the default configuration the store's settings. An account without any gets one, which Stripe may make the default.
pub(super) async fn set_up(client: &Client) -> Result<Option<PortalConfiguration>, Failure> {
    let all = all(client).await?;
    if let Some(found) = all.iter().find(|configuration| configuration.is_default) {
        let updated = client.send(&PortalConfiguration::update(&found.id)).await;
        return updated.map(Some).map_err(|error| of_stripe(&error));
    }
    if !all.is_empty() {
        return Ok(None);
    }
    let unusable = |what: String| Failure::new(Exit::Local, what, "Report this.");
    let once = shared::random::uuid().ok_or_else(|| unusable("The system provides no random numbers.".to_owned()))?;
    let once = IdempotencyKey::parse(&once).map_err(|error| unusable(format!("{error}.")))?;
    let created = client.send(&PortalConfiguration::create(once)).await.map_err(|error| of_stripe(&error))?;
    Ok(Some(created).filter(|created| created.is_default))
}

/// The portal in words. Buyers can pay without it, so that the connection is sound if it is missing.
pub(super) fn line(portal: &Result<Option<PortalConfiguration>, Failure>) -> String {
    match portal {
        Ok(Some(configuration)) => {
            let page = configuration.login_page.url.as_deref();
            let page = page.map(|url| format!("; by e-mail at {url}")).unwrap_or_default();
            format!("{} Buyers cancel subscriptions in Stripe's portal{page}.", paint(GOOD, "ok"))
        }
        Ok(None) => {
            format!("{} Buyers cannot cancel subscriptions in Stripe's portal yet: {SAVE}.", paint(WARN, "note"))
        }
        Err(failure) => {
            format!(
                "{} Buyers may be unable to cancel subscriptions in Stripe's portal: {}",
                paint(WARN, "note"),
                failure.what
            )
        }
    }
}

pub(super) fn facts(portal: &Result<Option<PortalConfiguration>, Failure>) -> Value {
    let found = portal.as_ref().ok().and_then(Option::as_ref);
    found.map_or(Value::Null, |found| json!({ "configuration": found.id.as_str(), "login_page": found.login_page.url }))
}

//! `payments connect` and `show`: what connects a store with its payment provider; `payments reconcile`: whether
//! they agree.

mod connect;
mod reconcile;
pub mod ways;

pub use connect::missing as missing_rights;

use crate::chat::{deploy, next_revision};
use crate::prelude::*;
use connect::Connect;
use reconcile::Reconcile;
use serde::Serialize;
use shared::config::StripeKeys;
use shared::model::{Payments, ProviderAccount};
use shared::providers::STRIPE_WEBHOOK_PATH;
use shared::shop::payments::{ProviderError, SettleError};
use stripe::{
    API_VERSION, Account, Client, EndpointStatus, Error, EventKind, IdempotencyKey, ObjectId, PortalConfiguration,
    RefusalKind, WebhookEndpoint,
};

#[derive(Debug, Clone, Subcommand)]
pub enum PaymentsCommand {
    /// Connect a payment provider: check its key, create the endpoint of its webhooks, and store both secrets.
    #[command(after_help = "Examples:\n  storectl payments connect stripe --stack storefront < key.txt\n  \
                            storectl payments connect stripe --stripe-key key.txt --stack storefront\n  \
                            storectl payments connect stripe --finish --stack storefront\n\n\
                            The key is read from standard input or a file, never from the command line. It should be a \
                            restricted key with the rights that operations.md lists. Nothing changes for buyers before \
                            the deploy that is printed. Run it again to change the key, or after an update of the \
                            functions: the endpoint's events are brought up to date, and if Stripe's version has changed, \
                            another endpoint is created; with --new-secret too. Both are accepted until --finish, which \
                            is for after the deploy. Killed at any moment, it can be run again. With a key of another account \
                            or mode it names what is open in the former one, and no checkout begins there any more.")]
    Connect(Connect),
    /// Show what is connected, without any secret.
    #[command(after_help = "Example:\n  storectl payments show --stack storefront")]
    Show,
    /// Compare the provider's payments with the orders, and show what does not agree.
    #[command(after_help = "Examples:\n  storectl payments reconcile --since '7 days ago' --stack storefront\n  \
                            storectl payments reconcile --since 2026-05-01 --refund cs_live_a1 --stack storefront\n\n\
                            Shows paid checkouts of this store without an order, amounts that differ, payments that are \
                            not settled, and paid orders without a payment. Nothing is changed unless --refund names a \
                            checkout without an order: then all that is left of its payment is refunded, once. To keep \
                            the payment, write its order: `storectl order record --session ID`.")]
    Reconcile(Reconcile),
}

impl PaymentsCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Connect(options) => connect::connect(at, console, options).await,
            Self::Show => show(at).await,
            Self::Reconcile(options) => reconcile::reconcile(at, console, options).await,
        }
    }
}

/// The address of the webhooks: below `url`, or below the stack's own.
pub fn webhook_url(at: &Deployment, url: Option<&str>) -> Option<String> {
    let api = url.or_else(|| at.stack.as_ref().map(|stack| stack.api_url.as_str()))?;
    Some(format!("{}{STRIPE_WEBHOOK_PATH}", api.trim_end_matches('/')))
}

/// The deploy that hands the payment keys to the function.
fn deploy_keys(at: &Deployment) -> Option<String> {
    let stack = at.stack.as_ref()?;
    let next = next_revision(&stack.key_revision, at.clock.seconds());
    Some(deploy(&stack.name, &format!("Payments=true KeyRevision={next}")))
}

pub fn shown_account(account: &ProviderAccount) -> String {
    let mode = if account.live { "live" } else { "test" };
    account.id.as_ref().map_or_else(|| format!("an account in {mode} mode"), |id| format!("{id} in {mode} mode"))
}

/// Of a call of Stripe's. It never has the key.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let said = |text: &dyn std::fmt::Display| format!("{}.", text.to_string().trim_end_matches('.'));
        match &error {
            Error::Refused(refusal) if refusal.kind == RefusalKind::Key => {
                Failure::new(Exit::Denied, "Stripe does not accept the key.", "Copy it again from Stripe's dashboard.")
            }
            Error::Refused(refusal) if refusal.kind == RefusalKind::Permission => {
                let what = format!("The key lacks a right: {}", said(&refusal.message));
                Failure::new(Exit::Denied, what, "Give it the rights that operations.md lists, and run it again.")
            }
            Error::Refused(_) | Error::Invalid(_) => {
                Failure::refused(said(&error), "Correct it, or look at Stripe's dashboard.")
            }
            _ => Failure::new(Exit::Unavailable, said(&error), "Check the network, then run the same command again."),
        }
    }
}

/// A failure of an order's step at the provider.
impl From<SettleError> for Failure {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Store(error) => error.into(),
            SettleError::Provider(ProviderError::Refused(text)) => {
                Failure::refused(format!("The payment provider refuses: {text}."), "Look at the provider's dashboard.")
            }
            SettleError::Provider(ProviderError::NoCheckout(text)) => Failure::refused(
                format!("The payment provider has no such checkout: {text}."),
                "Look at it with `storectl order show`, and at the account with `storectl payments show`.",
            ),
            SettleError::Provider(ProviderError::Key(text)) => Failure::new(
                Exit::Denied,
                format!("The payment provider refuses the key: {text}."),
                "Look at it with `storectl payments show`.",
            ),
            SettleError::Provider(ProviderError::Unavailable(text)) => Failure::new(
                Exit::Unavailable,
                format!("The payment provider is not available: {text}."),
                "Run the same command again: nothing is done twice.",
            ),
        }
    }
}

pub fn no_keys() -> Failure {
    let next = "Name the deployed stack with --stack, or connect it first: `storectl payments connect stripe`.";
    Failure::new(Exit::Denied, "There are no payment keys.", next)
}

/// An endpoint that webhooks are sent to, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: ObjectId,
    /// Whether `payments connect` created it.
    is_ours: bool,
    is_enabled: bool,
    has_version: bool,
    enabled: Vec<EventKind>,
    missing: Vec<EventKind>,
}

/// The description of the endpoints that `payments connect` creates.
const OURS: &str = "Storefront";

/// The endpoints of an address, newest first.
pub async fn endpoints(client: &Client, url: &str) -> Result<Vec<Endpoint>> {
    let all = client.send(&WebhookEndpoint::list()).await?;
    Ok(all.data.iter().filter(|endpoint| endpoint.url == url).map(endpoint_of).collect())
}

fn endpoint_of(endpoint: &WebhookEndpoint) -> Endpoint {
    let wants =
        |kind: &&EventKind| endpoint.enabled_events.iter().any(|enabled| enabled == *kind || enabled.as_str() == "*");
    Endpoint {
        id: endpoint.id.clone(),
        is_ours: endpoint.description.as_deref() == Some(OURS),
        is_enabled: endpoint.status == EndpointStatus::Enabled,
        has_version: endpoint.api_version.as_deref() == Some(API_VERSION),
        enabled: endpoint.enabled_events.clone(),
        missing: EventKind::ALL.into_iter().filter(|kind| !wants(&kind)).collect(),
    }
}

impl Endpoint {
    /// Whether it can stay, with other events if need be. The version of an endpoint cannot be changed.
    const fn is_sound(&self) -> bool {
        self.is_enabled && self.has_version
    }

    /// The events that it should be sent in place of its present ones, if any are missing.
    fn update(&self) -> Option<Vec<EventKind>> {
        (!self.missing.is_empty()).then(|| self.enabled.iter().chain(&self.missing).cloned().collect())
    }

    /// The events that it is not sent.
    fn missing(&self) -> String {
        let missing: Vec<&str> = self.missing.iter().map(EventKind::as_str).collect();
        missing.join(", ")
    }

    /// Reason why events do not arrive; `None` if they do.
    pub fn problem(&self) -> Option<String> {
        if !self.is_enabled {
            Some("is switched off".to_owned())
        } else if !self.missing.is_empty() {
            Some(format!("is not sent {}", self.missing()))
        } else {
            None
        }
    }

    /// Reason to change it although its events arrive.
    pub fn hint(&self) -> Option<String> {
        (!self.has_version).then(|| format!("works, but is of another version than {API_VERSION}: change it"))
    }
}

pub async fn show(at: &Deployment) -> Outcome {
    let payments = at.published().await?.config.payments;
    let methods = &payments.methods;
    let keys = at.payments.read().await?.stripe;
    let shown = if methods.is_empty() { "none".to_owned() } else { methods.join(", ") };
    let mut lines = vec![format!("Methods in store.yaml: {shown}")];
    if let Some(stack) = &at.stack {
        lines.push(format!("Parameter Payments of {}: {}", stack.name, stack.takes_payments));
    }
    let stripe = match &keys {
        Some(keys) => {
            let (mode, webhook_secrets) = (if keys.key.is_live() { "real" } else { "test" }, keys.webhook.len());
            let (of_key, at_stripe) = ask(at, keys, &payments).await?;
            lines.push(format!("Stripe: a key for {mode} money, {webhook_secrets} webhook secrets"));
            lines.extend(of_key);
            Some(facts! { webhook_secrets, at_stripe })
        }
        None => {
            lines.push(note!("No keys: `storectl payments connect stripe`."));
            None
        }
    };
    let deployed = at.stack.as_ref().map(|stack| stack.takes_payments);
    Ok(Printed::new(lines.join("\n"), &facts! { methods, deployed, stripe }))
}

/// A key and the endpoints of an address, as Stripe reports them.
async fn ask(at: &Deployment, keys: &StripeKeys, payments: &Payments) -> Result<(Vec<String>, impl Serialize + use<>)> {
    let client = at.payments.client(keys.key.clone())?;
    let all = client.send(&WebhookEndpoint::list()).await?;
    // A restricted key may have no right to its account.
    let known = client.send(&Account::retrieve()).await.ok();
    let url = webhook_url(at, None);
    let ours = all.data.iter().filter(|endpoint| url.as_ref().is_none_or(|url| endpoint.url == *url));
    let account = known.as_ref().map(|account| account.id.to_string()).or_else(|| keys.account.clone());
    let mut lines: Vec<String> = account.iter().map(|id| format!("Account {id}")).collect();
    let mut endpoints = Vec::new();
    for endpoint in ours {
        let (id, url, known) = (endpoint.id.to_string(), endpoint.url.clone(), endpoint_of(endpoint));
        let is_stored = keys.endpoint.as_ref().is_none_or(|stored| *stored == known.id);
        let hint = known.hint().or_else(|| (!is_stored).then(|| "is not that of the newest secret".to_owned()));
        let problem = known.problem();
        lines.push(match (&problem, &hint) {
            (None, None) => ok!("Endpoint {id} at {url}"),
            (None, Some(hint)) => note!("Endpoint {id} at {url} {hint}"),
            (Some(problem), _) => format!("{} Endpoint {id} at {url} {problem}", paint(BAD, "bad")),
        });
        endpoints.push(facts! { id, url, problem, hint });
    }
    if endpoints.is_empty() {
        lines.push(format!("{} No endpoint: webhooks are sent nowhere.", paint(BAD, "bad")));
    }
    let portal = PortalFacts::from(default_portal(&client).await);
    lines.push(portal.line());
    let ways = ways::ways(&client, payments).await;
    lines.extend(ways::lines(ways.as_ref()));
    let taxes = ways::tax_problem(&client, payments).await;
    lines.extend(ways::tax_line(taxes.as_ref()));
    let charges_enabled = known.map(|account| account.charges_enabled);
    Ok((lines, facts! { account, charges_enabled, endpoints, portal, ways, taxes }))
}

/// The advice for an account that has no default configuration: only the dashboard creates it.
const SAVE: &str = "save the portal's settings once in Stripe's dashboard (Settings, Billing, Customer portal), and run \
                    `storectl payments connect stripe` again";

/// The portal: `null` in JSON if there is none.
#[derive(Serialize)]
#[serde(untagged)]
pub enum PortalFacts {
    Known {
        configuration: String,
        login_page: Option<String>,
    },
    Missing,
    /// The reason for which it is not known.
    Unknown(#[serde(skip)] String),
}

impl From<Result<Option<PortalConfiguration>>> for PortalFacts {
    fn from(found: Result<Option<PortalConfiguration>>) -> Self {
        match found {
            Ok(Some(found)) => Self::Known { configuration: found.id.to_string(), login_page: found.login_page.url },
            Ok(None) => Self::Missing,
            Err(failure) => Self::Unknown(failure.what),
        }
    }
}

impl PortalFacts {
    /// The portal in words. Buyers can pay without it, so that the connection is sound if it is missing.
    pub fn line(&self) -> String {
        match self {
            Self::Known { login_page, .. } => {
                let page = login_page.as_ref().map(|url| format!("; by e-mail at {url}")).unwrap_or_default();
                ok!("Buyers cancel subscriptions in Stripe's portal{page}.")
            }
            Self::Missing => note!("Buyers cannot cancel subscriptions in Stripe's portal yet: {SAVE}."),
            Self::Unknown(why) => note!("Buyers may be unable to cancel subscriptions in Stripe's portal: {why}"),
        }
    }
}

/// The configuration that buyers' visits use, if the account has one.
async fn default_portal(client: &Client) -> Result<Option<PortalConfiguration>> {
    Ok(all_portals(client).await?.into_iter().find(|configuration| configuration.is_default))
}

async fn all_portals(client: &Client) -> Result<Vec<PortalConfiguration>> {
    Ok(client.send(&PortalConfiguration::list()).await?.data)
}

/// Gives the default configuration the store's settings. An account without any gets one, which Stripe may make the default.
pub async fn set_up_portal(client: &Client) -> Result<Option<PortalConfiguration>> {
    let all = all_portals(client).await?;
    if let Some(found) = all.iter().find(|configuration| configuration.is_default) {
        let updated = client.send(&PortalConfiguration::update(&found.id)).await;
        return Ok(Some(updated?));
    }
    if !all.is_empty() {
        return Ok(None);
    }
    let unusable = |what: String| Failure::new(Exit::Local, what, "Report this.");
    let once = shared::random::uuid().ok_or_else(|| unusable("The system provides no random numbers.".to_owned()))?;
    let once = IdempotencyKey::parse(&once).map_err(|error| unusable(format!("{error}.")))?;
    let created = client.send(&PortalConfiguration::create(once)).await?;
    Ok(Some(created).filter(|created| created.is_default))
}

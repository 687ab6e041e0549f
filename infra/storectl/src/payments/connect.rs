//! `payments connect`: a key is checked, the endpoint of the webhooks created, and both secrets are kept.
//!
//! The account that a key belongs to, what a change of it would leave behind, and the rights that a restricted key needs. Each is
//! tried by a call that has no effect: it names an object that does not exist, or only reads. Stripe looks at the rights before it
//! looks for the object.

use super::ways::{lines as way_lines, ways};
use super::{OURS, PortalFacts, deploy_keys, endpoints, no_keys, set_up_portal, shown_account, ways, webhook_url};
use crate::arguments::secret;
use crate::chat::shown;
use crate::prelude::*;
use crate::subscription::renewing;
use futures_util::future::{BoxFuture, join_all};
use publish::currency::at_stripe;
use serde::de::DeserializeOwned;
use shared::config::{MOST_SECRETS, PaymentKeys, StripeKeys, is_account};
use shared::model::{Payments, ProviderAccount, Settings};
use shared::random;
use shared::rules::payment::{Origin, is_left, origin};
use shared::shop::orders::StoredOrder;
use shared::shop::payments::open_orders;
use shared::table::published::{read_active_version, set_leaving};
use shared::table::{keys, read_published};
use std::collections::BTreeMap;
use std::path::PathBuf;
use stripe::{
    Account, Balance, Call, Charge, Client, Dispute, Error, Event, EventKind, IdempotencyKey, Invalid, Invoice,
    InvoicePayment, NewRefund, NewWebhookEndpoint, ObjectId, PaymentIntent, PortalConfiguration, PortalSession, Refund,
    RefusalKind, SecretKey, Session, Subscription, WebhookEndpoint, WebhookSecret,
};

#[derive(Debug, Clone, Args)]
pub struct Connect {
    /// The provider.
    #[arg(value_parser = ["stripe"])]
    pub provider: String,
    /// File with the key; standard input if it is left out.
    #[arg(long, value_name = "FILE", conflicts_with = "finish")]
    pub stripe_key: Option<PathBuf>,
    /// The account of the key, if the key has no right to read it.
    #[arg(long, value_name = "ACCT", conflicts_with = "finish")]
    pub account: Option<String>,
    /// Do not ask, also if orders are open in another account or mode.
    #[arg(long, short, conflicts_with = "finish")]
    pub yes: bool,
    /// Address of the API that webhooks are sent to; the stack's own by default.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Create another endpoint although there is one, to change the secret of its webhooks.
    #[arg(long, conflicts_with = "finish")]
    pub new_secret: bool,
    /// After the deploy: delete the older endpoints of this address and forget their secrets.
    #[arg(long)]
    pub finish: bool,
}

/// More than any key has, so that a wrong file is not read whole.
const LONGEST_KEY: u64 = 4_096;

pub async fn connect(at: &Deployment, console: &Console, options: &Connect) -> Outcome {
    at.payments.must_be_writable()?;
    let url = webhook_url(at, options.url.as_deref()).ok_or_else(|| {
        let next = "Name the deployed stack with --stack, or add --url with the API's address.";
        Failure::new(Exit::Denied, "The address of the webhooks is not known.", next)
    })?;
    let stored = at.payments.read().await?.stripe;
    if options.finish {
        return finish(at, &url, stored.ok_or_else(no_keys)?).await;
    }
    let payments = payable(at).await?;
    let key = SecretKey::parse(secret(options.stripe_key.as_deref(), LONGEST_KEY, "--stripe-key")?.trim()).map_err(
        |error| Failure::refused(format!("{error}."), "Copy it from Stripe's dashboard: Developers, API keys."),
    )?;
    let (live, restricted) = (key.is_live(), key.is_restricted());
    let client = at.payments.client(key.clone())?;
    must_have_all(at, &client).await?;
    let account = of_key(&client, options.account.as_deref()).await?;
    let own = ProviderAccount { id: Some(account.id), live };
    let (kept, left_open) = of_same_account(at, console, options, stored, (&client, &url, &own)).await?;
    let webhook = webhook(&client, &url, kept, options.new_secret).await?;
    // At once: a secret that was created is lost if this is killed before it is stored.
    let (webhooks, endpoint) = (webhook.secrets, Some(webhook.endpoint));
    let keys = PaymentKeys { stripe: Some(StripeKeys { key, webhook: webhooks, endpoint, account: own.id.clone() }) };
    let place = at.payments.write(&keys).await.map_err(|failure| {
        let Some(id) = &webhook.created else { return failure };
        let created = format!("The webhook endpoint {id} was created; its secret is lost.");
        failure.done(created).next("Run it again: it creates another one, and --finish deletes this one.")
    })?;
    if left_open.is_none() {
        stay(at, &own).await?;
    }
    let (ways, taxes) = (ways(&client, &payments).await, ways::tax_problem(&client, &payments).await);
    let (charges_enabled, portal) = (account.charges_enabled, PortalFacts::from(set_up_portal(&client).await));
    let mut lines = vec![
        ok!("The key is accepted, of the account {}.", shown_account(&own)),
        match &webhook.created {
            Some(id) => ok!("Webhooks go to {url} (endpoint {id})."),
            None => ok!("Webhooks go to {url} as before."),
        },
        ok!("The keys are in {place}."),
    ];
    lines.extend(webhook.added.iter().map(|added| ok!("Its endpoint is now also sent {added}.")));
    lines.push(portal.line());
    lines.extend(way_lines(ways.as_ref()).into_iter().chain(ways::tax_line(taxes.as_ref())));
    lines.extend(left_open.iter().flat_map(|open| left(open)));
    lines.extend((!restricted).then(|| note!("A restricted key is safer: this one may do everything.")));
    if charges_enabled == Some(false) {
        lines.push(note!("The account cannot take payments yet: complete it at Stripe."));
    }
    let deploy = deploy_keys(at);
    lines.extend(deploy.as_ref().map(|line| shown("Next, hand them to the function", line)));
    if webhook.overlap {
        lines.push("After it: `storectl payments connect stripe --finish`.".to_owned());
    }
    let facts = facts! {
        live, account: own.id, restricted, charges_enabled, url, created: webhook.created,
        left_open, added_events: webhook.added, overlap: webhook.overlap, deploy, portal, ways, taxes,
    };
    Ok(Printed::new(lines.join("\n"), &facts))
}

/// Lets checkouts begin again in an account that was about to be left.
async fn stay(at: &Deployment, own: &ProviderAccount) -> Result<()> {
    let active = read_active_version(&at.db).await?;
    if active.is_some_and(|active| is_left(active.leaving.as_ref(), own)) {
        set_leaving(&at.db, None).await?;
    }
    Ok(())
}

/// Lines about the account that was left, in which these orders are open.
fn left(open: &str) -> Vec<String> {
    let mut lines = vec![ok!("No checkout begins until the deploy.")];
    if !open.is_empty() {
        let after = "Deploy when they are over: what is open after it is given up, marked for review.";
        lines.push(note!("{open} {after}"));
    }
    lines
}

/// The stored keys, if they are of the account that is connected. If they are not, it is asked whether to leave it, and what is open
/// there is named.
async fn of_same_account(
    at: &Deployment,
    console: &Console,
    options: &Connect,
    stored: Option<StripeKeys>,
    (client, url, own): (&Client, &str, &ProviderAccount),
) -> Result<(Option<StripeKeys>, Option<String>)> {
    let Some(stored) = stored else { return Ok((None, None)) };
    if is_of(at, &stored, own, client, url).await? {
        return Ok((Some(stored), None));
    }
    let open = leave(at, console, &stored.provider_account(), own, options.yes).await?;
    Ok((None, Some(open)))
}

/// How buyers of the published store pay, if one is published. Refuses a store whose amounts the provider would read otherwise.
async fn payable(at: &Deployment) -> Result<Payments> {
    let Some(active) = read_active_version(&at.db).await? else { return Ok(Payments::default()) };
    let settings: Option<Settings> = read_published(&at.db, &keys::settings(&active.version)).await?;
    let code = settings.unwrap_or_default().system_currency.name;
    let next = "Publish a store with a currency that can be paid (store-format.md, `payments`).";
    let charged = at_stripe(&code)
        .map_err(|error| Failure::refused(format!("Buyers cannot pay {code} through Stripe: {error}."), next))?;
    if charged.digits == active.config.digits {
        return Ok(active.config.payments);
    }
    let (theirs, ours) = (charged.digits, active.config.digits);
    let what = format!("Stripe charges {code} with {theirs} digits after the point, the store has {ours}.");
    Err(Failure::refused(what, next))
}

/// Whether stored keys are of an account and mode. Of keys whose account was not stored, the key may say it, or that it sees
/// the same endpoints.
async fn is_of(
    at: &Deployment,
    stored: &StripeKeys,
    account: &ProviderAccount,
    client: &Client,
    url: &str,
) -> Result<bool> {
    if stored.key.is_live() != account.live {
        return Ok(false);
    }
    if stored.account.is_some() {
        return Ok(stored.account == account.id);
    }
    let before = at.payments.client(stored.key.clone())?;
    if let Ok(before) = before.send(&Account::retrieve()).await {
        return Ok(account.id.as_deref() == Some(before.id.as_str()));
    }
    let found = endpoints(client, url).await?;
    Ok(!found.is_empty() && endpoints(&before, url).await.is_ok_and(|others| others == found))
}

/// The webhooks from now on.
struct Webhook {
    endpoint: ObjectId,
    /// The secret of the endpoint, and those before it.
    secrets: Vec<WebhookSecret>,
    created: Option<String>,
    /// The events that an endpoint which was there already is sent from now on.
    added: Option<String>,
    /// Whether something is left that `--finish` deletes or forgets.
    overlap: bool,
}

/// Keeps the endpoint whose secret is stored, and brings its events up to date, or creates one. `kept` are the keys so far, if they
/// are of the same account and mode. Nothing is deleted before `--finish`: until the deploy, the functions may know the secret of
/// any other endpoint. One whose secret was lost, because this was killed before it was stored, is left to it as well.
async fn webhook(client: &Client, url: &str, kept: Option<StripeKeys>, new_secret: bool) -> Result<Webhook> {
    let found = endpoints(client, url).await?;
    let (stored, mut secrets) = kept.map(|kept| (kept.endpoint, kept.webhook)).unwrap_or_default();
    let kept =
        found.iter().find(|endpoint| Some(&endpoint.id) == stored.as_ref() && endpoint.is_sound() && !new_secret);
    let mut added = None;
    let endpoint = if let Some(kept) = kept {
        if let Some(kinds) = kept.update() {
            client.send(&WebhookEndpoint::update(&kept.id, &kinds)).await?;
            added = Some(kept.missing());
        }
        kept.id.clone()
    } else {
        let (id, secret) = create(client, url).await?;
        secrets.insert(0, secret);
        secrets.truncate(MOST_SECRETS);
        id
    };
    let overlap = secrets.len() > 1 || found.iter().any(|other| other.is_ours && other.id != endpoint);
    let created = kept.is_none().then(|| endpoint.to_string());
    Ok(Webhook { endpoint, secrets, created, added, overlap })
}

async fn create(client: &Client, url: &str) -> Result<(ObjectId, WebhookSecret)> {
    let once = shared::random::uuid().ok_or_else(|| {
        Failure::new(Exit::Local, "The system provides no random numbers.", "Fix the system, and run it again.")
    })?;
    let once = IdempotencyKey::parse(&once).map_err(|error| Failure::refused(format!("{error}."), "Report this."))?;
    let new = NewWebhookEndpoint { url, kinds: &EventKind::ALL, description: OURS };
    let created = client.send(&WebhookEndpoint::create(&new, once)).await?;
    let secret = created.secret.ok_or_else(|| {
        let what = format!("Stripe created the webhook endpoint {} without telling its secret.", created.id);
        Failure::new(Exit::Unavailable, what, "Run it again: it creates another one.")
    })?;
    Ok((created.id, secret))
}

/// Deletes the endpoints of the address that were created here, but for the one of the newest secret, and forgets the other
/// secrets. Refuses if that one could not take their place.
async fn finish(at: &Deployment, url: &str, stored: StripeKeys) -> Outcome {
    let client = at.payments.client(stored.key.clone())?;
    let (kept, others): (Vec<_>, Vec<_>) =
        endpoints(&client, url).await?.into_iter().partition(|endpoint| Some(&endpoint.id) == stored.endpoint.as_ref());
    let unfit = match (&stored.endpoint, kept.first()) {
        (None, _) => Some("It is not stored which webhook endpoint the newest secret is of.".to_owned()),
        (Some(id), None) => Some(format!("Stripe has no webhook endpoint {id} at {url}.")),
        (Some(id), Some(kept)) => {
            kept.problem().or_else(|| kept.hint()).map(|why| format!("The webhook endpoint {id} {why}."))
        }
    };
    if let Some(unfit) = unfit {
        let next = "Run `storectl payments connect stripe` with the key, deploy what it prints, then finish.";
        return Err(Failure::refused(unfit, next));
    }
    let mut deleted = Vec::new();
    let (ours, foreign): (Vec<_>, Vec<_>) = others.into_iter().partition(|other| other.is_ours);
    for endpoint in ours {
        client.send(&WebhookEndpoint::delete(&endpoint.id)).await?;
        deleted.push(endpoint.id.to_string());
    }
    let foreign: Vec<String> = foreign.iter().map(|other| other.id.to_string()).collect();
    let newest: Vec<WebhookSecret> = stored.webhook.iter().take(1).cloned().collect();
    let forgotten = stored.webhook.len() - newest.len();
    if forgotten > 0 {
        let keys = PaymentKeys { stripe: Some(StripeKeys { webhook: newest, ..stored }) };
        at.payments.write(&keys).await?;
    }
    let deploy = deploy_keys(at).filter(|_| forgotten > 0);
    let mut lines = vec![ok!("{} older endpoints deleted, {forgotten} older secrets forgotten.", deleted.len())];
    let stays =
        |id: &String| note!("The endpoint {id} was not created by this command, and stays; its events are refused.");
    lines.extend(foreign.iter().map(stays));
    lines.extend(deploy.as_ref().map(|line| shown("Next, at any time", line)));
    Ok(Printed::new(lines.join("\n"), &facts! { deleted, foreign, forgotten, deploy }))
}

/// The most orders that are named.
const ORDERS_NAMED: usize = 20;

pub struct Known {
    pub id: String,
    /// Whether it can take payments, if the key may know that.
    pub charges_enabled: Option<bool>,
}

/// The account of a key: as Stripe says it, or as it was named if the key may not read it.
pub async fn of_key(client: &Client, named: Option<&str>) -> Result<Known> {
    if let Some(id) = named.filter(|id| !is_account(id)) {
        let next = "It begins with acct_: Stripe's dashboard, Settings, Account details.";
        return Err(Failure::refused(format!("{id} is not the id of an account."), next));
    }
    match (client.send(&Account::retrieve()).await, named) {
        (Ok(account), Some(id)) if account.id.as_str() != id => {
            let what = format!("The key belongs to the account {}, not to {id}.", account.id);
            Err(Failure::refused(what, "Use a key of that account, or leave --account out."))
        }
        (Ok(account), _) => Ok(Known { id: account.id.to_string(), charges_enabled: Some(account.charges_enabled) }),
        (Err(Error::Refused(refusal)), Some(id)) if refusal.kind == RefusalKind::Permission => {
            Ok(Known { id: id.to_owned(), charges_enabled: None })
        }
        (Err(Error::Refused(refusal)), None) if refusal.kind == RefusalKind::Permission => {
            let next = "Give it that right, or add --account acct_… (Stripe's dashboard, Settings, Account details).";
            Err(Failure::new(Exit::Denied, "The key has no right to read its account.", next))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Asks before keys of another account or mode are stored, and lets no checkout begin in the former one from then on. Returns what
/// is open there, in words.
async fn leave(
    at: &Deployment,
    console: &Console,
    before: &ProviderAccount,
    to: &ProviderAccount,
    yes: bool,
) -> Result<String> {
    let mut what =
        format!("The key is of {}; the store is connected with {}.", shown_account(to), shown_account(before));
    let open = open_in_another(at, to).await?;
    if !open.is_empty() {
        what = format!("{what} {open}");
    }
    let subscriptions = renewing(at).await?.iter().filter(|one| one.account != *to).count();
    if subscriptions > 0 {
        what =
            format!("{what} {subscriptions} subscriptions are active there: they would be charged, and give nothing.");
    }
    let question =
        "Connect it? No checkout begins until the deploy, and what is open after it is given up, marked for review";
    console.confirm(&what, question, yes).map_err(|failure| {
        let next = if subscriptions > 0 {
            "Cancel the subscriptions that `storectl subscription list` shows, then add --yes."
        } else {
            "Add --yes: no checkout begins until the deploy that it prints."
        };
        Failure::new(failure.exit, what.as_str(), next)
    })?;
    // Nothing is sold where nothing is published.
    set_leaving(&at.db, Some(before)).await?;
    open_in_another(at, to).await
}

/// The orders that are open in another account or mode, the first ones by id and time; empty if there are none.
async fn open_in_another(at: &Deployment, account: &ProviderAccount) -> Result<String> {
    let is_left = |stored: &StoredOrder| {
        stored.effects.provider.as_ref().is_some_and(|checkout| origin(checkout, account) != Origin::Own)
    };
    let open: Vec<StoredOrder> = open_orders(&at.db).await?.into_iter().filter(is_left).collect();
    let until = |stored: &StoredOrder| {
        let checkout = stored.effects.provider.as_ref();
        checkout.map_or_else(String::new, |checkout| format!(" (until {})", Time(checkout.expires_at)))
    };
    let mut names: Vec<String> =
        open.iter().take(ORDERS_NAMED).map(|stored| format!("{}{}", stored.order.internal_id, until(stored))).collect();
    if open.len() > ORDERS_NAMED {
        names.push(format!("{} more", open.len() - ORDERS_NAMED));
    }
    let names = names.join(", ");
    Ok(if open.is_empty() { names } else { format!("{} orders are open there: {names}.", open.len()) })
}

/// The rights that a key lacks, in the words of the dashboard.
pub async fn missing(at: &Deployment, client: &Client) -> Result<Vec<&'static str>> {
    let unknown = |error: Invalid| Failure::refused(format!("{error}."), "Report this.");
    let id = |kind: &str| ObjectId::parse(&format!("{kind}_none")).map_err(unknown);
    let once = random::uuid().unwrap_or_else(|| "rights".to_owned());
    let new = NewRefund { payment_intent: &id("pi")?, amount: None, order: "none", attempt: 1 };
    let refund = Refund::create(&new, IdempotencyKey::parse(&once).map_err(unknown)?);
    let active = read_active_version(&at.db).await.ok().flatten();
    let disputes = if active.is_some_and(|active| active.config.payments.answer_disputes) {
        let key = IdempotencyKey::parse(&format!("{once}-evidence")).map_err(unknown)?;
        attempt(client, "Disputes write", Dispute::submit(&id("du")?, &BTreeMap::new(), key))
    } else {
        attempt(client, "Disputes read", Dispute::retrieve(&id("du")?))
    };
    let tries: [Try<'_>; 13] = [
        attempt(client, "Checkout Sessions write", Session::expire(&id("cs")?)),
        attempt(client, "Refunds write", refund),
        attempt(client, "Webhook Endpoints write", WebhookEndpoint::delete(&id("we")?)),
        attempt(client, "PaymentIntents read", PaymentIntent::retrieve(&id("pi")?)),
        attempt(client, "Charges read", Charge::retrieve(&id("ch")?)),
        disputes,
        attempt(
            client,
            "Events read",
            Event::list(&[EventKind::SessionCompleted], (i64::from(i32::MAX), i64::from(i32::MAX)), None),
        ),
        attempt(client, "Balance read", Balance::retrieve()),
        attempt(client, "Subscriptions write", Subscription::cancel(&id("sub")?)),
        attempt(client, "Invoices write", Invoice::void(&id("in")?)),
        attempt(client, "Invoices read", InvoicePayment::list(&id("pi")?)),
        attempt(client, "Customer portal write", PortalConfiguration::update(&id("bpc")?)),
        attempt(client, "Customers read", PortalSession::create(&id("cus")?, "https://shop.example")),
    ];
    let lacking: Result<Vec<Option<&'static str>>> = join_all(tries).await.into_iter().collect();
    Ok(lacking?.into_iter().flatten().collect())
}

type Try<'a> = BoxFuture<'a, Result<Option<&'static str>>>;

/// The right, if the key lacks it. That the object does not exist is known only to a key that has the right.
fn attempt<'a, T: DeserializeOwned + 'a>(client: &'a Client, right: &'static str, call: Call<T>) -> Try<'a> {
    Box::pin(async move {
        match client.send(&call).await {
            Ok(_) => Ok(None),
            Err(Error::Refused(refusal)) if refusal.kind == RefusalKind::Permission => Ok(Some(right)),
            Err(Error::Refused(refusal)) if refusal.kind != RefusalKind::Key => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

/// Refuses a key that lacks a right.
async fn must_have_all(at: &Deployment, client: &Client) -> Result<()> {
    let missing = missing(at, client).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let next = "Add them in Stripe's dashboard (Developers, API keys), and run it again.";
    Err(Failure::new(Exit::Denied, format!("The key lacks rights: {}.", missing.join(", ")), next))
}

//! `payments connect`: a key is checked, the endpoint of the webhooks created, and both secrets are kept.

use super::account::{leave, of_key};
use super::portal;
use super::rights::must_have_all;
use super::show::{Endpoint, endpoint_of};
use super::{deploy, no_keys, of_stripe, webhook_url};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Connect;
use crate::commands::common::shown_account;
use crate::commands::deploy::shown;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::provider::at_stripe;
use serde_json::json;
use shared::config::{PaymentKeys, StripeKeys};
use shared::model::{ActiveVersion, ProviderAccount, Settings};
use shared::rules::payment::is_left;
use shared::table::published::{read_active_version, set_leaving};
use shared::table::{keys, read_published};
use std::io::Read as _;
use std::path::Path;
use stripe::{
    Account, Client, EventKind, IdempotencyKey, NewWebhookEndpoint, SecretKey, WebhookEndpoint, WebhookSecret,
};

/// How many secrets of webhooks are accepted while one is changed: the new one and the one before.
const SECRETS: usize = 2;
/// More than any key has, so that a wrong file is not read whole.
const LONGEST: u64 = 4_096;

pub(in crate::commands) async fn connect(
    target: &Target,
    console: &Console,
    options: &Connect,
) -> Result<Answer, Failure> {
    target.payments.must_be_writable()?;
    let url = webhook_url(target, options.url.as_deref()).ok_or_else(|| {
        let next = "Name the deployed stack with --stack, or add --url with the API's address.";
        Failure::new(Exit::Denied, "The address of the webhooks is not known.", next)
    })?;
    let stored = target.payments.read().await?.stripe;
    if options.finish {
        return finish(target, &url, stored.ok_or_else(no_keys)?).await;
    }
    currency(target).await?;
    let key = SecretKey::parse(&read_key(options.stripe_key.as_deref())?).map_err(|error| {
        Failure::refused(format!("{error}."), "Copy it from Stripe's dashboard: Developers, API keys.")
    })?;
    let (is_live, is_restricted) = (key.is_live(), key.is_restricted());
    let client = target.payments.client(key.clone()).await?;
    must_have_all(&client).await?;
    let account = of_key(&client, options.account.as_deref()).await?;
    let charges = account.charges_enabled;
    let own = ProviderAccount { id: Some(account.id), live: is_live };
    let (kept, left) = of_same_account(target, console, options, stored, (&client, &url, &own)).await?;
    let webhook = webhook(&client, &url, kept, options.new_secret).await?;
    let (overlap, portal) = (webhook.secrets.len() > 1, portal::set_up(&client).await);
    let keys = PaymentKeys { stripe: Some(StripeKeys { key, webhook: webhook.secrets, account: own.id.clone() }) };
    let place = target.payments.write(&keys).await.map_err(|failure| {
        let created =
            webhook.created.as_ref().map(|id| format!("The webhook endpoint {id} was created; its secret is lost."));
        let next = "Run it again with --new-secret, and then with --finish.";
        if let Some(created) = created { failure.done(created).next(next) } else { failure }
    })?;
    if left.is_none() && active(target).await?.is_some_and(|active| is_left(active.leaving.as_ref(), &own)) {
        set_leaving(&target.db, None).await?;
    }
    let mut lines = vec![
        format!("{} The key is accepted, of the account {}.", paint(GOOD, "ok"), shown_account(&own)),
        match &webhook.created {
            Some(id) => format!("{} Webhooks go to {url} (endpoint {id}).", paint(GOOD, "ok")),
            None => format!("{} Webhooks go to {url} as before.", paint(GOOD, "ok")),
        },
        format!("{} The keys are in {place}.", paint(GOOD, "ok")),
    ];
    lines.extend(
        webhook.added.iter().map(|added| format!("{} Its endpoint is now also sent {added}.", paint(GOOD, "ok"))),
    );
    lines.push(portal::line(&portal));
    lines.extend(left.as_ref().map(|_| format!("{} No checkout begins until the deploy.", paint(GOOD, "ok"))));
    lines.extend(left.as_ref().filter(|open| !open.is_empty()).map(|open| {
        format!(
            "{} {open} Deploy when they are over: what is open after it is given up, marked for review.",
            paint(WARN, "note")
        )
    }));
    if !is_restricted {
        lines.push(format!("{} A restricted key is safer: this one may do everything.", paint(WARN, "note")));
    }
    if charges == Some(false) {
        lines.push(format!("{} The account cannot take payments yet: complete it at Stripe.", paint(WARN, "note")));
    }
    let deploy = deploy(target);
    lines.extend(deploy.as_ref().map(|line| shown("Next, hand them to the function", line)));
    if overlap {
        lines.push("After it: `storectl payments connect stripe --finish`.".to_owned());
    }
    let json = json!({
        "live": is_live, "account": own.id, "restricted": is_restricted, "charges_enabled": charges, "url": url,
        "created": webhook.created, "left_open": left, "added_events": webhook.added, "overlap": overlap, "deploy": deploy,
        "portal": portal::facts(&portal),
    });
    Ok(Answer::new(lines.join("\n"), json))
}

async fn active(target: &Target) -> Result<Option<ActiveVersion>, Failure> {
    Ok(read_active_version(&target.db).await?)
}

/// The stored keys, if they are of the account that is connected. If they are not, it is asked whether to leave it, and what is open
/// there is named.
async fn of_same_account(
    target: &Target,
    console: &Console,
    options: &Connect,
    stored: Option<StripeKeys>,
    (client, url, own): (&Client, &str, &ProviderAccount),
) -> Result<(Option<StripeKeys>, Option<String>), Failure> {
    let Some(stored) = stored else { return Ok((None, None)) };
    if is_of(target, &stored, own, client, url).await? {
        return Ok((Some(stored), None));
    }
    let open = leave(target, console, &stored.provider_account(), own, options.yes).await?;
    Ok((None, Some(open)))
}

/// Refuses a store whose amounts the provider would read otherwise.
async fn currency(target: &Target) -> Result<(), Failure> {
    let Some(active) = active(target).await? else { return Ok(()) };
    let settings: Option<Settings> = read_published(&target.db, &keys::settings(&active.version)).await?;
    let code = settings.unwrap_or_default().system_currency.name;
    let next = "Publish a store with a currency that can be paid (store-format.md, `payments`).";
    let charged = at_stripe(&code)
        .map_err(|error| Failure::refused(format!("Buyers cannot pay {code} through Stripe: {error}."), next))?;
    if charged.digits == active.config.digits {
        return Ok(());
    }
    let (theirs, ours) = (charged.digits, active.config.digits);
    let what = format!("Stripe charges {code} with {theirs} digits after the point, the store has {ours}.");
    Err(Failure::refused(what, next))
}

/// The key in a file or on standard input.
fn read_key(path: Option<&Path>) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| Failure::file(path, &error))?;
            file.take(LONGEST).read_to_string(&mut text).map_err(|error| Failure::file(path, &error))
        }
        None => std::io::stdin().take(LONGEST).read_to_string(&mut text).map_err(|error| {
            Failure::new(Exit::Local, format!("Standard input cannot be read: {error}."), "Use --stripe-key FILE.")
        }),
    };
    read.map(|_| text.trim().to_owned())
}

/// Whether stored keys are of an account and mode. Of keys whose account was not stored, the key may say it, or that it sees
/// the same endpoints.
async fn is_of(
    target: &Target,
    stored: &StripeKeys,
    account: &ProviderAccount,
    client: &Client,
    url: &str,
) -> Result<bool, Failure> {
    if stored.key.is_live() != account.live {
        return Ok(false);
    }
    if stored.account.is_some() {
        return Ok(stored.account == account.id);
    }
    let before = target.payments.client(stored.key.clone()).await?;
    if let Ok(before) = before.send(&Account::retrieve()).await {
        return Ok(account.id.as_deref() == Some(before.id.as_str()));
    }
    let found = list(client, url).await?;
    Ok(!found.is_empty() && list(&before, url).await.is_ok_and(|others| others == found))
}

/// The secrets of the webhooks from now on, the newest first.
struct Webhook {
    secrets: Vec<WebhookSecret>,
    created: Option<String>,
    /// The events that an endpoint which was there already is sent from now on.
    added: Option<String>,
}

/// Keeps the endpoint whose secret is known, and brings its events up to date, or creates one. `kept` are the keys so far, if
/// they are of the same account and mode.
async fn webhook(client: &Client, url: &str, kept: Option<StripeKeys>, new_secret: bool) -> Result<Webhook, Failure> {
    let found = list(client, url).await?;
    if let Some(kept) = kept.as_ref().filter(|_| !new_secret) {
        let secrets = kept.webhook.clone();
        if found.iter().any(|endpoint| endpoint.problem().is_none()) {
            return Ok(Webhook { secrets, created: None, added: None });
        }
        if let Some((endpoint, kinds)) = found.iter().find_map(|endpoint| Some((endpoint, endpoint.update()?))) {
            client.send(&WebhookEndpoint::update(&endpoint.id, &kinds)).await.map_err(|error| of_stripe(&error))?;
            return Ok(Webhook { secrets, created: None, added: Some(endpoint.missing()) });
        }
    }
    let (created, secret) = create(client, url).await?;
    let before = kept.map(|kept| kept.webhook).unwrap_or_default();
    let secrets = std::iter::once(secret).chain(before).take(SECRETS).collect();
    Ok(Webhook { secrets, created: Some(created), added: None })
}

/// The endpoints of an address, newest first.
async fn list(client: &Client, url: &str) -> Result<Vec<Endpoint>, Failure> {
    let all = client.send(&WebhookEndpoint::list()).await.map_err(|error| of_stripe(&error))?;
    Ok(all.data.iter().filter(|endpoint| endpoint.url == url).map(endpoint_of).collect())
}

async fn create(client: &Client, url: &str) -> Result<(String, WebhookSecret), Failure> {
    let once = shared::random::uuid().ok_or_else(|| {
        Failure::new(Exit::Local, "The system provides no random numbers.", "Fix the system, and run it again.")
    })?;
    let once = IdempotencyKey::parse(&once).map_err(|error| Failure::refused(format!("{error}."), "Report this."))?;
    let new = NewWebhookEndpoint { url, kinds: &EventKind::ALL, description: "Storefront" };
    let created = client.send(&WebhookEndpoint::create(&new, once)).await.map_err(|error| of_stripe(&error))?;
    let id = created.id.to_string();
    let secret = created.secret.ok_or_else(|| {
        let what = format!("Stripe created the webhook endpoint {id} without telling its secret.");
        Failure::new(Exit::Unavailable, what, "Delete it in Stripe's dashboard, and run it again.")
    })?;
    Ok((id, secret))
}

/// Deletes the older endpoints of the address, and forgets their secrets.
async fn finish(target: &Target, url: &str, stored: StripeKeys) -> Result<Answer, Failure> {
    let client = target.payments.client(stored.key.clone()).await?;
    let mut deleted = Vec::new();
    for endpoint in list(&client, url).await?.iter().skip(1) {
        client.send(&WebhookEndpoint::delete(&endpoint.id)).await.map_err(|error| of_stripe(&error))?;
        deleted.push(endpoint.id.to_string());
    }
    let newest: Vec<WebhookSecret> = stored.webhook.iter().take(1).cloned().collect();
    let forgotten = stored.webhook.len() - newest.len();
    if forgotten > 0 {
        let keys = PaymentKeys { stripe: Some(StripeKeys { webhook: newest, ..stored }) };
        target.payments.write(&keys).await?;
    }
    let deploy = deploy(target).filter(|_| forgotten > 0);
    let mut lines = vec![format!(
        "{} {} older endpoints deleted, {forgotten} older secrets forgotten.",
        paint(GOOD, "ok"),
        deleted.len()
    )];
    lines.extend(deploy.as_ref().map(|line| shown("Next, at any time", line)));
    Ok(Answer::new(lines.join("\n"), json!({ "deleted": deleted, "forgotten": forgotten, "deploy": deploy })))
}

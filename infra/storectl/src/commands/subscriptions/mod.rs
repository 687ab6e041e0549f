//! `subscription list`, `show`, `settle`, `cancel` and `extend`.

mod cancel;
mod extend;

pub(super) use cancel::{cancel, end_all, settle};
pub(super) use extend::extend;

use super::codes;
use super::common::{shown_account, shown_time};
use super::find_user::{find, read};
use crate::answer::{Answer, STRONG, WARN, columns, paint};
use crate::cli::ListSubscriptions;
use crate::error::Failure;
use crate::target::Target;
use publish::provider::at_stripe;
use serde_json::{Value, json};
use shared::model::{
    Cancellation, ItemId, Plan, RunName, Subscription, SubscriptionState, SubscriptionStatus, User, UserId,
};
use shared::money::CurrencyFormat;
use shared::rules::subscription::{access_until, lasts_until, shown_state};
use shared::shop::subscriptions;
use shared::table::bulk::all;
use shared::table::keys::prefix;
use std::collections::BTreeMap;

/// A subscription, and what people need to read it.
struct Shown {
    subscription: Subscription,
    /// The buyer's name; `None` if the account was erased.
    player: Option<String>,
    format: CurrencyFormat,
}

impl Shown {
    fn player(&self) -> String {
        let user = self.subscription.user;
        self.player.as_ref().map_or_else(|| format!("user {user}"), |name| format!("{name} (user {user})"))
    }

    fn price(&self) -> String {
        let Subscription { price, currency, plan, .. } = &self.subscription;
        format!("{} {currency} {}", self.format.money(*price), period(*plan))
    }

    fn facts(&self) -> Value {
        let Subscription { plan, account, .. } = &self.subscription;
        let subscription = &self.subscription;
        json!({
            "id": subscription.id, "status": shown_state(subscription), "user": subscription.user,
            "player": self.player, "item": subscription.item, "name": subscription.name,
            "price": self.format.money(subscription.price), "currency": subscription.currency,
            "every": plan.every, "unit": plan.unit, "grace": plan.grace, "cancelled": subscription.cancelled,
            "paid_until": shown_time(subscription.paid_until), "access_until": shown_time(access_until(subscription)),
            "ended_at": subscription.ended_at.map(shown_time), "stopped_at": subscription.stopped_at.map(shown_time),
            "free_until": subscription.free_until.map(shown_time), "ends_at": subscription.ends_at.map(shown_time),
            "replaces": subscription.replaces, "replaced_by": subscription.replaced_by, "requested": subscription.requested, "due": subscription.due.map(shown_time),
            "extended": subscription.extended, "runs": subscription.runs, "first_order": subscription.first, "newest_order": subscription.newest,
            "customer": subscription.customer, "account": account.id, "live": account.live,
        })
    }
}

/// The period of a plan, such as `every 3 months`.
fn period(plan: Plan) -> String {
    match plan.every {
        1 => format!("every {}", plan.unit.as_str()),
        every => format!("every {every} {}s", plan.unit.as_str()),
    }
}

/// The next change of a subscription, in words.
fn next_change(subscription: &Subscription, now: i64) -> String {
    let (until, renews_at) = (access_until(subscription), lasts_until(subscription));
    match shown_state(subscription) {
        state if state.renews() && renews_at > now => match subscription.ends_at {
            Some(ends_at) => format!("renews {}, ends {}", shown_time(renews_at), shown_time(ends_at)),
            None => format!("renews {}", shown_time(renews_at)),
        },
        _ if until <= now => format!("access ended {}", shown_time(until)),
        _ => format!("access ends {}", shown_time(until)),
    }
}

/// The cancellation that the provider has not confirmed yet, in words.
fn open_request(subscription: &Subscription) -> Option<String> {
    subscription.requested.map(|how| match how {
        Cancellation::AtPeriodEnd => "the provider is still to be asked not to renew it".to_owned(),
        Cancellation::Now => "the provider is still to be asked to end it".to_owned(),
    })
}

/// The format of a subscription's price: as the provider charges its currency, or with the store's digits.
fn format_of(subscription: &Subscription, digits: u8) -> CurrencyFormat {
    CurrencyFormat::new(at_stripe(&subscription.currency).map_or(digits, |charged| charged.digits))
}

pub(super) async fn list(target: &Target, options: &ListSubscriptions) -> Result<Answer, Failure> {
    let digits = codes::digits(target).await?;
    let user = match &options.user {
        Some(text) => Some(user_id(target, text).await?),
        None => None,
    };
    let names: BTreeMap<UserId, String> =
        all::<User>(&target.db, prefix::USER).await?.into_iter().map(|(_, user)| (user.id, user.username)).collect();
    let stored = all::<Subscription>(&target.db, prefix::SUBSCRIPTION).await?.into_iter();
    let mut found: Vec<Shown> = stored
        .map(|(_, subscription)| subscription)
        .filter(|one| user.is_none_or(|user| one.user == user))
        .filter(|one| options.status.is_none_or(|status| shown_state(one) == status))
        .map(|one| Shown { player: names.get(&one.user).cloned(), format: format_of(&one, digits), subscription: one })
        .collect();
    found.sort_by_key(|one| (shown_state(&one.subscription) == SubscriptionState::Ended, one.subscription.paid_until));
    let now = target.clock.seconds();
    let row = |one: &Shown| {
        let subscription = &one.subscription;
        vec![
            subscription.id.clone(),
            shown_state(subscription).as_str().to_owned(),
            one.player(),
            format!("{} ({})", subscription.name, subscription.item),
            one.price(),
            next_change(subscription, now),
            open_request(subscription).unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    let text = columns(&["ID", "STATUS", "PLAYER", "ITEM", "PRICE", "NEXT", ""], &rows);
    Ok(Answer::new(text, json!({ "subscriptions": found.iter().map(Shown::facts).collect::<Vec<_>>() })))
}

/// A line for each item that has subscribers and that a publish changes or withdraws: they keep what they have.
pub(super) async fn kept(target: &Target, items: &[(ItemId, String)]) -> Result<Vec<String>, Failure> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let renewing = renewing(target).await?;
    let count = |item: &ItemId| renewing.iter().filter(|one| one.item == *item && !one.cancelled).count();
    let counted = items.iter().map(|(item, name)| (item, name, count(item))).filter(|(_, _, count)| *count > 0);
    let line = |(item, name, count)| {
        format!("Item {item} {name} has {count} active subscriptions: they keep their price and plan, and renew.")
    };
    Ok(counted.map(line).collect())
}

/// The subscriptions that are not over at their provider.
pub(super) async fn renewing(target: &Target) -> Result<Vec<Subscription>, Failure> {
    let all = all::<Subscription>(&target.db, prefix::SUBSCRIPTION).await?.into_iter().map(|(_, one)| one);
    Ok(all.filter(|one| one.status != SubscriptionStatus::Ended).collect())
}

/// A user's id: of an account that was erased only the id is left.
async fn user_id(target: &Target, text: &str) -> Result<UserId, Failure> {
    match text.parse::<UserId>() {
        Ok(id) => Ok(id),
        Err(_) => Ok(find(target, text).await?.id),
    }
}

pub(super) async fn show(target: &Target, id: &str) -> Result<Answer, Failure> {
    let found = found(target, id).await?;
    let (subscription, now) = (&found.subscription, target.clock.seconds());
    let status = shown_state(subscription).as_str();
    let mut lines = vec![
        format!("{} {status}, {}", paint(STRONG, &subscription.id), next_change(subscription, now)),
        format!("{} (item {}) of {}", subscription.name, subscription.item, found.player()),
        format!("{}, paid until {}", found.price(), shown_time(subscription.paid_until)),
        format!("began with order {}, newest order {}", subscription.first, subscription.newest),
        format!("customer {} in {}", subscription.customer, shown_account(&subscription.account)),
    ];
    let runs: Vec<&str> = subscription.runs.iter().map(RunName::as_str).collect();
    let days = subscription.extended / 86_400;
    lines.extend((!runs.is_empty()).then(|| format!("access lasts {days} days longer: {}", runs.join(", "))));
    lines.extend(subscription.stopped_at.map(|at| format!("access was ended {}", shown_time(at))));
    lines.extend(subscription.ended_at.map(|at| format!("ended at the provider {}", shown_time(at))));
    lines.extend(subscription.free_until.map(|at| format!("free at the provider until {}", shown_time(at))));
    lines.extend(
        subscription
            .replaced_by
            .as_ref()
            .map(|order| format!("order {order} has taken its place: a payment of it is refunded")),
    );
    lines.extend(open_request(subscription).map(|text| paint(WARN, &text)));
    lines.extend(subscription.due.map(|due| format!("the sweep looks at it {}", shown_time(due))));
    Ok(Answer::new(lines.join("\n"), found.facts()))
}

/// A subscription by its id.
async fn found(target: &Target, id: &str) -> Result<Shown, Failure> {
    let digits = codes::digits(target).await?;
    let subscription = subscriptions::get(&target.db, id.trim()).await?;
    let subscription = subscription.ok_or_else(|| {
        let next = "It is matched exactly, case included; `storectl subscription list` shows all.";
        Failure::refused("There is no subscription with this id.", next)
    })?;
    let player = read(target, subscription.user).await?.map(|user| user.username);
    Ok(Shown { player, format: format_of(&subscription, digits), subscription })
}

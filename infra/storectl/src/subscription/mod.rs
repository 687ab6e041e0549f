//! `subscription …`. Here are `list` and `show`.

mod change;

pub use change::end_all;

use crate::payments::shown_account;
use crate::prelude::*;
use crate::user::{find, read};
use change::{CancelSubscription, ExtendSubscriptions};
use publish::currency::at_stripe;
use serde::Serialize;
use shared::model::{
    Cancellation, ItemId, Plan, RunName, Subscription, SubscriptionState, SubscriptionStatus, User, UserId,
};
use shared::money::CurrencyFormat;
use shared::rules::subscription::{access_until, lasts_until, shown_state};
use shared::shop::subscriptions;
use shared::table::bulk::all;
use shared::table::keys::prefix;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Subcommand)]
pub enum SubscriptionCommand {
    /// List subscriptions, those that renew or end next first; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl subscription list --stack storefront\n  \
                            storectl subscription list --user Thornwick --stack storefront\n  \
                            storectl subscription list --status past_due --json --stack storefront")]
    List(ListSubscriptions),
    /// Show a subscription: its price, its orders, until when it gives access, and what is still to be done.
    #[command(after_help = "Example:\n  storectl subscription show sub_1MowQV --stack storefront")]
    Show(OneSubscription),
    /// Ask the payment provider about a subscription now, as the sweep does, and write what it says.
    #[command(after_help = "Example:\n  storectl subscription settle sub_1MowQV --stack storefront")]
    Settle(OneSubscription),
    /// Cancel a subscription at the payment provider.
    #[command(after_help = "Examples:\n  storectl subscription cancel sub_1MowQV --stack storefront\n  \
                            storectl subscription cancel sub_1MowQV --now --stack storefront\n  \
                            storectl subscription cancel sub_1MowQV --refund --stack storefront\n\n\
                            The buyer keeps what is paid until the end of the period, and is not charged again. With \
                            --now access ends at once. --refund refunds the newest payment in full, and ends access at \
                            once too; older ones: `storectl order refund`. If it is interrupted, run it again: nothing is \
                            done twice.")]
    Cancel(CancelSubscription),
    /// Let subscriptions, and timed items, last some days longer: an outage is given back.
    #[command(
        after_help = "Examples:\n  storectl subscription extend --days 3 --run outage-2031-05-01 --stack storefront\n  \
                            storectl subscription extend sub_1MowQV --days 3 --run sorry-thornwick --stack storefront\n\n\
                            Without an id every subscription that gives access, and every timed item that lasts; with one only \
                            that subscription. It is our end of access that moves: the payment provider goes on charging on \
                            the same days, so that a subscription that renews lasts the days longer when it ends. The same \
                            command with the same name goes on where it stopped, and gives nothing twice."
    )]
    Extend(ExtendSubscriptions),
}

#[derive(Debug, Clone, Args)]
pub struct ListSubscriptions {
    /// Only subscriptions of this user: id or name.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
    /// Only subscriptions in this state: active, trialing, paused, `past_due`, unpaid,
    /// incomplete, cancelled or ended.
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub status: Option<SubscriptionState>,
}

/// A subscription and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneSubscription {
    /// The provider's id, `sub_…`.
    pub id: String,
}

fn status(text: &str) -> Result<SubscriptionState, &'static str> {
    let wanted = text.trim().to_lowercase().replace('-', "_");
    let known = SubscriptionState::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or("must be active, past_due, cancelled or ended")
}

impl SubscriptionCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::List(options) => list(at, options).await,
            Self::Show(one) => show(at, &one.id).await,
            Self::Settle(one) => change::settle(at, &one.id).await,
            Self::Cancel(options) => change::cancel(at, console, options).await,
            Self::Extend(options) => change::extend(at, console, options).await,
        }
    }
}

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
        let Subscription { price, currency, plan: Plan { every, unit, .. }, .. } = &self.subscription;
        let (price, unit) = (self.format.money(*price), unit.as_str());
        match every {
            1 => format!("{price} {currency} every {unit}"),
            every => format!("{price} {currency} every {every} {unit}s"),
        }
    }

    fn facts(&self) -> impl Serialize + use<'_> {
        let one = &self.subscription;
        facts! {
            id: &one.id, status: shown_state(one), user: one.user, player: &self.player, item: one.item,
            name: &one.name, price: self.format.money(one.price), currency: &one.currency, every: one.plan.every,
            unit: one.plan.unit, grace: one.plan.grace, cancelled: one.cancelled, paid_until: Time(one.paid_until),
            access_until: Time(access_until(one)), ended_at: one.ended_at.map(Time),
            stopped_at: one.stopped_at.map(Time), free_until: one.free_until.map(Time), ends_at: one.ends_at.map(Time),
            replaces: &one.replaces, replaced_by: &one.replaced_by, requested: one.requested, due: one.due.map(Time),
            extended: one.extended, runs: &one.runs, first_order: &one.first, newest_order: &one.newest,
            customer: &one.customer, account: &one.account.id, live: one.account.live,
        }
    }
}

/// The next change of a subscription, in words.
fn next_change(subscription: &Subscription, now: i64) -> String {
    let (until, renews_at) = (access_until(subscription), lasts_until(subscription));
    match shown_state(subscription) {
        state if state.renews() && renews_at > now => match subscription.ends_at {
            Some(ends_at) => format!("renews {}, ends {}", Time(renews_at), Time(ends_at)),
            None => format!("renews {}", Time(renews_at)),
        },
        _ if until <= now => format!("access ended {}", Time(until)),
        _ => format!("access ends {}", Time(until)),
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

async fn list(at: &Deployment, options: &ListSubscriptions) -> Outcome {
    let digits = at.digits().await?;
    let user = match &options.user {
        Some(text) => Some(user_id(at, text).await?),
        None => None,
    };
    let names: BTreeMap<UserId, String> =
        all::<User>(&at.db, prefix::USER).await?.into_iter().map(|(_, user)| (user.id, user.username)).collect();
    let stored = all::<Subscription>(&at.db, prefix::SUBSCRIPTION).await?.into_iter();
    let mut found: Vec<Shown> = stored
        .map(|(_, subscription)| subscription)
        .filter(|one| user.is_none_or(|user| one.user == user))
        .filter(|one| options.status.is_none_or(|status| shown_state(one) == status))
        .map(|one| Shown { player: names.get(&one.user).cloned(), format: format_of(&one, digits), subscription: one })
        .collect();
    found.sort_by_key(|one| (shown_state(&one.subscription) == SubscriptionState::Ended, one.subscription.paid_until));
    let now = at.clock.seconds();
    let row = |one: &Shown| {
        let subscription = &one.subscription;
        [
            subscription.id.clone(),
            shown_state(subscription).as_str().to_owned(),
            one.player(),
            format!("{} ({})", subscription.name, subscription.item),
            one.price(),
            next_change(subscription, now),
            open_request(subscription).unwrap_or_default(),
        ]
    };
    let text = columns(["ID", "STATUS", "PLAYER", "ITEM", "PRICE", "NEXT", ""], found.iter().map(row));
    Ok(Printed::new(text, &facts! { subscriptions: found.iter().map(Shown::facts).collect::<Vec<_>>() }))
}

/// A line for each item that has subscribers and that a publish changes or withdraws: they keep what they have.
pub async fn kept(at: &Deployment, items: &[(ItemId, String)]) -> Result<Vec<String>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let renewing = renewing(at).await?;
    let count = |item: &ItemId| renewing.iter().filter(|one| one.item == *item && !one.cancelled).count();
    let counted = items.iter().map(|(item, name)| (item, name, count(item))).filter(|(_, _, count)| *count > 0);
    let line = |(item, name, count)| {
        format!("Item {item} {name} has {count} active subscriptions: they keep their price and plan, and renew.")
    };
    Ok(counted.map(line).collect())
}

/// The subscriptions that are not over at their provider.
pub async fn renewing(at: &Deployment) -> Result<Vec<Subscription>> {
    let all = all::<Subscription>(&at.db, prefix::SUBSCRIPTION).await?.into_iter().map(|(_, one)| one);
    Ok(all.filter(|one| one.status != SubscriptionStatus::Ended).collect())
}

/// A user's id: of an account that was erased only the id is left.
async fn user_id(at: &Deployment, text: &str) -> Result<UserId> {
    match text.parse::<UserId>() {
        Ok(id) => Ok(id),
        Err(_) => Ok(find(at, text).await?.id),
    }
}

pub async fn show(at: &Deployment, id: &str) -> Outcome {
    let found = found(at, id).await?;
    let (subscription, now) = (&found.subscription, at.clock.seconds());
    let status = shown_state(subscription).as_str();
    let mut lines = vec![
        format!("{} {status}, {}", paint(STRONG, &subscription.id), next_change(subscription, now)),
        format!("{} (item {}) of {}", subscription.name, subscription.item, found.player()),
        format!("{}, paid until {}", found.price(), Time(subscription.paid_until)),
        format!("began with order {}, newest order {}", subscription.first, subscription.newest),
        format!("customer {} in {}", subscription.customer, shown_account(&subscription.account)),
    ];
    let runs: Vec<&str> = subscription.runs.iter().map(RunName::as_str).collect();
    let days = subscription.extended / 86_400;
    lines.extend((!runs.is_empty()).then(|| format!("access lasts {days} days longer: {}", runs.join(", "))));
    lines.extend(subscription.stopped_at.map(|at| format!("access was ended {}", Time(at))));
    lines.extend(subscription.ended_at.map(|at| format!("ended at the provider {}", Time(at))));
    lines.extend(subscription.free_until.map(|at| format!("free at the provider until {}", Time(at))));
    lines.extend(
        subscription
            .replaced_by
            .as_ref()
            .map(|order| format!("order {order} has taken its place: a payment of it is refunded")),
    );
    lines.extend(open_request(subscription).map(|text| paint(WARN, &text)));
    lines.extend(subscription.due.map(|due| format!("the sweep looks at it {}", Time(due))));
    Ok(Printed::new(lines.join("\n"), &found.facts()))
}

/// A subscription by its id.
async fn found(at: &Deployment, id: &str) -> Result<Shown> {
    let digits = at.digits().await?;
    let subscription = subscriptions::get(&at.db, id.trim()).await?;
    let subscription = subscription.ok_or_else(|| {
        let next = "It is matched exactly, case included; `storectl subscription list` shows all.";
        Failure::refused("There is no subscription with this id.", next)
    })?;
    let player = read(at, subscription.user).await?.map(|user| user.username);
    Ok(Shown { player, format: format_of(&subscription, digits), subscription })
}

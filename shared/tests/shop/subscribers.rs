//! A shop that sells a subscription, at the stand-in for Stripe, with a game server that runs its commands.

use crate::market::{Instance, line, request};
use crate::till::Till;
use serde_json::json;
use shared::model::{
    ActiveVersion, CommandId, InternalId, Line, Order, PaymentType, Payments, Server, ServerId, StoreConfig,
    StoreDelivery, Subscription, User, UserId, UserSubscription,
};
use shared::rules::payment::PaymentState;
use shared::shop::delivery::{ServerKey, add_key, commands_of, delivered, poll, validated};
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Checkout, Provider as _, WebhookEvent};
use shared::shop::subscriptions;
use shared::table::published::read_active_version;
use shared::table::{Db, bulk, keys, read_live};
use std::time::Duration;
use stripe_stand_in::Action;

/// The subscription of the shop: a month, three days of grace.
pub const MONTHLY: u64 = 30;
/// Another subscription, on the same terms.
pub const OTHER: u64 = 31;
pub const PRICE: i64 = 499;
pub const DAY: i64 = 86_400;
pub const GRACE: i64 = 3 * DAY;
pub const BUYER: UserId = UserId::new(1);

/// A shop with a buyer and a game server.
pub struct Subscribers {
    pub till: Till,
    key: ServerKey,
    /// The commands that have run, in their order.
    pub ran: Vec<String>,
}

fn command(run: &str, on: &str) -> serde_json::Value {
    json!({ "run": format!("{run} {{player}}"), "on": on })
}

/// The item of the subscription, paid every so many units.
fn item(every: u16, unit: &str) -> serde_json::Value {
    json!({
        "item": {
            "id": MONTHLY, "name": "Squire", "price": PRICE, "active": true, "is_subscription": true,
            "plan": { "every": every, "unit": unit, "grace": GRACE },
            "servers": [{ "id": 1, "name": "Survival" }],
        },
        "category": 1,
        "delivery": { "commands": [
            command("give", "bought"), command("thank", "renewed"), command("take", "expired"),
            command("take", "refunded"), command("seize", "charged_back"),
        ] },
    })
}

impl Subscribers {
    pub async fn open() -> Self {
        let till = Till::open().await;
        let active = read_active_version(till.db()).await.unwrap().unwrap();
        let servers = vec![Server { id: ServerId::new(1), name: "Survival".to_owned() }];
        let delivery = StoreDelivery { servers, ..StoreDelivery::default() };
        let config = StoreConfig { delivery, ..active.config };
        till.market.put(&keys::active_version(), &ActiveVersion { config, ..active }).await;
        let (_, key) = add_key(till.db(), &till.market.clock, ServerId::new(1)).await.unwrap();
        let shop = Self { till, key, ran: Vec::new() };
        shop.publish(1, "month").await;
        shop
    }

    /// Publishes the subscription with a plan.
    pub async fn publish(&self, every: u16, unit: &str) {
        self.till.market.write_all(vec![crate::shop::published_item("v1", &item(every, unit))]).await;
    }

    /// Publishes the subscription so that it is given when the player is online.
    pub async fn publish_online(&self) {
        let mut item = item(1, "month");
        item["delivery"]["commands"][0]["online"] = json!(true);
        self.till.market.write_all(vec![crate::shop::published_item("v1", &item)]).await;
    }

    /// Publishes the subscription so that other commands run when its access ends.
    pub async fn publish_ended_by(&self, runs: &[&str]) {
        let mut item = item(1, "month");
        let ends = runs.iter().map(|run| command(run, "expired"));
        item["delivery"]["commands"] = [command("give", "bought")].into_iter().chain(ends).collect();
        self.till.market.write_all(vec![crate::shop::published_item("v1", &item)]).await;
    }

    /// Publishes both subscriptions as ranks of one category. What the second one gives has other commands.
    pub async fn publish_ranks(&self) {
        let (mut lower, mut higher) = (item(1, "month"), item(1, "month"));
        lower["is_rank"] = json!(true);
        higher["is_rank"] = json!(true);
        higher["item"]["id"] = json!(OTHER);
        higher["delivery"]["commands"] = json!([command("promote", "bought"), command("demote", "expired")]);
        let rows = [lower, higher].map(|item| crate::shop::published_item("v1", &item));
        self.till.market.write_all(rows.to_vec()).await;
    }

    /// Publishes another subscription.
    pub async fn publish_other(&self) {
        let mut item = item(1, "month");
        item["item"]["id"] = json!(OTHER);
        self.till.market.write_all(vec![crate::shop::published_item("v1", &item)]).await;
    }

    /// Begins the checkout of the other subscription; its order.
    pub async fn begin_other(&self) -> InternalId {
        let line = Line { payment_type: PaymentType::Subscription, ..line(1, OTHER, 1) };
        self.till.market.fill_with(1, vec![line], None).await;
        self.till.begin().await.0
    }

    pub async fn change_currency(&self, currency: &str) {
        let active = read_active_version(self.db()).await.unwrap().unwrap();
        let payments = Payments { currency: currency.to_owned(), ..active.config.payments };
        let config = StoreConfig { payments, ..active.config };
        self.till.market.put(&keys::active_version(), &ActiveVersion { config, ..active }).await;
    }

    /// Whether a command of an order may run, which the game server asks when the player joins.
    pub async fn may_run(&self, order: &InternalId, text: &str) -> bool {
        let stored = self.till.order(order).await;
        let commands = commands_of(self.db(), &stored).await.unwrap();
        let id = commands.iter().find(|command| command.text == text).unwrap().id;
        let answers = validated(self.db(), &self.till.market.clock, &self.key, &[id]).await.unwrap();
        answers == [(id, true)]
    }

    pub fn db(&self) -> &Db {
        self.till.db()
    }

    pub fn now(&self) -> i64 {
        shared::clock::Clock::seconds(&self.till.market.clock)
    }

    /// Lets days pass, here and at the provider.
    pub fn wait(&self, days: i64) {
        self.till.wait(Duration::from_secs(u64::try_from(days * DAY).unwrap()));
    }

    /// Begins the checkout of a subscription; its order and its session.
    pub async fn begin(&self) -> (InternalId, String) {
        let order = self.create().await.unwrap().order;
        (order, self.till.stand_in.sessions().pop().unwrap())
    }

    pub async fn create(&self) -> Result<Checkout, crate::market::Refused> {
        self.create_by(&self.till.market.instance()).await
    }

    pub async fn create_by(&self, instance: &Instance) -> Result<Checkout, crate::market::Refused> {
        let line = Line { payment_type: PaymentType::Subscription, ..line(1, MONTHLY, 1) };
        self.till.market.fill_with(1, vec![line], None).await;
        self.till.market.create_at(&self.till.stripe, instance, 1, request(None)).await
    }

    /// A paid subscription; the order that it began with, and the provider's id of its session.
    pub async fn subscribe(&mut self) -> (InternalId, String) {
        let (order, session) = self.begin().await;
        self.after(&session, Action::Pay).await;
        (order, session)
    }

    /// An action at the provider, whose events are all heard; what waits for the game server runs.
    pub async fn after(&mut self, id: &str, action: Action) {
        let before = self.till.stand_in.events().len();
        self.till.stand_in.act(id, &action).unwrap();
        self.hear(before).await;
        self.run().await;
    }

    /// Acts on the provider's events from a place on, the oldest first.
    pub async fn hear(&self, from: usize) {
        let count = self.till.stand_in.events().len() - from;
        let mut events = self.events().await;
        events.truncate(count);
        for event in events.iter().rev() {
            self.till.desk().act(event).await.unwrap();
        }
    }

    /// The provider's events that concern the store after so many, the oldest first.
    pub async fn events_after(&self, known: usize) -> Vec<WebhookEvent> {
        let mut events = self.events().await;
        events.truncate(events.len() - known);
        events.reverse();
        events
    }

    /// An action at the provider, of which nothing earlier is heard.
    pub async fn after_alone(&mut self, id: &str, action: Action) {
        let known = self.events().await.len();
        self.till.stand_in.act(id, &action).unwrap();
        for event in self.events_after(known).await {
            self.till.desk().act(&event).await.unwrap();
        }
        self.run().await;
    }

    /// The provider's events that concern the store, the newest first.
    pub async fn events(&self) -> Vec<WebhookEvent> {
        let (mut events, mut after) = (Vec::new(), None);
        loop {
            let times = (0, i64::from(i32::MAX));
            let page = self.till.stripe.webhook_events(times, after.as_deref()).await.unwrap();
            events.extend(page.events);
            after = page.next;
            if after.is_none() {
                return events;
            }
        }
    }

    /// Sweeps, and runs what waits for the game server.
    pub async fn sweep(&mut self) {
        self.till.sweep().await;
        self.run().await;
    }

    /// The game server polls and runs, until nothing is left.
    pub async fn run(&mut self) {
        for _ in 0..20 {
            let rows = poll(self.db(), &self.till.market.clock, &self.key, None).await.unwrap();
            if rows.is_empty() {
                return;
            }
            let ids: Vec<CommandId> = rows.iter().map(|row| row.id).collect();
            self.ran.extend(rows.into_iter().map(|row| row.text));
            delivered(self.db(), &self.till.market.clock, &self.key, &ids).await.unwrap();
        }
        panic!("the queue does not end");
    }

    /// Whether the buyer has what the subscription gives, by what has run.
    pub fn has_access(&self) -> bool {
        self.ran.iter().fold(false, |has, text| match text.split(' ').next() {
            Some("give") => true,
            Some("take" | "seize") => false,
            _ => has,
        })
    }

    pub async fn user(&self) -> User {
        read_live(self.db(), &keys::user(BUYER)).await.unwrap().unwrap()
    }

    pub async fn entries(&self) -> Vec<UserSubscription> {
        self.user().await.subscriptions
    }

    pub async fn subscription(&self, order: &InternalId) -> Subscription {
        let id = self.till.order(order).await.effects.subscription.unwrap().id.unwrap();
        subscriptions::get(self.db(), &id).await.unwrap().unwrap()
    }

    /// The paid invoices of a subscription, as the provider has them.
    pub async fn invoices(&self, subscription: &str) -> Vec<PaymentState> {
        let (mut invoices, mut after) = (Vec::new(), None);
        loop {
            let page = self.till.stripe.invoices(subscription, after.as_deref()).await.unwrap();
            invoices.extend(page.payments);
            after = page.next;
            if after.is_none() {
                return invoices;
            }
        }
    }

    pub async fn is_erased(&self) -> bool {
        read_live::<User>(self.db(), &keys::user(BUYER)).await.unwrap().is_none()
    }

    /// The order that the newest subscription began with.
    pub async fn newest_first(&self) -> InternalId {
        let all = bulk::all::<Subscription>(self.db(), keys::prefix::SUBSCRIPTION).await.unwrap();
        let newest = all.into_iter().max_by_key(|(_, one)| one.id.clone());
        newest.unwrap().1.first
    }

    /// All orders, with their effects.
    pub async fn orders(&self) -> Vec<StoredOrder> {
        let found = bulk::all::<Order>(self.db(), keys::prefix::ORDER).await.unwrap();
        let mut orders = Vec::new();
        for (_, order) in found {
            orders.push(self.till.order(&order.internal_id).await);
        }
        orders
    }
}

//! The shop as one that sells a subscription, with a game server that runs its commands.

use crate::fixture::{self, published_item};
use crate::shop::{DAY, Instance, Refused, Shop, line};
use serde_json::{Value, json};
use shared::model::{
    CommandId, InternalId, Line, PaymentType, Server, ServerId, Subscription, User, UserId, UserSubscription,
};
use shared::rules::payment::PaymentState;
use shared::shop::delivery::{add_key, commands_of, delivered, poll, validated};
use shared::shop::payments::{Checkout, Provider as _, WebhookEvent};
use shared::shop::subscriptions;
use shared::table::{bulk, keys, read_live};
use stripe_stand_in::Action;
use tests::{Prepared, configure};

/// The subscription of the shop: a month, three days of grace.
pub const MONTHLY: u64 = 30;
/// Another subscription, on the same terms.
pub const OTHER: u64 = 31;
pub const MONTHLY_PRICE: i64 = 499;
pub const GRACE: i64 = 3 * DAY;
pub const BUYER: UserId = UserId::new(1);

fn command(run: &str, on: &str) -> Value {
    json!({ "run": format!("{run} {{player}}"), "on": on })
}

/// A subscription, paid every so many units.
fn item(id: u64, every: u16, unit: &str) -> Value {
    let mut item = fixture::item(
        id,
        1,
        &json!({
            "name": "Squire", "price": MONTHLY_PRICE, "is_subscription": true,
            "plan": { "every": every, "unit": unit, "grace": GRACE },
            "servers": [{ "id": 1, "name": "Survival" }],
        }),
    );
    item["delivery"]["commands"] = json!([
        command("give", "bought"),
        command("thank", "renewed"),
        command("take", "expired"),
        command("take", "refunded"),
        command("seize", "charged_back"),
    ]);
    item
}

impl Shop {
    /// A shop that sells the subscription, with a game server.
    pub async fn open_subscriptions() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        let fill = |shop: Self| async move {
            let servers = vec![Server { id: ServerId::new(1), name: "Survival".to_owned() }];
            configure(&shop.db, |config| config.delivery.servers = servers).await;
            shop.publish_plan(1, "month").await;
        };
        let mut shop = Self::copy_of(&CONTENTS, fill).await;
        let (_, key) = add_key(&shop.db, &shop.clock, ServerId::new(1)).await.unwrap();
        shop.server = Some(key);
        shop
    }

    /// Publishes the subscription with a plan.
    pub async fn publish_plan(&self, every: u16, unit: &str) {
        self.write_item(published_item(&item(MONTHLY, every, unit))).await;
    }

    /// Publishes the subscription so that it is given when the player is online.
    pub async fn publish_online(&self) {
        let mut item = item(MONTHLY, 1, "month");
        item["delivery"]["commands"][0]["online"] = json!(true);
        self.write_item(published_item(&item)).await;
    }

    /// Publishes the subscription so that other commands run when its access ends.
    pub async fn publish_ended_by(&self, runs: &[&str]) {
        let mut item = item(MONTHLY, 1, "month");
        let ends = runs.iter().map(|run| command(run, "expired"));
        item["delivery"]["commands"] = [command("give", "bought")].into_iter().chain(ends).collect();
        self.write_item(published_item(&item)).await;
    }

    /// Publishes both subscriptions as ranks of one category. What the second one gives has other commands.
    pub async fn publish_ranks(&self) {
        let (mut lower, mut higher) = (item(MONTHLY, 1, "month"), item(OTHER, 1, "month"));
        lower["is_rank"] = json!(true);
        higher["is_rank"] = json!(true);
        higher["delivery"]["commands"] = json!([command("promote", "bought"), command("demote", "expired")]);
        self.write_all(vec![published_item(&lower), published_item(&higher)]).await;
    }

    /// Publishes another subscription.
    pub async fn publish_other(&self) {
        self.write_item(published_item(&item(OTHER, 1, "month"))).await;
    }

    /// Begins the checkout of a subscription; its order.
    pub async fn begin(&self) -> InternalId {
        self.subscribe_by(&self.instance(), MONTHLY).await.unwrap().order
    }

    /// Begins the checkout of the other subscription; its order.
    pub async fn begin_other(&self) -> InternalId {
        self.subscribe_by(&self.instance(), OTHER).await.unwrap().order
    }

    /// The refusal to sell the subscription to the buyer now, if there is one.
    pub async fn begin_again(&self) -> Result<Checkout, Refused> {
        self.subscribe_by(&self.instance(), MONTHLY).await
    }

    pub async fn subscribe_by(&self, by: &Instance, item: u64) -> Result<Checkout, Refused> {
        let line = Line { payment_type: PaymentType::Subscription, ..line(1, item, 1) };
        self.fill_with(1, vec![line], None).await;
        self.create_by(by, 1).await
    }

    /// [`Self::open_subscriptions`], with a paid subscription; the order that it began with.
    pub async fn subscribed() -> (Self, InternalId) {
        let mut shop = Self::open_subscriptions().await;
        let order = shop.subscribe().await;
        (shop, order)
    }

    /// A paid subscription; the order that it began with.
    pub async fn subscribe(&mut self) -> InternalId {
        let order = self.begin().await;
        self.after(&order, Action::Pay).await;
        order
    }

    /// An action at the provider, whose events are all heard; what waits for the game server runs.
    pub async fn after(&mut self, to: impl std::fmt::Display, action: Action) {
        let before = self.stand_in.events().len();
        self.act(to, action);
        self.hear_from(before).await;
        self.run().await;
    }

    /// The provider charges the next period of a subscription, after thirty days.
    pub async fn renew(&mut self, first: &InternalId) {
        self.days(30);
        self.after(first, Action::Renew).await;
    }

    /// Acts on the provider's events from a place on, the oldest first.
    pub async fn hear_from(&self, from: usize) {
        let count = self.stand_in.events().len() - from;
        let mut events = self.events().await;
        events.truncate(count);
        for event in events.iter().rev() {
            self.hear(event).await;
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
    pub async fn after_alone(&mut self, to: &InternalId, action: Action) {
        let known = self.events().await.len();
        self.act(to, action);
        for event in self.events_after(known).await {
            self.hear(&event).await;
        }
        self.run().await;
    }

    /// Sweeps, and runs what waits for the game server.
    pub async fn sweep_and_run(&mut self) {
        self.sweep().await;
        self.run().await;
    }

    /// Lets days pass, sweeps, and runs what waits for the game server.
    pub async fn sweep_after(&mut self, days: i64) {
        self.days(days);
        self.sweep_and_run().await;
    }

    /// Lets days pass, and runs what is due.
    pub async fn run_after(&mut self, days: i64) {
        self.days(days);
        self.run().await;
    }

    /// The game server polls and runs, until nothing is left.
    pub async fn run(&mut self) {
        for _ in 0..20 {
            let key = self.server.as_ref().unwrap();
            let rows = poll(&self.db, &self.clock, key, None).await.unwrap();
            if rows.is_empty() {
                return;
            }
            let ids: Vec<CommandId> = rows.iter().map(|row| row.id).collect();
            delivered(&self.db, &self.clock, key, &ids).await.unwrap();
            self.ran.extend(rows.into_iter().map(|row| row.text));
        }
        panic!("the queue does not end");
    }

    /// Whether a command of an order may run, which the game server asks when the player joins.
    pub async fn may_run(&self, order: &InternalId, text: &str) -> bool {
        let commands = commands_of(&self.db, &self.order(order).await).await.unwrap();
        let id = commands.iter().find(|command| command.text == text).unwrap().id;
        let answers = validated(&self.db, &self.clock, self.server.as_ref().unwrap(), &[id]).await.unwrap();
        answers == [(id, true)]
    }

    /// Whether the buyer has what the subscription gives, by what has run.
    pub fn has_access(&self) -> bool {
        self.ran.iter().fold(false, |has, text| match text.split(' ').next() {
            Some("give") => true,
            Some("take" | "seize") => false,
            _ => has,
        })
    }

    pub async fn buyer(&self) -> User {
        read_live(&self.db, &keys::user(BUYER)).await.unwrap().unwrap()
    }

    pub async fn entries(&self) -> Vec<UserSubscription> {
        self.buyer().await.subscriptions
    }

    pub async fn is_erased(&self) -> bool {
        read_live::<User>(&self.db, &keys::user(BUYER)).await.unwrap().is_none()
    }

    pub async fn subscription(&self, order: &InternalId) -> Subscription {
        let id = self.order(order).await.effects.subscription.unwrap().id.unwrap();
        subscriptions::get(&self.db, &id).await.unwrap().unwrap()
    }

    /// The paid invoices of a subscription, as the provider has them.
    pub async fn invoices(&self, subscription: &str) -> Vec<PaymentState> {
        let (mut invoices, mut after) = (Vec::new(), None);
        loop {
            let page = self.stripe.invoices(subscription, after.as_deref()).await.unwrap();
            invoices.extend(page.payments);
            after = page.next;
            if after.is_none() {
                return invoices;
            }
        }
    }

    /// The order that the newest subscription began with.
    pub async fn newest_first(&self) -> InternalId {
        let all = bulk::all::<Subscription>(&self.db, keys::prefix::SUBSCRIPTION).await.unwrap();
        let newest = all.into_iter().max_by_key(|(_, one)| one.id.clone());
        newest.unwrap().1.first
    }
}

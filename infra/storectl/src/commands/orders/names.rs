//! The names of what orders only have ids of: users, items, variables and servers.

use crate::commands::common::published;
use crate::error::Failure;
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::{Item, ItemId, LineVariable, OrderLine, PublishedItem, ServerId, User, UserId};
use shared::rules::order::users;
use shared::shop::orders::StoredOrder;
use shared::table::keys;
use std::collections::{BTreeMap, BTreeSet};

/// Names, as they are now. An account that was erased and an item that is no longer published have none.
#[derive(Debug, Default)]
pub(super) struct Names {
    users: BTreeMap<UserId, String>,
    items: BTreeMap<ItemId, Item>,
}

impl Names {
    /// Reads the names that orders need.
    pub(super) async fn read(target: &Target, orders: &[StoredOrder]) -> Result<Self, Failure> {
        let version = published(target).await?.version;
        let (mut users_of, mut items_of) = (BTreeSet::new(), BTreeSet::new());
        for stored in orders {
            users_of.extend(users(&stored.order));
            users_of.extend(stored.effects.referral.as_ref().map(|referral| referral.owner));
            items_of.extend(stored.order.lines.iter().map(|line| line.item));
        }
        let of_users = users_of.iter().map(|user| keys::user(*user));
        let of_items = items_of.iter().map(|item| keys::item(&version, *item));
        let mut rows = target.db.batch_get(of_users.chain(of_items).collect()).await?;
        let mut names = Self::default();
        for user in users_of {
            let key = keys::user(user);
            if let Some(row) = rows.take(&key) {
                names.users.insert(user, row.live::<User>(&key)?.username);
            }
        }
        for item in items_of {
            let key = keys::item(&version, item);
            if let Some(row) = rows.take(&key) {
                names.items.insert(item, row.published::<PublishedItem>(&key)?.0.item);
            }
        }
        Ok(names)
    }

    pub(super) fn user(&self, user: UserId) -> String {
        self.users.get(&user).map_or_else(|| format!("user {user}"), |name| format!("{name} (user {user})"))
    }

    /// The name of a line's item: the one that it was sold under, or else the published one.
    pub(super) fn item(&self, line: &OrderLine) -> String {
        let sold = line.chosen.as_ref().map(|chosen| chosen.name.clone());
        sold.or_else(|| self.items.get(&line.item).map(|item| item.name.clone())).unwrap_or_default()
    }

    fn variable(&self, item: ItemId, id: u64) -> Option<&str> {
        let item = self.items.get(&item)?;
        item.variables.iter().find(|variable| variable.id == id).map(|variable| variable.name.as_str())
    }

    fn server(&self, item: ItemId, id: ServerId) -> Option<&str> {
        let item = self.items.get(&item)?;
        item.servers.iter().find(|server| server.id == id).map(|server| server.name.as_str())
    }

    /// The choices of a line, as people read them.
    pub(super) fn choices(&self, line: &OrderLine) -> String {
        let chosen = line.chosen.as_ref();
        let mut choices: Vec<String> = Vec::new();
        for LineVariable { id, value } in chosen.map_or(&[][..], |chosen| &chosen.variables) {
            let name = self.variable(line.item, *id);
            choices.push(format!("{} = {value}", name.map_or_else(|| format!("variable {id}"), ToOwned::to_owned)));
        }
        if let Some(id) = chosen.and_then(|chosen| chosen.server) {
            let name = self.server(line.item, id);
            choices.push(name.map_or_else(|| format!("server {id}"), |name| format!("server {name} ({id})")));
        }
        let gift_to = chosen.and_then(|chosen| chosen.gift_to.as_ref());
        choices.extend(match (line.recipient, gift_to) {
            (Some(user), _) if self.users.contains_key(&user) => Some(format!("gift for {}", self.user(user))),
            (Some(user), Some(name)) => Some(format!("gift for {name} (user {user})")),
            (Some(user), None) => Some(format!("gift for user {user}")),
            (None, Some(name)) => Some(format!("gift for {name}")),
            (None, None) => None,
        });
        choices.join(", ")
    }

    /// Adds the names to what is printed of an order as JSON.
    pub(super) fn add_to(&self, json: &mut Value, stored: &StoredOrder) {
        let name = |user: UserId| self.users.get(&user);
        json["player"] = json!(stored.order.player().and_then(name));
        if let Some(referral) = &stored.effects.referral {
            json["referral"]["owner_name"] = json!(name(referral.owner));
        }
        for (place, line) in stored.order.lines.iter().enumerate() {
            let of_line = &mut json["lines"][place];
            of_line["name"] = json!(Some(self.item(line)).filter(|name| !name.is_empty()));
            of_line["recipient_name"] = json!(line.recipient.and_then(name));
            let Some(chosen) = &line.chosen else { continue };
            of_line["server_name"] = json!(chosen.server.and_then(|id| self.server(line.item, id)));
            for (place, variable) in chosen.variables.iter().enumerate() {
                of_line["variables"][place]["name"] = json!(self.variable(line.item, variable.id));
            }
        }
    }
}

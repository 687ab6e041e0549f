//! The players that an order is delivered to.

use crate::model::{Order, OrderLine, User, UserId, UserName};
use crate::rules::order::users;
use crate::table::keys::{self, Key};
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The names of an order's users, and which of its players are banned.
pub(super) struct Players {
    names: BTreeMap<UserId, String>,
    banned: BTreeSet<Key>,
}

impl Players {
    pub(super) async fn read(db: &Db, order: &Order) -> Result<Self, StoreError> {
        let of_order = users(order);
        let mut rows = db.batch_get(of_order.iter().map(|user| keys::user(*user)).collect()).await?;
        let mut names = BTreeMap::new();
        for user in of_order {
            if let Some(User { username, .. }) = rows.take_live(&keys::user(user))? {
                names.insert(user, username);
            }
        }
        let mut players = Self { names, banned: BTreeSet::new() };
        let bans: BTreeSet<Key> =
            order.lines.iter().filter_map(|line| Self::ban(&players.of_line(order, line)?)).collect();
        let mut rows = db.batch_get(bans.iter().cloned().collect()).await?;
        players.banned = bans.into_iter().filter(|ban| rows.take(ban).is_some()).collect();
        Ok(players)
    }

    /// A player who is not banned, by the user of an order.
    pub(super) fn of(user: UserId, name: &str) -> Self {
        Self { names: BTreeMap::from([(user, name.to_owned())]), banned: BTreeSet::new() }
    }

    /// The player of a line: the order's, or the recipient of a gift as the buyer typed the name, unless the recipient's
    /// account has another one now. `None` if there is none, or none any more.
    pub(super) fn of_line(&self, order: &Order, line: &OrderLine) -> Option<String> {
        if !line.is_gift() {
            return self.names.get(&order.player()?).cloned();
        }
        let present = line.recipient.and_then(|recipient| self.names.get(&recipient));
        let typed = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        let typed = typed.filter(|typed| present.is_none_or(|name| UserName::parse(name).as_ref() == Ok(typed.key())));
        typed.map(|name| name.as_str().to_owned()).or_else(|| present.cloned())
    }

    pub(super) fn buyer(&self, order: &Order) -> Option<String> {
        self.names.get(&order.owner?).cloned()
    }

    /// The key of a player's ban; `None` for a name that none can have.
    pub(super) fn ban(player: &str) -> Option<Key> {
        UserName::parse(player).ok().map(|name| keys::ban(&name))
    }

    pub(super) fn is_banned(&self, player: &str) -> bool {
        Self::ban(player).is_some_and(|ban| self.banned.contains(&ban))
    }
}

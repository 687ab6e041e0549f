//! New commands of an order, and the players that it is delivered to.

use super::follow::{ended_alone, gives, is_given, is_own_end};
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, CommandTemplate, Delivery, Entitlement, FrozenCommands, FrozenLine,
    Lasts, LineEnd, Order, OrderLine, Season, Server, ServerId, User, UserId, UserName,
};
use crate::money::CurrencyFormat;
use crate::rules::command_text::Placeholder;
use crate::rules::delivery::frozen::{Expanded, fill, is_of_purchase};
use crate::rules::delivery::may_have_run;
use crate::rules::order::users;
use crate::shop::orders::StoredOrder;
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

/// The access that a subscription gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    /// When it ends, seconds since 1970 UTC.
    pub(super) until: i64,
    /// Whether the order is the one of the newest period.
    pub(super) is_newest: bool,
}

/// The inputs of new commands.
pub(super) struct Making<'a> {
    pub(super) stored: &'a StoredOrder,
    pub(super) frozen: &'a FrozenCommands,
    pub(super) players: &'a Players,
    /// The servers that are published; `None` if that does not matter.
    pub(super) servers: Option<&'a [Server]>,
    /// The access that its subscription gives; `None` if it is not a subscription's.
    pub(super) access: Option<Access>,
    /// Whether its lines are moved to another player, or to a new season: they give from when they were paid.
    pub(super) moves: bool,
    /// Seconds since 1970 UTC.
    pub(super) now: i64,
}

impl Making<'_> {
    /// The player that a command is for.
    pub(super) fn player(&self, entry: &Expanded<'_>) -> Option<String> {
        let order = &self.stored.order;
        self.players.of_line(order, order.lines.get(usize::from(entry.line.line))?)
    }

    /// The new season that its lines are moved to.
    pub(super) fn season(&self) -> Option<&Season> {
        self.stored.effects.delivery.as_ref()?.moving.as_ref()?.season.as_ref()
    }

    /// When a line ends in a new season: as before. `None` if it does not end by itself.
    pub(super) fn end_of_season(&self, line: u16) -> Option<&LineEnd> {
        self.season()?.ends.iter().find(|end| end.line == line)
    }

    /// From when on a line gives what it gives, seconds since 1970 UTC.
    pub(super) fn since(&self, line: &FrozenLine) -> i64 {
        let order = &self.stored.order;
        let own = order.lines.get(usize::from(line.line)).filter(|_| self.moves);
        own.map_or(self.now, |own| own.paid_at(order).min(self.now))
    }

    /// How long all units of a line last; `None` if that is over, or not known.
    pub(super) fn lasts(&self, line: &FrozenLine) -> Option<Lasts> {
        if line.renews {
            return self.access.filter(|access| access.is_newest).map(|access| Lasts::Until(access.until));
        }
        let count = self.stored.order.lines.get(usize::from(line.line))?.count;
        let seconds = |after| i64::from(after).saturating_mul(i64::from(count));
        Some(line.expires_after.map_or(Lasts::Always, |after| Lasts::For(seconds(after))))
    }

    /// Whether any command of the line runs on the server when the line ends.
    pub(super) fn ends_on(&self, entry: &Expanded<'_>) -> bool {
        self.has_end(entry, |_| true)
    }

    /// Whether what a command gives, whose text depends on the purchase, is over: a command of the purchase ended it. In a new
    /// season whatever has ended is over.
    pub(super) fn is_over(&self, entry: &Expanded<'_>) -> bool {
        let ends_alone = self.ends_alone(entry);
        let end = match self.end_of_season(entry.line.line) {
            Some(end) => Some(if ends_alone { end.own } else { end.at }),
            None => self.own_end(entry).filter(|_| ends_alone),
        };
        end.is_some_and(|end| end <= self.now)
    }

    /// Whether what a command gives depends on the purchase, and a command of the purchase ends it on the server.
    pub(super) fn ends_alone(&self, entry: &Expanded<'_>) -> bool {
        entry.is_of_purchase() && self.has_end(entry, is_of_purchase)
    }

    fn has_end(&self, entry: &Expanded<'_>, is_wanted: impl Fn(&CommandTemplate) -> bool) -> bool {
        let is_end = |template: &CommandTemplate| template.on == CommandEvent::Expired && is_wanted(template);
        entry.line.expires() && self.has_on_server(entry, is_end)
    }

    fn has_on_server(&self, entry: &Expanded<'_>, is_wanted: impl Fn(&CommandTemplate) -> bool) -> bool {
        let mut there = entry.line.commands.iter().filter(|command| command.servers.contains(&entry.server));
        there.any(|command| self.frozen.templates.get(usize::from(command.template)).is_some_and(&is_wanted))
    }

    /// Whether something is left that a command takes back: what its line gives may have run, as `queued` has it or is
    /// `known` otherwise, and no end of the order alone has taken it.
    pub(super) fn has_to_take(&self, entry: &Expanded<'_>, queued: &[Command], known: bool) -> bool {
        (known || self.may_have_given(entry, queued)) && !self.has_run_at_end(entry, queued)
    }

    /// Whether a command of the line may have run on the server; on any, if the line gives nothing there.
    fn may_have_given(&self, entry: &Expanded<'_>, queued: &[Command]) -> bool {
        let has_own = self.has_on_server(entry, |template| gives(template.on));
        let of_line = queued.iter().filter(|command| command.line == entry.line.line && is_given(command));
        let judged: Vec<&Command> = of_line.filter(|command| !has_own || command.server == entry.server).collect();
        let judged = if has_own && entry.is_of_purchase() { ended_alone(judged) } else { judged };
        judged.into_iter().any(|command| may_have_run(&command.delivery))
    }

    /// Whether a refund's command would take what an end of the order alone has taken, or what was moved after that end and
    /// not given again.
    fn has_run_at_end(&self, entry: &Expanded<'_>, queued: &[Command]) -> bool {
        let is_of_purchase = entry.template.on == CommandEvent::Refunded && entry.is_of_purchase();
        if !(is_of_purchase && self.has_end(entry, |template| template.run == entry.template.run)) {
            return false;
        }
        let is_there = |command: &&Command| (command.line, command.server) == (entry.line.line, entry.server);
        let mut ends = queued.iter().filter(is_there).filter(|command| is_own_end(command)).peekable();
        ends.peek().is_none() || ends.any(|command| may_have_run(&command.delivery))
    }

    /// When what a command of the order alone ends is over, seconds since 1970 UTC; `None` if it does not end.
    pub(super) fn own_end(&self, entry: &Expanded<'_>) -> Option<i64> {
        let known = self.end_of_season(entry.line.line);
        match self.lasts(entry.line)? {
            Lasts::Always => None,
            Lasts::Until(end) => Some(end),
            // Its units are in the text.
            Lasts::For(_) if entry.is_of_purchase() => {
                let end = |after| self.since(entry.line).saturating_add(i64::from(after));
                known.map(|end| end.own).or_else(|| entry.line.expires_after.map(end))
            }
            Lasts::For(seconds) => {
                Some(known.map_or_else(|| self.since(entry.line).saturating_add(seconds), |end| end.at))
            }
        }
    }

    /// A command that runs after its delay.
    pub(super) fn command(&self, id: CommandId, entry: &Expanded<'_>, player: &str) -> Command {
        self.command_after(id, entry, player, self.now)
    }

    /// A command whose delay begins at `event`, seconds since 1970 UTC.
    pub(super) fn command_after(&self, id: CommandId, entry: &Expanded<'_>, player: &str, event: i64) -> Command {
        let due = event.saturating_add(i64::from(entry.template.delay));
        let stops = matches!(entry.template.on, CommandEvent::Bought | CommandEvent::Renewed);
        let is_stopped = stops && self.players.is_banned(player);
        let text = self.text(entry, player);
        let is_deliverable = text.is_some() && self.is_published(entry.server);
        // It may have run before the restore, also after its delay. What ends an item runs at its end.
        let is_restored = entry.template.on != CommandEvent::Expired
            && self.stored.effects.delivery.as_ref().is_some_and(|delivery| delivery.restored);
        let due = if is_restored { self.now } else { due };
        let (state, entitlement) = if is_restored {
            (CommandState::Unknown, Entitlement::Good)
        } else if is_stopped {
            (CommandState::Stopped, Entitlement::Stopped)
        } else if !is_deliverable {
            let order = &self.stored.order.internal_id;
            tracing::error!(%order, line = entry.line.line, server = %entry.server, "a command is cancelled");
            (CommandState::Cancelled, Entitlement::Stopped)
        } else if due > self.now {
            (CommandState::Waiting, Entitlement::Good)
        } else {
            (CommandState::Ready, Entitlement::Good)
        };
        Command {
            id,
            version: 0,
            order: self.stored.order.internal_id.clone(),
            line: entry.line.line,
            item: entry.line.item,
            event: entry.template.on,
            server: entry.server,
            player: player.to_owned(),
            player_id: self.player_id(entry, player),
            text: text.unwrap_or_default(),
            lasting: None,
            ends: None,
            retried_as: None,
            retry_of: None,
            runs: Vec::new(),
            paid_at: None,
            delayed: entry.template.delay > 0,
            output: None,
            delivery: Delivery {
                entitlement,
                online: entry.template.online,
                once: entry.template.once,
                served: u8::from(state == CommandState::Unknown),
                ..Delivery::new(state, due)
            },
        }
    }

    /// The text of a command for a player; `None` if it is too long, or a console could read more than its values in it.
    pub(super) fn text(&self, entry: &Expanded<'_>, player: &str) -> Option<String> {
        fill(entry, self.frozen, |placeholder| self.value(placeholder, entry, player))
    }

    /// The player of a command that needs one, as the server's list of players has it. An empty text names none.
    fn player_id(&self, entry: &Expanded<'_>, player: &str) -> Option<String> {
        let free = self.frozen.free_names.iter().find(|free| free.server == entry.server);
        let variable = free.filter(|_| entry.template.online)?.variable;
        Some(variable.map_or_else(String::new, |id| self.value(Placeholder::Variable(id), entry, player)))
    }

    pub(super) fn is_published(&self, server: ServerId) -> bool {
        self.servers.is_none_or(|servers| servers.iter().any(|published| published.id == server))
    }

    fn value(&self, placeholder: Placeholder, entry: &Expanded<'_>, player: &str) -> String {
        match placeholder {
            Placeholder::Player => player.to_owned(),
            Placeholder::Buyer => self.players.buyer(&self.stored.order).unwrap_or_default(),
            other => value_of_order(self.stored, self.frozen, other, entry),
        }
    }
}

/// The value of a placeholder that names no player.
pub(super) fn value_of_order(
    stored: &StoredOrder,
    frozen: &FrozenCommands,
    placeholder: Placeholder,
    entry: &Expanded<'_>,
) -> String {
    let (order, effects) = (&stored.order, &stored.effects);
    let line = order.lines.get(usize::from(entry.line.line));
    let chosen = line.and_then(|line| line.chosen.as_ref());
    let text = |text: Option<String>| text.unwrap_or_default();
    match placeholder {
        Placeholder::Player | Placeholder::Buyer => String::new(),
        Placeholder::Item => chosen.map_or_else(|| entry.line.name.clone(), |chosen| chosen.name.clone()),
        Placeholder::Count => text(line.map(|line| line.count.to_string())),
        Placeholder::Price => {
            let format = CurrencyFormat::of(order);
            text(line.map(|line| format.money(line.total).to_string()))
        }
        Placeholder::Currency => order.currency.clone(),
        Placeholder::Order => order.internal_id.to_string(),
        Placeholder::Server => {
            let server = frozen.servers.iter().find(|server| server.id == entry.server);
            text(server.map(|server| server.name.clone()))
        }
        Placeholder::ChatId => text(effects.chat.as_ref().map(ToString::to_string)),
        Placeholder::Variable(id) => {
            let variables = chosen.map(|chosen| chosen.variables.as_slice()).unwrap_or_default();
            text(variables.iter().find(|variable| variable.id == id).map(|variable| variable.value.clone()))
        }
    }
}

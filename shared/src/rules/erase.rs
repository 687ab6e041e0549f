//! A player's traces that are removed from carts and orders when their account is erased (operations.md,
//! "A buyer asks").

use crate::model::{Cart, Line, Order, OrderEffects, OrderLine, OrderStatus, PlayerName, UserId, UserName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedPlayer {
    pub user: UserId,
    /// The account's name, unless an earlier attempt has removed the account, and the former names that are held for
    /// it.
    pub names: Vec<UserName>,
}

impl ErasedPlayer {
    fn is_named(&self, gift_to: Option<&PlayerName>) -> bool {
        gift_to.is_some_and(|name| self.names.contains(name.key()))
    }

    fn receives(&self, line: &OrderLine) -> bool {
        let gift_to = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        // A name may have been another player's before, or since.
        line.recipient.map_or_else(|| self.is_named(gift_to), |recipient| recipient == self.user)
    }

    /// Whether an order is the player's, or has a gift for them, and can still be paid.
    pub fn has_open(&self, order: &Order) -> bool {
        let concerns = order.owner == Some(self.user) || order.lines.iter().any(|line| self.receives(line));
        concerns && order.status == OrderStatus::Pending
    }

    /// The lines of an order without what the player typed and without the player's name; `None` if neither is in it,
    /// nor the player's chat account or login, nor evidence about the player.
    pub fn without_in_order(&self, order: &Order, effects: &OrderEffects) -> Option<Vec<OrderLine>> {
        let is_own = order.owner == Some(self.user);
        let is_for = order.player() == Some(self.user);
        let mut lines = order.lines.clone();
        for line in &mut lines {
            let receives = self.receives(line) || (is_for && !line.is_gift());
            let Some(chosen) = line.chosen.as_mut() else { continue };
            if receives || self.is_named(chosen.gift_to.as_ref()) {
                chosen.gift_to = None;
            }
            if receives || is_own {
                chosen.variables.clear();
            }
        }
        let is_known = effects.chat.is_some() || effects.login.is_some() || !effects.answers.is_empty();
        (lines != order.lines || (is_own && is_known)).then_some(lines)
    }

    /// The lines of another buyer's cart without the player's name, and without what was typed for the player; `None`
    /// if the cart has no gift for them.
    pub fn without_in_cart(&self, cart: &Cart) -> Option<Vec<Line>> {
        let mut lines = cart.lines.clone();
        for line in lines.iter_mut().filter(|line| self.is_named(line.gift_to.as_ref())) {
            line.gift_to = None;
            line.variables.clear();
        }
        (lines != cart.lines).then_some(lines)
    }
}

//! The players that the demo's login suggests: first those who can pay at once.

use crate::live::Live;
use crate::ready::revoked;
use publish::Compiled;
use shared::model::{Line, User};
use shared::rules::missing::missing;

/// The most that are suggested.
const MOST_SUGGESTED: usize = 8;

/// The names of players in a table, at `now`.
pub fn suggested(compiled: &Compiled, live: &Live, now: i64) -> Vec<String> {
    let refused = revoked(live, now);
    let place = |user: &&User| {
        let cart = live.carts.iter().find(|cart| cart.user == user.id).filter(|cart| !cart.lines.is_empty());
        match cart {
            _ if refused.contains(&user.username) => 3,
            None => 1,
            // A code may have ended.
            Some(cart)
                if cart.coupon.is_none()
                    && cart.gift_card.is_none()
                    && cart.lines.iter().all(|line| can_be_paid(compiled, line)) =>
            {
                0
            }
            Some(_) => 2,
        }
    };
    let mut users: Vec<&User> = live.users.iter().collect();
    users.sort_by_key(place);
    users.into_iter().take(MOST_SUGGESTED).map(|user| user.username.clone()).collect()
}

/// Whether a line can be paid with money after a login by name, as far as the files say.
fn can_be_paid(compiled: &Compiled, line: &Line) -> bool {
    let found = compiled.items.iter().map(|published| &published.item).find(|item| item.id == line.item);
    found.is_some_and(|item| {
        let needs_more = item.virtual_only || item.needs_chat;
        item.active && !needs_more && missing(line, item).is_empty()
    })
}

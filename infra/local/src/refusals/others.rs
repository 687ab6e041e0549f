//! Logins, tokens and look-ups that are refused (rules.md, "Statuses and error bodies").

use super::{Shop, TryCall, TryRefusal, Who};
use serde_json::json;

const UNAUTHORIZED: &str = "Unauthorized: a valid access token is required.";

pub(super) fn all(shop: &Shop<'_>) -> Vec<TryRefusal> {
    [logins(shop), tokens(shop), orders(shop), pages(shop)].into_iter().flatten().flatten().collect()
}

type Found = Vec<Option<TryRefusal>>;

fn logins(shop: &Shop<'_>) -> Found {
    let users = &shop.live.users;
    let login = |name: &'static str, username: &str, status: u16, message: &str| {
        let call = TryCall::new("/auth/username", json!({"username": username}));
        Who::Nobody.refused(name, vec![call], status, message)
    };
    let banned = users.iter().find(|user| user.banned);
    let locked = users.iter().find(|user| !user.banned && shop.is_refused(user));
    let empty = TryCall::new("/auth/username", json!({}));
    vec![
        Some(login("a name that no player can have", "not a name!", 400, "Incorrect username!")),
        Some(Who::Nobody.refused("a login without a name", vec![empty], 400, "The username field is required.")),
        banned.map(|user| login("a banned player", &user.username, 403, "This player is banned from the store.")),
        locked.map(|user| login("a locked account", &user.username, 403, "The store's owner has locked this account.")),
    ]
}

fn tokens(shop: &Shop<'_>) -> Found {
    let call = || vec![TryCall::new("/cart/get", json!({}))];
    let revoked = shop.live.users.iter().find(|user| !user.banned && shop.is_refused(user));
    let banned = shop.live.users.iter().find(|user| user.banned);
    let with_token =
        |name: &'static str, username: &str| Who::Player(username.to_owned()).refused(name, call(), 401, UNAUTHORIZED);
    vec![
        Some(Who::Nobody.refused("a cart without a token", call(), 401, UNAUTHORIZED)),
        revoked.map(|user| with_token("a token that was revoked", &user.username)),
        banned.map(|user| with_token("a token of a banned player", &user.username)),
    ]
}

fn orders(shop: &Shop<'_>) -> Found {
    let check = |id: &str| vec![TryCall::new("/payments/checkStatus", json!({"order_id": id}))];
    let owned = shop.live.orders.iter().find(|order| order.owner.is_some());
    vec![
        Some(Who::Nobody.refused(
            "an order that does not exist",
            check("no-such-order"),
            200,
            "This payment does not exist.",
        )),
        owned.map(|order| {
            Who::Nobody.refused("an order without a token", check(order.internal_id.as_str()), 401, "Unauthorized")
        }),
        owned.map(|order| {
            let calls = check(order.internal_id.as_str());
            shop.visitor().refused("an order of another player", calls, 200, "This payment belongs to another account.")
        }),
    ]
}

fn pages(shop: &Shop<'_>) -> Found {
    let post = |name: &'static str, path: &str, status: u16, message: &str| {
        Some(shop.visitor().refused(name, vec![TryCall::new(path, json!({}))], status, message))
    };
    let item = shop.compiled.items.iter().map(|published| published.item.id.get()).max().unwrap_or_default() + 1;
    vec![
        post(
            "a category that does not exist",
            "/categories/get/no-such-category",
            404,
            "This category does not exist.",
        ),
        post(
            "the page of an item that does not exist",
            &format!("/items/get/{item}"),
            404,
            "This item does not exist.",
        ),
        post("a page without its url", "/pages/get", 400, "The url field is required."),
    ]
}

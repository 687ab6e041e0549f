//! The ready line: the server's address, tokens to log in with, and values to try.

use crate::live::Live;
use crate::options::StartError;
use publish::Compiled;
use serde::Serialize;
use shared::model::{Code, CodeKind, CouponUses, Discount, LEEWAY, Line, User, UserId};
use shared::rules::cart::missing;
use shared::token::TokenKeys;
use std::collections::BTreeMap;
use std::fmt;

/// How long the printed tokens are valid, in seconds.
const TOKEN_SECONDS: i64 = 7 * 24 * 60 * 60;
/// The most players that the demo's login suggests.
const MOST_SUGGESTED: usize = 8;

#[derive(Debug, Clone, Serialize)]
pub struct Ready {
    pub shop: String,
    pub base_url: String,
    pub dynamodb_endpoint: String,
    pub table: String,
    /// A token for each user in the table, by name.
    pub tokens: BTreeMap<String, String>,
    pub r#try: Try,
    /// The chat login; `None` with a database elsewhere.
    pub chat: Option<Chat>,
    /// The page of the demo that shows its game servers; `None` with a database elsewhere.
    pub console: Option<String>,
    /// The URL of the stand-in for Stripe; `None` with a database elsewhere.
    pub payments: Option<String>,
    /// The user whose token is in the curl lines: the first in the table.
    #[serde(skip)]
    pub shown_user: Option<String>,
    /// The users whose tokens are refused, because they were revoked or the name is banned.
    #[serde(skip)]
    pub revoked: Vec<String>,
    /// The players whom the demo's login suggests.
    #[serde(skip)]
    pub players: Vec<String>,
}

/// The chat login, with the stand-in for the chat platform.
#[derive(Debug, Clone, Serialize)]
pub struct Chat {
    pub url: String,
    /// The origins whose pages may call the API, as in `ALLOWED_ORIGINS`.
    pub allowed_origins: String,
    /// The secret of the stand-in's client, as in `CHAT_SECRET`.
    pub chat_secret: String,
}

/// Values of the store to try; empty if there is none.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Try {
    pub page: String,
    pub coupon: String,
    pub gift: String,
    pub referral: String,
    /// Codes that cannot be used, one for each reason.
    pub refused: Vec<RefusedCode>,
    /// The files' orders that are in the table.
    pub orders: Vec<TryOrder>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RefusedCode {
    pub code: String,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct TryOrder {
    pub id: String,
    /// Name of the owner; `None` after a guest checkout.
    pub owner: Option<String>,
    pub status: &'static str,
}

/// A token for each user in the table, valid for a week from `now` (seconds since 1970 UTC).
pub fn tokens(live: &Live, keys: &str, now: i64) -> Result<BTreeMap<String, String>, StartError> {
    let keys = TokenKeys::parse(keys).map_err(|source| StartError::Keys { path: "memory".into(), source })?;
    let token = |user: &User| {
        // Issued after a revocation of the same second, but not after one that is in the future.
        let issued = user.next_issue(now).min(now + LEEWAY);
        let signed = keys.sign(user.id, issued, TOKEN_SECONDS);
        Ok((user.username.clone(), signed.map_err(|error| StartError::Engine(error.to_string()))?))
    };
    live.users.iter().map(token).collect()
}

/// The users whose tokens are refused at `now`, and not only in this second: revoked or banned.
pub fn revoked(live: &Live, now: i64) -> Vec<String> {
    let users = live.users.iter().filter(|user| user.banned || user.next_issue(now) > now + LEEWAY);
    users.map(|user| user.username.clone()).collect()
}

/// The players whom the demo's login suggests at `now`: first those who can pay at once.
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

impl Try {
    /// The same without the page, if the files differ from the published store.
    #[must_use]
    pub fn of_published(self, differs: bool) -> Self {
        if differs { Self { page: String::new(), ..self } } else { self }
    }

    /// Picks values from a store at `now`.
    pub fn pick(compiled: &Compiled, live: &Live, now: i64) -> Self {
        let name = |id: UserId| live.users.iter().find(|user| user.id == id).map(|user| user.username.clone());
        let code = |kind: CodeKind| {
            let mut codes: Vec<&Code> =
                live.codes.iter().filter(|code| code.kind() == kind && is_usable(code, now)).collect();
            codes.sort_by_key(|code| conditions(code));
            codes.first().map(|code| code.text().to_string()).unwrap_or_default()
        };
        // Not the first user's own code: the curl lines have that user's token, who could not use it.
        let shown_user = live.users.first().map(|user| user.id);
        let referral = live.referrals.iter().find(|referral| referral.active && Some(referral.owner) != shown_user);
        Self {
            page: compiled.pages.first().map(|page| page.url.clone()).unwrap_or_default(),
            coupon: code(CodeKind::Coupon),
            gift: code(CodeKind::Gift),
            referral: referral.map(|referral| referral.code.to_string()).unwrap_or_default(),
            refused: refused(live, now),
            orders: live
                .orders
                .iter()
                .map(|order| TryOrder {
                    id: order.internal_id.to_string(),
                    owner: order.owner.and_then(name),
                    status: order.status.as_str(),
                })
                .collect(),
        }
    }
}

/// The first code that each reason applies to at `now`, with any cart.
fn refused(live: &Live, now: i64) -> Vec<RefusedCode> {
    let mut found: Vec<RefusedCode> = Vec::new();
    for code in &live.codes {
        let Err(refusal) = shared::rules::code::usable(Some(code), CouponUses::default(), now) else { continue };
        let reason = refusal.to_string();
        if !found.iter().any(|one| one.reason == reason) {
            found.push(RefusedCode { code: code.text().to_string(), reason });
        }
    }
    found
}

fn is_usable(code: &Code, now: i64) -> bool {
    shared::rules::code::usable(Some(code), CouponUses::default(), now).is_ok()
}

/// The number of conditions of a code. The code with the fewest is the best to try.
fn conditions(code: &Code) -> usize {
    match code {
        Code::Gift(_) => 0,
        Code::Coupon(coupon) => {
            usize::from(!coupon.scope.is_everything())
                + usize::from(coupon.minimum.minor() > 0)
                + usize::from(coupon.max_uses_per_user.is_some())
                + usize::from(coupon.first_purchase)
                + usize::from(matches!(coupon.discount, Discount::Amount(_)))
        }
    }
}

impl Ready {
    /// The server's address without the path before the routes.
    fn origin(&self) -> String {
        url::Url::parse(&self.base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    /// The names with their tokens, first that of the curl lines.
    pub fn tokens_to_try(&self) -> impl Iterator<Item = (&str, &str)> {
        let shown = self.shown_user.as_ref();
        let first = shown.and_then(|name| self.tokens.get_key_value(name));
        let others = self.tokens.iter().filter(move |(name, _)| shown != Some(name));
        first.into_iter().chain(others).map(|(name, token)| (name.as_str(), token.as_str()))
    }

    /// The tokens, and calls to try with them, for who writes a storefront.
    pub fn tokens_text(&self) -> String {
        let mut lines = vec!["Tokens, valid for a week:".to_owned()];
        lines.extend(self.tokens.iter().map(|(name, token)| {
            let remark = if self.revoked.contains(name) { " (refused: 401)" } else { "" };
            format!("  {name}{remark}: {token}")
        }));
        lines.push("Try:".to_owned());
        if let Some(token) = self.shown_user.as_ref().and_then(|name| self.tokens.get(name)) {
            lines.push(format!("  curl -X POST -H 'Authorization: Bearer {token}' {}/cart/get", self.base_url));
        }
        // An order without an owner can be looked up without a token.
        if let Some(order) = self.r#try.orders.iter().find(|order| order.owner.is_none()) {
            let body = serde_json::json!({ "order_id": order.id });
            lines.push(format!("  curl -X POST -d '{body}' {}/payments/checkStatus", self.base_url));
        }
        lines.join("\n")
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "The shop is open at {}\n", self.shop)?;
        let mut parts = vec![("API", self.base_url.clone()), ("Reference", format!("{}/reference", self.origin()))];
        parts.extend(self.console.clone().map(|console| ("Game servers", console)));
        parts.extend(self.payments.clone().map(|payments| ("Payments", format!("{payments} (a stand-in for Stripe)"))));
        parts.extend(self.chat.as_ref().map(|chat| ("Chat logins", format!("{} (a stand-in)", chat.url))));
        parts.push(("Database", format!("{} (table {})", self.dynamodb_endpoint, self.table)));
        for (name, address) in parts {
            writeln!(f, "  {name:<13} {address}")?;
        }
        write!(
            f,
            "\n--tokens prints tokens to call the API with. Requests follow (--quiet: none). Ctrl-C stops the server."
        )
    }
}

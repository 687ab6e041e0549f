//! `cart show` and `clear`.

use super::common::published;
use super::find_user::find_which;
use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::WhichUser;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::CodeText;
use shared::money::CurrencyFormat;
use shared::rules::cart::{PricedLine, sums};
use shared::rules::code::{Applied, CodeRefusal};
use shared::rules::missing::missing;
use shared::shop::carts;
use shared::shop::carts as usecase;
use shared::shop::carts::{Attempt, CartContext, CartSources, EditError, LoadedCart};
use shared::shop::catalog::ItemCache;
use shared::shop::stock::Counters;
use shared::table::{StoreError, keys};
use std::sync::Arc;
use std::time::Duration;

pub(super) async fn show(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let user = find_which(target, which).await?;
    let active = Arc::new(published(target).await?);
    let (id, username, digits) = (user.id, user.username.clone(), active.config.digits);
    let (items, counters) = (ItemCache::default(), Counters::new(Duration::ZERO));
    let sources = CartSources { db: &target.db, items: &items, counters: &counters, clock: target.clock.as_ref() };
    let rows = target.db.batch_get(CartContext::keys(id).to_vec()).await?;
    let cart = LoadedCart::load(&sources, CartContext::take(user, active, rows)?, None).await?;
    let (lines, format) = (cart.lines(), CurrencyFormat::new(digits));
    let (sums, on_cart) = (sums(&lines), cart.codes(&lines, target.clock.seconds()));
    let coupon = cart.context.cart.coupon.as_ref().map(|coupon| &coupon.code);
    let gift_card = cart.context.cart.gift_card.as_ref().map(|card| &card.code);
    let mut text = vec![format!("{} of {username} (user {id})", paint(STRONG, "Cart"))];
    if lines.is_empty() {
        text.push("It is empty.".to_owned());
    } else {
        let rows: Vec<Vec<String>> = lines.iter().map(|line| row(line, format)).collect();
        text.push(columns(&["LINE", "ITEM", "NAME", "COUNT", "EACH", ""], &rows));
    }
    let applied = coupon.zip(on_cart.coupon.as_ref()).map(|(code, applied)| ("coupon", code, applied));
    let paying = gift_card.zip(on_cart.gift_card.as_ref()).map(|(code, applied)| ("gift card", code, applied));
    text.extend(applied.into_iter().chain(paying).map(|(kind, code, applied)| code_line(kind, code, applied, format)));
    let codes = on_cart.applied();
    if let Some(referral) = cart.referral() {
        text.push(format!("referral {} of {}", referral.code, referral.owner_name));
    }
    text.push(format!("to pay {}", format.money(codes.to_pay(&lines))));
    let json = json!({
        "user": id, "lines": lines.iter().map(|line| entry(line, format)).collect::<Vec<_>>(),
        "coupon": coupon, "coupon_sum": format.money(codes.coupon_sum()),
        "gift_card": gift_card, "gift_sum": format.money(codes.gift_sum()),
        "referral": cart.referral().map(|referral| &referral.code),
        "clear_price": format.money(sums.clear_price), "virtual_price": format.money(sums.virtual_price),
        "price": format.money(codes.to_pay(&lines)),
    });
    Ok(Answer::new(text.join("\n"), json))
}

/// A code on the cart, and what it takes off.
fn code_line(kind: &str, code: &CodeText, on: &Result<Applied<'_>, CodeRefusal>, format: CurrencyFormat) -> String {
    match on {
        Ok(applied) => format!("{kind} {code}: takes off {}", format.money(applied.sum)),
        Err(refusal) => format!("{kind} {code}: does not count: {refusal}"),
    }
}

fn row(line: &PricedLine<'_>, format: CurrencyFormat) -> Vec<String> {
    let item = line.item();
    let price = if item.virtual_only { item.virtual_price } else { line.unit_price };
    let unavailable = line.availability.unavailable.then(|| paint(WARN, "unavailable"));
    let recipient = line.line.gift_to.as_ref().map(|name| format!("gift to {name}"));
    let lacks = missing(line.line, item);
    let lacks = lacks.iter().map(|lack| paint(WARN, &lack.to_string()));
    let notes: Vec<String> = unavailable.into_iter().chain(recipient).chain(lacks).collect();
    let count = line.count.to_string();
    let price = format.money(price).to_string();
    vec![line.line.id.to_string(), item.id.to_string(), item.name.clone(), count, price, notes.join(" ")]
}

fn entry(line: &PricedLine<'_>, format: CurrencyFormat) -> Value {
    json!({
        "line": line.line.id, "item": line.item().id, "name": line.item().name, "count": line.count,
        "price": format.money(line.unit_price), "variables": line.line.variables, "server": line.line.server,
        "payment_type": line.line.payment_type, "unavailable": line.availability.unavailable,
        "gift_to": line.line.gift_to,
        "missing": missing(line.line, line.item()).iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

pub(super) async fn clear(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let user = find_which(target, which).await?;
    let attempt = async || -> Result<Attempt<Option<usize>>, StoreError> {
        let mut rows = target.db.batch_get(vec![keys::cart(user.id)]).await?;
        let mut cart = carts::take(&mut rows, user.id)?;
        let has_code = cart.coupon.is_some() || cart.gift_card.is_some() || cart.referral.is_some();
        if cart.lines.is_empty() && !has_code {
            return Ok(Attempt::Done(None));
        }
        let removed = cart.lines.len();
        // Line ids are never used again: a client that still shows the old cart must not change a new line.
        (cart.lines, cart.coupon, cart.gift_card, cart.referral) = (Vec::new(), None, None, None);
        Ok(Attempt::Write(Box::new(cart), Some(removed)))
    };
    let removed = usecase::edit(&target.db, attempt).await.map_err(not_written)?;
    let text = match removed {
        Some(removed) => {
            format!("{} The cart of {} is empty; {removed} lines removed.", paint(GOOD, "ok"), user.username)
        }
        None => format!("Nothing to do: the cart of {} is empty.", user.username),
    };
    Ok(Answer::new(text, json!({ "user": user.id, "removed": removed.unwrap_or_default() })))
}

fn not_written(error: EditError<StoreError>) -> Failure {
    match error {
        EditError::Attempt(error) => error.into(),
        EditError::Write(StoreError::Contended) => {
            Failure::new(Exit::Raced, "The buyer kept changing the cart.", "Run the same command again.")
        }
        EditError::Write(error) => {
            let next = "Look at it with `storectl cart show`.";
            Failure::from(error).done("It is not known whether the cart was written.").next(next)
        }
    }
}

//! `cart show`, `add`, `code` and `clear`: by the same rules as the API.

mod place;

use super::users::{find, find_which};
use super::{items, published};
use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::{AddLine, CartCode, WhichUser};
use crate::error::{Exit, Failure};
use crate::target::Target;
use place::{LineToAdd, place};
use serde_json::{Value, json};
use shared::http::wire::CurrencyFormat;
use shared::model::{
    ActiveVersion, AppliedCode, Cart, Code, CodeText, ItemId, Items, Ledger, LineVariable, Money, ServerId, Sold, User,
};
use shared::rules::cart::{PricedLine, price_lines, sums};
use shared::rules::code::judge;
use shared::rules::referral::in_force;
use shared::store::carts::{Edit, Saved, save};
use shared::store::counters::Counters;
use shared::store::items::ItemCache;
use shared::store::{Rows, StoreError, backoff, carts, codes, keys, ledgers};
use std::time::Duration;

/// How often a write that collided is made again (rules.md, "Writing a cart").
const RETRIES: u32 = 3;

/// A user's cart with everything that prices it.
struct CartView {
    cart: Cart,
    ledger: Ledger,
    items: Items,
    sold: Sold,
    rows: Rows,
}

impl CartView {
    /// Reads a cart anew; `more` is an item that is about to be put into it.
    async fn read(
        target: &Target,
        active: &ActiveVersion,
        user: &User,
        more: Option<ItemId>,
    ) -> Result<Self, StoreError> {
        let mut rows = target.db.batch_get(vec![keys::cart(user.id), keys::ledger(user.id)]).await?;
        let cart = carts::take(&mut rows, user.id)?;
        let ledger = ledgers::take(&mut rows, user.id)?;
        let (shelf, counters) = (ItemCache::default(), Counters::new(Duration::ZERO));
        let ids = || cart.lines.iter().map(|line| line.item).chain(more);
        let items = shelf.plan(&active.version, ids());
        let sold = counters.plan(ids(), target.clock.millis());
        let mut wanted: Vec<_> = items.keys().chain(sold.keys()).collect();
        wanted.extend(cart.code.iter().flat_map(|on| [keys::code(&on.code), keys::code_use(&on.code, user.id)]));
        wanted.extend(cart.referral.iter().map(keys::referral));
        let mut rows = if wanted.is_empty() { Rows::default() } else { target.db.batch_get(wanted).await? };
        let items = shelf.complete(items, &mut rows)?;
        let sold = counters.complete(sold, &mut rows)?;
        Ok(Self { cart, ledger, items, sold, rows })
    }

    fn lines(&self) -> Vec<PricedLine<'_>> {
        price_lines(&self.cart.lines, &self.items, &self.sold, &self.ledger)
    }
}

pub(super) async fn show(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let user = find_which(target, which).await?;
    let active = published(target).await?;
    let basket = CartView::read(target, &active, &user, None).await?;
    told(target, &active, &user, basket, &[])
}

/// What a cart holds and costs now, below what was done to it.
fn told(
    target: &Target,
    active: &ActiveVersion,
    user: &User,
    mut basket: CartView,
    done: &[String],
) -> Result<Answer, Failure> {
    let mut rows = std::mem::take(&mut basket.rows);
    let on_cart = basket.cart.code.clone();
    let (found, times) = match &on_cart {
        Some(on) => {
            let code = codes::take(&mut rows, &on.code)?.filter(|code| code.id() == on.id);
            (code, codes::take_uses(&mut rows, &on.code, user.id)?)
        }
        None => (None, 0),
    };
    let referral = match &basket.cart.referral {
        Some(text) => codes::take_referral(&mut rows, text)?,
        None => None,
    };
    let referral = in_force(referral.as_ref(), active.config.is_ref);
    let (lines, wire) = (basket.lines(), CurrencyFormat::new(active.config.digits));
    let judged = judge(found.as_ref(), times, &lines, target.clock.seconds());
    let off = judged.as_ref().map_or(Money::ZERO, |applied| applied.sum);
    let sums = sums(&lines);
    let mut text = done.to_vec();
    text.push(format!("{} of {} (user {})", paint(STRONG, "Cart"), user.username, user.id));
    if lines.is_empty() {
        text.push("It is empty.".to_owned());
    } else {
        text.push(columns(
            &["LINE", "ITEM", "NAME", "COUNT", "EACH", ""],
            &lines.iter().map(|line| row(line, wire)).collect::<Vec<_>>(),
        ));
    }
    if let Some(on) = &on_cart {
        let state = match &judged {
            Ok(applied) => format!("takes off {}", wire.money(applied.sum)),
            Err(refusal) => format!("does not count: {refusal}"),
        };
        text.push(format!("{} {}: {state}", found.as_ref().map_or("code", kind), on.code));
    }
    if let Some(referral) = referral {
        text.push(format!("referral {} of {}", referral.code, referral.owner_name));
    }
    text.push(format!("to pay {}", wire.money(sums.clear_price.less(off))));
    let json = json!({
        "user": user.id, "lines": lines.iter().map(|line| entry(line, wire)).collect::<Vec<_>>(),
        "code": on_cart.as_ref().map(|on| &on.code), "code_sum": wire.money(off),
        "referral": referral.map(|referral| &referral.code), "clear_price": wire.money(sums.clear_price),
        "virtual_price": wire.money(sums.virtual_price), "price": wire.money(sums.clear_price.less(off)),
    });
    Ok(Answer::new(text.join("\n"), json))
}

fn kind(code: &Code) -> &'static str {
    super::codes::word(code.kind())
}

fn row(line: &PricedLine<'_>, wire: CurrencyFormat) -> Vec<String> {
    let item = line.item();
    let price = if item.virtual_only { item.virtual_price } else { line.unit_price };
    let note = if line.availability.unavailable { paint(WARN, "unavailable") } else { String::new() };
    let count = line.count.to_string();
    vec![line.line.id.to_string(), item.id.to_string(), item.name.clone(), count, wire.money(price).to_string(), note]
}

fn entry(line: &PricedLine<'_>, wire: CurrencyFormat) -> Value {
    json!({
        "line": line.line.id, "item": line.item().id, "name": line.item().name, "count": line.count,
        "price": wire.money(line.unit_price), "variables": line.line.variables, "server": line.line.server,
        "payment_type": line.line.payment_type, "unavailable": line.availability.unavailable,
    })
}

pub(super) async fn add(target: &Target, options: &AddLine) -> Result<Answer, Failure> {
    let user = find(target, &options.user).await?;
    let active = published(target).await?;
    let price = options.price.as_deref().map(|text| items::money("--price", text, active.config.digits)).transpose()?;
    let mut variables: Vec<LineVariable> = Vec::with_capacity(options.variables.len());
    for (id, value) in &options.variables {
        variables.push(LineVariable { id: *id, value: value.clone() });
    }
    variables.sort_by_key(|variable| variable.id);
    let wanted = LineToAdd {
        item: ItemId::new(options.item),
        count: options.count,
        variables,
        server: options.server.map(ServerId::new),
        price,
        payment_type: options.payment.into(),
        virtual_currency: active.config.is_virtual_currency,
    };
    for round in 0..=RETRIES {
        let mut basket = CartView::read(target, &active, &user, Some(wanted.item)).await?;
        let placed = place(&basket.cart, &basket.items, &basket.sold, &basket.ledger, &wanted);
        let placed = placed.map_err(|refusal| {
            Failure::refused(
                format!("Item {} is not put into the cart: {refusal}.", wanted.item),
                "Correct it and try again.",
            )
        })?;
        let mut edit = Edit::of(basket.cart);
        edit.cart.clone_from(&placed.cart);
        basket.cart = placed.cart;
        if write(target, &edit).await? == Saved::Written {
            let mut done = vec![format!("{} Item {} is in the cart.", paint(GOOD, "ok"), wanted.item)];
            for replaced in &placed.replaced {
                done.push(format!("It replaces item {replaced}: a cart holds one step of a category."));
            }
            let answer = told(target, &active, &user, basket, &done)?;
            let mut json = answer.json().clone();
            json["replaced"] = json!(placed.replaced);
            return Ok(Answer::new(answer.text(), json));
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(collided())
}

/// Puts a coupon or gift card on a cart as acceptCoupon does (rules.md, "Coupons and gift cards").
pub(super) async fn code(target: &Target, options: &CartCode) -> Result<Answer, Failure> {
    let user = find(target, &options.user).await?;
    let active = published(target).await?;
    let text = CodeText::parse(&options.code).map_err(|_| Failure::refused("The code is blank.", "Name one."))?;
    for round in 0..=RETRIES {
        let mut basket = CartView::read(target, &active, &user, None).await?;
        let mut rows = target.db.batch_get(vec![keys::code(&text), keys::code_use(&text, user.id)]).await?;
        let found = codes::take(&mut rows, &text)?;
        let times = codes::take_uses(&mut rows, &text, user.id)?;
        let judged = judge(found.as_ref(), times, &basket.lines(), target.clock.seconds());
        let applied = judged.map_err(|refusal| {
            let what = format!("{text} is not put on the cart: {refusal}.");
            Failure::refused(what, "Look at the code with `storectl coupon show` or `storectl gift show`.")
        })?;
        let on_cart = AppliedCode { code: text.clone(), id: applied.code.id(), kind: applied.code.kind() };
        if basket.cart.code.as_ref() == Some(&on_cart) {
            return told(target, &active, &user, basket, &[format!("{text} is on the cart already.")]);
        }
        let mut edit = Edit::of(basket.cart.clone());
        edit.cart.lines.retain(|line| basket.items.contains_key(&line.item));
        edit.cart.code = Some(on_cart);
        if write(target, &edit).await? == Saved::Written {
            basket = CartView::read(target, &active, &user, None).await?;
            let done = format!("{} {text} is on the cart.", paint(GOOD, "ok"));
            return told(target, &active, &user, basket, &[done]);
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(collided())
}

pub(super) async fn clear(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let user = find_which(target, which).await?;
    for round in 0..=RETRIES {
        let mut rows = target.db.batch_get(vec![keys::cart(user.id)]).await?;
        let cart = carts::take(&mut rows, user.id)?;
        if cart.lines.is_empty() && cart.code.is_none() && cart.referral.is_none() {
            let text = format!("Nothing to do: the cart of {} is empty.", user.username);
            return Ok(Answer::new(text, json!({ "user": user.id, "removed": 0 })));
        }
        let removed = cart.lines.len();
        // Line ids go on counting: a client that still shows the old cart must not meet them again.
        let mut edit = Edit::of(cart);
        (edit.cart.lines, edit.cart.code, edit.cart.referral) = (Vec::new(), None, None);
        if write(target, &edit).await? == Saved::Written {
            let text =
                format!("{} The cart of {} is empty; {removed} lines removed.", paint(GOOD, "ok"), user.username);
            return Ok(Answer::new(text, json!({ "user": user.id, "removed": removed })));
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(collided())
}

async fn write(target: &Target, edit: &Edit) -> Result<Saved, Failure> {
    save(&target.db, edit).await.map_err(|error| {
        let next = "Look at it with `storectl cart show`.";
        Failure::from(error).done("It is not known whether the cart was written.").next(next)
    })
}

fn collided() -> Failure {
    Failure::new(Exit::Raced, "The buyer kept changing the cart in the meantime.", "Run the same command again.")
}

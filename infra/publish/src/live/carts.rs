//! `live/carts.yaml`.

use super::context::Context;
use crate::fault::Unique;
use crate::files::{CartFile, CartLineFile};
use crate::lower::money;
use shared::model::{AppliedCode, Cart, Code, CodeText, Item, Line, LineId, LineVariable, Money, UserId};
use shared::model::{ItemId, PaymentType, PlayerName, ServerId};
use shared::rules::variable::{self, WrongValue};
use std::collections::{BTreeMap, BTreeSet};

/// The codes a cart may carry; `None` if a file of them is broken.
pub(super) struct Known<'a> {
    /// Coupons and gift cards by text.
    pub(super) codes: Option<BTreeMap<CodeText, &'a Code>>,
    /// Referral codes.
    pub(super) referrals: Option<BTreeSet<CodeText>>,
}

/// Reads every cart.
pub(super) fn carts(files: &[CartFile], known: &Known<'_>, context: &mut Context<'_>) -> Vec<Cart> {
    let mut users = Unique::new("the cart of user");
    let mut carts = Vec::with_capacity(files.len());
    for file in files {
        context.check_user(*file.user, file.user.line, "user");
        users.take(context.report, *file.user, file.user.line, "user");
        carts.push(cart(file, known, context));
    }
    carts
}

fn cart(file: &CartFile, known: &Known<'_>, context: &mut Context<'_>) -> Cart {
    let field = |name: &str| format!("[{}].{name}", *file.user);
    if file.lines.len() > Cart::MAX_LINES {
        let problem = format!("a cart has at most {} lines, this one has {}", Cart::MAX_LINES, file.lines.len());
        context.report.fault(file.user.line, field("lines"), problem);
    }
    let mut lines = Vec::with_capacity(file.lines.len());
    let mut next_line = 1;
    for entry in &file.lines {
        lines.extend(line(entry, LineId::new(next_line), &field("lines"), context));
        next_line += 1;
    }
    let code = file.code.as_ref().and_then(|written| {
        let text = CodeText::parse(written).ok();
        let found = known.codes.as_ref().and_then(|codes| codes.get(text.as_ref()?).copied());
        if found.is_none() && known.codes.is_some() {
            context.report.fault(written.line, field("code"), "there is no such coupon or gift card");
        }
        found.map(AppliedCode::from)
    });
    let referral = file.referral.as_ref().and_then(|written| {
        let text = CodeText::parse(written).ok();
        let found =
            known.referrals.as_ref().is_some_and(|known| text.as_ref().is_some_and(|text| known.contains(text)));
        if !found && known.referrals.is_some() {
            context.report.fault(written.line, field("referral"), "there is no such referral code");
        }
        text
    });
    Cart { user: UserId::new(*file.user), version: 1, next_line, lines, code, referral, checkout: None }
}

fn line(file: &CartLineFile, id: LineId, prefix: &str, context: &mut Context<'_>) -> Option<Line> {
    let field = |name: &str| format!("{prefix}[{id}].{name}");
    let item = context.item(&file.item, &field("item"))?;
    if let Some(count) = file.count.as_ref().filter(|count| ***count == 0) {
        context.report.fault(count.line, field("count"), "must be at least 1");
    }
    check_variables(file, item, &field("variables"), context);
    if let Some(server) = &file.server
        && !item.servers.iter().any(|known| known.id == ServerId::new(**server))
    {
        let problem = format!("item {} has no server {}", item.id, **server);
        context.report.fault(server.line, field("server"), problem);
    }
    if file.promoted && item.promotion.is_none() {
        context.report.fault(file.item.line, field("promoted"), format!("item {} has no promotion", item.id));
    }
    Some(Line {
        id,
        item: ItemId::new(*file.item),
        count: file.count.as_ref().map_or(1, |count| **count),
        variables: variables(file),
        server: file.server.as_ref().map(|server| ServerId::new(**server)),
        price: price(file, item, &field("price"), context),
        payment_type: file.payment_type,
        promoted: file.promoted,
        gift_to: gift_to(file, item, &field("gift_to"), context),
    })
}

fn check_variables(file: &CartLineFile, item: &Item, field: &str, context: &mut Context<'_>) {
    for (id, value) in &file.variables {
        match item.variables.iter().find(|variable| variable.id == *id) {
            None => {
                let problem = format!("item {} has no variable {id}", item.id);
                context.report.fault(value.line, field, problem);
            }
            Some(variable) => {
                let problem = match variable::check(variable, &value.value) {
                    Ok(()) => continue,
                    Err(WrongValue::Option(options)) => format!("must be one of {options}"),
                    Err(wrong) => wrong.to_string(),
                };
                context.report.fault(value.line, field, format!("variable {id} {problem}"));
            }
        }
    }
}

fn variables(file: &CartLineFile) -> Vec<LineVariable> {
    let chosen = file.variables.iter();
    chosen.map(|(id, value)| LineVariable { id: *id, value: value.value.clone() }).collect()
}

/// The buyer's price, which an any-price item has and no other.
fn price(file: &CartLineFile, item: &Item, field: &str, context: &mut Context<'_>) -> Option<Money> {
    let Some(written) = &file.price else {
        if item.any_price {
            context.report.fault(
                file.item.line,
                field,
                format!("is missing: the buyer names the price of item {}", item.id),
            );
        }
        return None;
    };
    let price = money(written, context.digits, field, context.report);
    if !item.any_price {
        context.report.fault(written.line(), field, format!("item {} has its own price", item.id));
    } else if price < item.min_price {
        context.report.fault(written.line(), field, format!("must not be below min_price of item {}", item.id));
    }
    Some(price)
}

/// The recipient, which only a gift has.
fn gift_to(file: &CartLineFile, item: &Item, field: &str, context: &mut Context<'_>) -> Option<PlayerName> {
    let is_gift = file.payment_type == PaymentType::Gift;
    let Some(written) = &file.gift_to else {
        if is_gift {
            context.report.fault(file.item.line, field, "is missing: a gift is for a player");
        }
        return None;
    };
    if !is_gift {
        context.report.fault(written.line, field, "is for lines with payment_type: gift");
    } else if !item.gifting {
        context.report.fault(written.line, field, format!("item {} has no gifting: true", item.id));
    }
    match PlayerName::parse(written) {
        Ok(name) => Some(name),
        Err(wrong) => {
            context.report.fault(written.line, field, wrong.to_string());
            None
        }
    }
}

//! `live/carts.yaml`.

use super::context::Context;
use super::files::{CartFile, CartLineFile};
use publish::fault::Unique;
use publish::files::At;
use publish::lower::money;
use shared::model::{
    AppliedCoupon, AppliedGiftCard, Cart, Code, CodeText, Item, ItemId, Line, LineId, LineVariable, Login, Money,
    PaymentType, PlayerName, ServerId, UserId,
};
use shared::rules::variable::{self, WrongValue};
use std::collections::{BTreeMap, BTreeSet};

/// The codes a cart may carry; `None` if a file of them is broken.
pub(super) struct Known<'a> {
    pub(super) codes: Option<BTreeMap<CodeText, &'a Code>>,
    pub(super) referrals: Option<BTreeSet<CodeText>>,
}

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
    let (coupon, gift_card) = codes(file, known, &field, context);
    let referral = file.referral.as_ref().and_then(|written| {
        let text = CodeText::parse(written).ok();
        let found =
            known.referrals.as_ref().is_some_and(|known| text.as_ref().is_some_and(|text| known.contains(text)));
        if !found && known.referrals.is_some() {
            context.report.fault(written.line, field("referral"), "there is no such referral code");
        }
        text
    });
    Cart { version: 1, next_line, lines, coupon, gift_card, referral, ..Cart::empty(UserId::new(*file.user)) }
}

/// The coupon and the gift card of a cart. `code` of older files is either.
fn codes(
    file: &CartFile,
    known: &Known<'_>,
    field: &impl Fn(&str) -> String,
    context: &mut Context<'_>,
) -> (Option<AppliedCoupon>, Option<AppliedGiftCard>) {
    let mut find = |name: &str, written: Option<&At<String>>, what: &str, is_one: fn(&Code) -> bool| {
        let (written, codes) = (written?, known.codes.as_ref()?);
        let text = CodeText::parse(written).ok();
        let found = text.and_then(|text| codes.get(&text).copied()).filter(|code| is_one(code));
        if found.is_none() {
            context.report.fault(written.line, field(name), format!("there is no such {what}"));
        }
        found
    };
    let coupon = find("coupon", file.coupon.as_ref(), "coupon", |code| matches!(code, Code::Coupon(_)));
    let gift_card = find("gift_card", file.gift_card.as_ref(), "gift card", |code| matches!(code, Code::Gift(_)));
    let single = find("code", file.code.as_ref(), "coupon or gift card", |_| true);
    if let (Some(written), Some(_)) = (&file.code, file.coupon.as_ref().or(file.gift_card.as_ref())) {
        context.report.fault(
            written.line,
            field("code"),
            "is either a coupon or a gift card: write it in the field of its kind",
        );
    }
    let (mut applied, mut card) = (None, None);
    for code in coupon.into_iter().chain(gift_card).chain(single) {
        match code {
            Code::Coupon(coupon) => applied = Some(AppliedCoupon::from(coupon)),
            Code::Gift(gift_card) => card = Some(AppliedGiftCard::entered_by(Login::Proven, gift_card)),
        }
    }
    (applied, card)
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
                let problem = match variable::parse(variable, &value.value) {
                    Ok(stored) if stored == value.value => continue,
                    Ok(stored) => format!("must be written as {stored}"),
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

/// The buyer's price, which only a line of an any-price item has.
fn price(file: &CartLineFile, item: &Item, field: &str, context: &mut Context<'_>) -> Option<Money> {
    let written = file.price.as_ref()?;
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

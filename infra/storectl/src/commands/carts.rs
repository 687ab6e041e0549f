//! `cart show`, `add`, `code` and `clear`: by the same code as the API.

use super::common::published;
use super::items;
use super::users::{find, find_which};
use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::{AddLine, CartCode, WhichUser};
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::{
    ActiveVersion, AppliedCoupon, AppliedGiftCard, Code, CodeText, ItemId, LineId, LineVariable, Login, ServerId, User,
};
use shared::money::CurrencyFormat;
use shared::rules::add_line::{LineRefusal, LineToAdd};
use shared::rules::cart::{PricedLine, sums};
use shared::rules::code::{Applied, CodeRefusal, judge};
use shared::rules::missing::{Missing, missing};
use shared::store::counters::Counters;
use shared::store::items::ItemCache;
use shared::store::{StoreError, carts, codes, keys};
use shared::usecases::carts::{
    self as usecase, Added, Attempt, CartContext, CartSources, EditError, LineError, LoadedCart, drop_unpublished,
};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

/// What one command knows of a cart's surroundings. Units sold are read again every time.
struct Shop<'a> {
    target: &'a Target,
    active: Arc<ActiveVersion>,
    user: User,
    items: ItemCache,
    counters: Counters,
}

impl<'a> Shop<'a> {
    async fn open(target: &'a Target, user: User) -> Result<Self, Failure> {
        let active = Arc::new(published(target).await?);
        let counters = Counters::new(Duration::ZERO);
        Ok(Self { target, active, user, items: ItemCache::default(), counters })
    }

    fn sources(&self) -> CartSources<'_> {
        let Self { target, items, counters, .. } = self;
        CartSources { db: &target.db, items, counters, clock: target.clock.as_ref() }
    }

    fn format(&self) -> CurrencyFormat {
        CurrencyFormat::new(self.active.config.digits)
    }

    /// Reads the cart; `also` is an item that is about to be added.
    async fn load(&self, also: Option<ItemId>) -> Result<LoadedCart, StoreError> {
        let rows = self.target.db.batch_get(CartContext::keys(self.user.id).to_vec()).await?;
        let context = CartContext::take(self.user.clone(), Arc::clone(&self.active), rows)?;
        LoadedCart::load(&self.sources(), context, also).await
    }

    /// What the cart contains and costs now, below what was done to it.
    fn render(&self, cart: &LoadedCart, done: &[String]) -> Answer {
        let (lines, format) = (cart.lines(), self.format());
        let (sums, on_cart) = (sums(&lines), cart.codes(&lines, self.target.clock.seconds()));
        let coupon = cart.context.cart.coupon.as_ref().map(|coupon| &coupon.code);
        let gift_card = cart.context.cart.gift_card.as_ref().map(|card| &card.code);
        let mut text = done.to_vec();
        text.push(format!("{} of {} (user {})", paint(STRONG, "Cart"), self.user.username, self.user.id));
        if lines.is_empty() {
            text.push("It is empty.".to_owned());
        } else {
            let rows: Vec<Vec<String>> = lines.iter().map(|line| row(line, format)).collect();
            text.push(columns(&["LINE", "ITEM", "NAME", "COUNT", "EACH", ""], &rows));
        }
        let applied = coupon.zip(on_cart.coupon.as_ref()).map(|(code, applied)| ("coupon", code, applied));
        let paying = gift_card.zip(on_cart.gift_card.as_ref()).map(|(code, applied)| ("gift card", code, applied));
        text.extend(
            applied.into_iter().chain(paying).map(|(kind, code, applied)| code_line(kind, code, applied, format)),
        );
        let codes = on_cart.applied();
        if let Some(referral) = cart.referral() {
            text.push(format!("referral {} of {}", referral.code, referral.owner_name));
        }
        text.push(format!("to pay {}", format.money(codes.to_pay(&lines))));
        let json = json!({
            "user": self.user.id, "lines": lines.iter().map(|line| entry(line, format)).collect::<Vec<_>>(),
            "coupon": coupon, "coupon_sum": format.money(codes.coupon_sum()),
            "gift_card": gift_card, "gift_sum": format.money(codes.gift_sum()),
            "referral": cart.referral().map(|referral| &referral.code),
            "clear_price": format.money(sums.clear_price), "virtual_price": format.money(sums.virtual_price),
            "price": format.money(codes.to_pay(&lines)),
        });
        Answer::new(text.join("\n"), json)
    }
}

pub(super) async fn show(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let shop = Shop::open(target, find_which(target, which).await?).await?;
    Ok(shop.render(&shop.load(None).await?, &[]))
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

pub(super) async fn add(target: &Target, options: &AddLine) -> Result<Answer, Failure> {
    let shop = Shop::open(target, find(target, &options.user).await?).await?;
    let mut line = line(options, shop.active.config.digits)?;
    if let Some(recipient) = &line.gift_to {
        line.is_recipient_banned = target.db.get(&keys::ban(recipient.key()), true).await?.is_some();
    }
    let attempt = async || -> Result<Attempt<(LoadedCart, Added)>, Failure> {
        let mut cart = shop.load(Some(line.item)).await?;
        let added = usecase::add_line(&shop.sources(), &mut cart.context, &cart.items, &line).await;
        let added = added.map_err(|error| match error {
            LineError::Refused(refusal) => not_added(&line, &refusal, shop.format()),
            LineError::Store(error) => error.into(),
        })?;
        match lacks(&cart, added.line).first() {
            Some(lack) => Err(incomplete(&line, lack)),
            None => Ok(Attempt::Write(Box::new(cart.context.cart.clone()), (cart, added))),
        }
    };
    let added = usecase::edit(&target.db, attempt).await;
    let (cart, Added { replaced, .. }) = added.map_err(|error| not_written(error, |failure| failure))?;
    let mut done = vec![format!("{} Item {} is in the cart.", paint(GOOD, "ok"), line.item)];
    for item in &replaced {
        done.push(format!("It replaces item {item}: a cart has one step of a cumulative category."));
    }
    let answer = shop.render(&cart, &done);
    let mut json = answer.json().clone();
    json["replaced"] = json!(replaced);
    Ok(Answer::new(answer.text(), json))
}

/// The line that the options describe.
fn line(options: &AddLine, digits: u8) -> Result<LineToAdd, Failure> {
    let price = options.price.as_deref().map(|text| items::money("--price", text, digits)).transpose()?;
    let chosen = options.variables.iter();
    let mut variables: Vec<LineVariable> =
        chosen.map(|(id, value)| LineVariable { id: *id, value: value.clone() }).collect();
    variables.sort_by_key(|variable| variable.id);
    Ok(LineToAdd {
        item: ItemId::new(options.item),
        count: options.count,
        variables,
        server: options.server.map(ServerId::new),
        price,
        payment_type: options.payment.into(),
        promoted: false,
        gift_to: options.gift_to.clone(),
        is_recipient_banned: false,
    })
}

fn lacks(cart: &LoadedCart, line: LineId) -> Vec<Missing> {
    let line = cart.context.cart.lines.iter().filter(|other| other.id == line);
    let item = |item: &ItemId| cart.items.items.get(item);
    line.filter_map(|line| Some(missing(line, &item(&line.item)?.item))).flatten().collect()
}

/// The API would add the line: its clients ask for the choices later, this tool does not.
fn incomplete(line: &LineToAdd, lack: &Missing) -> Failure {
    let next = match lack {
        Missing::Variable { id, .. } => format!("Give it a value: --var {id}=VALUE."),
        Missing::Server => "Select one: --server ID.".to_owned(),
        Missing::Recipient => "Name the player: --gift-to NAME.".to_owned(),
    };
    refused(line, lack, next)
}

/// A refusal, with the option that has to be given.
fn not_added(line: &LineToAdd, refusal: &LineRefusal, format: CurrencyFormat) -> Failure {
    let next = match refusal {
        LineRefusal::NoRecipient => "Name the player: --gift-to NAME.".to_owned(),
        LineRefusal::NotAGift => "Add --type gift, or leave out --gift-to.".to_owned(),
        LineRefusal::SubscriptionOnly => "Add --type subscription.".to_owned(),
        LineRefusal::BelowMinimum { minimum } => format!("Give --price {} or more.", format.money(*minimum)),
        LineRefusal::FixedPrice => "Leave out --price.".to_owned(),
        _ => "Correct it and try again.".to_owned(),
    };
    refused(line, refusal, next)
}

fn refused(line: &LineToAdd, why: impl Display, next: String) -> Failure {
    Failure::refused(format!("Item {} was not added to the cart. {why}", line.item), next)
}

/// Puts a coupon or gift card on a cart as acceptCoupon does (rules.md, "Coupons and gift cards").
pub(super) async fn code(target: &Target, options: &CartCode) -> Result<Answer, Failure> {
    let shop = Shop::open(target, find(target, &options.user).await?).await?;
    let text = CodeText::parse(&options.code).map_err(|_| Failure::refused("The code is blank.", "Name one."))?;
    let attempt = async || -> Result<Attempt<bool>, Failure> { apply(&shop, &text).await };
    let is_new = usecase::edit(&target.db, attempt).await.map_err(|error| not_written(error, |failure| failure))?;
    let done = if is_new {
        format!("{} {text} is on the cart.", paint(GOOD, "ok"))
    } else {
        format!("{text} is on the cart already.")
    };
    Ok(shop.render(&shop.load(None).await?, &[done]))
}

/// The edit that puts a code on the cart; none, and `false`, if it is on the cart already.
async fn apply(shop: &Shop<'_>, text: &CodeText) -> Result<Attempt<bool>, Failure> {
    let (target, buyer) = (shop.target, shop.user.id);
    let cart = shop.load(None).await?;
    let mut rows = target.db.batch_get(vec![keys::code(text), keys::code_use(text, buyer)]).await?;
    let found = codes::take(&mut rows, text)?;
    let uses = codes::take_uses(&mut rows, text, buyer)?;
    let (lines, now) = (cart.lines(), target.clock.seconds());
    let inputs = cart.code_inputs(&lines, cart.codes(&lines, now).applied().coupon_sum());
    let applied = judge(found.as_ref(), uses, inputs, now);
    let applied = applied.map_err(|refusal| {
        let what = format!("{text} was not put on the cart: {refusal}.");
        Failure::refused(what, "Look at the code with `storectl coupon show` or `storectl gift show`.")
    })?;
    let before = &cart.context.cart;
    let mut cart = before.clone();
    match applied.code {
        Code::Coupon(coupon) => cart.coupon = Some(AppliedCoupon::from(coupon)),
        Code::Gift(gift) => cart.gift_card = Some(AppliedGiftCard::entered_by(Login::Proven, gift)),
    }
    if cart == *before {
        return Ok(Attempt::Done(false));
    }
    drop_unpublished(&shop.sources(), &shop.active.version, &mut cart).await?;
    Ok(Attempt::Write(Box::new(cart), true))
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
    let removed = usecase::edit(&target.db, attempt).await.map_err(|error| not_written(error, Failure::from))?;
    let text = match removed {
        Some(removed) => {
            format!("{} The cart of {} is empty; {removed} lines removed.", paint(GOOD, "ok"), user.username)
        }
        None => format!("Nothing to do: the cart of {} is empty.", user.username),
    };
    Ok(Answer::new(text, json!({ "user": user.id, "removed": removed.unwrap_or_default() })))
}

/// The failure of a change; `refused` says what the attempt's own error is.
fn not_written<E>(error: EditError<E>, refused: impl FnOnce(E) -> Failure) -> Failure {
    match error {
        EditError::Attempt(error) => refused(error),
        EditError::Write(error) => {
            let next = "Look at it with `storectl cart show`.";
            Failure::from(error).done("It is not known whether the cart was written.").next(next)
        }
        EditError::Conflict => Failure::new(
            Exit::Raced,
            "The buyer kept changing the cart in the meantime.",
            "Run the same command again.",
        ),
    }
}

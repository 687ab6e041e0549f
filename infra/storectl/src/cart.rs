//! `cart show` and `clear`.

use crate::prelude::*;
use crate::user::{WhichUser, find_which};
use shared::model::CodeText;
use shared::money::CurrencyFormat;
use shared::rules::cart::{PricedLine, missing, sums};
use shared::rules::code::{Applied, CodeRefusal};
use shared::shop::carts::{self, Attempt, CartContext, CartSources, LoadedCart};
use shared::shop::stock::Counters;
use shared::table::caches::VersionedCache;
use shared::table::{StoreError, keys};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Subcommand)]
pub enum CartCommand {
    /// Show a cart and what it costs now.
    #[command(after_help = "Example:\n  storectl cart show 7 --stack storefront")]
    Show(WhichUser),
    /// Empty a cart: lines and codes.
    #[command(after_help = "Example:\n  storectl cart clear 7 --stack storefront")]
    Clear(WhichUser),
}

impl CartCommand {
    pub async fn run(&self, at: &Deployment) -> Outcome {
        match self {
            Self::Show(which) => show(at, which).await,
            Self::Clear(which) => clear(at, which).await,
        }
    }
}

async fn show(at: &Deployment, which: &WhichUser) -> Outcome {
    let user = find_which(at, which).await?;
    let active = Arc::new(at.published().await?);
    let (id, username, format) = (user.id, user.username.clone(), CurrencyFormat::new(active.config.digits));
    let (items, counters) = (VersionedCache::default(), Counters::new(Duration::ZERO));
    let sources = CartSources { db: &at.db, items: &items, counters: &counters, clock: at.clock.as_ref() };
    let rows = at.db.batch_get(CartContext::keys(id).to_vec()).await?;
    let cart = LoadedCart::load(&sources, CartContext::take(user, active, rows)?, None).await?;
    let lines = cart.lines();
    let (sums, on_cart) = (sums(&lines), cart.codes(&lines, true, at.clock.seconds()));
    let coupon = cart.context.cart.coupon.as_ref().map(|coupon| &coupon.code);
    let gift_card = cart.context.cart.gift_card.as_ref().map(|card| &card.code);
    let mut text = vec![format!("{} of {username} (user {id})", paint(STRONG, "Cart"))];
    if lines.is_empty() {
        text.push("It is empty.".to_owned());
    } else {
        let rows = lines.iter().map(|line| row(line, format));
        text.push(columns(["LINE", "ITEM", "NAME", "COUNT", "EACH", ""], rows));
    }
    let applied = coupon.zip(on_cart.coupon.as_ref()).map(|(code, applied)| ("coupon", code, applied));
    let paying = gift_card.zip(on_cart.gift_card.as_ref()).map(|(code, applied)| ("gift card", code, applied));
    text.extend(applied.into_iter().chain(paying).map(|(kind, code, applied)| code_line(kind, code, applied, format)));
    let (codes, referral) = (on_cart.applied(), cart.referral());
    text.extend(referral.map(|referral| format!("referral {} of {}", referral.code, referral.owner_name)));
    let price = format.money(codes.to_pay(&lines));
    text.push(format!("to pay {price}"));
    let lines =
        lines.iter().map(|PricedLine { line, published, availability, count, unit_price, hindrance, .. }| {
            let (item, price) = (&published.item, format.money(*unit_price));
            let missing: Vec<String> = missing(line, item).iter().map(ToString::to_string).collect();
            facts! {
                line: line.id, item: item.id, name: &item.name, count, price, variables: &line.variables,
                server: line.server, payment_type: line.payment_type, unavailable: availability.unavailable,
                gift_to: &line.gift_to, missing, hindrance: hindrance.as_ref().map(ToString::to_string),
            }
        });
    let facts = facts! {
        user: id, lines: lines.collect::<Vec<_>>(), coupon, coupon_sum: format.money(codes.coupon_sum()),
        gift_card, gift_sum: format.money(codes.gift_sum()), referral: referral.map(|referral| &referral.code),
        clear_price: format.money(sums.clear_price), virtual_price: format.money(sums.virtual_price), price,
    };
    Ok(Printed::new(text.join("\n"), &facts))
}

fn row(line: &PricedLine<'_>, format: CurrencyFormat) -> [String; 6] {
    let item = line.item();
    let price = if item.virtual_only { item.virtual_price } else { line.unit_price };
    let unavailable = line.availability.unavailable.then(|| paint(WARN, "unavailable"));
    let recipient = line.line.gift_to.as_ref().map(|name| format!("gift to {name}"));
    let lacks = missing(line.line, item);
    let lacks = lacks.iter().map(|lack| paint(WARN, &lack.to_string()));
    let hindrance = line.hindrance.as_ref().map(|hindrance| format!("({hindrance})"));
    let notes: Vec<String> = unavailable.into_iter().chain(hindrance).chain(recipient).chain(lacks).collect();
    let [id, item_id, count] = [line.line.id.to_string(), item.id.to_string(), line.count.to_string()];
    [id, item_id, item.name.clone(), count, format.money(price).to_string(), notes.join(" ")]
}

/// A code on the cart, and what it takes off.
fn code_line(kind: &str, code: &CodeText, on: &Result<Applied<'_>, CodeRefusal>, format: CurrencyFormat) -> String {
    match on {
        Ok(applied) => format!("{kind} {code}: takes off {}", format.money(applied.sum)),
        Err(refusal) => format!("{kind} {code}: does not count: {refusal}"),
    }
}

async fn clear(at: &Deployment, which: &WhichUser) -> Outcome {
    let user = find_which(at, which).await?;
    let attempt = async || -> Result<Attempt<Option<usize>>, StoreError> {
        let mut rows = at.db.batch_get(vec![keys::cart(user.id)]).await?;
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
    let removed = carts::edit(&at.db, attempt).await.map_err(not_written)?;
    let text = match removed {
        Some(removed) => ok!("The cart of {} is empty; {removed} lines removed.", user.username),
        None => format!("Nothing to do: the cart of {} is empty.", user.username),
    };
    Ok(Printed::new(text, &facts! { user: user.id, removed: removed.unwrap_or_default() }))
}

fn not_written(error: StoreError) -> Failure {
    match error {
        StoreError::Contended => Failure::new(Exit::Raced, "The buyer kept changing the cart.", AGAIN),
        error => {
            let next = "Look at it with `storectl cart show`.";
            Failure::from(error).done("The cart is empty, or as it was.").next(next)
        }
    }
}

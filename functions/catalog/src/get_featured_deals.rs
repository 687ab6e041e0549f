//! POST /items/getFeaturedDeals: the featured deals, at the caller's prices where one is logged in (contract 8).
//! A bad token means logged out here, not 401 (ruling 2).

use crate::State;
use crate::error::Error;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::bearer::Caller;
use shared::http::wire::{Decimal, Wire};
use shared::http::{body, reply};
use shared::model::{Cart, Deals, ItemId, Ledger, Pointer, PublishedItem, Sold};
use shared::rules::pricing::{Limits, standing};
use shared::store::{Rows, StoreError, carts, keys, ledgers, users};
use shared::token::Claim;
use std::sync::Arc;

/// A featured deal.
#[derive(Serialize)]
struct DealBody<'a> {
    id: ItemId,
    name: &'a str,
    active: bool,
    is_subs: bool,
    original_price: Decimal,
    price: Decimal,
    discount: Decimal,
    #[serde(flatten)]
    limits: Limits,
    image: &'a str,
    virtual_price: Decimal,
    is_virtual_currency_only: bool,
    description: &'a str,
    is_unavailable: bool,
    in_cart: bool,
}

/// What the answer holds of a logged-in caller.
struct Buyer {
    ledger: Ledger,
    cart: Cart,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    body::check_size(request)?;
    let caller = Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds());
    let published = state.base.published.at_current(|pointer| load(state, pointer));
    let (published, buyer) = tokio::join!(published, buyer(state, caller.claim()));
    let (pointer, (deals, sold)) = published?;
    let buyer = buyer?;
    let wire = Wire::new(pointer.config.digits);
    let bodies: Vec<DealBody<'_>> = deals.0.iter().map(|deal| body_of(deal, &sold, buyer.as_ref(), wire)).collect();
    Ok(reply::ok(&bodies))
}

async fn load(state: &State, pointer: Arc<Pointer>) -> Result<(Arc<Deals>, Sold), StoreError> {
    let deals = state.deals.get(&state.base.db, &keys::deals(&pointer.version)).await?.unwrap_or_default();
    let limited = deals.0.iter().filter(|deal| deal.item.global_limit.is_some()).map(|deal| deal.item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((deals, sold))
}

async fn buyer(state: &State, claim: Option<Claim>) -> Result<Option<Buyer>, StoreError> {
    let Some(claim) = claim else { return Ok(None) };
    let keys = vec![keys::user(claim.user), keys::ledger(claim.user), keys::cart(claim.user)];
    let mut rows: Rows = state.base.db.batch_get(keys).await?;
    let Some(user) = users::admit(&mut rows, claim)? else { return Ok(None) };
    Ok(Some(Buyer { ledger: ledgers::take(&mut rows, user.id)?, cart: carts::take(&mut rows, user.id)? }))
}

fn body_of<'a>(deal: &'a PublishedItem, sold: &Sold, buyer: Option<&Buyer>, wire: Wire) -> DealBody<'a> {
    let item = &deal.item;
    let standing = standing(item, &deal.ladder, sold, buyer.map(|buyer| &buyer.ledger));
    DealBody {
        id: item.id,
        name: &item.name,
        active: item.active,
        is_subs: item.is_subscription,
        original_price: wire.money(standing.quote.original_price()),
        price: wire.money(standing.quote.price),
        discount: wire.money(standing.quote.discount),
        limits: standing.limits,
        image: &item.image,
        virtual_price: wire.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        description: item.description.as_deref().unwrap_or_default(),
        is_unavailable: standing.unavailable,
        in_cart: buyer.is_some_and(|buyer| buyer.cart.lines.iter().any(|line| line.item == item.id)),
    }
}

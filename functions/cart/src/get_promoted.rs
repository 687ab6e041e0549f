//! POST /cart/getPromoted: what the store offers inside the cart (contract 10; ruling 11).

use crate::State;
use crate::error::Error;
use crate::visit;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::reply;
use shared::http::wire::{Decimal, Wire};
use shared::model::{ItemId, Pointer, Promotions, Sold};
use shared::rules::pricing::Limits;
use shared::rules::promotion::{Offer, offers};
use shared::store::{StoreError, keys};
use std::sync::Arc;

/// An offer.
#[derive(Serialize)]
struct OfferBody<'a> {
    id: ItemId,
    name: &'a str,
    image: &'a str,
    original_price: Decimal,
    price: Decimal,
    is_subs: bool,
    #[serde(flatten)]
    limits: Limits,
    is_unavailable: bool,
    is_virtual_currency_only: bool,
    virtual_price: Decimal,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let claim = visit::claim_alone(state, request).await?;
    let published = state.base.published.at_current(|pointer| promotions(state, pointer));
    let rows = state.base.db.batch_get(visit::own_keys(claim.user));
    let (published, rows) = tokio::join!(published, rows);
    let (pointer, (promotions, sold)) = published?;
    let visit = visit::admit(claim, pointer, rows?)?;
    let wire = Wire::new(visit.pointer.config.digits);
    let offers = offers(&promotions, &visit.cart, &sold, &visit.ledger);
    let bodies: Vec<OfferBody<'_>> = offers.iter().map(|offer| body_of(offer, wire)).collect();
    Ok(reply::ok(&bodies))
}

/// The published promotions and how much was sold of those with a global limit.
async fn promotions(state: &State, pointer: Arc<Pointer>) -> Result<(Arc<Promotions>, Sold), StoreError> {
    let key = keys::promotions(&pointer.version);
    let promotions = state.promotions.get(&state.base.db, &key).await?.unwrap_or_default();
    let limited = promotions.0.iter().filter(|published| published.item.global_limit.is_some());
    let limited = limited.map(|published| published.item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((promotions, sold))
}

fn body_of<'a>(offer: &Offer<'a>, wire: Wire) -> OfferBody<'a> {
    let item = &offer.published.item;
    OfferBody {
        id: item.id,
        name: &item.name,
        image: &item.image,
        original_price: wire.money(item.price),
        price: wire.money(offer.promotion.price),
        is_subs: item.is_subscription,
        limits: offer.standing.limits,
        is_unavailable: offer.standing.unavailable,
        is_virtual_currency_only: item.virtual_only,
        virtual_price: wire.money(item.virtual_price),
    }
}

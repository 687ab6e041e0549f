//! POST /cart/getPromoted: what the store offers inside the cart (rules.md, "Promotions").

use crate::State;
use crate::context;
use crate::write::{Contention, Failure};
use serde::Serialize;
use shared::endpoint::{Endpoint, ErrorBody, Json, RoundTrips};
use shared::http::wire::{CurrencyFormat, Decimal};
use shared::model::{ActiveVersion, ItemId, Promotions, Sold};
use shared::rules::pricing::Limits;
use shared::rules::promotion::{Offer, offers};
use shared::store::{StoreError, keys};
use shared::token::Claim;
use std::sync::Arc;

/// POST /cart/getPromoted.
pub struct GetPromoted;

/// An offer.
#[derive(Serialize)]
pub struct OfferBody<'a> {
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

impl Endpoint for GetPromoted {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Vec<OfferBody<'static>>>;
    type Refusal = Contention;

    const NAME: &'static str = "cart/getPromoted";
    const ROUTES: &'static [&'static str] = &["POST /cart/getPromoted"];
    const SUMMARY: &'static str = "what the store offers inside the cart";
    const NUMBER: Option<u8> = Some(10);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Failure> {
        let published = state.base.published.at_current(|active| promotions(state, active));
        let rows = state.base.db.batch_get(context::own_keys(claim.user));
        let (published, rows) = tokio::join!(published, rows);
        let (active, (promotions, sold)) = published?;
        let context = context::authenticate(claim, active, rows?)?;
        let wire = CurrencyFormat::new(context.active.config.digits);
        let offers = offers(&promotions, &context.cart, &sold, &context.ledger);
        let bodies: Vec<OfferBody<'_>> = offers.iter().map(|offer| body_of(offer, wire)).collect();
        Ok(Json::of(&bodies))
    }
}

/// The published promotions and how much was sold of those with a global limit.
async fn promotions(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Promotions>, Sold), StoreError> {
    let key = keys::promotions(&active.version);
    let promotions = state.promotions.get(&state.base.db, &key).await?.unwrap_or_default();
    let limited = promotions.0.iter().filter(|published| published.item.global_limit.is_some());
    let limited = limited.map(|published| published.item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((promotions, sold))
}

fn body_of<'a>(offer: &Offer<'a>, wire: CurrencyFormat) -> OfferBody<'a> {
    let item = &offer.published.item;
    OfferBody {
        id: item.id,
        name: &item.name,
        image: &item.image,
        original_price: wire.money(item.price),
        price: wire.money(offer.promotion.price),
        is_subs: item.is_subscription,
        limits: offer.availability.limits,
        is_unavailable: offer.availability.unavailable,
        is_virtual_currency_only: item.virtual_only,
        virtual_price: wire.money(item.virtual_price),
    }
}

//! POST /items/getFeaturedDeals: the featured deals, at the caller's prices where one is logged in
//! (api.md, "POST /items/getFeaturedDeals"). A bad token means logged out here, not 401 (rules.md, "Tokens").

use crate::State;
use crate::buyer::Buyer;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::http::wire::{CurrencyFormat, Decimal};
use shared::model::{ActiveVersion, Deals, ItemId, PublishedItem, Sold};
use shared::rules::pricing::{Limits, availability};
use shared::store::{StoreError, keys};
use shared::token::Claim;
use std::convert::Infallible;
use std::sync::Arc;

/// POST /items/getFeaturedDeals.
pub struct GetFeaturedDeals;

/// A featured deal.
#[derive(Serialize)]
pub struct Deal<'a> {
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

impl Endpoint for GetFeaturedDeals {
    type State = State;
    type Caller = Option<Claim>;
    type Input = ();
    type Reply = Json<Vec<Deal<'static>>>;
    type Refusal = Infallible;

    const NAME: &'static str = "items/getFeaturedDeals";
    const ROUTES: &'static [&'static str] = &["POST /items/getFeaturedDeals"];
    const SUMMARY: &'static str = "the featured deals";
    const NUMBER: Option<u8> = Some(8);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };

    async fn handle(state: &State, claim: Option<Claim>, (): ()) -> Result<Self::Reply, Error> {
        let published = state.base.published.at_current(|active| load(state, active));
        let (published, buyer) = tokio::join!(published, buyer(state, claim));
        let (active, (deals, sold)) = published?;
        let buyer = buyer?;
        let wire = CurrencyFormat::new(active.config.digits);
        let deals: Vec<Deal<'_>> = deals.0.iter().map(|deal| shown(deal, &sold, buyer.as_ref(), wire)).collect();
        Ok(Json::of(&deals))
    }
}

async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Deals>, Sold), StoreError> {
    let deals = state.deals.get(&state.base.db, &keys::deals(&active.version)).await?.unwrap_or_default();
    let limited = deals.0.iter().filter(|deal| deal.item.global_limit.is_some()).map(|deal| deal.item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((deals, sold))
}

async fn buyer(state: &State, claim: Option<Claim>) -> Result<Option<Buyer>, StoreError> {
    match claim {
        Some(claim) => state.buyer(claim).await,
        None => Ok(None),
    }
}

fn shown<'a>(deal: &'a PublishedItem, sold: &Sold, buyer: Option<&Buyer>, wire: CurrencyFormat) -> Deal<'a> {
    let item = &deal.item;
    let availability = availability(item, &deal.price_tiers, sold, buyer.map(|buyer| &buyer.ledger));
    Deal {
        id: item.id,
        name: &item.name,
        active: item.active,
        is_subs: item.is_subscription,
        original_price: wire.money(availability.quote.original_price()),
        price: wire.money(availability.quote.price),
        discount: wire.money(availability.quote.discount),
        limits: availability.limits,
        image: &item.image,
        virtual_price: wire.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        description: item.description.as_deref().unwrap_or_default(),
        is_unavailable: availability.unavailable,
        in_cart: buyer.is_some_and(|buyer| buyer.has_in_cart(item.id)),
    }
}

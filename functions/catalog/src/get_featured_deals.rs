//! POST /items/getFeaturedDeals: the featured deals, at the caller's prices if they are logged in
//! (api.md, "POST /items/getFeaturedDeals"). A token that is not valid counts as none (rules.md, "Tokens").

use crate::State;
use crate::buyer::Buyer;
use crate::get_category::OfferBody;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::model::{ActiveVersion, Deals, ItemId, PublishedItem, Sold, StoreConfig};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::pricing::{Limits, Terms, availability};
use shared::table::{StoreError, keys};
use shared::token::Claim;
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

pub struct GetFeaturedDeals;

/// A featured deal.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Deal<'a> {
    /// The item's id.
    id: ItemId,
    /// The item's name.
    name: &'a str,
    /// Always true: inactive items are not listed.
    active: bool,
    /// Whether the item is a subscription.
    is_subs: bool,
    /// Money: the regular price, `price` + `discount`.
    original_price: Decimal,
    /// Money: what one unit costs the caller now.
    price: Decimal,
    /// Money: the amount taken off, by a sale and by what the caller owns.
    discount: Decimal,
    #[serde(flatten)]
    limits: Limits,
    /// The item's image path. Empty if it has none.
    image: Cow<'a, str>,
    /// Virtual currency: the price of one unit.
    virtual_price: Decimal,
    /// Whether the item is sold for virtual currency only.
    is_virtual_currency_only: bool,
    /// The item's description. Empty if it has none.
    description: &'a str,
    /// Whether the caller cannot buy the item now.
    is_unavailable: bool,
    #[serde(flatten)]
    offer: OfferBody<'a>,
    /// Whether the item is in the caller's cart. False if the caller is not logged in.
    in_cart: bool,
}

impl Endpoint for GetFeaturedDeals {
    type State = State;
    type Caller = Option<Claim>;
    type Input = ();
    type Reply = Json<Vec<Deal<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /items/getFeaturedDeals"];
    const SUMMARY: &'static str = "lists the featured deals";
    const NUMBER: Option<u8> = Some(8);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };

    async fn handle(state: &State, claim: Option<Claim>, (): ()) -> Result<Self::Reply, Error> {
        let published = state.base.published.at_current(|active| load(state, active));
        let (published, buyer) = tokio::join!(published, buyer(state, claim));
        let (active, (deals, sold)) = published?;
        let buyer = buyer?;
        let now = state.base.clock.seconds();
        let terms = Terms::of(&active.config, &sold, now);
        let shown = |deal| shown(deal, terms, buyer.as_ref(), &active.config);
        let deals: Vec<Deal<'_>> = deals.0.iter().filter(|deal| deal.item.is_listed(now)).map(shown).collect();
        Ok(Json::of(&deals))
    }
}

async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Deals>, Sold), StoreError> {
    let deals: Option<Arc<Deals>> = state.base.published.get(&keys::deals(&active.version)).await?;
    let deals = deals.unwrap_or_default();
    let limited = deals.0.iter().flat_map(|deal| deal.item.limited());
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((deals, sold))
}

async fn buyer(state: &State, claim: Option<Claim>) -> Result<Option<Buyer>, StoreError> {
    match claim {
        Some(claim) => state.buyer(claim).await,
        None => Ok(None),
    }
}

fn shown<'a>(deal: &'a PublishedItem, terms: Terms<'_>, buyer: Option<&Buyer>, config: &'a StoreConfig) -> Deal<'a> {
    let (item, format) = (&deal.item, CurrencyFormat::new(config.digits));
    let caller = buyer.map(|buyer| buyer.purchases.at(terms.now));
    let availability = availability(item, &deal.price_tiers, terms, caller);
    Deal {
        id: item.id,
        name: &item.name,
        active: item.active,
        is_subs: item.is_subscription,
        original_price: format.money(availability.quote.original_price()),
        price: format.money(availability.quote.price),
        discount: format.money(availability.quote.discount),
        limits: availability.limits,
        image: config.item_picture(&item.image),
        virtual_price: format.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        description: item.description.as_deref().unwrap_or_default(),
        is_unavailable: availability.unavailable,
        offer: OfferBody::of(item, availability, (caller, config), terms),
        in_cart: buyer.is_some_and(|buyer| buyer.has_in_cart(item.id)),
    }
}

//! POST /items/getFeaturedDeals: the featured deals, at the caller's prices if they are logged in
//! (api.md, "POST /items/getFeaturedDeals"). A token that is not valid counts as none (rules.md, "Tokens").

use crate::State;
use crate::buyer::Buyer;
use crate::get_category::{SaleBody, lowest};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::model::{ActiveVersion, Deals, ItemId, PublishedItem, Sold, StoreConfig};
use shared::money::{CurrencyFormat, Decimal, date_and_time};
use shared::rules::pricing::{Limits, Terms, availability};
use shared::rules::sets::unavailable_because;
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
    /// When an item that cannot be bought now can be bought: `YYYY-MM-DD HH:MM:SS` in UTC. Absent otherwise, and if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[schemars(extend("x-beyond-contract" = true))]
    available_again_at: Option<String>,
    /// The sale whose price it is. Absent if it is not one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SaleBody<'a>")]
    #[schemars(extend("x-beyond-contract" = true))]
    sale: Option<SaleBody<'a>>,
    /// Money: the lowest price of the 30 days before the reduction for everyone that runs. Absent if none runs, or no price was asked
    /// before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimal")]
    #[schemars(extend("x-beyond-contract" = true))]
    lowest_price: Option<Decimal>,
    /// Why what the caller owns keeps them from buying the item, as a sentence. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[schemars(extend("x-beyond-contract" = true))]
    unavailable_because: Option<String>,
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
        available_again_at: availability.available_again_at.map(date_and_time),
        sale: SaleBody::of(availability, config),
        lowest_price: lowest(item, config, terms.now),
        unavailable_because: unavailable_because(item, terms.sold, caller),
        in_cart: buyer.is_some_and(|buyer| buyer.has_in_cart(item.id)),
    }
}

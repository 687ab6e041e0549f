//! Offers of the cart: promoted items (rules.md, "Promotions"), and the servers that a line can be for (rules.md, "Server selection").

use crate::{State, context};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, RoundTrips};
use shared::model::{ActiveVersion, ItemId, ItemType, Promotions, Server, ServerId, Sold, StoreConfig};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::pricing::{Limits, Offer, Terms, offers};
use shared::table::{StoreError, keys};
use shared::token::Claim;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

pub struct GetPromoted;

/// A promoted item.
#[derive(Serialize, schemars::JsonSchema)]
pub struct OfferBody<'a> {
    /// The item's id.
    id: ItemId,
    /// The item's name.
    name: &'a str,
    /// The item's image path. Empty if it has none.
    image: Cow<'a, str>,
    /// Money: the regular price.
    original_price: Decimal,
    /// Money: the promoted price.
    price: Decimal,
    /// Whether the item is a subscription.
    is_subs: bool,
    #[serde(flatten)]
    limits: Limits,
    /// Always false: items that the caller cannot buy are not listed.
    is_unavailable: bool,
    /// Whether the item is sold for virtual currency only.
    is_virtual_currency_only: bool,
    /// Virtual currency: the price of one unit.
    virtual_price: Decimal,
}

impl Endpoint for GetPromoted {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Vec<OfferBody<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/getPromoted"];
    const SUMMARY: &'static str = "lists the items that the store promotes in the cart";
    const NUMBER: Option<u8> = Some(10);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let published = state.base.published.at_current(|active| promotions(state, active));
        let rows = state.base.db.batch_get(context::own_keys(claim.user));
        let (published, rows) = tokio::join!(published, rows);
        let (active, (promotions, sold)) = published?;
        let context = context::authenticate(claim, active, rows?)?.ok_or(Error::Unauthorized)?;
        let sold = context.without_own_hold(sold);
        let config = &context.active.config;
        let now = state.base.clock.seconds();
        let offers = offers(&promotions, &context.cart, Terms::of(config, &sold, now), context.owner(now));
        let bodies: Vec<OfferBody<'_>> = offers.iter().map(|offer| body_of(offer, config)).collect();
        Ok(Json::of(&bodies))
    }
}

/// The published promotions, and the units sold of those with a global limit.
async fn promotions(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Promotions>, Sold), StoreError> {
    let promotions: Option<Arc<Promotions>> = state.base.published.get(&keys::promotions(&active.version)).await?;
    let promotions = promotions.unwrap_or_default();
    let limited = promotions.0.iter().filter(|published| published.item.is_counted());
    let limited = limited.map(|published| published.item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok((promotions, sold))
}

fn body_of<'a>(offer: &Offer<'a>, config: &StoreConfig) -> OfferBody<'a> {
    let (item, format) = (&offer.published.item, CurrencyFormat::new(config.digits));
    OfferBody {
        id: item.id,
        name: &item.name,
        image: config.picture_url(&item.image),
        original_price: format.money(item.price),
        price: format.money(offer.promotion.price),
        is_subs: item.is_subscription,
        limits: offer.availability.limits,
        is_unavailable: offer.availability.unavailable,
        is_virtual_currency_only: item.virtual_only,
        virtual_price: format.money(item.virtual_price),
    }
}

pub struct GetSelectServers;

/// The servers of each item, by the item's id.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct ServersByItem<'a>(BTreeMap<String, Vec<ServerBody<'a>>>);

impl Endpoint for GetSelectServers {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<ServersByItem<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/getSelectServers"];
    const SUMMARY: &'static str = "lists the servers that can be selected for items in the cart";
    const NUMBER: Option<u8> = Some(11);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
        let found = context.load_items(&state.sources(), None, []).await?;
        let items = found.items.values().map(|published| &published.item);
        let selectable = items.filter(|item| item.allow_select_server && item.kind == ItemType::CmdServer);
        let servers = selectable.map(|item| (item.id.to_string(), bodies(&item.servers))).collect();
        Ok(Json::of(&ServersByItem(servers)))
    }
}

/// A server that can be selected.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ServerBody<'a> {
    /// The server's id.
    server_id: ServerId,
    /// The server's name, as buyers see it.
    server_name: &'a str,
}

pub fn bodies(servers: &[Server]) -> Vec<ServerBody<'_>> {
    servers.iter().map(|server| ServerBody { server_id: server.id, server_name: &server.name }).collect()
}

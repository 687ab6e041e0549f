//! The calls about items, at the caller's prices: POST /items/get/{id} (api.md, "POST /items/get/{id}"), and the
//! featured deals, POST /items/getFeaturedDeals (api.md, "POST /items/getFeaturedDeals"), for which a token that is not
//! valid counts as none (rules.md, "Tokens"). And the items that a caller with a token has bought and has in the cart.

use crate::State;
use crate::get_category::{CatalogItemBody, OfferBody, item_body};
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, PathId, Refusal, RoundTrips, Visitor};
use shared::model::{
    ActiveVersion, Cart, Deals, ItemId, Ledger, NamedItem, Part, PeriodUnit, PublishedItem, Sold, StoreConfig,
    UserSubscription,
};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::pricing::{self, Limits, Terms, availability};
use shared::shop::stock::ledgers;
use shared::shop::{accounts, carts};
use shared::table::{Rows, StoreError, keys};
use shared::token::Claim;
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

pub struct GetItem;

/// A catalog item with what its page needs.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Reply<'a> {
    #[serde(flatten)]
    item: CatalogItemBody<'a>,
    /// Whether the item can be bought as a gift for another player.
    gifting: bool,
    /// Whether the item is sold as a subscription only; the same as `is_subs`.
    is_subs_only: bool,
    /// How often a subscription is paid. Null for any other item.
    plan: Option<PlanBody>,
    /// Whether the caller's cart holds it; false without a token.
    in_cart: bool,
    /// Groups of items: a player must own at least one item of each to get this one. Empty if it requires none.
    requires: &'a [Vec<NamedItem>],
    /// Items of which a player must own none to get this one.
    excludes: &'a [NamedItem],
    /// The items that a bundle gives. Empty if it is not one.
    parts: Vec<PartBody<'a>>,
    /// The items of which a buyer of a bundle chooses some, each by a variable. Empty if there is no choice.
    choices: Vec<PartBody<'a>>,
}

/// An item of a bundle.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PartBody<'a> {
    /// The item's id.
    id: ItemId,
    /// The item's name.
    name: &'a str,
    /// Money: its regular price.
    price: Decimal,
}

/// How often a subscription is paid: every so many units.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PlanBody {
    /// The number of units, such as 3 for every three months.
    every: u16,
    /// The unit.
    unit: PeriodUnit,
}

#[derive(Debug, thiserror::Error)]
#[error("This item does not exist.")]
pub struct UnknownItem;

impl Refusal for UnknownItem {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("No item has the id, or `{id}` is not a decimal number", Self)]
    }
}

impl Endpoint for GetItem {
    type State = State;
    type Caller = Visitor;
    type Input = PathId<ItemId>;
    type Reply = Json<Reply<'static>>;
    type Refusal = UnknownItem;

    const ROUTES: &'static [&'static str] = &["POST /items/get/{id}"];
    const SUMMARY: &'static str = "returns an item at the caller's price";
    const UNAUTHORIZED: Option<&'static str> =
        Some("A token that is not valid; no token, unless guest mode is on or the item is a featured deal");
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };

    async fn handle(
        state: &State,
        visitor: Visitor,
        PathId(id): PathId<ItemId>,
    ) -> Result<Self::Reply, Error<UnknownItem>> {
        let now = state.base.clock.seconds();
        let published = state.base.published.at_current(|active| load(state, active, id));
        let buyer = async {
            match visitor {
                Visitor::Guest => Ok(None),
                Visitor::User(claim) => state.buyer(claim).await,
            }
        };
        let (published, buyer) = tokio::join!(published, buyer);
        let ((active, found), buyer) = (published?, buyer?);
        let is_featured =
            found.as_ref().is_some_and(|(published, _)| published.item.featured && !published.item.is_off_sale(now));
        match visitor {
            Visitor::Guest if !active.config.guest_mode_enabled && !is_featured => return Err(Error::Unauthorized),
            Visitor::User(_) if buyer.is_none() => return Err(Error::Unauthorized),
            _ => {}
        }
        let (published, sold) = found.ok_or(Error::Refused(UnknownItem))?;
        let (item, format) = (&published.item, CurrencyFormat::new(active.config.digits));
        let caller = buyer.as_ref().map(|buyer| buyer.purchases.at(now));
        let terms = Terms::of(&active.config, &sold, now);
        let availability = availability(item, &published.price_tiers, terms, caller);
        Ok(Json::of(&Reply {
            item: item_body(item, availability, (caller, &active.config), terms),
            gifting: item.gifting,
            is_subs_only: item.is_subscription,
            plan: item.is_subscription.then_some(PlanBody { every: item.plan.every, unit: item.plan.unit }),
            in_cart: buyer.is_some_and(|buyer| buyer.has_in_cart(item.id)),
            requires: &item.conditions.requires,
            excludes: &item.conditions.excludes,
            parts: bodies(item.bundle.as_ref().map(|bundle| &bundle.parts), format),
            choices: bodies(item.bundle.as_ref().map(|bundle| &bundle.from), format),
        }))
    }
}

fn bodies(parts: Option<&Vec<Part>>, format: CurrencyFormat) -> Vec<PartBody<'_>> {
    let body = |part| {
        let Part { item, name, price, .. }: &Part = part;
        PartBody { id: *item, name, price: format.money(*price) }
    };
    parts.into_iter().flatten().map(body).collect()
}

/// The item, and the units sold if it or a part of it has a global limit; `None` if no item has the id.
async fn load(
    state: &State,
    active: Arc<ActiveVersion>,
    id: Option<ItemId>,
) -> Result<Option<(Arc<PublishedItem>, Sold)>, StoreError> {
    let Some(id) = id else { return Ok(None) };
    let published: Option<Arc<PublishedItem>> = state.base.published.get(&keys::item(&active.version, id)).await?;
    let Some(published) = published else { return Ok(None) };
    let limited = published.item.limited();
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok(Some((published, sold)))
}

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
        let published = state.base.published.at_current(|active| load_deals(state, active));
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

async fn load_deals(state: &State, active: Arc<ActiveVersion>) -> Result<(Arc<Deals>, Sold), StoreError> {
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

/// The purchases of a caller with a token.
pub struct Purchases {
    ledger: Ledger,
    subscriptions: Vec<UserSubscription>,
}

impl Purchases {
    /// Takes them out of the rows of user and ledger; `None` if the token is not valid for the account.
    pub fn take(rows: &mut Rows, claim: Claim) -> Result<Option<Self>, StoreError> {
        let Some(user) = accounts::admit(rows, claim)? else { return Ok(None) };
        Ok(Some(Self { ledger: ledgers::take(rows, user.id)?, subscriptions: user.subscriptions }))
    }

    /// The caller, as prices and availability depend on them.
    pub fn at(&self, now: i64) -> pricing::Buyer<'_> {
        pricing::Buyer { ledger: &self.ledger, subscriptions: &self.subscriptions, now }
    }
}

pub struct Buyer {
    pub purchases: Purchases,
    cart: Cart,
}

impl Buyer {
    pub fn has_in_cart(&self, item: ItemId) -> bool {
        self.cart.lines.iter().any(|line| line.item == item)
    }
}

impl State {
    /// Reads a caller in one round trip; `None` if the token is not valid for the account.
    pub async fn buyer(&self, claim: Claim) -> Result<Option<Buyer>, StoreError> {
        let keys = vec![keys::user(claim.user), keys::ledger(claim.user), keys::cart(claim.user)];
        let mut rows = self.base.db.batch_get(keys).await?;
        let Some(purchases) = Purchases::take(&mut rows, claim)? else { return Ok(None) };
        Ok(Some(Buyer { purchases, cart: carts::take(&mut rows, claim.user)? }))
    }
}

//! POST /items/get/{id}: one item, at the caller's price (api.md, "POST /items/get/{id}").

use crate::State;
use crate::get_category::{CatalogItemBody, item_body};
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, PathId, Refusal, RoundTrips, Visitor};
use shared::model::{ActiveVersion, ItemId, NamedItem, Part, PeriodUnit, PublishedItem, Sold};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::pricing::{Terms, availability};
use shared::table::{StoreError, keys};
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

//! POST /categories/get/{url}: a category with its items and subcategories, at the caller's prices
//! (rules.md, "Category urls"; rules.md, "Cumulative categories").

use crate::State;
use crate::items::Purchases;
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, PathParameter, Refusal, RoundTrips, Visitor};
use shared::http::reply::RenderedOnce;
use shared::model::{
    ActiveVersion, CategoryId, CategoryPath, CategoryWithItems, Comparison, ComparisonValue, Item, ItemId,
    ParseSlugError, Sale, Server, Sold, StoreConfig,
};
use shared::money::{CurrencyFormat, Decimal, date_and_time};
use shared::rules::limits;
use shared::rules::price_history::lowest_price;
use shared::rules::pricing::{Availability, Buyer, Limits, Terms, UpgradeCredit, availability_with_credit};
use shared::rules::sets::unavailable_because;
use shared::shop::catalog::{CategoryPage, category_page};
use shared::table::{StoreError, keys};
use shared::token::Claim;
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

pub struct GetCategory;

/// The category's url, such as `/ranks/vip`, with or without outer slashes; or its id in decimal.
#[derive(schemars::JsonSchema)]
pub struct CategoryUrl(#[schemars(with = "String")] CategoryPath);

impl FromStr for CategoryUrl {
    type Err = ParseSlugError;

    fn from_str(text: &str) -> Result<Self, ParseSlugError> {
        CategoryPath::parse(text).map(Self)
    }
}

/// The category.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(transform = mark_items)]
pub struct Detail<'a> {
    #[serde(flatten)]
    own: SectionBody<'a>,
    /// The category's subcategories, in order. A subcategory has none of its own.
    subcategories: Vec<SectionBody<'a>>,
}

/// Marks `items` as an addition (api.md, "Added fields"). Those of a subcategory are documented.
fn mark_items(schema: &mut schemars::Schema) {
    if let Some(items) = schema.pointer_mut("/properties/items").and_then(|items| items.as_object_mut()) {
        items.insert("x-beyond-contract".to_owned(), true.into());
    }
}

/// A category with its items.
#[derive(Serialize, schemars::JsonSchema)]
struct SectionBody<'a> {
    /// The category.
    category: CategoryBody<'a>,
    /// The category's own active items, by `sorting`.
    items: Vec<CatalogItemBody<'a>>,
}

/// A category; `url`, `description`, `img` and `is_comparison` are additions (api.md, "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
struct CategoryBody<'a> {
    /// The category's id.
    id: CategoryId,
    /// The category's name.
    name: &'a str,
    /// The rows of the category's comparison table, by `sorting`. Empty if it has none.
    comparison: &'a [Comparison],
    /// The category's full path, such as `/ranks/vip`.
    #[schemars(extend("x-beyond-contract" = true))]
    url: &'a str,
    /// The category's description. Null if it has none.
    #[schemars(extend("x-beyond-contract" = true))]
    description: Option<&'a str>,
    /// The URL of the category's image. Null if it has none.
    #[schemars(extend("x-beyond-contract" = true))]
    img: Option<Cow<'a, str>>,
    /// True if the category has comparison rows. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    #[schemars(extend("x-beyond-contract" = true))]
    is_comparison: Option<bool>,
}

/// A catalog item; `description` and `original_price` are additions (api.md, "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
pub struct CatalogItemBody<'a> {
    /// The item's id.
    id: ItemId,
    /// The item's name.
    name: &'a str,
    /// The item's description. Empty if it has none.
    #[schemars(extend("x-beyond-contract" = true))]
    description: &'a str,
    /// Money: what one unit costs the caller now.
    price: Decimal,
    /// Money: the regular price, `price` + `discount`.
    #[schemars(extend("x-beyond-contract" = true))]
    original_price: Decimal,
    /// Money: the amount taken off, by a sale and by what the caller owns.
    discount: Decimal,
    /// Whether the item is on sale. Always true in a category, which lists no others.
    active: bool,
    /// Whether the item is a subscription.
    is_subs: bool,
    /// Whether the buyer chooses the price.
    custom_price: bool,
    /// Money: the lowest price that a buyer may choose. 0 if the price is fixed.
    min_price: Decimal,
    #[serde(flatten)]
    limits: Limits,
    /// Whether the caller cannot buy the item now.
    is_unavailable: bool,
    /// Whether the buyer selects a server.
    allow_select_server: bool,
    /// The servers to select from.
    allowed_servers: &'a [Server],
    /// Virtual currency: the price of one unit.
    virtual_price: Decimal,
    /// Whether the item is sold for virtual currency only.
    is_virtual_currency_only: bool,
    /// The item's image path. Empty if it has none.
    image: Cow<'a, str>,
    /// Whether the item is a featured deal.
    featured: bool,
    /// The item's cells in the comparison table.
    comparison: &'a [ComparisonValue],
    #[serde(flatten)]
    offer: OfferBody<'a>,
}

/// What the calendar, sales and sets say of an item; additions (api.md, "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
pub struct OfferBody<'a> {
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
}

/// A sale.
#[derive(Serialize, schemars::JsonSchema)]
pub struct SaleBody<'a> {
    /// Its name.
    name: &'a str,
    /// When it ends: `YYYY-MM-DD HH:MM:SS` in UTC. Absent if it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    until: Option<String>,
}

impl<'a> SaleBody<'a> {
    /// The sale that makes a price.
    pub fn of(availability: Availability, config: &'a StoreConfig) -> Option<Self> {
        let sale = config.sale(availability.sale?)?;
        Some(Self { name: &sale.name, until: sale.runs.until.map(date_and_time) })
    }
}

/// A category page, and the units sold of its items with a global limit; `None` if there is no such category.
type Page = Option<(Arc<CategoryPage<Rendered>>, Sold)>;

/// The units sold, the form of amounts, and the next second at which the calendar changes a page: all that it depends on.
type ShownAt = (Sold, CurrencyFormat, Option<i64>);

/// A page rendered for callers who have bought nothing on it, which is most callers. It is rendered again only when the
/// units sold change, and by the calendar.
#[derive(Debug, Default)]
pub struct Rendered {
    to_buyers: RenderedOnce<ShownAt>,
    to_guests: RenderedOnce<ShownAt>,
}

/// The category does not exist or is hidden.
#[derive(Debug, thiserror::Error)]
#[error("This category does not exist.")]
pub struct UnknownCategory;

impl Refusal for UnknownCategory {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("The category does not exist or is hidden", Self)]
    }
}

type Failure = Error<UnknownCategory>;

impl Endpoint for GetCategory {
    type State = State;
    type Caller = Visitor;
    type Input = PathParameter<CategoryUrl>;
    type Reply = Json<Detail<'static>>;
    type Refusal = UnknownCategory;

    const NAME: &'static str = "categories/get/{url}";
    const ROUTES: &'static [&'static str] = &["POST /categories/get/{url+}"];
    const SUMMARY: &'static str = "returns a category with its items and subcategories, at the caller's prices";
    const NUMBER: Option<u8> = Some(7);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };

    async fn handle(state: &State, caller: Visitor, PathParameter(url): Self::Input) -> Result<Self::Reply, Failure> {
        let path = url.map(|CategoryUrl(path)| path);
        let (active, page, bought) = match caller {
            Visitor::Guest => {
                let guest = state.base.published.at_current_for_guest(|active| load(state, active, path.as_ref()));
                let (active, page) = guest.await?.ok_or(Error::Unauthorized)?;
                (active, page, None)
            }
            Visitor::User(claim) => {
                let path = path.as_ref().ok_or(Error::Refused(UnknownCategory))?;
                let (active, page, bought) = load_for(state, claim, path).await?;
                (active, page, Some(bought))
            }
        };
        let (page, sold) = page.ok_or(Error::Refused(UnknownCategory))?;
        let format = CurrencyFormat::new(active.config.digits);
        let now = state.base.clock.seconds();
        let (own, subcategories) = page.at(now).ok_or(Error::Refused(UnknownCategory))?;
        let buyer = bought.as_ref().map(|bought| bought.at(now));
        let terms = Terms::of(&active.config, &sold, now);
        let body = |category| section_body(category, terms, buyer, &active.config);
        let render = || Detail { own: body(own), subcategories: subcategories.iter().copied().map(body).collect() };
        let rendered = match buyer {
            Some(buyer) if is_told_apart(&page, buyer, &active.config.sales) => return Ok(Json::of(&render())),
            Some(_) => &page.derived.to_buyers,
            None => &page.derived.to_guests,
        };
        let items = page.categories.iter().flat_map(|category| &category.items);
        let edge = items.filter_map(|item| limits::edge(item, terms)).chain(page.edge(now, &active.config.sales)).min();
        Ok(Json::kept(rendered.get((sold.clone(), format, edge), render)))
    }
}

/// Whether anything that the buyer has decides about a page. If not, it is the same as for one who has bought nothing.
fn is_told_apart(page: &CategoryPage<Rendered>, buyer: Buyer<'_>, sales: &[Sale]) -> bool {
    let mut subscribed = buyer.subscriptions.iter().map(|subscription| subscription.item);
    let mut bought = buyer.ledger.iter().map(|(id, _)| id);
    bought.any(|id| page.tells_apart(id, sales)) || subscribed.any(|id| page.tells_apart(id, sales))
}

/// The page for a caller with a token; user and ledger are read concurrently with it.
async fn load_for(
    state: &State,
    claim: Claim,
    path: &CategoryPath,
) -> Result<(Arc<ActiveVersion>, Page, Purchases), Failure> {
    let published = state.base.published.at_current(|active| load(state, active, Some(path)));
    let own = state.base.db.batch_get(vec![keys::user(claim.user), keys::ledger(claim.user)]);
    let (published, rows) = tokio::join!(published, own);
    let mut rows = rows?;
    let bought = Purchases::take(&mut rows, claim)?.ok_or(Error::Unauthorized)?;
    let (active, page) = published?;
    Ok((active, page, bought))
}

async fn load(state: &State, active: Arc<ActiveVersion>, path: Option<&CategoryPath>) -> Result<Page, StoreError> {
    let Some(path) = path else { return Ok(None) };
    let page = category_page(&state.base.published, &active.version, path).await?;
    let Some(page): Option<Arc<CategoryPage<Rendered>>> = page else { return Ok(None) };
    let items = page.categories.iter().flat_map(|category| &category.items);
    let limited = items.filter(|item| item.active).flat_map(Item::limited);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok(Some((page, sold)))
}

fn section_body<'a>(
    category: &'a CategoryWithItems,
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
    config: &'a StoreConfig,
) -> SectionBody<'a> {
    let credit = UpgradeCredit::of(&category.price_tiers(), buyer);
    let listed = category.items.iter().filter(|item| item.is_listed(terms.now));
    SectionBody {
        category: CategoryBody {
            id: category.head.id,
            name: &category.head.name,
            comparison: &category.comparison,
            url: category.head.slug.as_str(),
            description: category.head.description.as_deref(),
            img: category.head.image.as_deref().map(|image| config.picture_url(image)),
            is_comparison: (!category.comparison.is_empty()).then_some(true),
        },
        items: listed
            .map(|item| {
                let availability = availability_with_credit(item, credit, terms, buyer);
                item_body(item, availability, (buyer, config), terms)
            })
            .collect(),
    }
}

pub fn item_body<'a>(
    item: &'a Item,
    availability: Availability,
    (buyer, config): (Option<Buyer<'_>>, &'a StoreConfig),
    terms: Terms<'_>,
) -> CatalogItemBody<'a> {
    let now = terms.now;
    let format = CurrencyFormat::new(config.digits);
    CatalogItemBody {
        id: item.id,
        name: &item.name,
        description: item.description.as_deref().unwrap_or_default(),
        price: format.money(availability.quote.price),
        original_price: format.money(availability.quote.original_price()),
        discount: format.money(availability.quote.discount),
        active: !item.is_off_sale(now),
        is_subs: item.is_subscription,
        custom_price: item.any_price,
        min_price: format.money(item.min_price),
        limits: availability.limits,
        is_unavailable: availability.unavailable,
        allow_select_server: item.allow_select_server,
        allowed_servers: &item.servers,
        virtual_price: format.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        image: config.item_picture(&item.image),
        featured: item.featured,
        comparison: &item.comparison,
        offer: OfferBody::of(item, availability, (buyer, config), terms),
    }
}

impl<'a> OfferBody<'a> {
    pub fn of(
        item: &Item,
        availability: Availability,
        (caller, config): (Option<Buyer<'_>>, &'a StoreConfig),
        terms: Terms<'_>,
    ) -> Self {
        let lowest = lowest_price(item, config, terms.now).and_then(|lowest| lowest.price);
        Self {
            available_again_at: availability.available_again_at.map(date_and_time),
            sale: SaleBody::of(availability, config),
            lowest_price: lowest.map(|price| CurrencyFormat::new(config.digits).money(price)),
            unavailable_because: unavailable_because(item, terms, caller),
        }
    }
}

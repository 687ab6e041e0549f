//! POST /categories/get/{url}: a category with its items and subcategories, at the caller's prices
//! (rules.md, "Category urls"; rules.md, "Cumulative categories").

use crate::State;
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, PathParameter, Refusal, RoundTrips, Visitor};
use shared::http::reply::RenderedOnce;
use shared::http::wire::{CurrencyFormat, Decimal};
use shared::model::{
    ActiveVersion, CategoryId, CategoryPath, CategoryWithItems, Comparison, ComparisonValue, Item, ItemId, Ledger,
    Server, Sold,
};
use shared::rules::pricing::{Availability, Limits, UpgradeCredit, availability_on};
use shared::store::categories::CategoryPage;
use shared::store::{StoreError, keys, ledgers, users};
use shared::token::Claim;
use std::sync::Arc;

/// POST /categories/get/{url}.
pub struct GetCategory;

/// The category with what is in it; `items` is an addition (api.md, "Added fields").
#[derive(Serialize)]
pub struct Detail<'a> {
    #[serde(flatten)]
    own: ShelfBody<'a>,
    subcategories: Vec<ShelfBody<'a>>,
}

#[derive(Serialize)]
struct ShelfBody<'a> {
    category: CategoryBody<'a>,
    items: Vec<ItemBody<'a>>,
}

/// A category; `url`, `description`, `img` and `is_comparison` are additions (api.md, "Added fields").
#[derive(Serialize)]
struct CategoryBody<'a> {
    id: CategoryId,
    name: &'a str,
    comparison: &'a [Comparison],
    url: &'a str,
    description: Option<&'a str>,
    img: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_comparison: Option<bool>,
}

/// A catalog item; `description` and `original_price` are additions (api.md, "Added fields").
#[derive(Serialize)]
struct ItemBody<'a> {
    id: ItemId,
    name: &'a str,
    description: &'a str,
    price: Decimal,
    original_price: Decimal,
    discount: Decimal,
    active: bool,
    is_subs: bool,
    custom_price: bool,
    min_price: Decimal,
    #[serde(flatten)]
    limits: Limits,
    is_unavailable: bool,
    allow_select_server: bool,
    allowed_servers: &'a [Server],
    virtual_price: Decimal,
    is_virtual_currency_only: bool,
    image: &'a str,
    featured: bool,
    comparison: &'a [ComparisonValue],
}

/// A category page, and how much was sold of its items with a global limit; `None` where there is no such category.
type Page = Option<(Arc<CategoryPage<Rendered>>, Sold)>;

/// What a page looks like to everybody who bought nothing of it, which is most callers: rendered again only when
/// something else was sold.
#[derive(Debug, Default)]
pub struct Rendered {
    to_buyers: RenderedOnce<(Sold, CurrencyFormat)>,
    to_guests: RenderedOnce<(Sold, CurrencyFormat)>,
}

/// There is no such category, or it is hidden.
#[derive(Debug, thiserror::Error)]
#[error("This category does not exist.")]
pub struct UnknownCategory;

impl Refusal for UnknownCategory {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }
}

type Failure = Error<UnknownCategory>;

impl Endpoint for GetCategory {
    type State = State;
    type Caller = Visitor;
    type Input = PathParameter;
    type Reply = Json<Detail<'static>>;
    type Refusal = UnknownCategory;

    const NAME: &'static str = "categories/get/{url}";
    const ROUTES: &'static [&'static str] = &["POST /categories/get/{url+}"];
    const SUMMARY: &'static str = "a category with items and subcategories, at the caller's prices";
    const NUMBER: Option<u8> = Some(7);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };

    async fn handle(state: &State, caller: Visitor, PathParameter(url): PathParameter) -> Result<Self::Reply, Failure> {
        let path = url.and_then(|url| CategoryPath::parse(&url).ok());
        let (active, page, ledger) = match caller {
            Visitor::Guest => {
                let guest = state.base.published.at_current_for_guest(|active| load(state, active, path.as_ref()));
                let (active, page) = guest.await?.ok_or(Error::Unauthorized)?;
                (active, page, None)
            }
            Visitor::User(claim) => {
                let path = path.as_ref().ok_or(Error::Refused(UnknownCategory))?;
                let (active, page, ledger) = load_for(state, claim, path).await?;
                (active, page, Some(ledger))
            }
        };
        let (page, sold) = page.ok_or(Error::Refused(UnknownCategory))?;
        let wire = CurrencyFormat::new(active.config.digits);
        let (own, subcategories) = page.categories.split_first().ok_or(Error::Refused(UnknownCategory))?;
        let body = |shelf| shelf_body(shelf, &sold, ledger.as_ref(), wire);
        let render = || Detail { own: body(own), subcategories: subcategories.iter().map(body).collect() };
        let rendered = match &ledger {
            Some(ledger) if bought_of(&page.categories, ledger) => return Ok(Json::of(&render())),
            Some(_) => &page.derived.to_buyers,
            None => &page.derived.to_guests,
        };
        Ok(Json::kept(rendered.get((sold.clone(), wire), render)))
    }
}

/// Whether anything of a page was ever bought: else the ledger says as much of it as an empty one.
fn bought_of(categories: &[CategoryWithItems], ledger: &Ledger) -> bool {
    let is_here = |id: ItemId| categories.iter().flat_map(|category| &category.items).any(|item| item.id == id);
    ledger.iter().any(|(id, _)| is_here(id))
}

/// The page for a caller with a token: user and ledger are read side by side with it.
async fn load_for(
    state: &State,
    claim: Claim,
    path: &CategoryPath,
) -> Result<(Arc<ActiveVersion>, Page, Ledger), Failure> {
    let published = state.base.published.at_current(|active| load(state, active, Some(path)));
    let own = state.base.db.batch_get(vec![keys::user(claim.user), keys::ledger(claim.user)]);
    let (published, rows) = tokio::join!(published, own);
    let mut rows = rows?;
    users::admit(&mut rows, claim)?.ok_or(Error::Unauthorized)?;
    let ledger = ledgers::take(&mut rows, claim.user)?;
    let (active, page) = published?;
    Ok((active, page, ledger))
}

async fn load(state: &State, active: Arc<ActiveVersion>, path: Option<&CategoryPath>) -> Result<Page, StoreError> {
    let Some(path) = path else { return Ok(None) };
    let Some(page) = state.pages.get(&state.base.db, &active.version, path).await? else { return Ok(None) };
    let items = page.categories.iter().flat_map(|shelf| &shelf.items);
    let limited = items.filter(|item| item.active && item.global_limit.is_some()).map(|item| item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok(Some((page, sold)))
}

fn shelf_body<'a>(
    shelf: &'a CategoryWithItems,
    sold: &Sold,
    buyer: Option<&Ledger>,
    wire: CurrencyFormat,
) -> ShelfBody<'a> {
    let climbed = UpgradeCredit::of(&shelf.ladder(), buyer);
    let active = shelf.items.iter().filter(|item| item.active);
    ShelfBody {
        category: CategoryBody {
            id: shelf.head.id,
            name: &shelf.head.name,
            comparison: &shelf.comparison,
            url: shelf.head.slug.as_str(),
            description: shelf.head.description.as_deref(),
            img: shelf.head.image.as_deref(),
            is_comparison: (!shelf.comparison.is_empty()).then_some(true),
        },
        items: active.map(|item| item_body(item, availability_on(item, climbed, sold, buyer), wire)).collect(),
    }
}

fn item_body(item: &Item, standing: Availability, wire: CurrencyFormat) -> ItemBody<'_> {
    ItemBody {
        id: item.id,
        name: &item.name,
        description: item.description.as_deref().unwrap_or_default(),
        price: wire.money(standing.quote.price),
        original_price: wire.money(standing.quote.original_price()),
        discount: wire.money(standing.quote.discount),
        active: item.active,
        is_subs: item.is_subscription,
        custom_price: item.any_price,
        min_price: wire.money(item.min_price),
        limits: standing.limits,
        is_unavailable: standing.unavailable,
        allow_select_server: item.allow_select_server,
        allowed_servers: &item.servers,
        virtual_price: wire.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        image: &item.image,
        featured: item.featured,
        comparison: &item.comparison,
    }
}

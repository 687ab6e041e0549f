//! POST /categories/get/{url}: a category with its items and subcategories, at the caller's prices (contract 7;
//! rulings 5, 6 and 7).

use crate::State;
use crate::error::Error;
use crate::routes::GET_CATEGORY;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::bearer::Caller;
use shared::http::reply::{self, RenderedOnce};
use shared::http::wire::{Decimal, Wire};
use shared::http::{body, route};
use shared::model::{
    CategoryId, CategoryPath, CategoryShelf, Comparison, ComparisonValue, Item, ItemId, Ledger, Pointer, Server, Sold,
};
use shared::rules::pricing::{Climbed, Limits, Standing, standing_on};
use shared::store::categories::CategoryPage;
use shared::store::{StoreError, keys, ledgers, users};
use shared::token::Claim;
use std::sync::Arc;

/// The answer; `items` is an addition (ruling 7).
#[derive(Serialize)]
struct Reply<'a> {
    #[serde(flatten)]
    own: ShelfBody<'a>,
    subcategories: Vec<ShelfBody<'a>>,
}

#[derive(Serialize)]
struct ShelfBody<'a> {
    category: CategoryBody<'a>,
    items: Vec<ItemBody<'a>>,
}

/// A category; `url`, `description` and `img` are additions (ruling 7).
#[derive(Serialize)]
struct CategoryBody<'a> {
    id: CategoryId,
    name: &'a str,
    comparison: &'a [Comparison],
    url: &'a str,
    description: Option<&'a str>,
    img: Option<&'a str>,
}

/// A catalog item; `description` and `original_price` are additions (ruling 7).
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
    to_buyers: RenderedOnce<(Sold, Wire)>,
    to_guests: RenderedOnce<(Sold, Wire)>,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let path = route::url_parameter(request, GET_CATEGORY).and_then(|url| CategoryPath::parse(&url).ok());
    let (pointer, page, ledger) =
        match Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds()) {
            Caller::Invalid => return Err(Error::Unauthorized),
            Caller::Nobody => {
                let guest = state.base.published.at_current_for_guest(|pointer| load(state, pointer, path.as_ref()));
                let (pointer, page) = guest.await?.ok_or(Error::Unauthorized)?;
                body::check_size(request)?;
                (pointer, page, None)
            }
            Caller::Claimed(claim) => {
                if let Err(fault) = body::check_size(request) {
                    let admitted = users::is_admitted(&state.base.db, claim).await?;
                    return Err(if admitted { Error::Body(fault) } else { Error::Unauthorized });
                }
                let path = path.as_ref().ok_or(Error::UnknownCategory)?;
                let (pointer, page, ledger) = load_for(state, claim, path).await?;
                (pointer, page, Some(ledger))
            }
        };
    let (page, sold) = page.ok_or(Error::UnknownCategory)?;
    let wire = Wire::new(pointer.config.digits);
    let (own, subcategories) = page.shelves.split_first().ok_or(Error::UnknownCategory)?;
    let body = |shelf| shelf_body(shelf, &sold, ledger.as_ref(), wire);
    let render = || Reply { own: body(own), subcategories: subcategories.iter().map(body).collect() };
    let rendered = match &ledger {
        Some(ledger) if bought_of(&page.shelves, ledger) => return Ok(reply::ok(&render())),
        Some(_) => &page.beside.to_buyers,
        None => &page.beside.to_guests,
    };
    Ok(rendered.get((sold.clone(), wire), render).reply_unkept())
}

/// Whether anything of a page was ever bought: else the ledger says as much of it as an empty one.
fn bought_of(shelves: &[CategoryShelf], ledger: &Ledger) -> bool {
    let lies_here = |id: ItemId| shelves.iter().flat_map(|shelf| &shelf.items).any(|item| item.id == id);
    ledger.iter().any(|(id, _)| lies_here(id))
}

/// The page for a caller with a token: user and ledger are read side by side with it.
async fn load_for(state: &State, claim: Claim, path: &CategoryPath) -> Result<(Arc<Pointer>, Page, Ledger), Error> {
    let published = state.base.published.at_current(|pointer| load(state, pointer, Some(path)));
    let own = state.base.db.batch_get(vec![keys::user(claim.user), keys::ledger(claim.user)]);
    let (published, rows) = tokio::join!(published, own);
    let mut rows = rows?;
    users::admit(&mut rows, claim)?.ok_or(Error::Unauthorized)?;
    let ledger = ledgers::take(&mut rows, claim.user)?;
    let (pointer, page) = published?;
    Ok((pointer, page, ledger))
}

async fn load(state: &State, pointer: Arc<Pointer>, path: Option<&CategoryPath>) -> Result<Page, StoreError> {
    let Some(path) = path else { return Ok(None) };
    let Some(page) = state.pages.get(&state.base.db, &pointer.version, path).await? else { return Ok(None) };
    let items = page.shelves.iter().flat_map(|shelf| &shelf.items);
    let limited = items.filter(|item| item.active && item.global_limit.is_some()).map(|item| item.id);
    let sold = state.counters.read(&state.base.db, limited, state.base.clock.millis()).await?;
    Ok(Some((page, sold)))
}

fn shelf_body<'a>(shelf: &'a CategoryShelf, sold: &Sold, buyer: Option<&Ledger>, wire: Wire) -> ShelfBody<'a> {
    let climbed = Climbed::of(&shelf.ladder(), buyer);
    let active = shelf.items.iter().filter(|item| item.active);
    ShelfBody {
        category: CategoryBody {
            id: shelf.head.id,
            name: &shelf.head.name,
            comparison: &shelf.comparison,
            url: shelf.head.slug.as_str(),
            description: shelf.head.description.as_deref(),
            img: shelf.head.image.as_deref(),
        },
        items: active.map(|item| item_body(item, standing_on(item, climbed, sold, buyer), wire)).collect(),
    }
}

fn item_body(item: &Item, standing: Standing, wire: Wire) -> ItemBody<'_> {
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

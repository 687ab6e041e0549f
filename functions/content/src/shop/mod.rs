//! GET /shop/{path+}: the shop's pages as HTML (api.md, "GET /shop/{path}"), and the paths of pages. The same for every
//! visitor: what belongs to a caller, scripts read through the API. Only a store whose files have `shop` has them.

mod frame;
mod offer;
mod page;
mod theme;
mod views;

use crate::State;
use page::{Html, NotFound};
use shared::endpoint::{Cache, Endpoint, Error, FailurePage, PathParameter, RoundTrips};
use shared::model::{
    ActiveVersion, CategoryPath, Deals, Donations, Item, ItemId, Page, PageUrl, Patronage, PublishedItem, Sale,
    Settings, Sold, Staff, TopPatrons, Tree,
};
use shared::rules::limits;
use shared::rules::pricing::Terms;
use shared::shop::catalog::{CategoryPage, category_page};
use shared::table::{StoreError, keys};
use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;

pub struct ShowPage;

impl Endpoint for ShowPage {
    type State = State;
    type Caller = ();
    type Input = PathParameter<ShopPath>;
    type Reply = Html;
    type Refusal = NotFound;

    const NAME: &'static str = "shop/{path}";
    const ROUTES: &'static [&'static str] = &["GET /shop/{path+}", "HEAD /shop/{path+}"];
    const SUMMARY: &'static str = "returns a page of the shop as HTML";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const CACHE: Cache = Cache::Public;
    const FAILURE: Option<FailurePage> = Some(page::trouble);

    async fn handle(
        state: &State,
        (): (),
        PathParameter(path): Self::Input,
    ) -> Result<Self::Reply, Error<Self::Refusal>> {
        let path = path.unwrap_or(ShopPath::Missing);
        if let ShopPath::Theme(version) = &path {
            let settings: Option<Arc<Settings>> = state.base.published.get(&keys::settings(version)).await?;
            let css = settings.and_then(|settings| settings.shop.as_ref().map(theme::css));
            return css.map(Html::css).ok_or_else(|| Error::Refused(NotFound::text()));
        }
        let loaded = load(state, &path).await?;
        let Some(shop) = &loaded.settings.shop else { return Err(Error::Refused(NotFound::no_shop())) };
        let (html, is_found) = views::render(&loaded, shop, &path);
        let lasts = loaded.edge().map(|edge| edge - loaded.now);
        if is_found { Ok(Html::page(html, lasts)) } else { Err(Error::Refused(NotFound::page(html))) }
    }
}

/// The content of a page, all of one version.
struct Loaded {
    active: Arc<ActiveVersion>,
    settings: Arc<Settings>,
    /// The categories that are on sale, or will be.
    tree: Tree,
    /// The next second at which the calendar changes them.
    tree_edge: Option<i64>,
    donations: Arc<Donations>,
    content: Content,
    sold: Sold,
    /// Seconds since 1970 UTC.
    now: i64,
}

impl Loaded {
    fn terms(&self) -> Terms<'_> {
        Terms::of(&self.active.config, &self.sold, self.now)
    }

    /// The next second at which the calendar changes the page.
    fn edge(&self) -> Option<i64> {
        let items = self.content.items();
        let of_sales = Sale::edge(&self.active.config.sales, self.now).filter(|_| !items.is_empty());
        let of_items =
            items.into_iter().flat_map(|item| [item.on_sale.edge(self.now), limits::edge(item, self.terms())]);
        of_items.flatten().chain(of_sales).chain(self.tree_edge).min()
    }
}

/// The content of one kind of page.
enum Content {
    Deals(Arc<Deals>),
    Category(Arc<CategoryPage<()>>),
    Item(Arc<PublishedItem>),
    Page(Arc<Page>),
    Staff(Arc<Staff>),
    Patrons(Arc<Patronage>, Arc<TopPatrons>),
    /// A page that scripts fill.
    Empty,
    Missing,
}

impl Content {
    /// The items that the page shows.
    fn items(&self) -> Vec<&Item> {
        match self {
            Self::Deals(deals) => deals.0.iter().map(|deal| &deal.item).collect(),
            Self::Category(page) => page.categories.iter().flat_map(|category| &category.items).collect(),
            Self::Item(published) => vec![&published.item],
            Self::Page(_) | Self::Staff(_) | Self::Patrons(..) | Self::Empty | Self::Missing => Vec::new(),
        }
    }

    /// Those of them, and of the parts of bundles, whose units are counted.
    fn limited(&self) -> Vec<ItemId> {
        self.items().into_iter().filter(|item| item.active).flat_map(Item::limited).collect()
    }
}

async fn load(state: &State, path: &ShopPath) -> Result<Loaded, StoreError> {
    let published = state.base.published.at_current(|active| published(state, active, path));
    let donations = crate::get_settings::donations(state);
    let (published, donations) = tokio::join!(published, donations);
    let (active, (settings, tree, content, sold)) = published?;
    let now = state.base.clock.seconds();
    let (tree, tree_edge) = (tree.at(now), tree.edge(now));
    Ok(Loaded { active, settings, tree, tree_edge, donations: donations?, content, sold, now })
}

async fn published(
    state: &State,
    active: Arc<ActiveVersion>,
    path: &ShopPath,
) -> Result<(Arc<Settings>, Arc<Tree>, Content, Sold), StoreError> {
    let tree = keys::tree(&active.version);
    let settings = crate::get_settings::load(state, Arc::clone(&active));
    let content = async {
        let content = content(state, &active, path).await?;
        let sold =
            state.counters.read(&state.base.db, content.limited().into_iter(), state.base.clock.millis()).await?;
        Ok((content, sold))
    };
    let (settings, tree, (content, sold)) = tokio::try_join!(settings, state.base.published.get(&tree), content)?;
    Ok((settings, tree.unwrap_or_default(), content, sold))
}

async fn content(state: &State, active: &ActiveVersion, path: &ShopPath) -> Result<Content, StoreError> {
    let (published, version) = (&state.base.published, &active.version);
    let found = match path {
        ShopPath::Home => Some(Content::Deals(published.get(&keys::deals(version)).await?.unwrap_or_default())),
        ShopPath::Category(path) => category_page(published, version, path).await?.map(Content::Category),
        ShopPath::Item(id) => published.get(&keys::item(version, *id)).await?.map(Content::Item),
        ShopPath::Page(url) => published.get(&keys::page(version, url)).await?.map(Content::Page),
        ShopPath::Staff => Some(Content::Staff(published.get(&keys::staff(version)).await?.unwrap_or_default())),
        ShopPath::Patrons => {
            let shown = crate::people::load(state, active).await?;
            shown.map(|(patronage, patrons)| Content::Patrons(patronage, patrons))
        }
        ShopPath::Script(_) => Some(Content::Empty),
        ShopPath::Theme(_) | ShopPath::Missing => None,
    };
    Ok(found.unwrap_or(Content::Missing))
}

/// Pages that scripts fill, because they belong to a visitor: their first segments, which are also their names in the texts.
const SCRIPTS: [&str; 7] = ["login", "cart", "checkout", "account", "subscriptions", "orders", "payment"];

/// The page's path at the shop's own address without the leading slash; `index` for the first page.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(with = "String")]
pub enum ShopPath {
    Home,
    Category(CategoryPath),
    Item(ItemId),
    Page(PageUrl),
    Staff,
    Patrons,
    Script(&'static str),
    /// The style sheet of a version.
    Theme(String),
    Missing,
}

impl FromStr for ShopPath {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        // A page has one address. That of a page of the owner's is as the owner writes it.
        if first != "pages" && (text.ends_with('/') || text.contains("//")) {
            return Ok(Self::Missing);
        }
        // The pages of an order.
        let has_id = matches!(first, "orders" | "payment") && !rest.contains('/');
        let found = match first {
            "index" if rest.is_empty() => Some(Self::Home),
            // Other storefronts have the second, which links in a store's texts may name.
            "category" | "categories" => CategoryPath::parse(rest).ok().map(Self::Category),
            "item" => rest.parse().ok().map(Self::Item),
            "pages" if rest.chars().count() <= PageUrl::LONGEST => Some(Self::Page(PageUrl::new(rest))),
            "staff" if rest.is_empty() => Some(Self::Staff),
            "patrons" if rest.is_empty() => Some(Self::Patrons),
            "theme" => {
                rest.strip_suffix(".css").filter(|version| is_version(version)).map(|v| Self::Theme(v.to_owned()))
            }
            _ if rest.is_empty() || has_id => {
                SCRIPTS.iter().find(|name| **name == first).map(|name| Self::Script(name))
            }
            _ => None,
        };
        Ok(found.unwrap_or(Self::Missing))
    }
}

/// Whether a text has the form of a version's name, see `publish::compile`.
fn is_version(text: &str) -> bool {
    text.len() <= 64 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

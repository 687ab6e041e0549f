//! GET and POST /categories/get: the category list (api.md, "GET /categories/get"). Only the response to GET may be
//! cached (rules.md, "Caching").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::model::{ActiveVersion, CategoryHead, CategoryId, StoreConfig, Tree, TreeNode};
use shared::table::{StoreError, keys};
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

pub struct ListCategories;

/// A category of the list.
#[derive(Serialize, schemars::JsonSchema)]
pub struct CategoryEntry<'a> {
    #[serde(flatten)]
    head: SubcategoryEntry<'a>,
    /// The category's subcategories, in order.
    subcategories: Vec<SubcategoryEntry<'a>>,
}

/// A category without its subcategories.
#[derive(Serialize, schemars::JsonSchema)]
struct SubcategoryEntry<'a> {
    /// The category's id.
    idx: CategoryId,
    /// The category's name.
    name: &'a str,
    /// Always true: hidden categories are not listed.
    active: bool,
    /// The category's description. Empty if it has none.
    description: &'a str,
    /// The category's full path, with a leading slash.
    url: &'a str,
    /// The URL of the category's image. Null if it has none.
    img: Option<Cow<'a, str>>,
}

impl Endpoint for ListCategories {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Vec<CategoryEntry<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /categories/get", "POST /categories/get"];
    const SUMMARY: &'static str = "lists the categories";
    const NUMBER: Option<u8> = Some(13);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (version, tree) = read(state).await?;
        let tree = tree.unwrap_or_default();
        let config = &version.config;
        let now = state.base.clock.seconds();
        let edge = tree.edge(now);
        let render = || -> Vec<CategoryEntry<'_>> {
            let shown = tree.0.iter().filter(|node| !node.head.on_sale.is_over(now));
            shown.map(|node| entry(node, config, now)).collect()
        };
        let rendered = state.category_list.get((version.version.clone(), edge), render);
        Ok(Json::kept(rendered).until(edge.map(|edge| edge - now)))
    }
}

pub async fn read(state: &State) -> Result<(Arc<ActiveVersion>, Option<Arc<Tree>>), StoreError> {
    let load =
        |version: Arc<ActiveVersion>| async move { state.base.published.get(&keys::tree(&version.version)).await };
    state.base.published.at_current(load).await
}

fn entry<'a>(node: &'a TreeNode, config: &StoreConfig, now: i64) -> CategoryEntry<'a> {
    let head = |shown| head(shown, config);
    let subcategories = node.subcategories.iter().filter(|inner| !inner.on_sale.is_over(now));
    CategoryEntry { head: head(&node.head), subcategories: subcategories.map(head).collect() }
}

/// Only active categories are published, so `active` is always true here.
fn head<'a>(head: &'a CategoryHead, config: &StoreConfig) -> SubcategoryEntry<'a> {
    SubcategoryEntry {
        idx: head.id,
        name: &head.name,
        active: true,
        description: head.description.as_deref().unwrap_or_default(),
        url: head.slug.as_str(),
        img: head.image.as_deref().map(|image| config.picture_url(image)),
    }
}

//! POST /pages/get: a page by its url (rules.md, "Pages"). Needs a token, but does not read the account: only
//! signature, issuer and expiry are checked.

use crate::State;
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, Json, JsonBody, RoundTrips, Visitor};
use shared::http::body;
use shared::model::{ActiveVersion, Page, PageUrl};
use shared::table::{StoreError, keys};
use std::convert::Infallible;
use std::sync::Arc;

pub struct GetPage;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct PageRequest {
    /// The page's url, with or without a leading slash.
    #[schemars(with = "body::Text<{ PageUrl::LONGEST }>")]
    #[serde(deserialize_with = "body::text::<{ PageUrl::LONGEST }, _, _>")]
    url: PageUrl,
}

/// The page, or null if there is none at the url.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PageReply<'a> {
    /// Whether the page was found.
    success: bool,
    /// The page. Null if it was not found.
    page: Option<ShownPage<'a>>,
}

/// A custom page (api.md, "POST /pages/get").
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Page")]
pub struct ShownPage<'a> {
    /// The page's id.
    id: u64,
    /// The page's title.
    title: &'a str,
    /// The page's url, as the owner wrote it.
    url: &'a str,
    /// The page's content, ready to show.
    content: &'a str,
}

impl<'a> ShownPage<'a> {
    fn of(page: &'a Page) -> Self {
        Self { id: page.id, title: &page.title, url: &page.url, content: &page.content }
    }
}

impl Endpoint for GetPage {
    type State = State;
    type Caller = Visitor;
    type Input = JsonBody<PageRequest>;
    type Reply = Json<PageReply<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /pages/get"];
    const SUMMARY: &'static str = "returns a page by its url";
    const NUMBER: Option<u8> = Some(1);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };
    const CHECKS_ACCOUNT: bool = false;

    async fn handle(state: &State, caller: Visitor, JsonBody(body): Self::Input) -> Result<Self::Reply, Error> {
        let load = |version| load(state, version, &body.url);
        let (_, page) = match caller {
            Visitor::User(_) => state.base.published.at_current(load).await?,
            Visitor::Guest => state.base.published.at_current_for_guest(load).await?.ok_or(Error::Unauthorized)?,
        };
        Ok(Json::of(&PageReply { success: page.is_some(), page: page.as_deref().map(ShownPage::of) }))
    }
}

async fn load(state: &State, version: Arc<ActiveVersion>, url: &PageUrl) -> Result<Option<Arc<Page>>, StoreError> {
    state.base.published.get(&keys::page(&version.version, url)).await
}

//! What an owner writes for visitors. POST /pages/get: a page by its url (rules.md, "Pages"); it needs a token, but
//! does not read the account: only signature, issuer and expiry are checked. GET /announcement/get: what the owner
//! announces to every visitor (api.md, "GET /announcement/get").

use crate::{State, get_settings};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Cache, Endpoint, Error, Json, JsonBody, RoundTrips, Visitor};
use shared::http::body;
use shared::model::{ActiveVersion, Announcement, Page, PageUrl};
use shared::money;
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

pub struct GetAnnouncement;

/// The announcement. Without one, `is_index` is 0 and every other field is 0 or empty.
#[derive(Serialize, Default, schemars::JsonSchema)]
pub struct AnnouncementReply<'a> {
    /// The announcement's id.
    id: u64,
    /// The announcement's title.
    title: &'a str,
    /// The announcement's content, ready to show. Empty if it has none.
    content: &'a str,
    /// The text of the button. Empty if it has none.
    button_name: &'a str,
    /// The URL of the button. Empty if it has none.
    button_url: &'a str,
    /// The time of creation: ISO 8601 in UTC. Empty if the store does not say.
    created_at: String,
    /// The time of the last change: ISO 8601 in UTC. Empty if the store does not say.
    updated_at: String,
    /// 1 if there is an announcement, otherwise 0.
    #[schemars(range(max = 1))]
    is_index: u8,
}

impl Endpoint for GetAnnouncement {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<AnnouncementReply<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /announcement/get"];
    const SUMMARY: &'static str = "returns the store's announcement";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let load = |active| get_settings::load(state, active);
        let (active, settings) = state.base.published.at_current(load).await?;
        let render = || settings.announcement.as_ref().map(body).unwrap_or_default();
        Ok(Json::kept(state.announcement_reply.get(active.version.clone(), render)))
    }
}

fn body(announcement: &Announcement) -> AnnouncementReply<'_> {
    let button = announcement.button.as_ref();
    let time = |at: Option<i64>| at.map(money::iso_8601).unwrap_or_default();
    AnnouncementReply {
        id: announcement.id,
        title: &announcement.title,
        content: &announcement.content,
        button_name: button.map_or("", |button| &button.name),
        button_url: button.map_or("", |button| &button.url),
        created_at: time(announcement.created_at),
        updated_at: time(announcement.updated_at.or(announcement.created_at)),
        is_index: 1,
    }
}

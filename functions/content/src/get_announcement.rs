//! GET /announcement/get: what the owner announces to every visitor (api.md, "GET /announcement/get").

use crate::State;
use crate::get_settings;
use serde::Serialize;
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::model::Announcement;
use shared::money;
use std::convert::Infallible;

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

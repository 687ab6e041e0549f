//! GET /plugin/api/{key}/gui/packages_new: what the plugin's own shop in the game sells. It sells nothing.

use crate::State;
use crate::support::content;
use crate::support::key::KeyOnly;
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};

pub struct PackagesNew;

/// A category of the shop in the game. There is none.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ShopCategory {}

impl Endpoint for PackagesNew {
    type State = State;
    type Caller = ();
    type Input = KeyOnly;
    type Reply = AsciiJson<Vec<ShopCategory>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/gui/packages_new";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/gui/packages_new"];
    const SUMMARY: &'static str = "lists the categories of the shop in the game: always none";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), KeyOnly(key): KeyOnly) -> Result<Self::Reply, Error<UnknownKey>> {
        content::shown(state, &key, std::future::ready(Ok(()))).await?;
        Ok(AsciiJson::of(&Vec::<ShopCategory>::new()))
    }
}

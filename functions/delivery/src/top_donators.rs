//! GET /plugin/api/{key}/top_donators: the largest patrons, if the store shows them.

use crate::State;
use crate::support::content::{self, PER_PAGE, PageOf};
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::money::{CurrencyFormat, Decimal};

pub struct TopDonators;

/// A page of the largest patrons.
#[derive(Serialize, schemars::JsonSchema)]
pub struct DonatorsPage {
    /// The patrons, largest first. None if the store does not show them.
    data: Vec<PluginDonator>,
    /// How many entries a page has.
    per_page: usize,
    /// The last page, from 1.
    last_page: usize,
}

/// A patron.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginDonator {
    /// The user's name.
    username: String,
    /// Money: what the user gave, all time, less refunds.
    amount: Decimal,
}

impl Endpoint for TopDonators {
    type State = State;
    type Caller = ();
    type Input = PageOf;
    type Reply = AsciiJson<DonatorsPage>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/top_donators";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/top_donators"];
    const SUMMARY: &'static str = "lists the largest patrons";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"data":[],"per_page":10,"last_page":1}"#);

    async fn handle(state: &State, (): (), input: PageOf) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, patrons) = content::shown(state, &input.key, content::patrons(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let (page, last_page) = input.cut(&patrons.patrons);
        let data = page
            .iter()
            .map(|patron| PluginDonator { username: patron.username.clone(), amount: format.money(patron.amount) });
        Ok(AsciiJson::of(&DonatorsPage { data: data.collect(), per_page: PER_PAGE, last_page }))
    }
}

//! The lists of people. GET /patrons/get: the patrons, largest contribution first (rules.md, "Patrons"). GET /staff:
//! the staff by player group (api.md, "GET /staff").

use crate::State;
use serde::{Serialize, Serializer};
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::model::{ActiveVersion, Patronage, Staff, TopPatrons};
use shared::money::{CurrencyFormat, Decimal};
use shared::shop::statistics;
use shared::table::{StoreError, keys};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// How many patrons `top_patrons` lists (rules.md, "Patrons").
pub const TOP: usize = 10;

pub struct ListPatrons;

#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum PatronsReply<'a> {
    /// The patrons list is shown.
    Patrons(PatronsBody<'a>),
    /// The patrons list is disabled or not configured.
    Disabled {
        /// Always false.
        success: bool,
        /// The reason, as a text for people.
        error: &'static str,
    },
}

/// The patrons, also none.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PatronsBody<'a> {
    /// Always true.
    success: bool,
    /// The currency of the amounts.
    currency_code: &'a str,
    /// The text above the list.
    description: &'a str,
    /// The 10 largest patrons, largest first.
    top_patrons: Vec<PatronBody<'a>>,
    /// Each threshold as a string, such as `"50"`, with the names of the users who reached it, largest first. Lowest
    /// threshold first.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    patrons: Tiers<'a>,
}

/// A patron.
#[derive(Serialize, schemars::JsonSchema)]
struct PatronBody<'a> {
    /// The user's name.
    username: &'a str,
    /// Money: what the user gave, all time, less refunds.
    amount: Decimal,
}

/// The names of the users who reached each threshold, lowest threshold first.
struct Tiers<'a>(Vec<(String, Vec<&'a str>)>);

impl Serialize for Tiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(threshold, names)| (threshold, names)))
    }
}

impl Endpoint for ListPatrons {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<PatronsReply<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /patrons/get"];
    const SUMMARY: &'static str = "lists the patrons, largest contribution first";
    const NUMBER: Option<u8> = Some(16);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, shown) =
            state.base.published.at_current(|active| async move { load(state, &active).await }).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let patrons = shown.as_ref().map(|(_, patrons)| Arc::clone(patrons));
        let key = (active.version.clone(), patrons);
        Ok(Json::kept(state.patrons_reply.get(key, || body(shown.as_ref(), format))))
    }
}

/// The owner's settings for patrons, and the patrons; `None` if they are not shown.
pub type Shown = Option<(Arc<Patronage>, Arc<TopPatrons>)>;

/// Reads nothing if patrons are off in the active version.
pub async fn load(state: &State, active: &ActiveVersion) -> Result<Shown, StoreError> {
    if !active.config.is_patrons_enabled {
        return Ok(None);
    }
    let key = keys::patronage(&active.version);
    let patrons = state.patrons.get(state.base.clock.millis(), statistics::top_patrons(&state.base.db));
    let (patronage, patrons) = tokio::try_join!(state.base.published.get(&key), patrons)?;
    Ok(patronage.filter(|patronage: &Arc<Patronage>| patronage.enabled).map(|patronage| (patronage, patrons)))
}

fn body(shown: Option<&(Arc<Patronage>, Arc<TopPatrons>)>, format: CurrencyFormat) -> PatronsReply<'_> {
    let Some((patronage, patrons)) = shown else {
        return PatronsReply::Disabled { success: false, error: "The patrons list is disabled or not configured." };
    };
    let top = patrons.patrons.iter().take(TOP);
    let tier = |threshold| {
        let reached = patrons.patrons.iter().take_while(move |patron| patron.amount >= threshold);
        (threshold_text(format.money(threshold)), reached.map(|patron| patron.username.as_str()).collect())
    };
    PatronsReply::Patrons(PatronsBody {
        success: true,
        currency_code: &patronage.currency_code,
        description: &patronage.description,
        top_patrons: top.map(|p| PatronBody { username: &p.username, amount: format.money(p.amount) }).collect(),
        patrons: Tiers(patronage.thresholds.iter().copied().map(tier).collect()),
    })
}

/// A threshold as its JSON number would be written: `50`, `12.5`.
fn threshold_text(threshold: Decimal) -> String {
    serde_json::to_string(&threshold).unwrap_or_default()
}

/// The published structure is returned unchanged.
pub struct ListStaff;

impl Endpoint for ListStaff {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Staff>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /staff"];
    const SUMMARY: &'static str = "lists the staff by group";
    const NUMBER: Option<u8> = Some(14);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, staff) = state.base.published.at_current(|active| load_staff(state, active)).await?;
        Ok(Json::kept(state.staff_reply.get(active.version.clone(), || staff.as_ref().clone())))
    }
}

async fn load_staff(state: &State, active: Arc<ActiveVersion>) -> Result<Arc<Staff>, StoreError> {
    let staff = state.base.published.get(&keys::staff(&active.version)).await?;
    Ok(staff.unwrap_or_default())
}

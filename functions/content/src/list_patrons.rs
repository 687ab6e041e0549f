//! GET /patrons/get: the patrons by contribution (rules.md, "Patrons").

use crate::State;
use serde::{Serialize, Serializer};
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::http::wire::{CurrencyFormat, Decimal};
use shared::model::{ActiveVersion, Patronage, TopPatrons};
use shared::store::{StoreError, keys, statistics};
use std::convert::Infallible;
use std::sync::Arc;

/// How many patrons `top_patrons` lists (rules.md, "Patrons").
const TOP: usize = 10;

/// GET /patrons/get.
pub struct ListPatrons;

/// The patrons, or why there are none.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Reply<'a> {
    Patrons(PatronsBody<'a>),
    Disabled { success: bool, error: &'static str },
}

#[derive(Serialize)]
pub struct PatronsBody<'a> {
    success: bool,
    currency_code: &'a str,
    description: &'a str,
    top_patrons: Vec<PatronBody<'a>>,
    patrons: Tiers<'a>,
}

#[derive(Serialize)]
struct PatronBody<'a> {
    username: &'a str,
    amount: Decimal,
}

/// Threshold as a string to the names of those who reached it, lowest threshold first.
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
    type Reply = Json<Reply<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "patrons/get";
    const ROUTES: &'static [&'static str] = &["GET /patrons/get"];
    const SUMMARY: &'static str = "the patrons by contribution";
    const NUMBER: Option<u8> = Some(16);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, shown) = state.base.published.at_current(|active| load(state, active)).await?;
        let wire = CurrencyFormat::new(active.config.digits);
        let patrons = shown.as_ref().map(|(_, patrons)| Arc::clone(patrons));
        let key = (active.version.clone(), patrons);
        Ok(Json::kept(state.patrons_reply.get(key, || body(shown.as_ref(), wire))))
    }
}

/// What the owner says of patrons, and who they are; `None` if they are not shown.
type Shown = Option<(Arc<Patronage>, Arc<TopPatrons>)>;

/// Reads nothing if the active version says that patrons are not shown.
async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<Shown, StoreError> {
    if !active.config.is_patrons_enabled {
        return Ok(None);
    }
    let (db, key) = (&state.base.db, keys::patronage(&active.version));
    let patrons = state.patrons.get(state.base.clock.millis(), statistics::top_patrons(db));
    let (patronage, patrons) = tokio::try_join!(state.patronage.get(db, &key), patrons)?;
    Ok(patronage.filter(|patronage| patronage.enabled).map(|patronage| (patronage, patrons)))
}

fn body(shown: Option<&(Arc<Patronage>, Arc<TopPatrons>)>, wire: CurrencyFormat) -> Reply<'_> {
    let Some((patronage, patrons)) = shown else {
        return Reply::Disabled { success: false, error: "The patrons list is disabled or not configured." };
    };
    let top = patrons.patrons.iter().take(TOP);
    let tier = |threshold| {
        let reached = patrons.patrons.iter().take_while(move |patron| patron.amount >= threshold);
        (threshold_text(wire.money(threshold)), reached.map(|patron| patron.username.as_str()).collect())
    };
    Reply::Patrons(PatronsBody {
        success: true,
        currency_code: &patronage.currency_code,
        description: &patronage.description,
        top_patrons: top.map(|p| PatronBody { username: &p.username, amount: wire.money(p.amount) }).collect(),
        patrons: Tiers(patronage.thresholds.iter().copied().map(tier).collect()),
    })
}

/// A threshold as the number it would be on the wire: `50`, `12.5`.
fn threshold_text(threshold: Decimal) -> String {
    serde_json::to_string(&threshold).unwrap_or_default()
}

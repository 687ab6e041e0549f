//! GET /plugin/api/{key}/donation_goal: the donation goals. The plugin shows the first.

use crate::State;
use crate::support::content;
use crate::support::key::KeyOnly;
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::model::Money;
use shared::money::{CurrencyFormat, Decimal};

pub struct DonationGoal;

/// A donation goal.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginGoal {
    /// Money: the sum to reach.
    goal_amount: Decimal,
    /// Money: what was given so far, less refunds.
    current_amount: Decimal,
}

impl Endpoint for DonationGoal {
    type State = State;
    type Caller = ();
    type Input = KeyOnly;
    type Reply = AsciiJson<Vec<PluginGoal>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/donation_goal";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/donation_goal"];
    const SUMMARY: &'static str = "lists the donation goals";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), KeyOnly(key): KeyOnly) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, settings, donations) = content::shown(state, &key, content::donations(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let goals = settings.goals.iter().map(|goal| PluginGoal {
            goal_amount: format.money(goal.goal_amount),
            current_amount: format.money(donations.goals.get(&goal.id.to_string()).copied().unwrap_or(Money::ZERO)),
        });
        Ok(AsciiJson::of(&goals.collect::<Vec<_>>()))
    }
}

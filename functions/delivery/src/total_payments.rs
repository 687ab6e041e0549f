//! GET /plugin/api/{key}/getTotalPayments: the newest payments, as settings/get shows them.

use crate::State;
use crate::support::content::{self, PER_PAGE, PageOf};
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::model::{Donations, Money, RecentDonation};
use shared::money::{self, CurrencyFormat, Decimal};

pub struct TotalPayments;

/// A page of the newest payments.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PaymentsPage {
    /// The payments, newest first.
    data: Vec<PluginPayment>,
    /// How many entries a page has.
    per_page: usize,
    /// The last page, from 1.
    last_page: usize,
}

/// A payment.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginPayment {
    /// The name of the order's owner.
    user: String,
    /// Money: what was charged.
    amount: Decimal,
    /// Always empty.
    package: &'static str,
    /// The time of the order: `YYYY-MM-DD HH:MM:SS` in UTC.
    date: String,
}

impl Endpoint for TotalPayments {
    type State = State;
    type Caller = ();
    type Input = PageOf;
    type Reply = AsciiJson<PaymentsPage>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/getTotalPayments";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/getTotalPayments"];
    const SUMMARY: &'static str = "lists the newest payments";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"data":[],"per_page":10,"last_page":1}"#);

    async fn handle(state: &State, (): (), input: PageOf) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, _, donations) = content::shown(state, &input.key, content::donations(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let shown = donations.recent.iter().filter(|donation| donation.amount > Money::ZERO).take(Donations::RECENT);
        let shown: Vec<&RecentDonation> = shown.collect();
        let (page, last_page) = input.cut(&shown);
        let data = page.iter().map(|donation| PluginPayment {
            user: donation.username.clone(),
            amount: format.money(donation.amount),
            package: "",
            date: money::date_and_time(donation.at),
        });
        Ok(AsciiJson::of(&PaymentsPage { data: data.collect(), per_page: PER_PAGE, last_page }))
    }
}

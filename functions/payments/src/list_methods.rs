//! POST /payments/get: the payment methods (api.md, "POST /payments/get").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::model::ActiveVersion;
use shared::providers::Stripe;
use shared::rules::payment::is_left;
use shared::shop::accounts;
use shared::shop::payments::Provider as _;
use shared::token::Claim;
use std::convert::Infallible;

pub struct ListMethods;

/// A payment method.
#[derive(Serialize, schemars::JsonSchema)]
pub struct MethodBody<'a> {
    /// The method's name, as payments/create takes it.
    name: &'a str,
}

impl Endpoint for ListMethods {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Vec<MethodBody<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /payments/get"];
    const SUMMARY: &'static str = "lists the payment methods";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let account = accounts::is_admitted(&state.base.db, claim);
        let (active, admitted) = tokio::join!(state.base.published.active_version(), account);
        if !admitted? {
            return Err(Error::Unauthorized);
        }
        let active = active?;
        let methods = switched_on(state, &active).map(|name| MethodBody { name });
        let methods: Vec<MethodBody<'_>> = methods.collect();
        Ok(Json::of(&methods))
    }
}

/// The methods that are switched on and whose keys are set, as the store names them. None while the deployment takes no
/// payments, or leaves the provider's account.
pub fn switched_on<'a>(state: &State, active: &'a ActiveVersion) -> impl Iterator<Item = &'a str> {
    let is_on =
        |stripe: &Stripe| state.base.config.takes_payments && !is_left(active.leaving.as_ref(), &stripe.account());
    let is_on = state.stripe.as_ref().is_some_and(is_on);
    let methods = active.config.payments.methods.iter().map(String::as_str);
    methods.filter(move |name| is_on && name.eq_ignore_ascii_case("stripe"))
}

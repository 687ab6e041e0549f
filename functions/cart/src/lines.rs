//! The calls about a line of the cart: its count, variables, server and price, and removing it (rules.md, "Adding and changing lines").

use crate::State;
use crate::support::captured::WithCaptured;
use crate::support::change::{ChangeRefusal, Done, ReloadRefusal, change, money};
use crate::support::context;
use crate::support::count::Count;
use crate::support::write::{self, CART_CHANGED, CART_CONFLICT};
use lambda_http::http::StatusCode;
use serde::Deserialize;
use shared::endpoint::{
    Contended, Endpoint, Error, ErrorBody, Json, PathId, Refusal, RoundTrips, WithBody, WithCookie,
};
use shared::http::body::Written;
use shared::http::reply::Outcome;
use shared::model::{LineId, LineVariable, ServerId};
use shared::rules::add_line::Change;
use shared::shop::carts::{Attempt, drop_unpublished};
use shared::token::Claim;

pub struct Reload;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CountRequest {
    /// The number of units, 1 to 1,000. The number that the line has already is a success without a write.
    count: Count,
}

impl Endpoint for Reload {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithBody<PathId<LineId>, CountRequest>>;
    type Reply = WithCookie<Json<Done>>;
    type Refusal = ReloadRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/reload/{cid}"];
    const SUMMARY: &'static str = "sets the number of units of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithBody(PathId(line), body), captured): Self::Input,
    ) -> Result<Self::Reply, Error<ReloadRefusal>> {
        change(state, claim, line, &captured, &|_| Ok(Change::Count(body.count.get()))).await
    }
}

pub struct SetVariable;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct VariableRequest {
    /// The variable's id, unique in the item.
    var_id: u64,
    /// The value: one of the variable's options, or what the buyer entered. A number is read as its digits are sent.
    var_value: Written,
}

impl Endpoint for SetVariable {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithBody<PathId<LineId>, VariableRequest>>;
    type Reply = WithCookie<Json<Done>>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/setVariable/{cid}"];
    const SUMMARY: &'static str = "sets a variable of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CONFLICT);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithBody(PathId(line), body), captured): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        let choice = LineVariable { id: body.var_id, value: body.var_value.0 };
        change(state, claim, line, &captured, &|_| Ok(Change::Variable(choice.clone()))).await
    }
}

pub struct SetSelectedServer;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct ServerRequest {
    /// The server's id, one of the item's.
    server_id: ServerId,
}

impl Endpoint for SetSelectedServer {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithBody<PathId<LineId>, ServerRequest>>;
    type Reply = WithCookie<Json<Done>>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/setSelectedServer/{cid}"];
    const SUMMARY: &'static str = "selects the server of a line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CONFLICT);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithBody(PathId(line), body), captured): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        change(state, claim, line, &captured, &|_| Ok(Change::Server(body.server_id))).await
    }
}

pub struct ChangePrice;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct PriceRequest {
    /// Money: the price of one unit, as a number or as its digits in a string. It has at most the currency's number of digits.
    price: Written,
}

impl Endpoint for ChangePrice {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithBody<PathId<LineId>, PriceRequest>>;
    type Reply = WithCookie<Json<Done>>;
    type Refusal = ChangeRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/changePrice/{cid}"];
    const SUMMARY: &'static str = "sets the price of an any-price line";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CONFLICT);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithBody(PathId(line), body), captured): Self::Input,
    ) -> Result<Self::Reply, Error<ChangeRefusal>> {
        let price = |digits| money("price", &body.price.0, digits).map(Change::Price);
        change(state, claim, line, &captured, &price).await
    }
}

pub struct Remove;

/// The id is not a decimal number.
#[derive(Debug, thiserror::Error)]
#[error("This line does not exist.")]
pub struct NotAnId;

impl Refusal for NotAnId {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("`{cid}` is not a decimal number", Self)]
    }
}

type Failure = Error<NotAnId>;

impl Endpoint for Remove {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<PathId<LineId>>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = NotAnId;

    const ROUTES: &'static [&'static str] = &["POST /cart/remove/{cid}"];
    const SUMMARY: &'static str = "removes a line from the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const CONTENDED: Option<Contended> = Some(CART_CONFLICT);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(PathId(line), captured): Self::Input,
    ) -> Result<Self::Reply, Failure> {
        Ok(write::with_retries(state, &captured, || attempt(state, claim, line)).await?.rendered())
    }
}

/// A line that is not in the cart counts as removed: the same request again has the same outcome.
async fn attempt(state: &State, claim: Claim, line: Option<LineId>) -> Result<Attempt<Outcome<'static>>, Failure> {
    let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
    let line = line.ok_or(Error::Refused(NotAnId))?;
    let removed = Outcome { success: true, message: "The item was removed from your cart." };
    let mut cart = context.cart;
    let Some(line) = cart.line(line).map(|line| line.id) else { return Ok(Attempt::Done(removed)) };
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.lines.retain(|other| other.id != line);
    Ok(Attempt::Write(Box::new(cart), removed))
}

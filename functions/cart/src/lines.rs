//! The calls about a line of the cart: its count, variables, server and price, and removing it (rules.md,
//! "Adding and changing lines"). And what they have in common, and partly with adding one: the number of units, and how a change
//! is made and refused.

use crate::State;
use crate::context::{self, CART_CHANGED, CART_CONFLICT};
use crate::referrals::{Captured, WithCaptured};
use lambda_http::http::StatusCode;
use serde::{Deserialize, Serialize};
use shared::endpoint::{
    Contended, Endpoint, Error, ErrorBody, Json, PathId, Refusal, RoundTrips, WithBody, WithCookie,
};
use shared::http::body::{BodyFault, Written};
use shared::http::reply::Outcome;
use shared::model::{DecimalError, Line, LineId, LineVariable, Money, ServerId};
use shared::rules::add_line::{Change, LineRefusal};
use shared::shop::carts::{Attempt, LineError, change_line, drop_unpublished};
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
        Ok(context::with_retries(state, &captured, || attempt(state, claim, line)).await?.rendered())
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

/// The line has what was sent.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Done {
    /// Always true.
    pub success: bool,
}

/// The reason why a line is not added (`ADDS`) or not changed. `READS_BODY`: the client
/// reads the body of a refusal, so that it has status 200.
#[derive(Debug, thiserror::Error)]
pub enum LineCallRefusal<const ADDS: bool, const READS_BODY: bool> {
    #[error("This {} does not exist.", if ADDS { "item" } else { "line" })]
    NotAnId,
    #[error(transparent)]
    NotAllowed(#[from] LineRefusal),
}

pub type AddRefusal = LineCallRefusal<true, false>;
pub type ChangeRefusal = LineCallRefusal<false, false>;
/// The storefront reads the body, and looks for "does not exist"; it loses the body of any other status.
pub type ReloadRefusal = LineCallRefusal<false, true>;

impl<const ADDS: bool, const READS_BODY: bool> Refusal for LineCallRefusal<ADDS, READS_BODY> {
    /// Without `READS_BODY` the storefront ignores the body, and shows success on any 2xx.
    fn status(&self) -> StatusCode {
        match self {
            Self::NotAnId => StatusCode::NOT_FOUND,
            Self::NotAllowed(_) if READS_BODY => StatusCode::OK,
            Self::NotAllowed(_) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    /// An id that is not a number has the same body with every endpoint.
    fn shape(&self, usual: ErrorBody) -> ErrorBody {
        match self {
            Self::NotAnId => ErrorBody::Message,
            Self::NotAllowed(_) => usual,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        let no_item = "No item has the id, or it cannot be added like this";
        let no_line = "The cart has no such line, or the line cannot be changed to that";
        vec![
            (if ADDS { "`{id}` is not a decimal number" } else { "`{cid}` is not a decimal number" }, Self::NotAnId),
            if ADDS { (no_item, LineRefusal::NotPublished.into()) } else { (no_line, LineRefusal::NoSuchLine.into()) },
        ]
    }
}

/// Changes a line. `wanted` makes the change, from the digits of the store's currency.
pub async fn change<const READS_BODY: bool>(
    state: &State,
    claim: Claim,
    line: Option<LineId>,
    captured: &Captured,
    wanted: &(dyn Fn(u8) -> Result<Change, BodyFault> + Sync),
) -> Result<WithCookie<Json<Done>>, Error<LineCallRefusal<false, READS_BODY>>> {
    Ok(context::with_retries(state, captured, || attempt_change(state, claim, line, wanted)).await?.rendered())
}

async fn attempt_change<const READS_BODY: bool>(
    state: &State,
    claim: Claim,
    line: Option<LineId>,
    wanted: &(dyn Fn(u8) -> Result<Change, BodyFault> + Sync),
) -> Result<Attempt<Done>, Error<LineCallRefusal<false, READS_BODY>>> {
    let mut context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
    let change = wanted(context.active.config.digits).map_err(Error::Body)?;
    let line = line.ok_or(Error::Refused(LineCallRefusal::NotAnId))?;
    let done = Done { success: true };
    match change_line(&state.sources(), &mut context, line, &change).await {
        Ok(true) => Ok(Attempt::Write(Box::new(context.cart), done)),
        Ok(false) => Ok(Attempt::Done(done)),
        Err(error) => Err(refused(error)),
    }
}

/// The error of an endpoint whose line is not added or changed.
pub fn refused<R: From<LineRefusal>>(error: LineError) -> Error<R> {
    match error {
        LineError::Refused(refusal) => Error::Refused(refusal.into()),
        LineError::Store(error) => error.into(),
    }
}

/// Reads an amount of money in the store's currency. The rules refuse one that is too large, as they refuse one that is
/// too small.
pub fn money(field: &str, text: &str, digits: u8) -> Result<Money, BodyFault> {
    match Money::parse(text, digits) {
        Err(DecimalError::TooLarge(largest)) => Ok(Money::from_minor(largest.saturating_add(1))),
        read => read.map_err(|fault| BodyFault::Field { field: field.to_owned(), problem: fault.to_string() }),
    }
}

/// A number of units, 1 to [`Line::MAX_COUNT`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
pub struct Count(u32);

impl Count {
    pub const ONE: Self = Self(1);

    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A number that is not a number of units.
#[derive(Debug, thiserror::Error)]
#[error("must be between 1 and {}", Line::MAX_COUNT)]
pub struct OutOfRange;

impl TryFrom<u64> for Count {
    type Error = OutOfRange;

    fn try_from(number: u64) -> Result<Self, OutOfRange> {
        let count = u32::try_from(number).ok().filter(|count| (1..=Line::MAX_COUNT).contains(count));
        count.map(Self).ok_or(OutOfRange)
    }
}

impl schemars::JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": Line::MAX_COUNT })
    }
}

//! Changing a line of the cart: what reload, setVariable, setSelectedServer and changePrice have in common.

use crate::State;
use crate::support::captured::Captured;
use crate::support::context;
use crate::support::write;
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Error, ErrorBody, Json, Refusal, WithCookie};
use shared::http::body::BodyFault;
use shared::model::{DecimalError, LineId, Money};
use shared::rules::add_line::{Change, LineRefusal};
use shared::shop::carts::{Attempt, LineError, change_line};
use shared::token::Claim;

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
    Ok(write::with_retries(state, captured, || attempt(state, claim, line, wanted)).await?.rendered())
}

async fn attempt<const READS_BODY: bool>(
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

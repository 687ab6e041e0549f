//! POST /cart/remove/{cid}: removes a line from the cart (api.md, "POST /cart/remove/{cid}").

use crate::State;
use crate::support::context;
use crate::support::write::{self, Contention};
use lambda_http::http::StatusCode;
use shared::endpoint::{Endpoint, Error, Json, PathId, Refusal, RoundTrips};
use shared::http::reply::Outcome;
use shared::model::LineId;
use shared::token::Claim;
use shared::usecases::carts::{Attempt, drop_unpublished};

pub struct Remove;

/// The reason why a line is not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveRefusal {
    #[error("This line does not exist.")]
    NotAnId,
    #[error(transparent)]
    Contention(#[from] Contention),
}

impl Refusal for RemoveRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotAnId => StatusCode::NOT_FOUND,
            // The storefront reads only the status of this call.
            Self::Contention(_) => StatusCode::CONFLICT,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            ("`{cid}` is not a decimal number", Self::NotAnId),
            ("Other requests kept changing the cart", Self::Contention(Contention)),
        ]
    }
}

type Failure = Error<RemoveRefusal>;

impl Endpoint for Remove {
    type State = State;
    type Caller = Claim;
    type Input = PathId<LineId>;
    type Reply = Json<Outcome<'static>>;
    type Refusal = RemoveRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/remove/{cid}"];
    const SUMMARY: &'static str = "removes a line from the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };

    async fn handle(state: &State, claim: Claim, PathId(line): PathId<LineId>) -> Result<Self::Reply, Failure> {
        Ok(Json::of(&write::with_retries(state, || attempt(state, claim, line)).await?))
    }
}

/// A line that is not in the cart counts as removed: the same request again has the same outcome.
async fn attempt(state: &State, claim: Claim, line: Option<LineId>) -> Result<Attempt<Outcome<'static>>, Failure> {
    let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
    let line = line.ok_or(Error::Refused(RemoveRefusal::NotAnId))?;
    let removed = Outcome { success: true, message: "The item was removed from your cart." };
    let mut cart = context.cart;
    let Some(line) = cart.line(line).map(|line| line.id) else { return Ok(Attempt::Done(removed)) };
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.lines.retain(|other| other.id != line);
    Ok(Attempt::Write(Box::new(cart), removed))
}

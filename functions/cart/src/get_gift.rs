//! POST /cart/getGift: the balance of a gift card (api.md, "POST /cart/getGift"). Whoever has the code may ask: no
//! token is needed, and every refusal counts as a try of an unknown code (rules.md, "Unknown codes").

use crate::State;
use crate::support::unknown_codes::{self, TooMany, Tries};
use lambda_http::http::StatusCode;
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, Refusal, RoundTrips, WithAddress};
use shared::http::body;
use shared::model::{Code, CodeText};
use shared::money::{CurrencyFormat, Decimal};
use shared::rules::code::{CodeRefusal, usable};
use shared::store::{codes, keys};
use shared::telemetry;

pub struct GetGift;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct GiftRequest {
    /// The code of a gift card. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST_COUPON }>")]
    #[serde(deserialize_with = "body::code::<{ CodeText::LONGEST_COUPON }, _>")]
    gift: CodeText,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum GiftReply {
    /// The card can be used.
    Usable {
        /// Always true.
        status: bool,
        /// The outcome, as a text for people.
        message: &'static str,
        /// Money: everything that was put on the card; the present balance of a card from before this was stored.
        start_balance: Decimal,
        /// Money: what is left on the card, without what open checkouts hold.
        end_balance: Decimal,
    },
    /// The card does not exist, cannot be used at the moment, or is empty.
    Refused {
        /// Always false.
        status: bool,
        /// The reason, as a text for people.
        message: &'static str,
    },
}

/// The address has tried as many unknown codes as it may.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct GiftRefusal(TooMany);

impl Refusal for GiftRefusal {
    /// The client loses the text of a 429.
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn retry_seconds(&self) -> Option<u64> {
        Some(self.0.retry_seconds)
    }

    fn documented() -> Vec<(&'static str, Self)> {
        let limited = Self(TooMany { retry_seconds: unknown_codes::WINDOW_SECONDS });
        vec![("This address has tried 30 unknown codes in 10 minutes", limited)]
    }
}

impl Endpoint for GetGift {
    type State = State;
    type Caller = ();
    type Input = WithAddress<JsonBody<GiftRequest>>;
    type Reply = Json<GiftReply>;
    type Refusal = GiftRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/getGift"];
    const SUMMARY: &'static str = "returns the balance of a gift card";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;

    async fn handle(
        state: &State,
        (): (),
        WithAddress(JsonBody(body), address): Self::Input,
    ) -> Result<Self::Reply, Error<GiftRefusal>> {
        let keys = vec![keys::code(&body.gift), unknown_codes::key(&address)];
        let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
        let (active, mut rows) = (active?, rows?);
        let refused = |too_many| Error::Refused(GiftRefusal(too_many));
        let tries = Tries::take(state, &mut rows, &address)?.map_err(refused)?;
        // A coupon is not a gift card: its code is as unknown as any other.
        let code = codes::take(&mut rows, &body.gift)?.filter(|code| matches!(code, Code::Gift(_)));
        let reply = match usable(code.as_ref(), 0, state.base.clock.seconds()) {
            Ok(Code::Gift(card)) => {
                let format = CurrencyFormat::new(active.config.digits);
                GiftReply::Usable {
                    status: true,
                    message: "This gift card can be used.",
                    start_balance: format.money(card.start_balance.unwrap_or(card.balance)),
                    end_balance: format.money(card.balance),
                }
            }
            Ok(Code::Coupon(_)) => refuse(CodeRefusal::Unknown),
            Err(refusal) => refuse(refusal),
        };
        if matches!(reply, GiftReply::Refused { .. }) {
            tries.count(state).await?.map_err(refused)?;
        }
        Ok(Json::of(&reply))
    }
}

fn refuse(refusal: CodeRefusal) -> GiftReply {
    telemetry::code_refused(refusal.kind());
    let message = match refusal {
        CodeRefusal::NoBalance => "There is nothing left on this gift card.",
        CodeRefusal::NotValidNow => "This gift card is not valid at the moment.",
        _ => "This gift card does not exist.",
    };
    GiftReply::Refused { status: false, message }
}

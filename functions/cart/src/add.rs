//! POST /cart/add/{id}: adds an item to the cart (rules.md, "Adding and changing lines").

use crate::State;
use crate::context::{self, CART_CONFLICT};
use crate::lines::{AddRefusal, Count, money, refused};
use crate::referrals::WithCaptured;
use serde::{Deserialize, Deserializer, Serialize, de};
use shared::endpoint::{Contended, Endpoint, Error, ErrorBody, Json, PathId, RoundTrips, WithBody, WithCookie};
use shared::http::body::{BodyFault, Flag, Written};
use shared::model::{ItemId, LineId, LineVariable, NotAPlayerName, PaymentType, PlayerName, ServerId};
use shared::rules::add_line::LineToAdd;
use shared::shop::carts::{Attempt, add_line};
use shared::table::keys;
use shared::token::Claim;
use std::collections::BTreeMap;

pub struct Add;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct AddRequest {
    /// 0 for a one-off purchase, 1 for a subscription, 2 for a gift. 0 if absent.
    #[schemars(with = "Option<u8>", range(max = 2))]
    #[serde(default, deserialize_with = "payment_type")]
    payment_type: PaymentType,
    /// Whether the item is added from a promotion: the line then costs the promoted price. Ignored if the item is not
    /// promoted, and for a gift.
    promoted: Option<Flag>,
    /// The name of the player who receives a gift, with or without an account. Null or empty if the line is not a gift.
    #[schemars(with = "Option<String>", extend("pattern" = format!("^({})?$", PlayerName::pattern()), "not" = {"type": "string", "pattern": "^[0-9]+$"}))]
    #[serde(default, deserialize_with = "recipient")]
    gift_to: Option<PlayerName>,
    /// The number of units, 1 to 1,000; 1 if absent.
    count: Option<Count>,
    /// The server to deliver to, one of the item's. It can also be selected later.
    server_id: Option<ServerId>,
    /// The values of the item's variables, by the variable's id. They can also be set later.
    #[schemars(with = "Option<BTreeMap<String, Written>>", extend("propertyNames" = {"pattern": "^(0|[1-9][0-9]{0,14})$"}))]
    #[serde(default, deserialize_with = "variables")]
    variables: Vec<LineVariable>,
    /// Money: the price of one unit, if the buyer chooses it, as a number or as its digits in a string.
    price: Option<Written>,
}

/// The line is in the cart.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Added {
    /// Always true.
    success: bool,
    /// The outcome, as a text for people.
    message: &'static str,
    /// The id of the line: a new one, or the line with the same choices, which has more units now.
    cid: LineId,
}

type Failure = Error<AddRefusal>;

impl Endpoint for Add {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithBody<PathId<ItemId>, AddRequest>>;
    type Reply = WithCookie<Json<Added>>;
    type Refusal = AddRefusal;

    const ROUTES: &'static [&'static str] = &["POST /cart/add/{id}"];
    const SUMMARY: &'static str = "adds an item to the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CONFLICT);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithBody(PathId(item), body), captured): Self::Input,
    ) -> Result<Self::Reply, Failure> {
        Ok(context::with_retries(state, &captured, || attempt(state, claim, item, &body)).await?.rendered())
    }
}

async fn attempt(
    state: &State,
    claim: Claim,
    item: Option<ItemId>,
    body: &AddRequest,
) -> Result<Attempt<Added>, Failure> {
    let written = body.gift_to.as_ref();
    // The name on the game servers is known with the store's configuration. It is another one for a few.
    let bans: Vec<_> = written.into_iter().flat_map(PlayerName::possible).map(|name| keys::ban(name.key())).collect();
    let mut context = context::load(state, claim, &bans).await?.ok_or(Error::Unauthorized)?;
    let recipient = written.map(|name| name.clone().on_servers(context.active.config.bedrock).ok_or_else(nobody));
    let recipient = recipient.transpose()?;
    let ban = recipient.as_ref().map(|name| keys::ban(name.key()));
    let price = body.price.as_ref().map(|price| money("price", &price.0, context.active.config.digits));
    let line = LineToAdd {
        item: item.ok_or(Error::Refused(AddRefusal::NotAnId))?,
        count: body.count.unwrap_or(Count::ONE).get(),
        variables: body.variables.clone(),
        server: body.server_id,
        price: price.transpose().map_err(Error::Body)?,
        payment_type: body.payment_type,
        promoted: body.promoted.is_some_and(|Flag(promoted)| promoted),
        gift_to: recipient,
        is_recipient_banned: ban.is_some_and(|ban| context.rows.take(&ban).is_some()),
    };
    let sources = state.sources();
    let items = context.load_items(&sources, Some(line.item), []).await?;
    let added = add_line(&sources, &mut context, &items, &line).await.map_err(refused)?;
    let message = match added.replaced.as_slice() {
        [] => "The item was added to your cart.",
        _ => "The item was added to your cart and replaces another one of its category.",
    };
    Ok(Attempt::Write(Box::new(context.cart), Added { success: true, message, cid: added.line }))
}

fn nobody() -> Failure {
    Error::Body(BodyFault::Field { field: "gift_to".to_owned(), problem: NotAPlayerName.to_string() })
}

fn payment_type<'de, D: Deserializer<'de>>(field: D) -> Result<PaymentType, D::Error> {
    match Option::<u64>::deserialize(field)? {
        None | Some(0) => Ok(PaymentType::OneOff),
        Some(1) => Ok(PaymentType::Subscription),
        Some(2) => Ok(PaymentType::Gift),
        Some(_) => Err(de::Error::custom("must be 0, 1 or 2")),
    }
}

fn recipient<'de, D: Deserializer<'de>>(field: D) -> Result<Option<PlayerName>, D::Error> {
    let text = Option::<String>::deserialize(field)?.filter(|text| !text.is_empty());
    text.map(|text| PlayerName::parse(&text)).transpose().map_err(de::Error::custom)
}

fn variables<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<LineVariable>, D::Error> {
    let values = Option::<BTreeMap<String, Written>>::deserialize(field)?.unwrap_or_default();
    let variable = |(id, Written(value)): (String, Written)| match id.parse::<u64>() {
        Ok(number) if number.to_string() == id => Ok(LineVariable { id: number, value }),
        _ => Err(de::Error::custom("must have the ids of variables as names")),
    };
    values.into_iter().map(variable).collect()
}

//! JSON bodies: what is read is what any JSON reader finds there.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use lambda_http::{Body, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::http::body::{self, BodyFault, Flag, Written, text};
use shared::model::{CodeText, PlayerName, ServerId};
use std::collections::BTreeMap;

/// The reader of request bodies.
#[derive(Debug)]
pub struct RequestBody;

/// A body with every kind of field that an endpoint reads.
#[derive(Debug, Deserialize)]
struct Fields {
    #[serde(deserialize_with = "text::<255, _, _>")]
    url: String,
    #[serde(deserialize_with = "body::code::<40, _>")]
    coupon: CodeText,
    count: Option<u32>,
    price: Option<Written>,
    promoted: Option<Flag>,
    server_id: Option<ServerId>,
    gift_to: Option<PlayerName>,
    #[serde(default)]
    variables: BTreeMap<String, Written>,
    names: Option<Vec<String>>,
}

impl Target for RequestBody {
    const NAME: &'static str = "body";
    type Input = Vec<u8>;

    fn start() -> Result<Self, FuzzError> {
        Ok(Self)
    }

    fn input(&self, random: &mut Random) -> Vec<u8> {
        let seed = json!({
            "url": "/rules", "coupon": "Hearth10", "count": 2, "price": "4.50", "promoted": 1, "server_id": 3,
            "gift_to": "Pebble", "variables": { "7": "red", "8": 1.5 }, "names": ["a", "b"], "unknown": { "deep": [1, {}] },
        });
        let text = mutate::json_text(random, &seed);
        if random.one_in(6) { mutate::bytes(random, text.as_bytes()) } else { text.into_bytes() }
    }

    fn check(&mut self, sent: &Vec<u8>) -> Result<Outcome, String> {
        let request = Request::new(Body::Binary(sent.clone()));
        let read = body::object::<Fields>(&request);
        let any = serde_json::from_slice::<Value>(sent);
        let fields = match read {
            Ok(fields) => fields,
            Err(fault) => return refused(&fault, any.as_ref().ok()),
        };
        // A value that no field reads may be one that serde_json cannot represent.
        let Ok(any) = any else { return Ok(Outcome::Accepted) };
        rule(any["url"] == fields.url, || format!("url is read as {:?}", fields.url))?;
        rule(whole(&any["count"]) == fields.count.map(u64::from), || format!("count is read as {:?}", fields.count))?;
        let server = fields.server_id.map(ServerId::get);
        rule(whole(&any["server_id"]) == server, || format!("server_id is read as {server:?}"))?;
        let coupon = any["coupon"].as_str().unwrap_or_default();
        rule(coupon.trim().to_lowercase() == fields.coupon.as_str(), || format!("coupon is {}", fields.coupon))?;
        let names = any["names"].as_array().map(|names| names.iter().map(Value::as_str).collect::<Vec<_>>());
        let read = fields.names.as_ref().map(|names| names.iter().map(|name| Some(name.as_str())).collect());
        rule(names == read, || format!("names is read as {read:?}"))?;
        let is_flag =
            fields.promoted.is_none_or(|flag| any["promoted"] == flag.0 || any["promoted"] == u8::from(flag.0));
        rule(is_flag, || format!("promoted is read as {:?}", fields.promoted))?;
        if let (Some(text), Some(read)) = (any["price"].as_str(), &fields.price) {
            rule(text == read.0, || format!("price is read as {read:?}"))?;
        }
        let recipient = fields.gift_to.as_ref().map(PlayerName::as_str);
        rule(any["gift_to"].as_str() == recipient, || format!("gift_to is read as {recipient:?}"))?;
        let count = any["variables"].as_object().map_or(0, serde_json::Map::len);
        rule(count == fields.variables.len(), || format!("variables are read as {:?}", fields.variables))?;
        Ok(Outcome::Accepted)
    }
}

/// A whole number. serde_json reads -0 as a fraction.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| (*value == serde_json::json!(-0.0)).then_some(0))
}

/// A fault is one of the documented sentences, and repeats no value that was sent.
fn refused(fault: &BodyFault, any: Option<&Value>) -> Result<Outcome, String> {
    let text = fault.to_string();
    rule(text.starts_with("The ") && text.ends_with('.'), || format!("not a sentence: {text:?}"))?;
    match fault {
        BodyFault::NotAnObject => rule(any.is_none_or(|any| !any.is_object()), || "it is an object".to_owned())?,
        BodyFault::Field { field, .. } => rule(!field.is_empty(), || format!("no field is named: {text}"))?,
        BodyFault::NotJson | BodyFault::TooLarge { .. } => {}
    }
    Ok(Outcome::Refused)
}

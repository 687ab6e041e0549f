//! A simple model of a cart: what each request does to it, and what it responds.

use serde_json::{Value, json};
use shared::model::{Cart, Money, ServerId};
use std::collections::BTreeMap;
use tests::{Call, Reply};

/// The coupons and the gift card that the requests apply. Each applies to every cart that costs something.
pub const CODES: [&str; 3] = ["hearth10", "threeback", "glow-7qxm-2k4d"];
/// The referral codes that the requests set. None is the buyer's own.
pub const REFERRALS: [&str; 2] = ["lantern", "toadmail"];
/// The items that the requests add: one with two servers, one with a text and options, one whose price the buyer
/// chooses, and one without choices.
pub const ITEMS: [u64; 4] = [SERVERS, VARIABLES, ANY_PRICE, PLAIN];
const SERVERS: u64 = 401;
const VARIABLES: u64 = 301;
const ANY_PRICE: u64 = 601;
const PLAIN: u64 = 302;
/// The options of [`VARIABLES`].
const OPTIONS: [&str; 3] = ["Copper", "Ash", "Midnight"];

/// A request to the cart.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    Add { item: u64, count: u32, choice: u64 },
    Remove(u64),
    Reload { line: u64, count: u32 },
    SetVariable { line: u64, value: &'static str },
    SelectServer { line: u64, server: u64 },
    ChangePrice { line: u64, euros: u32 },
    Accept(&'static str),
    RemoveCoupon,
    SetReferral(&'static str),
    RemoveReferral,
    Get,
}

/// A line: item, units and choices.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    id: u64,
    item: u64,
    count: u32,
    variables: BTreeMap<u64, String>,
    server: Option<u64>,
    cents: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    lines: Vec<Line>,
    next: u64,
    coupon: Option<String>,
    card: Option<String>,
    referral: Option<String>,
}

/// What a response says: the status, and what follows from the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub status: u16,
    pub body: Value,
}

fn said(status: u16, success: bool) -> Said {
    Said { status, body: json!({ "success": success }) }
}

fn said_with(success: bool, name: &str, value: &Value) -> Said {
    Said { status: 200, body: json!({ "success": success, name: value }) }
}

impl Op {
    /// The number of kinds of requests that may write.
    pub const WRITING: usize = 10;

    pub fn call(self) -> Call {
        let post = |path: &str, body: &Value| Call::post(path).json(body);
        match self {
            Self::Add { item, count, choice } => post(&format!("/cart/add/{item}"), &added(item, count, choice)),
            Self::Remove(line) => Call::post(&format!("/cart/remove/{line}")),
            Self::Reload { line, count } => post(&format!("/cart/reload/{line}"), &json!({ "count": count })),
            Self::SetVariable { line, value } => {
                post(&format!("/cart/setVariable/{line}"), &json!({ "var_id": 2, "var_value": value }))
            }
            Self::SelectServer { line, server } => {
                post(&format!("/cart/setSelectedServer/{line}"), &json!({ "server_id": server }))
            }
            Self::ChangePrice { line, euros } => post(&format!("/cart/changePrice/{line}"), &json!({ "price": euros })),
            Self::Accept(code) => post("/cart/acceptCoupon", &json!({ "coupon": code })),
            Self::RemoveCoupon => Call::post("/cart/removeCoupon"),
            Self::SetReferral(code) => post("/cart/setReferral", &json!({ "ref_code": code })),
            Self::RemoveReferral => Call::post("/cart/removeReferral"),
            Self::Get => Call::post("/cart/get"),
        }
    }

    /// The parts of a response that the model knows.
    pub fn said(self, reply: &Reply) -> Said {
        let body = reply.json();
        let success = body["success"] == true;
        let message = body["message"].as_str().unwrap_or_default();
        let body = match self {
            Self::Get => shown(&body),
            Self::Add { .. } if success => json!({ "success": true, "cid": body["cid"] }),
            Self::Accept(_) if success => {
                json!({ "success": true, "replaces": message.contains("replaces"), "already": message.contains("already") })
            }
            Self::SetReferral(_) if success => json!({ "success": true, "already": message.contains("already") }),
            _ => json!({ "success": success }),
        };
        Said { status: reply.status.as_u16(), body }
    }
}

/// The body of a request that adds an item. `choice` is 0 or 1.
fn added(item: u64, count: u32, choice: u64) -> Value {
    match item {
        SERVERS => json!({ "count": count, "server_id": choice + 1 }),
        VARIABLES => {
            json!({ "count": count, "variables": { "1": "Smokey", "2": if choice == 0 { "Copper" } else { "Ash" } } })
        }
        ANY_PRICE => json!({ "count": count, "price": 5 + choice }),
        _ => json!({ "count": count }),
    }
}

/// What cart/get shows of the lines and codes.
fn shown(body: &Value) -> Value {
    let lines = body["items"].as_array().into_iter().flatten();
    let lines: Vec<Value> =
        lines.map(|line| json!([line["cid"], line["id"], line["count"], line["selected_server"]])).collect();
    let cart = &body["cart"];
    json!([lines, cart["coupon_code"], cart["gift_code"], cart["referral_code"]])
}

impl Model {
    pub fn of(cart: &Cart) -> Self {
        let line = |line: &shared::model::Line| Line {
            id: line.id.get(),
            item: line.item.get(),
            count: line.count,
            variables: line.variables.iter().map(|variable| (variable.id, variable.value.clone())).collect(),
            server: line.server.map(ServerId::get),
            cents: line.price.map(Money::minor),
        };
        Self {
            lines: cart.lines.iter().map(line).collect(),
            next: cart.next_line,
            coupon: cart.coupon.as_ref().map(|coupon| coupon.code.as_str().to_owned()),
            card: cart.gift_card.as_ref().map(|card| card.code.as_str().to_owned()),
            referral: cart.referral.as_ref().map(|code| code.as_str().to_owned()),
        }
    }

    /// Changes the cart as a request does; returns the response.
    pub fn apply(&mut self, op: Op) -> Said {
        match op {
            Op::Add { item, count, choice } => self.add(item, count, choice),
            Op::Remove(id) => {
                self.lines.retain(|line| line.id != id);
                said(200, true)
            }
            Op::Reload { line, count } => self.change(line, 200, |line| {
                line.count = count;
                true
            }),
            Op::SetVariable { line, value } => self.change(line, 422, |line| {
                let has = line.item == VARIABLES && OPTIONS.contains(&value);
                has.then(|| line.variables.insert(2, value.to_owned()));
                has
            }),
            Op::SelectServer { line, server } => self.change(line, 422, |line| {
                let has = line.item == SERVERS && [1, 2].contains(&server);
                has.then(|| line.server = Some(server));
                has
            }),
            Op::ChangePrice { line, euros } => self.change(line, 422, |line| {
                let has = line.item == ANY_PRICE && euros >= 1;
                has.then(|| line.cents = Some(i64::from(euros) * 100));
                has
            }),
            Op::Accept(_) if self.lines.is_empty() => said(200, false),
            Op::Accept(code) => {
                let on_cart = if code == CODES[2] { &mut self.card } else { &mut self.coupon };
                let old = on_cart.replace(code.to_owned());
                let already = old.as_deref() == Some(code);
                let body = json!({ "success": true, "replaces": old.is_some() && !already, "already": already });
                Said { status: 200, body }
            }
            Op::RemoveCoupon => said(200, self.coupon.take().is_some()),
            Op::SetReferral(code) => match self.referral.as_deref() {
                Some(set) if set != code => said(200, false),
                set => {
                    let already = set.is_some();
                    self.referral = Some(code.to_owned());
                    said_with(true, "already", &json!(already))
                }
            },
            Op::RemoveReferral => said(200, self.referral.take().is_some()),
            Op::Get => Said { status: 200, body: self.shown() },
        }
    }

    fn add(&mut self, item: u64, count: u32, choice: u64) -> Said {
        let mut variables = BTreeMap::new();
        if item == VARIABLES {
            variables.insert(1, "Smokey".to_owned());
            variables.insert(2, if choice == 0 { "Copper" } else { "Ash" }.to_owned());
        }
        let server = (item == SERVERS).then_some(choice + 1);
        let cents = (item == ANY_PRICE).then_some(if choice == 0 { 500 } else { 600 });
        let mut added = Line { id: self.next, item, count, variables, server, cents };
        let is_equal = |line: &&mut Line| {
            (line.item, &line.variables, line.server, line.cents) == (item, &added.variables, server, cents)
        };
        if let Some(line) = self.lines.iter_mut().find(is_equal) {
            line.count += count;
            added.id = line.id;
        } else {
            self.next += 1;
            self.lines.push(added.clone());
        }
        said_with(true, "cid", &json!(added.id))
    }

    /// Changes a line, or refuses with `status`.
    fn change(&mut self, id: u64, status: u16, change: impl FnOnce(&mut Line) -> bool) -> Said {
        let line = self.lines.iter_mut().find(|line| line.id == id);
        let changed = line.is_some_and(change);
        said(if changed { 200 } else { status }, changed)
    }

    fn shown(&self) -> Value {
        let lines: Vec<Value> =
            self.lines.iter().map(|line| json!([line.id, line.item, line.count, line.server])).collect();
        let text = |code: &Option<String>| code.clone().unwrap_or_default();
        json!([lines, text(&self.coupon), text(&self.card), text(&self.referral)])
    }
}

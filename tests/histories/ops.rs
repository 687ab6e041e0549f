//! The operations of the clients of a history, and their responses.

use super::shop::{ANY_PRICE, COLOURS, GIFT, ITEMS, OPTIONS, REFERRALS, SERVERS};
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::{Call, Reply};

/// A request to the cart that may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CartOp {
    Add { item: u8, count: u16, choice: u16 },
    Remove(u8),
    Reload { line: u8, count: u16 },
    SetVariable { line: u8, colour: u16 },
    SelectServer { line: u8, server: u16 },
    ChangePrice { line: u8, euros: u16 },
    Accept(u8),
    RemoveCoupon,
    RemoveGiftcard,
    SetReferral(u8),
    RemoveReferral,
}

/// An operation of a client. A number of an order or event counts back from the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Cart(CartOp),
    Show,
    Create,
    /// The buyer pays on the provider's page.
    Pay(usize),
    /// The buyer pays the latest open checkout by a debit, if one offers it.
    Debit,
    /// The latest debit succeeds, or fails.
    Settle(bool),
    /// The provider ends a checkout.
    Expire(usize),
    /// So many cents are refunded, or all: at the provider, or by the operator up to that total.
    Refund(usize, Option<i64>),
    /// The provider renews the buyer's subscription.
    Renew,
    /// A game server polls, and runs what it is served.
    Poll,
    /// The provider sends a webhook event to two instances at once, perhaps again.
    Notify(usize),
    /// payments/checkStatus, as after a checkout or not.
    Status(usize, bool),
    /// payments/checkStatus by another user.
    Spy(usize),
    /// The scheduled sweep, a minute later.
    Sweep,
    /// The operator publishes a version, and the buyer looks at something that costs something else by it.
    Publish(usize),
    /// One of the next calls to the provider fails, before or after its effect.
    Cut(bool),
}

/// A client's step: what it does, and whether it is killed after so many milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Planned {
    pub op: Op,
    pub killed_after: Option<u64>,
}

pub fn some_plan() -> impl Strategy<Value = Vec<Planned>> {
    let killed = prop_oneof![12 => Just(None), 1 => (1_u64..25).prop_map(Some)];
    let step = (some_op(), killed).prop_map(|(op, killed_after)| Planned { op, killed_after });
    prop::collection::vec(step, 30..60)
}

fn some_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        18 => some_cart_op().prop_map(Op::Cart),
        8 => Just(Op::Show),
        9 => Just(Op::Create),
        6 => (0_usize..2).prop_map(Op::Pay),
        6 => Just(Op::Debit),
        4 => any::<bool>().prop_map(Op::Settle),
        1 => (0_usize..2).prop_map(Op::Expire),
        6 => (0_usize..2, prop::option::weighted(0.5, 1_i64..200)).prop_map(|(order, cents)| Op::Refund(order, cents)),
        2 => Just(Op::Renew),
        4 => Just(Op::Poll),
        12 => (0_usize..6).prop_map(Op::Notify),
        4 => (0_usize..3, any::<bool>()).prop_map(|(order, after)| Op::Status(order, after)),
        1 => (0_usize..2).prop_map(Op::Spy),
        2 => Just(Op::Sweep),
        4 => (0_usize..3).prop_map(Op::Publish),
        1 => any::<bool>().prop_map(Op::Cut),
    ]
}

pub fn some_cart_op() -> impl Strategy<Value = CartOp> {
    let line = 1_u8..7;
    prop_oneof![
        8 => (0_u8..5, 1_u16..4, 0_u16..3).prop_map(|(item, count, choice)| CartOp::Add { item, count, choice: chosen(item, choice) }),
        2 => line.clone().prop_map(CartOp::Remove),
        2 => (line.clone(), 1_u16..5).prop_map(|(line, count)| CartOp::Reload { line, count }),
        1 => (line.clone(), 0_u16..3).prop_map(|(line, colour)| CartOp::SetVariable { line, colour }),
        1 => (line.clone(), 1_u16..4).prop_map(|(line, server)| CartOp::SelectServer { line, server }),
        1 => (line, 0_u16..4).prop_map(|(line, euros)| CartOp::ChangePrice { line, euros }),
        5 => (0_u8..3).prop_map(CartOp::Accept),
        1 => Just(CartOp::RemoveCoupon),
        1 => Just(CartOp::RemoveGiftcard),
        1 => (0_u8..2).prop_map(CartOp::SetReferral),
        1 => Just(CartOp::RemoveReferral),
    ]
}

/// The player that the gifts of a history are for.
pub fn friend(codes: &[String; 3]) -> String {
    format!("Friend_{}", codes[0].replace('-', "_"))
}

/// A choice that the item has: a server, a colour, or euros, if any.
fn chosen(item: u8, choice: u16) -> u16 {
    match item {
        SERVERS => 1 + choice % 2,
        OPTIONS => choice,
        // With 0 the line has the item's price.
        ANY_PRICE if choice == 2 => 0,
        ANY_PRICE => 5 + choice,
        _ => 0,
    }
}

/// The outcome of a [`CartOp`] by its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Refused; nothing is changed.
    Refused,
    Done,
    /// Added to this line.
    Added(u8),
    Already,
    /// A code was applied instead of another.
    Replaced,
    /// Other requests kept changing the cart; nothing is changed.
    Contention,
}

impl CartOp {
    /// The request. `codes` are the texts of coupons and gift card.
    pub fn call(self, codes: &[String; 3]) -> Call {
        let post = |path: &str, body: &Value| Call::post(path).json(body);
        match self {
            Self::Add { item, count, choice } => {
                let mut body = json!({ "count": count });
                match item {
                    SERVERS => body["server_id"] = json!(choice),
                    OPTIONS => body["variables"] = json!({ "1": "Smokey", "2": COLOURS[usize::from(choice)] }),
                    ANY_PRICE if choice > 0 => body["price"] = json!(choice),
                    GIFT => {
                        body["variables"] = json!({ "1": "Dust", "2": "Plain" });
                        body["payment_type"] = json!(2);
                        body["gift_to"] = json!(friend(codes));
                    }
                    _ => {}
                }
                post(&format!("/cart/add/{}", ITEMS[usize::from(item)]), &body)
            }
            Self::Remove(line) => Call::post(&format!("/cart/remove/{line}")),
            Self::Reload { line, count } => post(&format!("/cart/reload/{line}"), &json!({ "count": count })),
            Self::SetVariable { line, colour } => {
                let body = json!({ "var_id": 2, "var_value": COLOURS[usize::from(colour)] });
                post(&format!("/cart/setVariable/{line}"), &body)
            }
            Self::SelectServer { line, server } => {
                post(&format!("/cart/setSelectedServer/{line}"), &json!({ "server_id": server }))
            }
            Self::ChangePrice { line, euros } => post(&format!("/cart/changePrice/{line}"), &json!({ "price": euros })),
            Self::Accept(code) => post("/cart/acceptCoupon", &json!({ "coupon": codes[usize::from(code)] })),
            Self::RemoveCoupon => Call::post("/cart/removeCoupon"),
            Self::RemoveGiftcard => Call::post("/cart/removeGiftcard"),
            Self::SetReferral(code) => post("/cart/setReferral", &json!({ "ref_code": REFERRALS[usize::from(code)] })),
            Self::RemoveReferral => Call::post("/cart/removeReferral"),
        }
    }

    /// The outcome by a response; `None` if it does not say whether it was done.
    pub fn said(self, reply: &Reply) -> Option<Said> {
        if reply.status.is_server_error() {
            return None;
        }
        let body = reply.json();
        let message = body["message"].as_str().unwrap_or_default();
        Some(match self {
            _ if message.contains("changed by another request") => Said::Contention,
            _ if reply.status != 200 || body["success"] != true => Said::Refused,
            Self::Add { .. } => Said::Added(small(&body["cid"])),
            _ if message.contains("already") => Said::Already,
            _ if message.contains("replaces") => Said::Replaced,
            _ => Said::Done,
        })
    }
}

/// A line as cart/get shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownLine {
    pub id: u8,
    pub item: u8,
    pub count: u16,
    /// The server or the colour; nothing for other items.
    pub choice: Option<u16>,
    /// The price of a unit, in cents.
    pub cents: i64,
}

/// A cart as cart/get shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub lines: Vec<ShownLine>,
    pub coupon: Option<u8>,
    /// Whether the gift card is shown.
    pub card: bool,
    pub referral: Option<u8>,
    /// The order of the open checkout.
    pub checkout: Option<String>,
}

impl Shown {
    /// Reads a response of cart/get.
    pub fn read(body: &Value, codes: &[String; 3]) -> Self {
        let lines = body["items"].as_array().into_iter().flatten();
        let (cart, text) = (&body["cart"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
        let found = |text: &str, all: &[&str]| {
            (!text.is_empty()).then(|| place(all.iter().position(|known| *known == text).unwrap()))
        };
        let all = codes.each_ref().map(String::as_str);
        Self {
            lines: lines.map(shown_line).collect(),
            coupon: found(&text(&cart["coupon_code"]), &all),
            card: found(&text(&cart["gift_code"]), &all).is_some(),
            referral: found(&text(&cart["referral_code"]), &REFERRALS),
            checkout: cart["checkout"]["order_id"].as_str().map(ToOwned::to_owned),
        }
    }
}

fn shown_line(line: &Value) -> ShownLine {
    let item = place(ITEMS.iter().position(|id| line["id"] == *id).unwrap());
    let choice = match item {
        SERVERS => line["selected_server"].as_u64().map(|server| u16::try_from(server).unwrap()),
        OPTIONS => COLOURS.iter().position(|colour| line["vars"][1]["value"] == *colour).map(|at| place(at).into()),
        _ => None,
    };
    let count = u16::try_from(line["count"].as_u64().unwrap()).unwrap();
    ShownLine { id: small(&line["cid"]), item, count, choice, cents: cents(&line["price"]) }
}

/// A JSON number of major units in cents, digit by digit.
pub fn cents(value: &Value) -> i64 {
    let text = value.to_string();
    let (units, rest) = text.split_once('.').unwrap_or((&text, ""));
    units.parse::<i64>().unwrap() * 100 + format!("{rest:0<2}").parse::<i64>().unwrap()
}

fn small(value: &Value) -> u8 {
    u8::try_from(value.as_u64().unwrap()).unwrap()
}

fn place(at: usize) -> u8 {
    u8::try_from(at).unwrap()
}

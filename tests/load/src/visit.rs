//! Visits: what visitors do, one request after another.

use crate::client::{Call, Caller};
use serde_json::{Value, json};

/// The most lookups of a paid order until it has to be paid.
const LOOKUPS: u32 = 15;

/// A visitor on a visit.
#[derive(Debug, Clone)]
pub struct Visitor {
    steps: &'static [Step],
    at: usize,
    number: u64,
    address: String,
    token: Option<String>,
    /// The lines of the cart, in the order in which they were added.
    lines: Vec<u64>,
    order: String,
    session: String,
    lookups: u32,
    is_in_sale: bool,
}

/// A step of a visit.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A request, and what is done with its response.
    Ask(fn(&Visitor) -> Call, fn(&mut Visitor, &Value) -> Result<Next, String>),
    /// The buyer pays on the provider's page.
    Pay,
}

/// The step after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Step,
    Again,
}

/// The visitor's present action.
#[derive(Debug)]
pub enum Doing {
    /// A request to the API.
    Call(Call),
    /// Paying a session on the provider's page.
    Pay(String),
}

impl Visitor {
    /// The visitor with this number. Of ten, five buy, three change their cart and two look around.
    pub fn new(number: u64) -> Self {
        let steps = match number % 10 {
            0 | 5 => LOOK,
            2 | 4 | 8 => CHANGE,
            _ => BUY,
        };
        Self::on(steps, number, None)
    }

    /// A buyer of a flash sale.
    pub fn buyer(number: u64, token: String) -> Self {
        Self { is_in_sale: true, ..Self::on(SALE, number, Some(token)) }
    }

    fn on(steps: &'static [Step], number: u64, token: Option<String>) -> Self {
        // Addresses of their own, as behind a proxy.
        let [.., a, b, c] = number.to_be_bytes();
        let address = format!("10.{a}.{b}.{c}");
        let (order, session) = (String::new(), String::new());
        Self { steps, at: 0, number, address, token, lines: Vec::new(), order, session, lookups: 0, is_in_sale: false }
    }

    /// The visitor's next step; `None` at the end of the visit.
    pub fn doing(&self) -> Option<Doing> {
        self.steps.get(self.at).map(|step| match step {
            Step::Ask(ask, _) => Doing::Call(ask(self)),
            Step::Pay => Doing::Pay(self.session.clone()),
        })
    }

    /// The visitor's identity for the API.
    pub fn caller(&self) -> Caller<'_> {
        Caller { token: self.token.as_deref(), address: &self.address }
    }

    /// Takes a response, and continues.
    ///
    /// # Errors
    /// Its fault, as a sentence.
    pub fn took(&mut self, status: u16, body: &Value) -> Result<(), String> {
        // cart/add says with 422 that an item cannot be bought.
        if status != 200 && !(status == 422 && self.is_in_sale) {
            return Err(format!("{status}: {body}"));
        }
        let next = match self.steps.get(self.at) {
            Some(Step::Ask(_, take)) => take(self, body)?,
            _ => Next::Step,
        };
        self.at += usize::from(next == Next::Step);
        Ok(())
    }

    /// Goes on after paying.
    pub fn paid(&mut self) {
        self.at += 1;
    }

    /// Whether the visit ended with a checkout.
    pub fn has_order(&self) -> bool {
        !self.order.is_empty()
    }

    fn line(&self, place: usize) -> u64 {
        self.lines.get(place).copied().unwrap_or_default()
    }
}

fn accepted(_: &mut Visitor, body: &Value) -> Result<Next, String> {
    if body["success"] == false { Err(body.to_string()) } else { Ok(Next::Step) }
}

fn logged_in(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    visitor.token = Some(body.as_str().ok_or("the response is not a token")?.to_owned());
    Ok(Next::Step)
}

fn added(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    visitor.lines.push(body["cid"].as_u64().ok_or_else(|| body.to_string())?);
    Ok(Next::Step)
}

fn begun(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| body.to_string());
    accepted(visitor, body)?;
    visitor.order = text(&body["order_id"])?;
    let url = text(&body["data"]["url"])?;
    visitor.session = url.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    Ok(Next::Step)
}

/// Waits until the payment is known; the provider's notice may be on its way.
fn paid(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    visitor.lookups += 1;
    match body["status"].as_str() {
        Some("success") => Ok(Next::Step),
        Some("pending") if visitor.lookups < LOOKUPS => Ok(Next::Again),
        _ => Err(format!("the payment is not known: {body}")),
    }
}

/// Waits until what was bought has left the cart, which follows from the payment.
fn emptied(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    visitor.lookups += 1;
    match body.pointer("/cart/items").and_then(Value::as_u64) {
        Some(0) => Ok(Next::Step),
        Some(_) if visitor.lookups < 2 * LOOKUPS => Ok(Next::Again),
        _ => Err(format!("what was bought is still in the cart: {}", body["cart"]["items"])),
    }
}

/// A sale is open or over for this buyer; both are responses.
fn begun_or_sold_out(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    if body["success"] == true {
        return begun(visitor, body);
    }
    let message = body["message"].as_str().unwrap_or_default();
    if SOLD_OUT.iter().any(|words| message.contains(words)) {
        visitor.steps = &[];
        return Ok(Next::Step);
    }
    Err(body.to_string())
}

/// The message for a buyer who comes too late.
const SOLD_OUT: [&str; 5] = ["sold out", "not available", "cannot be bought now", "No more can be bought", "Only 0"];

/// The item that a flash sale sells.
pub const ON_SALE: u64 = 302;

fn login(visitor: &Visitor) -> Call {
    Call::post("auth/username").with(json!({ "username": format!("load_{}", visitor.number) }))
}

fn create(_: &Visitor) -> Call {
    Call::post("payments/create").with(json!({
        "paymentMethod": "Stripe", "currency": "EUR", "termsAndConditions": true, "privacyPolicy": true,
        "details": { "email": "player@example.com" },
    }))
}

fn look_up(visitor: &Visitor) -> Call {
    Call::post("payments/checkStatus").with(json!({ "order_id": visitor.order, "checkout_id": visitor.session }))
}

fn add(item: u64, body: Value) -> Call {
    Call::post("cart/add").at(item).with(body)
}

const ARRIVE: [Step; 3] = [
    Step::Ask(|_| Call::get("settings/get"), accepted),
    Step::Ask(|_| Call::get("categories/get"), accepted),
    Step::Ask(|_| Call::get("checkAccessibility"), accepted),
];

const LOOK: &[Step] = &[
    ARRIVE[0],
    ARRIVE[1],
    ARRIVE[2],
    Step::Ask(|_| Call::get("auth/chat"), accepted),
    Step::Ask(|_| Call::get("staff"), accepted),
    Step::Ask(|_| Call::get("patrons/get"), accepted),
    Step::Ask(|_| Call::post("items/getFeaturedDeals"), accepted),
    Step::Ask(login, logged_in),
    Step::Ask(|_| Call::post("pages/get").with(json!({ "url": "/about" })), accepted),
    Step::Ask(|_| Call::post("categories/get/{url}").to("categories/get/ranks"), accepted),
    Step::Ask(|_| Call::post("categories/get/{url}").to("categories/get/companions"), accepted),
    Step::Ask(|_| Call::post("items/get").at(101), accepted),
    Step::Ask(|_| Call::post("user"), accepted),
];

const CHANGE: &[Step] = &[
    ARRIVE[0],
    ARRIVE[1],
    Step::Ask(login, logged_in),
    Step::Ask(|_| Call::post("categories/get/{url}").to("categories/get/boosts"), accepted),
    Step::Ask(|_| add(301, json!({ "count": 1, "variables": { "1": "Rusty", "2": "Ash" } })), added),
    Step::Ask(
        |visitor| {
            let body = json!({ "var_id": 2, "var_value": "Midnight" });
            Call::post("cart/setVariable").at(visitor.line(0)).with(body)
        },
        accepted,
    ),
    Step::Ask(|_| add(401, json!({})), added),
    Step::Ask(|_| Call::post("cart/getSelectServers"), accepted),
    Step::Ask(
        |visitor| Call::post("cart/setSelectedServer").at(visitor.line(1)).with(json!({ "server_id": 2 })),
        accepted,
    ),
    Step::Ask(|_| add(601, json!({ "price": "5.00" })), added),
    Step::Ask(|visitor| Call::post("cart/changePrice").at(visitor.line(2)).with(json!({ "price": "4.50" })), accepted),
    Step::Ask(|visitor| Call::post("cart/reload").at(visitor.line(0)).with(json!({ "count": 2 })), accepted),
    Step::Ask(|_| Call::post("cart/acceptCoupon").with(json!({ "coupon": "glow-7qxm-2k4d" })), accepted),
    Step::Ask(|_| Call::post("cart/removeGiftcard"), accepted),
    Step::Ask(|_| Call::post("cart/setReferral").with(json!({ "ref_code": "thornwick" })), accepted),
    Step::Ask(|_| Call::post("cart/removeReferral"), accepted),
    Step::Ask(|visitor| Call::post("cart/remove").at(visitor.line(2)), accepted),
    Step::Ask(|_| Call::post("cart/getPromoted"), accepted),
    Step::Ask(|_| Call::post("cart/get"), accepted),
];

const BUY: &[Step] = &[
    ARRIVE[0],
    ARRIVE[1],
    Step::Ask(|_| Call::post("items/getFeaturedDeals"), accepted),
    Step::Ask(login, logged_in),
    Step::Ask(|_| Call::post("user"), accepted),
    Step::Ask(|_| Call::post("categories/get/{url}").to("categories/get/companions"), accepted),
    Step::Ask(|_| add(302, json!({ "count": 2 })), added),
    Step::Ask(|_| add(201, json!({ "count": 1 })), added),
    Step::Ask(|_| Call::post("cart/acceptCoupon").with(json!({ "coupon": "HEARTH10" })), accepted),
    Step::Ask(|_| Call::post("cart/get"), accepted),
    // Two of three buy without the coupon: transactions with the same coupon wait for each other.
    Step::Ask(
        |visitor| {
            if visitor.number % 3 == 0 { Call::post("cart/get") } else { Call::post("cart/removeCoupon") }
        },
        accepted,
    ),
    Step::Ask(|_| Call::post("payments/get"), accepted),
    Step::Ask(create, begun),
    Step::Pay,
    Step::Ask(look_up, paid),
    Step::Ask(|_| Call::post("cart/get"), emptied),
];

const SALE: &[Step] = &[
    Step::Ask(|_| add(ON_SALE, json!({ "count": 1 })), added_or_sold_out),
    Step::Ask(create, begun_or_sold_out),
    Step::Pay,
    Step::Ask(look_up, paid),
];

/// Adding to the cart is refused too once the item is sold out.
fn added_or_sold_out(visitor: &mut Visitor, body: &Value) -> Result<Next, String> {
    if body["cid"].is_u64() { added(visitor, body) } else { begun_or_sold_out(visitor, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_have_addresses_of_their_own() {
        let of = |number: u64| Visitor::new(number).address;
        assert_eq!((of(1).as_str(), of(256).as_str(), of(70_000).as_str()), ("10.0.0.1", "10.0.1.0", "10.1.17.112"));
    }

    #[test]
    fn a_payment_is_waited_for_and_not_forever() {
        let mut visitor = Visitor::buyer(1, String::new());
        let pending = json!({ "status": "pending" });
        for _ in 1..LOOKUPS {
            assert_eq!(paid(&mut visitor, &pending), Ok(Next::Again));
        }
        assert!(paid(&mut visitor, &pending).is_err());
        assert_eq!(paid(&mut visitor, &json!({ "status": "success" })), Ok(Next::Step));
    }

    #[test]
    fn a_buyer_who_is_told_that_the_item_is_sold_out_has_an_answer() {
        let mut visitor = Visitor::buyer(1, String::new());
        visitor.took(200, &json!({ "cid": 1 })).unwrap();
        visitor.took(200, &json!({ "success": false, "message": "Marsh Toad is sold out." })).unwrap();
        assert!(visitor.doing().is_none());
        let mut visitor = Visitor::buyer(1, String::new());
        visitor.took(200, &json!({ "cid": 1 })).unwrap();
        visitor.took(200, &json!({ "success": false, "message": "Please try again." })).unwrap_err();
    }
}

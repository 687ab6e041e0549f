//! The requests that are measured: event files, in cycles that leave the store as it was.

use crate::error::BenchError;
use crate::figures::{HELLO, USER};
use hyper::body::Bytes;
use serde_json::Value;

/// Requests from one address before the next: less than the limit of checkStatus.
pub const PER_ADDRESS: u32 = 16;

/// Requests to one program. If one changes the store, the next changes it back.
pub struct Cycle {
    pub program: &'static str,
    pub steps: Vec<Step>,
}

/// A request of a cycle.
pub struct Step {
    /// The endpoint as api.md names it, and the outcome if it is not the ordinary one.
    pub name: &'static str,
    event: Value,
    /// Whether it counts against its address, and is sent from a new one after [`PER_ADDRESS`] requests.
    pub counted: bool,
}

impl Step {
    /// The request of an event file.
    pub fn file(name: &'static str, file: &str) -> Self {
        Self { name, event: harness::event(file), counted: false }
    }

    /// With the token of another event file.
    pub fn token_of(mut self, file: &str) -> Self {
        self.event["headers"]["authorization"] = harness::event(file)["headers"]["authorization"].clone();
        self
    }

    /// The event of a run's `round`-th request.
    pub fn event(&self, round: u32) -> Bytes {
        if !self.counted {
            return Bytes::from(self.event.to_string());
        }
        let mut event = self.event.clone();
        event["requestContext"]["http"]["sourceIp"] = Value::String(address(round));
        Bytes::from(event.to_string())
    }

    /// Checks that a response is the one that was to be measured.
    pub fn check(&self, answer: &[u8]) -> Result<(), BenchError> {
        let text = String::from_utf8_lossy(answer);
        let value: Value = serde_json::from_slice(answer).unwrap_or_default();
        let body = value["body"].as_str().unwrap_or_default();
        if value["statusCode"] == 200 && !body.starts_with(r#"{"success":false"#) {
            return Ok(());
        }
        Err(BenchError::Response { what: self.name.to_owned(), response: text.chars().take(400).collect() })
    }
}

/// The address of the `round`-th request. Every address is used [`PER_ADDRESS`] times.
fn address(round: u32) -> String {
    let number = round / PER_ADDRESS;
    format!("100.{}.{}.{}", 64 + (number >> 14) % 64, 100 + (number >> 7) % 128, 100 + number % 128)
}

/// Every endpoint of the functions, on the sample store; then the hello world, and the endpoint that the peers have.
pub fn cycles() -> Vec<Cycle> {
    let cycle = |program, steps: Vec<Step>| Cycle { program, steps };
    let coupon = |code: &str| {
        let mut step = Step::file("cart/acceptCoupon", "cart/accept_coupon");
        step.event["body"] = format!(r#"{{"coupon":"{code}"}}"#).into();
        step
    };
    vec![
        cycle("content", vec![Step::file("settings/get", "content/get_settings")]),
        cycle("content", vec![Step::file("pages/get", "content/get_page")]),
        cycle("content", vec![Step::file("staff", "content/list_staff")]),
        cycle("content", vec![Step::file("patrons/get", "content/list_patrons")]),
        cycle("catalog", vec![Step::file("categories/get", "catalog/list_categories")]),
        cycle("catalog", vec![Step::file("categories/get/{url}", "catalog/get_category")]),
        cycle("catalog", vec![Step::file("items/getFeaturedDeals", "catalog/get_featured_deals.logged_in")]),
        cycle("cart", vec![Step::file("cart/get, with a code applied", "cart/get")]),
        cycle("cart", vec![coupon("EIGHTH"), coupon("hearth10")]),
        cycle(
            "cart",
            vec![
                Step::file("cart/removeReferral", "cart/remove_referral"),
                Step::file("cart/setReferral", "cart/set_referral").token_of("cart/remove_referral"),
            ],
        ),
        cycle("cart", vec![Step::file("cart/getPromoted", "cart/get_promoted")]),
        cycle("cart", vec![Step::file("cart/getSelectServers", "cart/get_select_servers")]),
        cycle("payments", vec![check_status()]),
        cycle("auth", vec![user("auth")]),
        cycle("auth", vec![Step::file("auth/chat", "auth/chat")]),
        cycle(HELLO, vec![user(HELLO)]),
        cycle("node", vec![user("node")]),
        cycle("python", vec![user("python")]),
    ]
}

fn check_status() -> Step {
    Step { counted: true, ..Step::file("payments/checkStatus", "payments/check_status") }
}

/// The request that the peers have as well. The hello world answers any.
pub fn user(program: &str) -> Step {
    Step::file(if program == HELLO { HELLO } else { USER }, "auth/user")
}

/// The first request to a program.
pub fn first(program: &str) -> Step {
    match program {
        "catalog" => Step::file("categories/get/{url}", "catalog/get_category"),
        "cart" => Step::file("cart/get", "cart/get"),
        "content" => Step::file("settings/get", "content/get_settings"),
        "payments" => check_status(),
        "delivery" => Step::file("plugin/profile", "delivery/profile.without_key"),
        _ => user(program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_replaced_before_its_limit() {
        let addresses: Vec<String> = (0..100_000).map(address).collect();
        let distinct: std::collections::BTreeSet<&String> = addresses.iter().collect();
        assert_eq!(distinct.len(), addresses.len().div_ceil(PER_ADDRESS as usize), "no address comes back");
    }

    #[test]
    fn a_refusal_is_not_measured() {
        let step = check_status();
        assert!(step.check(br#"{"statusCode":200,"body":"{\"success\":true}"}"#).is_ok());
        assert!(step.check(br#"{"statusCode":200,"body":"{\"success\":false}"}"#).is_err());
        assert!(step.check(br#"{"statusCode":429,"body":"{}"}"#).is_err() && step.check(b"").is_err());
    }
}

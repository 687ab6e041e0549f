//! Signatures of Stripe's notices: what is accepted was signed with one of the secrets, over these bytes and at this time.

use super::token::hmac;
use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use harness::NOW;
use serde_json::{Value, json};
use stripe::webhook::{TOLERANCE, verify};
use stripe::{Event, WebhookSecret};

const SECRETS: [&str; 2] = ["whsec_new", "whsec_old"];

/// The check of a signature, and the notice behind it.
#[derive(Debug)]
pub struct Webhook {
    secrets: Vec<WebhookSecret>,
    notice: Value,
}

impl Target for Webhook {
    const NAME: &'static str = "webhook";
    /// The header and the body.
    type Input = (String, Vec<u8>);

    fn start() -> Result<Self, FuzzError> {
        let secrets = SECRETS.map(|secret| WebhookSecret::parse(secret).map_err(FuzzError::setup));
        let notice = json!({
            "id": "evt_1", "object": "event", "type": "checkout.session.completed", "created": NOW, "livemode": false,
            "data": { "object": { "id": "cs_test_1", "payment_intent": "pi_1", "charge": "ch_1" } },
        });
        Ok(Self { secrets: secrets.into_iter().collect::<Result<_, _>>()?, notice })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let body = mutate::json_text(random, &self.notice).into_bytes();
        let away = *random.pick(&[0, 0, 0, 299, -300, 301, -301, 86_400]);
        let at = (NOW + away).to_string();
        let secret = *random.pick(&["whsec_new", "whsec_old", "whsec_foreign", ""]);
        let v1 = hex::encode(hmac(secret.as_bytes(), &[at.as_bytes(), b".", &body].concat()));
        let header = match random.below(4) {
            0 => format!("t={at},v1={v1},v0=legacy"),
            1 => format!("v1={},v1={v1}, t={at}", "00".repeat(32)),
            _ => format!("t={at},v1={v1}"),
        };
        let header = if random.one_in(3) { mutate::text(random, &header) } else { header };
        let body = if random.one_in(4) { mutate::bytes(random, &body) } else { body };
        (header, body)
    }

    fn check(&mut self, (header, body): &Self::Input) -> Result<Outcome, String> {
        let verified = verify(Some(header), body, &self.secrets, NOW);
        if verified.is_ok() {
            let values = |name: &str| {
                let parts = header.split(',').filter_map(|part| part.trim().split_once('='));
                parts.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
            };
            let times = values("t");
            let [time] = times.as_slice() else { return Err(format!("accepted with the times {times:?}")) };
            let is_now = time.parse::<i64>().is_ok_and(|time| time.abs_diff(NOW) <= TOLERANCE);
            rule(is_now, || format!("accepted of {time}"))?;
            let expected = SECRETS.map(|secret| {
                let signed = [time.as_bytes(), b".", body].concat();
                hex::encode(hmac(secret.as_bytes(), &signed))
            });
            let is_ours = values("v1").iter().any(|v1| expected.contains(&v1.to_ascii_lowercase()));
            rule(is_ours, || "accepted, and signed by none of our secrets".to_owned())?;
        }
        if let Ok(event) = serde_json::from_slice::<Event>(body) {
            for id in [Some(&event.id), event.object.as_ref(), event.payment_intent.as_ref(), event.charge.as_ref()] {
                let is_plain = |id: &stripe::ObjectId| {
                    id.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
                };
                rule(id.is_none_or(is_plain), || format!("{id:?} is not safe in a path"))?;
            }
        }
        Ok(Outcome::of(&verified))
    }
}

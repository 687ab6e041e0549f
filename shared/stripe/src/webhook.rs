//! The signature of Stripe's webhooks.
//!
//! It is checked over the bytes as they came, before anything of them is parsed.

use crate::values::WebhookSecret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How far the signature's time may be from ours, in seconds, in either direction.
pub const TOLERANCE: u64 = 300;
/// The largest number of signatures that is read. Stripe sends one for each secret that is valid.
const SIGNATURES: usize = 16;

/// The reason why a request is not Stripe's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("there is no Stripe-Signature header")]
    Missing,
    #[error("the Stripe-Signature header is malformed")]
    Malformed,
    #[error("the signature's time is more than {TOLERANCE} seconds from ours")]
    TooFarOff,
    #[error("no signature is by one of our secrets")]
    Mismatch,
}

/// Checks the `Stripe-Signature` header of a request: one time within [`TOLERANCE`] of `now` (seconds since 1970 UTC),
/// and a `v1` signature over time and body by any of the secrets, compared in constant time.
pub fn verify(header: Option<&str>, body: &[u8], secrets: &[WebhookSecret], now: i64) -> Result<(), SignatureError> {
    let header = Header::parse(header.ok_or(SignatureError::Missing)?).ok_or(SignatureError::Malformed)?;
    if header.seconds.abs_diff(now) > TOLERANCE {
        return Err(SignatureError::TooFarOff);
    }
    let matches = |secret: &WebhookSecret| {
        Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).is_ok_and(|mut mac| {
            mac.update(header.time.as_bytes());
            mac.update(b".");
            mac.update(body);
            header.signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
        })
    };
    if secrets.iter().any(matches) { Ok(()) } else { Err(SignatureError::Mismatch) }
}

struct Header<'a> {
    time: &'a str,
    seconds: i64,
    signatures: Vec<Vec<u8>>,
}

impl<'a> Header<'a> {
    /// Reads `t=…,v1=…[,v1=…]`. Signatures of other schemes are passed over.
    fn parse(text: &'a str) -> Option<Self> {
        let mut time = None;
        let mut signatures = Vec::new();
        for part in text.split(',') {
            match part.trim().split_once('=')? {
                // Two times: one could be checked and the other signed.
                ("t", value) if time.is_none() => time = Some(value),
                ("t", _) => return None,
                ("v1", value) => signatures.push(hex::decode(value).ok()?),
                _ => {}
            }
        }
        let time = time.filter(|time| time.bytes().all(|byte| byte.is_ascii_digit()))?;
        let seconds = time.parse().ok()?;
        let is_read = (1..=SIGNATURES).contains(&signatures.len());
        is_read.then_some(Self { time, seconds, signatures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_800_000_000;
    const BODY: &[u8] = br#"{"id": "evt_1"}"#;

    fn secret(text: &str) -> WebhookSecret {
        WebhookSecret::parse(text).unwrap()
    }

    fn signature(secret: &str, time: &str, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&[time.as_bytes(), b".", body].concat());
        hex::encode(mac.finalize().into_bytes())
    }

    fn signed(secret: &str, at: i64) -> String {
        format!("t={at},v1={},v0=legacy", signature(secret, &at.to_string(), BODY))
    }

    fn check(header: &str) -> Result<(), SignatureError> {
        verify(Some(header), BODY, &[secret("whsec_new"), secret("whsec_old")], NOW)
    }

    /// The example was computed by `printf '1800000000.{"id": "evt_1"}' | openssl dgst -sha256 -hmac whsec_new`.
    #[test]
    fn a_signature_of_another_program_is_accepted() {
        let v1 = "a1b3a40a6ddb6b0698bdab16cefd85f0b11e2bc28cd24b1ff64d381f26c36c97";
        assert_eq!(check(&format!("t=1800000000,v1={v1}")), Ok(()));
    }

    #[test]
    fn any_signature_by_any_of_our_secrets_is_accepted() {
        assert_eq!(check(&signed("whsec_new", NOW)), Ok(()));
        assert_eq!(check(&signed("whsec_old", NOW)), Ok(()));
        let foreign = signature("whsec_foreign", &NOW.to_string(), BODY);
        let ours = signature("whsec_old", &NOW.to_string(), BODY);
        assert_eq!(check(&format!("t={NOW},v1={foreign},v1={ours}")), Ok(()));
        assert_eq!(check(&format!("v1={ours}, t={NOW}")), Ok(()));
    }

    #[test]
    fn a_header_is_needed() {
        let secrets = [secret("whsec_new")];
        assert_eq!(verify(None, BODY, &secrets, NOW), Err(SignatureError::Missing));
    }

    #[test]
    fn a_malformed_header_is_refused() {
        let v1 = signature("whsec_new", &NOW.to_string(), BODY);
        let many = format!("t={NOW}{}", format!(",v1={v1}").repeat(17));
        for header in [
            "",
            ",",
            "nonsense",
            &format!("t={NOW}"),
            &format!("v1={v1}"),
            &format!("t=,v1={v1}"),
            &format!("t=+{NOW},v1={v1}"),
            &format!("t=-{NOW},v1={v1}"),
            &format!("t=99999999999999999999,v1={v1}"),
            &format!("t={NOW},v1=xyz"),
            &format!("t={NOW},v0={v1}"),
            &format!("T={NOW},V1={v1}"),
            &format!("t={NOW},v1={v1},t={NOW}"),
            &format!("t={NOW},t=5,v1={v1}"),
            &many,
        ] {
            assert_eq!(check(header), Err(SignatureError::Malformed), "{header}");
        }
    }

    #[test]
    fn a_signature_is_accepted_for_five_minutes_either_way() {
        for (away, result) in [
            (300, Ok(())),
            (-300, Ok(())),
            (301, Err(SignatureError::TooFarOff)),
            (-301, Err(SignatureError::TooFarOff)),
        ] {
            assert_eq!(check(&signed("whsec_new", NOW + away)), result, "{away}");
        }
        assert_eq!(check("t=0,v1=00"), Err(SignatureError::TooFarOff));
        assert_eq!(check(&format!("t={},v1=00", i64::MAX)), Err(SignatureError::TooFarOff));
    }

    #[test]
    fn a_signature_of_another_account_is_refused() {
        assert_eq!(check(&signed("whsec_foreign", NOW)), Err(SignatureError::Mismatch));
        assert_eq!(check(&format!("t={NOW},v1=")), Err(SignatureError::Mismatch));
        assert_eq!(verify(Some(&signed("whsec_new", NOW)), BODY, &[], NOW), Err(SignatureError::Mismatch));
    }

    #[test]
    fn the_time_is_signed_as_it_is_written() {
        let v1 = signature("whsec_new", &NOW.to_string(), BODY);
        assert_eq!(check(&format!("t=0{NOW},v1={v1}")), Err(SignatureError::Mismatch));
        assert_eq!(check(&format!("t={},v1={v1}", NOW + 1)), Err(SignatureError::Mismatch));
    }

    #[test]
    fn a_body_of_any_bytes_can_be_signed() {
        let body = [0, 159, 146, 150];
        let header = format!("t={NOW},v1={}", signature("whsec_new", &NOW.to_string(), &body));
        assert_eq!(verify(Some(&header), &body, &[secret("whsec_new")], NOW), Ok(()));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(at in 0..BODY.len(), by in 1_u8..=255) {
            let mut body = BODY.to_vec();
            body[at] = body[at].wrapping_add(by);
            let refused = verify(Some(&signed("whsec_new", NOW)), &body, &[secret("whsec_new")], NOW);
            prop_assert_eq!(refused, Err(SignatureError::Mismatch));
        }

        #[test]
        fn a_changed_signature_is_noticed(at in 0_usize..32, by in 1_u8..=255) {
            let mut v1 = hex::decode(signature("whsec_new", &NOW.to_string(), BODY)).unwrap();
            v1[at] = v1[at].wrapping_add(by);
            prop_assert_eq!(check(&format!("t={NOW},v1={}", hex::encode(v1))), Err(SignatureError::Mismatch));
        }

        #[test]
        fn no_header_is_accepted_by_chance(header in any::<String>()) {
            prop_assert!(check(&header).is_err());
        }
    }
}

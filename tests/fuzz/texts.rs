//! Ids, codes, names, paths, amounts and keys: what a parser accepts, it accepts again as it prints it.

use crate::{Outcome, PARSER, mutate, tries};
use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;
use proptest::sample::select;
use shared::config::PaymentKeys;
use shared::http::cookie;
use shared::model::{
    BedrockPrefix, CategoryPath, ChatId, ChatName, CodeText, InternalId, ItemId, Money, Percent, PlayerName, Rate,
    Slug, UserId, UserName,
};
use shared::shop::delivery::ServerKey;
use shared::token::TokenKeys;
use std::fmt::{Debug, Display};
use std::net::IpAddr;
use stripe::{ApiBase, IdempotencyKey, ObjectId, SecretKey, Session, WebhookSecret};
use tests::SERVER_KEY;

/// Kinds of text, each with an example.
const KINDS: &[(&str, &str)] = &[
    ("id", "4711"),
    ("code", "Hearth10"),
    ("code", "COLD-5HJP-9ZLB"),
    ("player", "*Thornwick_1-b"),
    ("user", "Pebble"),
    ("chat id", "418203377561042103"),
    ("chat name", "Pebble <& Sons>"),
    ("slug", "/ranks/vip"),
    ("slug", "a"),
    ("amount", "19.99"),
    ("percent", "12.5"),
    ("rate", "0.918273"),
    ("object", "cs_test_a1B2"),
    ("key", "order-1"),
    ("order id", "u2qlyq2uxxth4o4j"),
    ("token keys", r#"{"one":"0123456789abcdef0123456789abcdef"}"#),
    ("payment keys", r#"{"stripe":{"key":"sk_test_0123456789","webhook":["whsec_0123456789"]}}"#),
    ("base", "https://api.stripe.com"),
    ("base", "http://127.0.0.1:12111"),
    ("server key", SERVER_KEY),
    ("cookie", "a=1; token=a.b.c; b=\"2\""),
];

#[test]
fn texts() {
    let inputs = (select(KINDS), mutate::edits(), 0..5_u8);
    let inputs = inputs.prop_map(|((kind, example), edits, digits)| (kind, mutate::text(example, &edits), digits));
    tries("texts", 4 * PARSER, inputs, |(kind, text, digits)| check(kind, &text, digits));
}

fn check(kind: &str, text: &str, digits: u8) -> Outcome {
    match kind {
        "id" => id(text),
        "code" => again(CodeText::parse(text), |code| code.as_str().to_owned(), CodeText::parse),
        "player" => player(text),
        // A few letters become two when they are lower-cased, and the longest name then a longer one.
        "user" if text.to_lowercase().chars().count() > UserName::LONGEST => Ok(UserName::parse(text).is_ok()),
        "user" => again(UserName::parse(text), UserName::to_string, UserName::parse),
        "chat id" => same(ChatId::parse(text), |id| id.as_str().to_owned(), text),
        "chat name" => again(ChatName::parse(text), |name| name.as_str().to_owned(), ChatName::parse),
        "slug" => slug(text),
        "amount" => amount(text, digits),
        "percent" => again(Percent::parse(text), |p| decimal(p.hundredths().into(), 2), Percent::parse),
        "rate" => again(Rate::parse(text), |rate| decimal(rate.millionths(), 6), Rate::parse),
        "object" => same(ObjectId::parse(text), ObjectId::to_string, text),
        "order id" => same(Ok::<_, ()>(InternalId::new(text)), InternalId::to_string, text),
        "token keys" => secret(TokenKeys::parse(text), text),
        "payment keys" => secret(PaymentKeys::parse(text), text),
        "base" => base(text),
        "server key" => server_key(text),
        "cookie" => {
            let Ok(value) = HeaderValue::from_str(text) else { return Ok(false) };
            Ok(cookie::value(&HeaderMap::from_iter([(header::COOKIE, value)]), "token").is_some())
        }
        _ => {
            _ = (SecretKey::parse(text), WebhookSecret::parse(text));
            Ok(IdempotencyKey::parse(text).is_ok())
        }
    }
}

/// A parsed value prints as a text that parses to the same value.
fn again<T: PartialEq, E>(
    parsed: Result<T, E>,
    print: impl Fn(&T) -> String,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Outcome {
    let Ok(value) = parsed else { return Ok(false) };
    let printed = print(&value);
    prop_assert!(parse(&printed).is_ok_and(|again| again == value), "{printed:?} does not parse to the same");
    Ok(true)
}

/// A parsed value prints as it was written.
fn same<T, E>(parsed: Result<T, E>, print: impl Fn(&T) -> String, text: &str) -> Outcome {
    let Ok(value) = parsed else { return Ok(false) };
    prop_assert_eq!(print(&value), text);
    Ok(true)
}

fn id(text: &str) -> Outcome {
    let (user, item) = (text.parse::<UserId>(), text.parse::<ItemId>());
    prop_assert_eq!(user.is_ok(), item.is_ok(), "two kinds of id differ");
    prop_assert!(user.as_ref().map_or(true, |id| id.get() < 1 << 53), "not exact as a JSON number");
    same(user, UserId::to_string, text)
}

/// A key has one spelling, and is not printed.
fn server_key(text: &str) -> Outcome {
    let Some(key) = ServerKey::parse(text) else { return Ok(false) };
    let random = text.strip_prefix(&format!("{}-", key.server())).unwrap_or_default();
    prop_assert!(random.len() == 40 && random.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{text:?}");
    prop_assert!(!format!("{key:?}").contains(&random[..8]), "{key:?}");
    Ok(true)
}

fn player(text: &str) -> Outcome {
    let Ok(name) = PlayerName::parse(text) else { return Ok(false) };
    let has_spaces = text.contains(' ');
    let is_bedrock = text.starts_with(BedrockPrefix::SIGNS) && text.trim() == text;
    let looks_like_one_name = text.is_ascii() && text.len() <= 50 && (!has_spaces || is_bedrock);
    prop_assert!(looks_like_one_name, "a name that another could look like");
    // B and P are prefixes in upper case only.
    for other in
        [text.to_ascii_uppercase(), text.to_ascii_lowercase()].iter().flat_map(|other| PlayerName::parse(other))
    {
        prop_assert_eq!(other.key(), name.key(), "{} is another player", other);
    }
    prop_assert_eq!(name.as_str(), text.replace(' ', "_"));
    for sign in BedrockPrefix::SIGNS {
        let on_servers = name.clone().on_servers(BedrockPrefix::try_from(sign).ok());
        let possible: Vec<_> = name.possible().collect();
        prop_assert!(on_servers.is_none_or(|name| possible.contains(&name)), "{text:?} {sign}");
    }
    Ok(true)
}

fn slug(text: &str) -> Outcome {
    let is_slug = again(Slug::parse(text), |slug| slug.as_str().to_owned(), Slug::parse)?;
    match CategoryPath::parse(text) {
        Ok(CategoryPath::Slug(slug)) => {
            let is_plain = slug.as_str().split('/').skip(1).all(|segment| !["", ".", ".."].contains(&segment));
            prop_assert!(is_plain && slug.as_str().starts_with('/'), "{slug} is not a path");
            Ok(true)
        }
        Ok(CategoryPath::Id(id)) => {
            prop_assert!(!is_slug, "both an id and a path: {id}");
            Ok(true)
        }
        Err(_) => {
            prop_assert!(!is_slug, "a path that no caller can send");
            Ok(false)
        }
    }
}

fn amount(text: &str, digits: u8) -> Outcome {
    let parsed = Money::parse(text, digits);
    if let Ok(money) = parsed {
        prop_assert!((Money::ZERO..=Money::LARGEST).contains(&money), "{money:?} is not an amount");
    }
    again(parsed, |money| decimal(money.minor(), digits), |text| Money::parse(text, digits))
}

/// A number of `10^-digits` as a decimal.
fn decimal(number: i64, digits: u8) -> String {
    if digits == 0 {
        return number.to_string();
    }
    let unit = 10_i64.pow(digits.into());
    format!("{}.{:0width$}", number / unit, number % unit, width = usize::from(digits))
}

/// A type that holds a secret never prints it, and neither does its parse error.
fn secret<T: Debug, E: Display>(parsed: Result<T, E>, text: &str) -> Outcome {
    let (is_valid, example) = (parsed.is_ok(), "0123456789");
    let shown = parsed.map_or_else(|error| error.to_string(), |keys| format!("{keys:?}"));
    prop_assert!(!text.contains(example) || !shown.contains(example), "a secret is shown: {shown}");
    Ok(is_valid)
}

/// A base sends the key to Stripe or to this machine, and every call to the call's own path.
#[expect(clippy::disallowed_methods, reason = "a request that we send, not one that a URL parser has changed")]
fn base(text: &str) -> Outcome {
    let Ok(base) = ApiBase::parse(text) else { return Ok(false) };
    let (id, key) = (ObjectId::parse("cs_1").unwrap(), SecretKey::parse("sk_test_1").unwrap());
    let request = Session::retrieve(&id).request(&base, &key);
    let uri = request.map_err(|error| TestCaseError::fail(format!("no URL: {error}")))?.uri().clone();
    let host = uri.host().unwrap_or_default();
    let is_here = host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|a: IpAddr| a.is_loopback());
    prop_assert!(host == "api.stripe.com" || is_here, "the key goes to {uri}");
    prop_assert!(!uri.authority().is_some_and(|authority| authority.as_str().contains('@')), "calls go to {uri}");
    prop_assert_eq!(uri.path(), "/v1/checkout/sessions/cs_1");
    Ok(true)
}

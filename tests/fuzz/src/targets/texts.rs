//! Ids, codes, names, paths, amounts and keys: what a parser accepts, it accepts again as it prints it.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use shared::config::PaymentKeys;
use shared::http::cookie;
use shared::model::{
    CategoryPath, ChatId, ChatName, CodeText, InternalId, ItemId, Money, Percent, PlayerName, Rate, Slug, UserId,
    UserName,
};
use shared::token::TokenKeys;
use std::net::IpAddr;
use stripe::{ApiBase, IdempotencyKey, ObjectId, SecretKey, Session, WebhookSecret};

/// The parsers of short texts.
#[derive(Debug)]
pub struct Texts;

/// A kind of text, with an example.
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
    ("cookie", "a=1; token=a.b.c; b=\"2\""),
];

impl Target for Texts {
    const NAME: &'static str = "texts";
    type Input = (&'static str, String, u8);

    fn start() -> Result<Self, FuzzError> {
        Ok(Self)
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let (kind, example) = *random.pick(KINDS);
        let digits = random.byte() % 5;
        (kind, mutate::text(random, example), digits)
    }

    fn check(&mut self, (kind, text, digits): &Self::Input) -> Result<Outcome, String> {
        match *kind {
            "id" => id(text),
            "code" => again(CodeText::parse(text), |code| code.as_str().to_owned(), CodeText::parse),
            "player" => player(text),
            // A few letters become two when they are lower-cased, and the longest name then a longer one.
            "user" if text.to_lowercase().chars().count() > UserName::LONGEST => {
                Ok(Outcome::of(&UserName::parse(text)))
            }
            "user" => again(UserName::parse(text), UserName::to_string, UserName::parse),
            "chat id" => same(ChatId::parse(text), |id| id.as_str().to_owned(), text),
            "chat name" => again(ChatName::parse(text), |name| name.as_str().to_owned(), ChatName::parse),
            "slug" => slug(text),
            "amount" => amount(text, *digits),
            "percent" => again(Percent::parse(text), |p| decimal(p.hundredths().into(), 2), Percent::parse),
            "rate" => again(Rate::parse(text), |rate| decimal(rate.millionths(), 6), Rate::parse),
            "object" => same(ObjectId::parse(text), ObjectId::to_string, text),
            "order id" => same(Ok::<_, ()>(InternalId::new(text)), InternalId::to_string, text),
            "token keys" => Ok(secret(TokenKeys::parse(text), text)?),
            "payment keys" => Ok(secret(PaymentKeys::parse(text), text)?),
            "base" => base(text),
            "cookie" => Ok(cookies(text)),
            _ => {
                let keys = [
                    Outcome::of(&IdempotencyKey::parse(text)),
                    Outcome::of(&SecretKey::parse(text)),
                    Outcome::of(&WebhookSecret::parse(text)),
                ];
                Ok(keys[0])
            }
        }
    }
}

/// A parsed value prints as a text that parses to the same value.
fn again<T: PartialEq, E>(
    parsed: Result<T, E>,
    print: impl Fn(&T) -> String,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Outcome, String> {
    let Ok(value) = parsed else { return Ok(Outcome::Refused) };
    let printed = print(&value);
    rule(parse(&printed).is_ok_and(|again| again == value), || format!("{printed:?} does not parse to the same"))?;
    Ok(Outcome::Accepted)
}

/// A parsed value prints as it was written.
fn same<T, E>(parsed: Result<T, E>, print: impl Fn(&T) -> String, text: &str) -> Result<Outcome, String> {
    let Ok(value) = parsed else { return Ok(Outcome::Refused) };
    rule(print(&value) == text, || format!("it prints as {:?}", print(&value)))?;
    Ok(Outcome::Accepted)
}

fn id(text: &str) -> Result<Outcome, String> {
    let (user, item) = (text.parse::<UserId>(), text.parse::<ItemId>());
    rule(user.is_ok() == item.is_ok(), || "two kinds of id differ".to_owned())?;
    rule(user.is_ok_and(|id| id.get() < 1 << 53) == user.is_ok(), || "not exact as a JSON number".to_owned())?;
    same(user, UserId::to_string, text)
}

fn player(text: &str) -> Result<Outcome, String> {
    let Ok(name) = PlayerName::parse(text) else { return Ok(Outcome::Refused) };
    let looks_like_one_name = text.is_ascii() && text.len() <= 50 && !text.contains(char::is_whitespace);
    rule(looks_like_one_name, || "a name that another could look like".to_owned())?;
    for other in [text.to_ascii_uppercase(), text.to_ascii_lowercase()] {
        // B and P are prefixes in upper case only.
        if let Ok(other) = PlayerName::parse(&other) {
            rule(other.key() == name.key(), || format!("{other} is another player"))?;
        }
    }
    same(Ok::<_, ()>(name), |name| name.as_str().to_owned(), text)
}

fn slug(text: &str) -> Result<Outcome, String> {
    let outcome = again(Slug::parse(text), |slug| slug.as_str().to_owned(), Slug::parse)?;
    match CategoryPath::parse(text) {
        Ok(CategoryPath::Slug(slug)) => {
            let segments: Vec<&str> = slug.as_str().split('/').skip(1).collect();
            let is_plain = segments.iter().all(|segment| !["", ".", ".."].contains(segment));
            rule(is_plain && slug.as_str().starts_with('/'), || format!("{slug} is not a path"))?;
            Ok(Outcome::Accepted)
        }
        Ok(CategoryPath::Id(id)) => {
            rule(Slug::parse(text).is_err(), || format!("both an id and a path: {id}"))?;
            Ok(Outcome::Accepted)
        }
        Err(_) => {
            rule(outcome == Outcome::Refused, || "a path that no caller can send".to_owned())?;
            Ok(Outcome::Refused)
        }
    }
}

fn amount(text: &str, digits: u8) -> Result<Outcome, String> {
    let parsed = Money::parse(text, digits);
    if let Ok(money) = parsed {
        rule((Money::ZERO..=Money::LARGEST).contains(&money), || format!("{money:?} is not an amount"))?;
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
fn secret<T: std::fmt::Debug, E: std::fmt::Display>(parsed: Result<T, E>, text: &str) -> Result<Outcome, String> {
    let outcome = Outcome::of(&parsed);
    let shown = parsed.map_or_else(|error| error.to_string(), |keys| format!("{keys:?}"));
    let example = "0123456789";
    rule(!text.contains(example) || !shown.contains(example), || format!("a secret is shown: {shown}"))?;
    Ok(outcome)
}

/// A base sends the key to Stripe or to this machine, and every call to the call's own path.
#[expect(clippy::disallowed_methods, reason = "a request that we send, not one that a URL parser has changed")]
fn base(text: &str) -> Result<Outcome, String> {
    let Ok(base) = ApiBase::parse(text) else { return Ok(Outcome::Refused) };
    let parsed = (ObjectId::parse("cs_1"), SecretKey::parse("sk_test_1"));
    let (Ok(id), Ok(key)) = parsed else { return Err("no example".to_owned()) };
    let request = Session::retrieve(&id).request(&base, &key).map_err(|error| format!("no URL: {error}"))?;
    let uri = request.uri();
    let host = uri.host().unwrap_or_default();
    let is_here = host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|a: IpAddr| a.is_loopback());
    rule(host == "api.stripe.com" || is_here, || format!("the key goes to {uri}"))?;
    let is_own = !uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    rule(is_own && uri.path() == "/v1/checkout/sessions/cs_1", || format!("calls go to {uri}"))?;
    Ok(Outcome::Accepted)
}

fn cookies(text: &str) -> Outcome {
    let mut headers = http::HeaderMap::new();
    let Ok(value) = http::HeaderValue::from_str(text) else { return Outcome::Refused };
    headers.append(http::header::COOKIE, value);
    if cookie::value(&headers, "token").is_some() { Outcome::Accepted } else { Outcome::Refused }
}

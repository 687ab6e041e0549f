//! Mutations of bytes, texts and JSON values.

use crate::random::Random;
use serde_json::{Map, Number, Value};

/// Texts that have broken parsers before.
pub const TOKENS: &[&str] = &[
    "",
    " ",
    "\t",
    "\r\n",
    "\0",
    "0",
    "-0",
    "-1",
    "1",
    "00",
    "1e400",
    "1e-400",
    "0.1",
    "9007199254740991",
    "9007199254740993",
    "18446744073709551616",
    "99999999999999999999999999",
    "NaN",
    "null",
    "undefined",
    "true",
    "{}",
    "[]",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "\u{130}",
    "\u{131}",
    "\u{df}",
    "\u{1e9e}",
    "\u{212a}",
    "\u{3a3}",
    "\u{3c2}",
    "e\u{301}",
    "\u{ff11}",
    "\u{ff21}",
    "\u{661}",
    "\u{10ffff}",
    "💎",
    "%00",
    "%2e%2e",
    "%2F",
    "%25",
    "%",
    "../",
    "..",
    ".",
    "/",
    "//",
    "\\..\\",
    "?",
    "#",
    "&",
    ";",
    ",",
    "=",
    ":",
    "<script>",
    "</script>",
    "<!--",
    "${jndi:x}",
    "{{7*7}}",
    "' OR 1=1--",
    "USER#1",
    "CART#1",
    "ORDER#1",
    "RATE#1",
    "#",
    "Bearer ",
    "bearer",
    "none",
    "HS256",
    "application/json",
    "whsec_",
    "t=",
    "v1=",
    "::1",
    "::ffff:1.2.3.4",
    "127.0.0.1",
    "[",
    "]",
    "{",
    "}",
    "*",
    "W/",
    "\"\"",
    "- ",
    "---\n",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    ">\n",
    "# ",
    "~",
    "0x10",
    "0o17",
    "1_000",
    "2026-06-15",
    "on",
    "yes",
];

/// Keys that requests and responses have, and some that could reach an object's prototype.
const KEYS: &[&str] = &[
    "id",
    "url",
    "coupon",
    "ref_code",
    "order_id",
    "username",
    "count",
    "price",
    "value",
    "server_id",
    "variables",
    "S",
    "N",
    "M",
    "L",
    "pk",
    "sk",
    "headers",
    "body",
    "__proto__",
    "constructor",
    "",
    "a.b",
    "\u{0}",
    "isBase64Encoded",
];

/// Changes some bytes.
pub fn bytes(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut changed = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(changed.len() + 1);
        let end = (at + random.below(16)).min(changed.len());
        match random.below(8) {
            0 if at < changed.len() => changed[at] ^= 1 << random.below(8),
            1 if at < changed.len() => changed[at] = random.byte(),
            2 => changed.insert(at, random.byte()),
            3 => drop(changed.drain(at..end)),
            4 => {
                let part = changed[at..end].to_vec();
                changed.splice(at..at, part);
            }
            5 => changed.truncate(at),
            6 => drop(changed.splice(at..at, random.pick(TOKENS).bytes())),
            _ => drop(changed.splice(at..end, random.pick(TOKENS).bytes())),
        }
    }
    changed
}

/// Changes some characters.
pub fn text(random: &mut Random, seed: &str) -> String {
    let mut changed: Vec<char> = seed.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(changed.len() + 1);
        let end = (at + random.below(12)).min(changed.len());
        match random.below(10) {
            0 if at < changed.len() => changed[at] = any_char(random),
            1 if at < changed.len() => changed[at] = any_ascii(random),
            2 => changed.insert(at, any_char(random)),
            3 => drop(changed.drain(at..end)),
            4 => {
                let part = changed[at..end].to_vec();
                changed.splice(at..at, part);
            }
            5 => changed.truncate(at),
            6 => changed = other_case(random, &changed),
            7 if random.one_in(8) => changed = repeated(random, &changed),
            8 => drop(changed.splice(at..end, random.pick(TOKENS).chars())),
            _ => drop(changed.splice(at..at, random.pick(TOKENS).chars())),
        }
    }
    changed.into_iter().collect()
}

fn any_char(random: &mut Random) -> char {
    let limit = *random.pick(&[0x80, 0x100, 0x2100, 0x11_0000]);
    u32::try_from(random.below(limit)).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
}

fn any_ascii(random: &mut Random) -> char {
    char::from(b' ' + u8::try_from(random.below(95)).unwrap_or_default())
}

fn other_case(random: &mut Random, text: &[char]) -> Vec<char> {
    let text: String = text.iter().collect();
    if random.one_in(2) { text.to_uppercase().chars().collect() } else { text.to_lowercase().chars().collect() }
}

/// The text once more and once more, up to a little over the longest text that is accepted anywhere.
fn repeated(random: &mut Random, text: &[char]) -> Vec<char> {
    let length = *random.pick(&[24, 25, 40, 41, 64, 65, 100, 255, 256, 1_024, 4_096, 4_097]);
    text.iter().copied().cycle().take(if text.is_empty() { 0 } else { length }).collect()
}

/// Changes a value somewhere.
pub fn json(random: &mut Random, value: &mut Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !random.one_in(6) => {
            let at = random.below(fields.len());
            let Some(key) = fields.keys().nth(at).cloned() else { return };
            match random.below(12) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert((*random.pick(KEYS)).to_owned(), any_value(random, 2))),
                2 => {
                    let moved = fields.remove(&key).unwrap_or_default();
                    fields.insert(text(random, &key), moved);
                }
                _ => {
                    if let Some(inner) = fields.get_mut(&key) {
                        json(random, inner);
                    }
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() && !random.one_in(6) => {
            let at = random.below(elements.len());
            match random.below(6) {
                0 => drop(elements.remove(at)),
                1 => elements.insert(at, any_value(random, 2)),
                2 => elements.push(elements[at].clone()),
                _ => json(random, &mut elements[at]),
            }
        }
        Value::String(old) if !random.one_in(5) => *old = text(random, old),
        Value::Number(old) if random.one_in(2) => *old = any_number(random),
        other => *other = any_value(random, 3),
    }
}

/// The text of a value that was changed in some places. Sometimes a field is there twice, or the text is no JSON.
pub fn json_text(random: &mut Random, seed: &Value) -> String {
    let mut value = seed.clone();
    for _ in 0..random.below(4) {
        json(random, &mut value);
    }
    let text = value.to_string();
    match random.below(10) {
        0 => String::from_utf8_lossy(&bytes(random, text.as_bytes())).into_owned(),
        1 if text.starts_with('{') && text.len() > 2 => {
            let key = value.as_object().and_then(|fields| fields.keys().next()).cloned().unwrap_or_default();
            format!("{{{}:{},{}", Value::from(key), any_value(random, 2), &text[1..])
        }
        _ => text,
    }
}

fn any_number(random: &mut Random) -> Number {
    let whole = [0, 1, -1, 2, 7, 1_000, 1_001, i64::from(u32::MAX), 1 << 53, i64::MAX, i64::MIN];
    match random.below(4) {
        0 => Number::from(random.next()),
        1 => Number::from_f64(*random.pick(&[0.5, -0.0, 1e308, 5e-324, 0.1, 1e21])).unwrap_or_else(|| 0.into()),
        _ => Number::from(*random.pick(&whole)),
    }
}

/// Any value, with at most `depth` levels in it.
pub fn any_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::Number(any_number(random)),
        3 => Value::String((*random.pick(TOKENS)).to_owned()),
        4 => Value::String(text(random, "Thornwick")),
        5 => (0..random.below(4)).map(|_| any_value(random, depth - 1)).collect(),
        _ => {
            let mut fields = Map::new();
            for _ in 0..random.below(4) {
                fields.insert((*random.pick(KEYS)).to_owned(), any_value(random, depth - 1));
            }
            Value::Object(fields)
        }
    }
}

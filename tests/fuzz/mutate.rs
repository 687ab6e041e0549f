//! Mutations of texts, bytes and JSON values.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Texts that have broken parsers before, apart by spaces.
const WORDS: &str = "0 -0 -1 1 00 1e400 1e-400 0.1 9007199254740991 9007199254740993 18446744073709551616 \
    99999999999999999999999999 NaN null undefined true {} [] \" ' \\ \\u0000 \\ud800 💎 %00 %2e%2e %2F %25 % ../ .. . / // \
    \\..\\ ? # & ; , = : <script> </script> <!-- ${jndi:x} {{7*7}} USER#1 CART#1 ORDER#1 RATE#1 bearer none HS256 \
    application/json whsec_ t= v1= ::1 ::ffff:1.2.3.4 127.0.0.1 [ ] { } * W/ \"\" *a ~ 0x10 0o17 1_000 2026-06-15 on yes";
/// And those that contain spaces or cannot be seen, apart by bars.
const OTHERS: &str = "¦ ¦\t¦\r\n¦\0¦\u{feff}¦\u{200b}¦\u{202e}¦\u{130}¦\u{131}¦\u{df}¦\u{1e9e}¦\u{212a}¦\u{3a3}¦\u{3c2}¦e\u{301}\
    ¦\u{ff11}¦\u{ff21}¦\u{661}¦\u{10ffff}¦Bearer ¦- ¦---\n¦&a ¦|\n¦' OR 1=1--¦!!str ";
/// Keys that requests and responses have, and some that could reach an object's prototype.
const KEYS: &str = "id url coupon ref_code order_id username count price value server_id variables S N M L pk sk headers \
    body __proto__ constructor a.b isBase64Encoded";
/// Lengths around those of the longest texts that are accepted anywhere.
const LENGTHS: [usize; 12] = [24, 25, 40, 41, 64, 65, 100, 255, 256, 1_024, 4_096, 4_097];

/// A change at some place of a text.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Other text in the place of so many letters.
    Replace(usize, String),
    Byte(u8),
    Double(usize),
    End,
    Upper,
    Lower,
    /// The text once more and once more, up to a length.
    Repeat(usize),
}

/// Changes of a text; none in the simplest case.
pub type Edits = Vec<(Index, Edit)>;

/// A text that has broken parsers before.
pub fn token() -> impl Strategy<Value = String> {
    select(WORDS.split(' ').chain(OTHERS.split('¦')).map(str::to_owned).collect::<Vec<_>>())
}

fn edit() -> impl Strategy<Value = Edit> {
    let piece = prop_oneof![token(), any::<char>().prop_map(String::from), "[ -~]", Just(String::new())];
    prop_oneof![
        6 => (prop_oneof![Just(0), Just(1), 0..16_usize], piece).prop_map(|(length, text)| Edit::Replace(length, text)),
        1 => any::<u8>().prop_map(Edit::Byte),
        1 => (1..16_usize).prop_map(Edit::Double),
        1 => Just(Edit::End),
        1 => prop_oneof![Just(Edit::Upper), Just(Edit::Lower), select(&LENGTHS[..]).prop_map(Edit::Repeat)],
    ]
}

/// Up to three changes of a text.
pub fn edits() -> impl Strategy<Value = Edits> {
    vec((any::<Index>(), edit()), 0..4)
}

/// Changes in one of three cases.
pub fn rarely() -> impl Strategy<Value = Edits> {
    prop_oneof![2 => Just(Vec::new()), 1 => edits()]
}

fn apply<T: Clone>(units: &mut Vec<T>, at: Index, edit: &Edit, of: impl Fn(&str) -> Vec<T>, byte: impl Fn(u8) -> T) {
    let at = at.index(units.len() + 1);
    let end = |length: usize| (at + length).min(units.len());
    match edit {
        Edit::Replace(length, text) => drop(units.splice(at..end(*length), of(text))),
        Edit::Byte(new) => drop(units.splice(at..end(1), [byte(*new)])),
        Edit::Double(length) => drop(units.splice(at..at, units[at..end(*length)].to_vec())),
        Edit::End => units.truncate(at),
        Edit::Repeat(length) if !units.is_empty() => *units = units.iter().cloned().cycle().take(*length).collect(),
        Edit::Upper | Edit::Lower | Edit::Repeat(_) => {}
    }
}

/// The text with its changes.
pub fn text(seed: &str, edits: &Edits) -> String {
    let mut text = seed.to_owned();
    for (at, edit) in edits {
        text = match edit {
            Edit::Upper => text.to_uppercase(),
            Edit::Lower => text.to_lowercase(),
            _ => {
                let mut letters = text.chars().collect();
                apply(&mut letters, *at, edit, |text| text.chars().collect(), char::from);
                letters.into_iter().collect()
            }
        };
    }
    text
}

/// The bytes with their changes.
pub fn bytes(seed: &[u8], edits: &Edits) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (at, edit) in edits {
        apply(&mut bytes, *at, edit, |text| text.as_bytes().to_vec(), |byte| byte);
    }
    bytes
}

fn key() -> impl Strategy<Value = String> {
    select(KEYS.split(' ').chain(["", "\0"]).map(str::to_owned).collect::<Vec<_>>())
}

/// Any value of a few levels.
pub fn value() -> impl Strategy<Value = Value> {
    let whole = [0, 1, -1, 2, 7, 1_000, 1_001, i64::from(u32::MAX), 1 << 53, i64::MAX, i64::MIN];
    let numbers = ["0.5", "-0.0", "1e308", "5e-324", "0.1", "1e21"].map(|text| text.parse::<Value>().unwrap());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        select(whole.map(Value::from).to_vec()),
        select(numbers.to_vec()),
        token().prop_map(Value::from),
        edits().prop_map(|edits| json!(text("Thornwick", &edits))),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let fields = vec((key(), inner.clone()), 0..4).prop_map(Map::from_iter);
        prop_oneof![vec(inner, 0..4).prop_map(Value::from), fields.prop_map(Value::from)]
    })
}

/// A change at some place of a value.
#[derive(Debug, Clone)]
pub enum Change {
    Text(Edits),
    Put(Value),
    Remove(Index),
    Insert(String, Value),
    Rename(Index, Edits),
    Double(Index),
}

/// Up to three changes of a value.
pub type Changes = Vec<(Index, Change)>;

pub fn changes() -> impl Strategy<Value = Changes> {
    let change = prop_oneof![
        4 => edits().prop_map(Change::Text),
        3 => value().prop_map(Change::Put),
        1 => any::<Index>().prop_map(Change::Remove),
        1 => (key(), value()).prop_map(|(key, value)| Change::Insert(key, value)),
        1 => (any::<Index>(), edits()).prop_map(|(at, edits)| Change::Rename(at, edits)),
        1 => any::<Index>().prop_map(Change::Double),
    ];
    vec((any::<Index>(), change), 0..4)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn nth<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(elements) => elements.iter_mut().find_map(|element| nth(element, place)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, place)),
        _ => None,
    }
}

/// Changes values somewhere.
pub fn json(value: &mut Value, changes: &Changes) {
    for (at, change) in changes {
        let mut place = at.index(count(value));
        let Some(node) = nth(value, &mut place) else { continue };
        match (node, change) {
            (Value::String(old), Change::Text(edits)) => *old = text(old, edits),
            (Value::Object(fields), Change::Insert(key, value)) => drop(fields.insert(key.clone(), value.clone())),
            (Value::Object(fields), Change::Remove(at) | Change::Rename(at, _)) if !fields.is_empty() => {
                let key = fields.keys().nth(at.index(fields.len())).cloned().unwrap_or_default();
                let old = fields.remove(&key).unwrap_or_default();
                if let Change::Rename(_, edits) = change {
                    fields.insert(text(&key, edits), old);
                }
            }
            (Value::Array(elements), Change::Remove(at)) if !elements.is_empty() => {
                elements.remove(at.index(elements.len()));
            }
            (Value::Array(elements), Change::Double(at)) if !elements.is_empty() => {
                elements.push(elements[at.index(elements.len())].clone());
            }
            (Value::Array(elements), Change::Insert(_, value)) => elements.insert(0, value.clone()),
            (node, Change::Put(new)) => *node = new.clone(),
            _ => {}
        }
    }
}

/// The text of a value that was changed in some places. Sometimes a field is there twice, or the text is no JSON.
pub fn json_text(seed: impl Strategy<Value = Value>) -> impl Strategy<Value = String> {
    (seed, changes(), 0..10_u8, edits(), value()).prop_map(|(mut seed, changes, way, edits, other)| {
        json(&mut seed, &changes);
        let changed = seed.to_string();
        match (way, seed.as_object().and_then(|fields| fields.keys().next())) {
            (9, _) => String::from_utf8_lossy(&bytes(changed.as_bytes(), &edits)).into_owned(),
            (8, Some(key)) => format!("{{{}:{other},{}", json!(key), &changed[1..]),
            _ => changed,
        }
    })
}

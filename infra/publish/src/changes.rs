//! What a publish changes, by name.

use crate::compile::Compiled;
use crate::files::Decimal;
use serde::Serialize;
use serde_json::Value;
use shared::model::{CategoryShelf, Money};
use std::collections::BTreeMap;

/// Fields that are amounts of money, in minor units.
const AMOUNTS: [&str; 4] = ["price", "discount", "min_price", "virtual_price"];

/// What differs between two stores. Names say what kind of thing it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    /// What the second has and the first has not.
    pub added: Vec<String>,
    /// What both have and differs, with the fields that differ.
    pub changed: Vec<String>,
    /// What the first has and the second has not.
    pub removed: Vec<String>,
}

impl Changes {
    /// Whether nothing differs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Compares what is published (nothing before the first publish) with what is about to be.
#[must_use]
pub fn changes(before: Option<&Compiled>, after: &Compiled) -> Changes {
    let mut changes = Changes::default();
    let (old, new) = (before.map(things).unwrap_or_default(), things(after));
    for (key, (name, value)) in &new {
        match old.get(key) {
            None => changes.added.push(name.clone()),
            Some((_, same)) if same == value => {}
            Some((_, other)) => {
                let fields = fields(other, value, after.config.digits);
                changes.changed.push(format!("{name}: {}", fields.join(", ")));
            }
        }
    }
    let gone = old.iter().filter(|(key, _)| !new.contains_key(*key));
    changes.removed.extend(gone.map(|(_, (name, _))| name.clone()));
    changes
}

/// Sorted by kind, then by id or name.
type Things = BTreeMap<(u8, u64, String), (String, Value)>;

fn things(store: &Compiled) -> Things {
    let mut things = Things::new();
    let mut put = |kind: u8, id: u64, text: &str, name: String, value: Option<Value>| {
        things.insert((kind, id, text.to_owned()), (name, value.unwrap_or_default()));
    };
    put(0, 0, "", "configuration".to_owned(), serde_json::to_value(&store.config).ok());
    put(0, 1, "", "settings".to_owned(), serde_json::to_value(&store.settings).ok());
    put(0, 2, "", "patrons".to_owned(), serde_json::to_value(&store.patronage).ok());
    for (group, members) in &store.staff.0 {
        put(1, 0, group, format!("staff group {group}"), serde_json::to_value(members).ok().map(whole));
    }
    for page in &store.pages {
        put(2, page.id, "", format!("page {} {}", page.id, page.url), serde_json::to_value(page).ok());
    }
    let mut place = 0_u64;
    for top in &store.categories {
        let mut shelves = vec![&top.shelf];
        shelves.extend(&top.subcategories);
        for shelf in shelves {
            place += 1;
            let head = &shelf.head;
            put(3, head.id.get(), "", format!("category {} {}", head.id, head.name), category(shelf, place));
        }
    }
    for entry in &store.items {
        let item = &entry.item;
        let value = serde_json::to_value(item).ok().map(|value| with(value, "category", entry.category.get().into()));
        put(4, item.id.get(), "", format!("item {} {}", item.id, item.name), value);
    }
    things
}

/// A category without its items, which are compared by themselves; their order stays.
fn category(shelf: &CategoryShelf, place: u64) -> Option<Value> {
    let mut value = serde_json::to_value(&shelf.head).ok()?;
    value = with(value, "comparison", serde_json::to_value(&shelf.comparison).ok()?);
    value = with(value, "cumulative", shelf.cumulative.into());
    value = with(value, "order of items", shelf.items.iter().map(|item| item.id.get()).collect());
    Some(with(value, "place", place.into()))
}

/// A value as a record of one field.
fn whole(value: Value) -> Value {
    with(Value::Object(serde_json::Map::new()), "members", value)
}

fn with(mut record: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = record.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    record
}

/// The fields in which two records differ; of simple ones what they were and are.
fn fields(before: &Value, after: &Value, digits: u8) -> Vec<String> {
    let empty = serde_json::Map::new();
    let (old, new) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let differing = names.filter(|name| old.get(*name) != new.get(*name));
    let mut told: Vec<String> = differing.map(|name| told(name, old.get(name), new.get(name), digits)).collect();
    told.sort();
    told
}

fn told(name: &str, before: Option<&Value>, after: Option<&Value>, digits: u8) -> String {
    let amount = |minor: i64| Decimal::from_money(Money::from_minor(minor), digits).0.value;
    let short = |value: Option<&Value>| match value {
        None | Some(Value::Null) => Some("none".to_owned()),
        Some(Value::Number(number)) if AMOUNTS.contains(&name) => number.as_i64().map(amount),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(switch)) => Some(switch.to_string()),
        Some(Value::String(text)) if text.chars().count() <= 40 => Some(text.clone()),
        Some(_) => None,
    };
    match (short(before), short(after)) {
        (Some(before), Some(after)) => format!("{name} {before} → {after}"),
        _ => name.to_owned(),
    }
}

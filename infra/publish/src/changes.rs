//! The changes that a publish makes.

use crate::compile::Compiled;
use crate::duration;
use crate::lower::shown_rate;
use serde::Serialize;
use serde_json::Value;
use shared::model::{
    CategoryWithItems, CommandEvent, CommandTemplate, Item, Money, Plan, PublishedItem, Rate, StoreConfig,
    StoreDelivery,
};
use shared::money::{CurrencyFormat, date_and_time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Fields that are amounts of the store's currency, in minor units.
const AMOUNTS: [&str; 5] = ["price", "discount", "min_price", "goal_amount", "thresholds"];
/// An amount of virtual currency, in minor units.
const VIRTUAL_AMOUNT: &str = "virtual_price";
/// Fields that hold currencies with their rates, in millionths.
const CURRENCIES: [&str; 2] = ["currencies", "system_currency"];
/// Fields that tell the entries of a list apart.
const NAMES: [&str; 6] = ["id", "comparison_id", "code", "name", "username", "url"];
/// The beginning of the fields that are commands, which are shown whole.
const COMMANDS: &str = "commands.";
/// The longest value that is shown of other fields, in characters; of longer ones only the field is named.
const LONGEST_SHOWN: usize = 40;

/// The differences between two stores. Each entry is printed as one line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    /// Only in the second store.
    pub added: Vec<Thing>,
    pub changed: Vec<ChangedThing>,
    /// Only in the first store.
    pub removed: Vec<Thing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thing {
    /// `item`, `category`, `page`, `staff group`, `configuration`, `settings` or `patrons`.
    pub kind: &'static str,
    /// Its id, if its kind has ids.
    pub id: Option<u64>,
    /// Its name, if its kind has names; a page's url.
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedThing {
    #[serde(flatten)]
    pub thing: Thing,
    pub fields: Vec<ChangedField>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedField {
    pub field: String,
    /// The value before; amounts are in the currency's units with its digits. `None` for lists and long texts that are not
    /// commands.
    pub before: Option<String>,
    /// The value after, written as `before`.
    pub after: Option<String>,
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if let Some(id) = self.id {
            write!(f, " {id}")?;
        }
        self.name.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

impl fmt::Display for ChangedThing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.thing)?;
        self.fields.iter().enumerate().try_for_each(|(place, field)| {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {field}")
        })
    }
}

impl fmt::Display for ChangedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, "{} {before} → {after}", self.field),
            _ => f.write_str(&self.field),
        }
    }
}

impl Changes {
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Every key of two maps in order, with what each map has under it.
pub(crate) fn paired<K: Ord, V>(before: BTreeMap<K, V>, after: BTreeMap<K, V>) -> BTreeMap<K, (Option<V>, Option<V>)> {
    let mut pairs: BTreeMap<_, _> = before.into_iter().map(|(key, was)| (key, (Some(was), None))).collect();
    for (key, is) in after {
        pairs.entry(key).or_default().1 = Some(is);
    }
    pairs
}

/// Compares what is published (nothing before the first publish) with what is about to be.
pub(crate) fn changes(before: Option<&Compiled>, after: &Compiled) -> Changes {
    let mut changes = Changes::default();
    // Amounts name their currency only if it changes.
    let code = |store: &Compiled| store.settings.system_currency.name.clone();
    let named = before.is_some_and(|before| code(before) != code(after));
    let read =
        |store: &Compiled| things(store, &Units { digits: store.config.digits, code: named.then(|| code(store)) });
    for pair in paired(before.map(read).unwrap_or_default(), read(after)).into_values() {
        match pair {
            (Some((_, was)), Some((thing, is))) => {
                let fields = differing(was, is);
                if !fields.is_empty() {
                    changes.changed.push(ChangedThing { thing, fields });
                }
            }
            (Some((thing, _)), None) => changes.removed.push(thing),
            (None, Some((thing, _))) => changes.added.push(thing),
            (None, None) => {}
        }
    }
    changes
}

struct Units {
    digits: u8,
    code: Option<String>,
}

impl Units {
    fn amount(&self, minor: i64) -> String {
        let amount = self.plain_amount(minor);
        self.code.as_ref().map_or_else(|| amount.clone(), |code| format!("{amount} {code}"))
    }

    fn plain_amount(&self, minor: i64) -> String {
        CurrencyFormat::new(self.digits).money(Money::from_minor(minor)).to_string()
    }

    /// A number as people read it, by the field that it is in.
    fn number(&self, path: &str, number: i64) -> String {
        let mut parts = path.split('.');
        let (first, last) = (parts.next().unwrap_or_default(), parts.next_back());
        let field = last.unwrap_or(first);
        match field {
            // Nothing is the same in every currency.
            _ if number == 0 => number.to_string(),
            _ if AMOUNTS.contains(&field) => self.amount(number),
            VIRTUAL_AMOUNT => self.plain_amount(number),
            "percentage" | "discount_percentage" => format!("{} %", text_of_hundredths(number)),
            "from" | "until" => date_and_time(number),
            "value" if CURRENCIES.contains(&first) => shown_rate(Rate::from_millionths(number)),
            _ => number.to_string(),
        }
    }
}

/// A percentage as its owner writes it: 12.5.
fn text_of_hundredths(number: i64) -> String {
    let text = CurrencyFormat::new(2).money(Money::from_minor(number)).to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A value within a thing, and whether it is short enough to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leaf {
    text: String,
    is_shown: bool,
}

/// Values by their path. What is empty or null has no entry.
type Fields = BTreeMap<String, Leaf>;
/// Sorted by kind, then by id or name.
type Things = BTreeMap<(u8, u64, String), (Thing, Fields)>;

fn things(store: &Compiled, units: &Units) -> Things {
    let mut things = Things::new();
    let mut put = |place: u8, kind: &'static str, id: Option<u64>, name: Option<&str>, value: Option<Value>| {
        // Names tell staff groups apart; everything else has an id, or is there once.
        let text = if id.is_none() { name.unwrap_or_default() } else { "" };
        let thing = Thing { kind, id, name: name.map(str::to_owned) };
        let mut fields = Fields::new();
        flatten("", &value.unwrap_or_default(), units, &mut fields);
        things.insert((place, id.unwrap_or_default(), text.to_owned()), (thing, fields));
    };
    put(0, "configuration", None, None, configuration(&store.config));
    put(1, "settings", None, None, serde_json::to_value(&store.settings).ok());
    put(2, "patrons", None, None, serde_json::to_value(&store.patronage).ok());
    for (group, members) in &store.staff.0 {
        let members = serde_json::to_value(members)
            .ok()
            .map(|members| with(Value::Object(serde_json::Map::new()), "members", members));
        put(3, "staff group", None, Some(group), members);
    }
    for page in &store.pages {
        put(4, "page", Some(page.id), Some(&page.url), serde_json::to_value(page).ok());
    }
    let mut place = 0_u64;
    for top in &store.categories {
        for shelf in top.shelves() {
            place += 1;
            let head = &shelf.head;
            put(5, "category", Some(head.id.get()), Some(&head.name), category(shelf, place));
        }
    }
    for entry in &store.items {
        let item = &entry.item;
        put(6, "item", Some(item.id.get()), Some(&item.name), self::item(entry));
    }
    things
}

/// A category without its items, which are compared by themselves; their order stays.
fn category(shelf: &CategoryWithItems, place: u64) -> Option<Value> {
    let mut value = serde_json::to_value(&shelf.head).ok()?;
    value = with(value, "comparison", serde_json::to_value(&shelf.comparison).ok()?);
    value = with(value, "cumulative", shelf.cumulative.into());
    value = with(value, "order of items", shelf.items.iter().map(|item| item.id.get()).collect());
    Some(with(value, "place", place.into()))
}

/// The configuration; its servers and commands are fields of it, as they are in `store.yaml`.
fn configuration(config: &StoreConfig) -> Option<Value> {
    let servers = serde_json::to_value(&config.delivery.servers).ok()?;
    let rest = StoreConfig { delivery: StoreDelivery::default(), ..config.clone() };
    let value = with(serde_json::to_value(rest).ok()?, "servers", servers);
    let value = with(value, "servers with quotes", serde_json::to_value(&config.delivery.quotes).ok()?);
    Some(with(value, "commands", commands(&config.delivery.commands)))
}

fn item(entry: &PublishedItem) -> Option<Value> {
    // As its owner writes it.
    let rest = Item { is_subscription: false, plan: Plan::default(), lowest_prices: Vec::new(), ..entry.item.clone() };
    let value = with(serde_json::to_value(rest).ok()?, "category", entry.category.get().into());
    let plan = entry.item.is_subscription.then_some(entry.item.plan);
    let value = with(value, "subscription", plan.map(every).into());
    let value = with(value, "grace", plan.map(|plan| duration::text(plan.grace)).into());
    let value = with(value, "commands", commands(&entry.delivery.commands));
    let expires_after = entry.delivery.expires_after.map(duration::text);
    Some(with(value, "expires_after", expires_after.into()))
}

/// How often a subscription is paid, such as `every 3 months`.
fn every(plan: Plan) -> String {
    let ending = if plan.every == 1 { "" } else { "s" };
    format!("every {} {}{ending}", plan.every, plan.unit.as_str())
}

/// Commands by their place, each as one text.
fn commands(templates: &[CommandTemplate]) -> Value {
    let entry = |(place, template)| (format!("{place}"), Value::String(command(template)));
    Value::Object((1..).zip(templates).map(entry).collect())
}

fn command(template: &CommandTemplate) -> String {
    let servers: Vec<String> = template.servers.iter().map(ToString::to_string).collect();
    let parts = [
        (template.on != CommandEvent::default()).then(|| format!("on {}", template.on.as_str())),
        template.online.then(|| "online".to_owned()),
        template.once.then(|| "once".to_owned()),
        template.per_unit.then(|| "per unit".to_owned()),
        (template.delay > 0).then(|| format!("after {}", duration::text(template.delay))),
        (!servers.is_empty()).then(|| format!("servers {}", servers.join(" "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { template.run.clone() } else { format!("{} ({})", template.run, parts.join(", ")) }
}

fn with(mut record: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = record.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    record
}

/// Puts every value within `value` under its path.
fn flatten(path: &str, value: &Value, units: &Units, fields: &mut Fields) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let leaf = match value {
        Value::Null => return,
        Value::Object(record) => {
            return record.iter().for_each(|(name, value)| flatten(&inner(name), value, units, fields));
        }
        Value::Array(entries) if entries.is_empty() => return,
        Value::Array(entries) => match names(entries) {
            Some(names) => {
                entries.iter().zip(&names).for_each(|(entry, name)| flatten(&inner(name), entry, units, fields));
                // The order of the entries.
                Leaf { text: names.join(", "), is_shown: false }
            }
            None => list(path, entries, units),
        },
        single => Leaf { text: text(path, single, units), is_shown: true },
    };
    fields.insert(path.to_owned(), leaf);
}

/// The names that tell the entries of a list apart; `None` if some are missing or not unique.
fn names(entries: &[Value]) -> Option<Vec<String>> {
    let name = |entry: &Value| {
        let name = NAMES.iter().find_map(|name| entry.get(name))?;
        Some(name.as_str().map_or_else(|| name.to_string(), str::to_owned))
    };
    let names: Vec<String> = entries.iter().map(name).collect::<Option<_>>()?;
    let unique = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    unique.then_some(names)
}

/// A list of single values, or of records that nothing tells apart. Amounts are shown.
fn list(path: &str, entries: &[Value], units: &Units) -> Leaf {
    let texts: Vec<String> = entries.iter().map(|entry| text(path, entry, units)).collect();
    Leaf { text: texts.join(", "), is_shown: AMOUNTS.contains(&path) }
}

fn text(path: &str, value: &Value, units: &Units) -> String {
    match value {
        Value::Number(number) => {
            number.as_i64().map_or_else(|| number.to_string(), |number| units.number(path, number))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The fields in which two things differ; of short ones what they were and are.
fn differing(before: Fields, after: Fields) -> Vec<ChangedField> {
    let shown = |leaf: Option<Leaf>, is_command: bool| match leaf {
        None => Some("none".to_owned()),
        Some(leaf) if is_command || leaf.is_shown && leaf.text.chars().count() <= LONGEST_SHOWN => Some(leaf.text),
        Some(_) => None,
    };
    let differing = paired(before, after).into_iter().filter(|(_, (was, is))| was != is);
    let field = |(field, (was, is)): (String, _)| {
        let is_command = field.starts_with(COMMANDS);
        // One without the other says nothing.
        let (before, after) = shown(was, is_command).zip(shown(is, is_command)).unzip();
        ChangedField { field, before, after }
    };
    differing.map(field).collect()
}

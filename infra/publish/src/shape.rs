//! The fields of a file against those that its schema knows: every unknown and missing one and every value of another
//! kind at once, while the typed parser stops at the first. Also finds characters that no text of a store can hold, and words that
//! owners know from other shops and that a store's files cannot say yet: the fault says what to do meanwhile.
//!
//! Knows nothing of the format but what the schema says.

use crate::fault::{Problem, nearest};
use crate::files::At;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Part of a YAML file: what is in it is not looked at, but for texts.
#[derive(Debug)]
pub(crate) enum Node {
    /// A text or a number; empty for a decimal.
    Scalar(String),
    /// True or false.
    Flag,
    /// No value.
    Nothing,
    List(Vec<Self>),
    /// Fields with the lines they are in.
    Fields(Vec<(At<String>, Self)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Scalar(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Scalar(number.to_string()))
    }

    #[expect(clippy::disallowed_types, reason = "this is how decimals are handed over; they are not looked at")]
    fn visit_f64<E: Error>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Flag)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = entries.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Fields(fields))
    }
}

impl Node {
    /// Every field that the schema does not know, every one that it needs and that is missing, and every value that is
    /// of another kind, such as a list instead of a price.
    pub(crate) fn misfits(&self, schema: &Value) -> Vec<Problem> {
        let mut found = Vec::new();
        // An empty file is the typed parser's.
        if matches!(self, Self::Nothing) {
            return found;
        }
        Check { root: schema, found: &mut found }.node(self, schema, "", None);
        found
    }

    /// Every text with a control character in it, which neither a page nor a log can show.
    pub(crate) fn unprintable(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        self.find_unprintable("", None, &mut found);
        found
    }

    fn find_unprintable(&self, path: &str, line: Option<u64>, found: &mut Vec<Problem>) {
        match self {
            Self::Scalar(text) => {
                let control = |letter: &char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
                if let Some(letter) = text.chars().find(control) {
                    let problem = format!("must not contain the control character U+{:04X}", u32::from(letter));
                    found.push((line, path.to_owned(), problem));
                }
            }
            Self::Flag | Self::Nothing => {}
            Self::List(entries) => {
                for entry in entries {
                    entry.find_unprintable(&entry.path_in(path), line, found);
                }
            }
            Self::Fields(fields) => {
                for (name, value) in fields {
                    value.find_unprintable(&below(path, name), name.line, found);
                }
            }
        }
    }

    /// The path of an entry of the list at `path`: entries are told apart by id or code.
    fn path_in(&self, path: &str) -> String {
        let Self::Fields(fields) = self else { return path.to_owned() };
        let name = fields.iter().find_map(|(name, value)| match value {
            Self::Scalar(text) if matches!(name.as_str(), "id" | "code") && !text.is_empty() => Some(text),
            _ => None,
        });
        name.map_or_else(|| path.to_owned(), |name| format!("{path}[{name}]"))
    }
}

fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// One walk through a file and its schema.
struct Check<'a> {
    root: &'a Value,
    found: &'a mut Vec<Problem>,
}

impl<'a> Check<'a> {
    fn node(&mut self, node: &Node, schema: &'a Value, path: &str, line: Option<u64>) {
        let schema = self.resolve(schema);
        if let Some(problem) = other_kind(node, schema) {
            self.found.push((line, path.to_owned(), problem));
            return;
        }
        match node {
            Node::Scalar(_) | Node::Flag | Node::Nothing => {}
            Node::List(entries) => {
                let Some(inner) = schema.get("items") else { return };
                for entry in entries {
                    self.node(entry, inner, &entry.path_in(path), line);
                }
            }
            Node::Fields(fields) => self.fields(fields, schema, path, line),
        }
    }

    fn fields(&mut self, fields: &[(At<String>, Node)], schema: &'a Value, path: &str, line: Option<u64>) {
        let properties: BTreeMap<&str, &Value> = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|known| known.iter().map(|(name, schema)| (name.as_str(), schema)).collect())
            .unwrap_or_default();
        let others = schema.get("additionalProperties");
        // Fields that are named by an id: its pattern is that of a whole number.
        let by_id = schema.get("patternProperties").and_then(Value::as_object).and_then(|known| known.values().next());
        let mut before: Option<&str> = None;
        let mut meant = BTreeSet::new();
        for (name, value) in fields {
            let field = below(path, name);
            let by_id = by_id.filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
            let known = properties.get(name.as_str()).copied().or(by_id);
            match known.or_else(|| others.filter(|schema| schema.is_object())) {
                Some(schema) => self.node(value, schema, &field, name.line),
                None if properties.is_empty() && schema.get("patternProperties").is_some() => {
                    self.found.push((name.line, field, "is not an id; write a whole number such as 1".to_owned()));
                }
                None if others == Some(&Value::Bool(false)) => {
                    meant.extend(nearest(name, properties.keys().copied()));
                    let (field, problem) = unknown(name, value, before, path, &properties);
                    self.found.push((name.line, field, problem));
                }
                None => {}
            }
            before = Some(name);
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        // A field that is there under a misspelt name is not missing as well.
        for name in required.filter_map(Value::as_str).filter(|name| !meant.contains(name)) {
            if fields.iter().all(|(known, _)| known.as_str() != name) {
                let line = fields.first().and_then(|(first, _)| first.line).or(line);
                self.found.push((line, below(path, name), "is missing".to_owned()));
            }
        }
    }

    /// The schema that another refers to, or that a value has when it is not left out.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let referred =
            schema.get("$ref").and_then(Value::as_str).and_then(|path| self.root.pointer(path.strip_prefix('#')?));
        let choice = || ["anyOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array()?.first());
        referred.or_else(choice).map_or(schema, |inner| self.resolve(inner))
    }
}

/// The fault of a value that is of another kind than its schema: a list, fields, or a single value.
fn other_kind(node: &Node, schema: &Value) -> Option<String> {
    let kinds: Vec<&str> = match schema.get("type")? {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let expected = match *kinds.first()? {
        "array" => "a list",
        "object" => "fields with values",
        "number" => "one amount such as 9.99",
        "integer" => "a whole number such as 1",
        "boolean" => "true or false",
        _ => "text",
    };
    let found = match node {
        Node::List(_) if kinds.contains(&"array") => return None,
        Node::List(_) => "not a list",
        Node::Fields(_) if kinds.contains(&"object") => return None,
        Node::Fields(fields) => {
            let by_language = of_text(fields.iter().map(|(name, _)| name.as_str()));
            if let Some(problem) = by_language.filter(|_| expected == "text") {
                return Some(problem);
            }
            "not fields in {…}"
        }
        Node::Flag if kinds.contains(&"boolean") => return None,
        Node::Flag if expected == "fields with values" => return Some(no_fields("true or false", schema)),
        Node::Nothing if expected == "fields with values" && !kinds.contains(&"null") => {
            return Some(no_fields("nothing", schema));
        }
        Node::Flag | Node::Nothing => return None,
        Node::Scalar(text) if kinds.contains(&"boolean") && kinds.contains(&"object") => {
            return Some(format!("must be {expected}, or fields with values, not `{text}`"));
        }
        Node::Scalar(text) if kinds.contains(&"integer") && !kinds.contains(&"string") => {
            let is_number = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            return (!is_number).then(|| format!("must be {expected}, not `{text}`"));
        }
        // No value at all is reported by the typed parser.
        Node::Scalar(text) if text.is_empty() || !matches!(expected, "a list" | "fields with values") => return None,
        Node::Scalar(text) if expected == "a list" => return Some(format!("must be a list, such as [{text}]")),
        Node::Scalar(_) => return Some(no_fields("a single value", schema)),
    };
    Some(format!("must be {expected}, {found}"))
}

/// The fault of a value that is `found` in place of fields, which it shows.
fn no_fields(found: &str, schema: &Value) -> String {
    let known = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let example = fields
        .first()
        .map_or_else(String::new, |first| format!(", such as {{{first}: …}}; there are {}", fields.join(", ")));
    format!("must be fields with values, not {found}{example}")
}

/// Field and problem of a field that is not known.
fn unknown(
    name: &str,
    value: &Node,
    before: Option<&str>,
    path: &str,
    known: &BTreeMap<&str, &Value>,
) -> (String, String) {
    let is_rest_of_number = name.bytes().all(|byte| byte.is_ascii_digit()) && matches!(value, Node::Nothing);
    if let Some(before) = before.filter(|_| is_rest_of_number) {
        let problem = format!("write a point, not a comma, before {name}: inside {{…}} a comma begins the next field");
        return (below(path, before), problem);
    }
    if let Some(problem) = problem(name) {
        return (below(path, name), problem);
    }
    let problem = match nearest(name, known.keys().copied()) {
        Some(near) => format!("is not a field here; did you mean {near}?"),
        None => format!("is not a field here; there are {}", known.keys().copied().collect::<Vec<_>>().join(", ")),
    };
    (below(path, name), problem)
}

/// A word, and what to do meanwhile.
type Word = (&'static str, &'static str);

/// Words at any place that does not know them.
const ANYWHERE: [Word; 7] = [
    ("gift_card", GIFT_CARD),
    ("role", ROLES),
    ("roles", ROLES),
    ("share", SHARE),
    ("creators", SHARE),
    ("languages", LANGUAGES),
    ("translations", LANGUAGES),
];

const GIFT_CARD: &str = "an item cannot be a gift card; meanwhile make the cards with `storectl gift add`, and send a code to who asks for one";
const ROLES: &str = "a purchase gives no role of the chat platform; meanwhile let a bot on a game server give it, by a command \
                     with {chat_id} of an item with needs_chat: true";
const SHARE: &str = "no one is paid a share; meanwhile make a coupon for the buyers and a referral code for the creator, and pay \
                     what `storectl referral report` shows";
const LANGUAGES: &str = "a text is in one language; meanwhile write both into it, one after the other";

/// What to say of an unknown word, if it is one of these.
pub fn problem(word: &str) -> Option<String> {
    let (_, meanwhile) = ANYWHERE.iter().find(|(known, _)| *known == word)?;
    Some(format!("not yet: {meanwhile}"))
}

/// What to say of a text that is written once for each language, such as `{en: Knight, de: Ritter}`; its names are these.
pub fn of_text<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_language = |name: &&str| name.len() == 2 && name.bytes().all(|letter| letter.is_ascii_lowercase());
    let (languages, others): (Vec<&str>, Vec<&str>) = names.partition(is_language);
    (others.is_empty() && !languages.is_empty()).then(|| format!("not yet: {LANGUAGES}"))
}

//! Items as DynamoDB's own JSON: every value says its type, and numbers stay text.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use shared::store::codec::Item;
use std::collections::BTreeMap;

/// An item; attributes stand in the order of their names, so that equal items are equal lines.
pub(super) fn item_to_json(item: &Item) -> Value {
    let sorted: BTreeMap<&String, Value> = item.iter().map(|(name, value)| (name, to_json(value))).collect();
    json!(sorted)
}

fn to_json(value: &AttributeValue) -> Value {
    let blob = |blob: &Blob| BASE64_STANDARD.encode(blob);
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(switch) => json!({ "BOOL": switch }),
        AttributeValue::B(bytes) => json!({ "B": blob(bytes) }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(many) => json!({ "BS": many.iter().map(blob).collect::<Vec<_>>() }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(to_json).collect::<Vec<_>>() }),
        AttributeValue::M(map) => json!({ "M": item_to_json(map) }),
        _ => json!({ "NULL": true }),
    }
}

/// Reads an item; `None` where the text is none.
pub(super) fn item_from_json(text: &str) -> Option<Item> {
    let Value::Object(fields) = serde_json::from_str(text).ok()? else { return None };
    map(&fields)
}

fn map(fields: &Map<String, Value>) -> Option<Item> {
    fields.iter().map(|(name, value)| Some((name.clone(), from_json(value)?))).collect()
}

fn from_json(value: &Value) -> Option<AttributeValue> {
    let (kind, inner) = value.as_object()?.iter().next()?;
    let texts = || inner.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let blob = |text: &str| Some(Blob::new(BASE64_STANDARD.decode(text).ok()?));
    Some(match kind.as_str() {
        "S" => AttributeValue::S(inner.as_str()?.to_owned()),
        "N" => AttributeValue::N(inner.as_str()?.to_owned()),
        "BOOL" => AttributeValue::Bool(inner.as_bool()?),
        "NULL" => AttributeValue::Null(true),
        "B" => AttributeValue::B(blob(inner.as_str()?)?),
        "SS" => AttributeValue::Ss(texts()?),
        "NS" => AttributeValue::Ns(texts()?),
        "BS" => AttributeValue::Bs(texts()?.iter().map(|text| blob(text)).collect::<Option<_>>()?),
        "L" => AttributeValue::L(inner.as_array()?.iter().map(from_json).collect::<Option<_>>()?),
        "M" => AttributeValue::M(map(inner.as_object()?)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_comes_back() {
        let item = Item::from([
            ("s".to_owned(), AttributeValue::S("\u{1f525} \"x\"\n".to_owned())),
            ("n".to_owned(), AttributeValue::N("99999999999999999999.5".to_owned())),
            ("b".to_owned(), AttributeValue::B(Blob::new([0, 255]))),
            ("t".to_owned(), AttributeValue::Bool(false)),
            ("0".to_owned(), AttributeValue::Null(true)),
            ("ss".to_owned(), AttributeValue::Ss(vec!["a".to_owned()])),
            ("ns".to_owned(), AttributeValue::Ns(vec!["1".to_owned()])),
            ("bs".to_owned(), AttributeValue::Bs(vec![Blob::new([7])])),
            ("l".to_owned(), AttributeValue::L(vec![AttributeValue::M(Item::new())])),
        ]);
        assert_eq!(item_from_json(&item_to_json(&item).to_string()), Some(item));
    }

    #[test]
    fn what_is_no_item_is_not_taken_for_one() {
        for text in ["", "[]", "1", r#"{"a":1}"#, r#"{"a":{"X":1}}"#, r#"{"a":{"N":1}}"#] {
            assert_eq!(item_from_json(text), None, "{text}");
        }
    }
}

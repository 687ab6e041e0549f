//! The responses that are read without the SDK's maps: those with rows.

use crate::raw_item::{Attribute, Item, RawItem};
use crate::row::{Row, Unreadable};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Batch {
    pub rows: Vec<Row>,
    /// The keys that must be requested again.
    pub unprocessed: Vec<Item>,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub rows: Vec<Row>,
    /// The key after which the next page begins; `None` on the last page.
    pub next: Option<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchJson {
    #[serde(default)]
    responses: HashMap<String, Vec<RawItem>>,
    #[serde(default)]
    unprocessed_keys: HashMap<String, KeysJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeysJson {
    keys: Vec<RawItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageJson {
    #[serde(default)]
    items: Vec<RawItem>,
    last_evaluated_key: Option<RawItem>,
}

impl Batch {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let BatchJson { responses, unprocessed_keys } = parse(body)?;
        let unprocessed = unprocessed_keys.into_values().flat_map(|rest| rest.keys).map(key);
        Ok(Self {
            rows: responses.into_values().flatten().map(Row::from).collect(),
            unprocessed: unprocessed.collect::<Result<_, _>>()?,
        })
    }
}

impl Page {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let PageJson { items, last_evaluated_key } = parse(body)?;
        Ok(Self { rows: items.into_iter().map(Row::from).collect(), next: last_evaluated_key.map(key).transpose()? })
    }
}

fn parse<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::of(&error))
}

/// A key as the next request takes it. Our keys consist of texts and numbers.
fn key(item: RawItem) -> Result<Item, Unreadable> {
    let value = |(name, attribute): (String, Attribute)| match attribute {
        Attribute::S(text) => Ok((name, AttributeValue::S(text))),
        Attribute::N(digits) => Ok((name, AttributeValue::N(digits))),
        _ => Err(Unreadable::key(&name)),
    };
    item.into_attributes().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(pk: &str, sk: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        Item::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
    }

    #[test]
    fn a_batch_has_the_rows_it_found_and_the_keys_to_request_again() {
        let body = r#"{
            "Responses": {"t": [{"pk": {"S": "A"}, "sk": {"S": "-"}, "n": {"N": "1"}}, {"pk": {"S": "B"}, "sk": {"S": "-"}}]},
            "UnprocessedKeys": {"t": {"ConsistentRead": true, "Keys": [{"pk": {"S": "C"}, "sk": {"S": "é"}}]}},
            "ConsumedCapacity": []
        }"#;
        let batch = Batch::read(body.as_bytes()).unwrap();
        let keys: Vec<&str> = batch.rows.iter().map(|row| row.text("pk").unwrap()).collect();
        assert_eq!(keys, ["A", "B"]);
        assert_eq!(batch.unprocessed, [key_of("C", "é")]);
        assert!(Batch::read(b"{}").unwrap().rows.is_empty());
        assert!(Batch::read(b"not JSON").is_err());
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        let body = r#"{
            "Count": 1, "ScannedCount": 1, "Items": [{"pk": {"S": "A"}, "sk": {"S": "1"}, "n": {"N": "1"}}],
            "LastEvaluatedKey": {"pk": {"S": "A"}, "sk": {"S": "1"}}
        }"#;
        let page = Page::read(body.as_bytes()).unwrap();
        assert_eq!(page.rows.len(), 1);
        assert_eq!((page.rows[0].text("pk"), page.rows[0].text("sk")), (Some("A"), Some("1")));
        assert_eq!(page.next, Some(key_of("A", "1")));
        let page = Page::read(br#"{"Count": 0, "Items": []}"#).unwrap();
        assert!(page.rows.is_empty() && page.next.is_none());
    }

    #[test]
    fn a_key_consists_of_texts_and_numbers() {
        let next = |attribute: &str| {
            let body = format!(r#"{{"LastEvaluatedKey": {{"at": {attribute}}}}}"#);
            Page::read(body.as_bytes()).map(|page| page.next).map_err(|error| error.to_string())
        };
        let number = AttributeValue::N("7".to_owned());
        assert_eq!(next(r#"{"N":"7"}"#), Ok(Some(Item::from([("at".to_owned(), number)]))));
        assert_eq!(next(r#"{"B":"Nw=="}"#).unwrap_err(), "attribute `at`: expected text or a number in a key");
    }
}

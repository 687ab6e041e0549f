//! The token of a transaction that may be sent more than once: the database carries out one of all that have the same
//! token, within ten minutes, and refuses another content under it.

use super::{Change, Item, Write};
use aws_sdk_dynamodb::types::AttributeValue;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// How many characters a token has; DynamoDB takes up to 36.
const LENGTH: usize = 32;

/// The token of these writes to a table: the first hexadecimal digits of SHA-256 over all of them. For an order that is its id,
/// the step it takes, and what is written with it. A token belongs to the account: a copy of a store in another table has others.
pub(super) fn of(table: &str, writes: &[Write]) -> String {
    let mut content = Content(Sha256::new());
    content.text(table);
    for Write { key, change, condition, names, values } in writes {
        content.text(&key.pk);
        content.text(&key.sk);
        match change {
            Change::Put(item) => {
                content.text("put");
                content.item(item);
            }
            Change::Update(expression) => {
                content.text("update");
                content.text(expression);
            }
            Change::Delete => content.text("delete"),
            Change::Check => content.text("check"),
        }
        content.text(condition.as_deref().unwrap_or_default());
        content.length(names.len());
        for placeholder in sorted(names) {
            content.text(placeholder);
            content.text(&names[placeholder]);
        }
        content.item(values);
    }
    let mut token = hex::encode(content.0.finalize());
    token.truncate(LENGTH);
    token
}

/// The keys of a map, which has no order itself.
fn sorted<V>(map: &HashMap<String, V>) -> Vec<&String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    keys
}

/// The hashed bytes. Every part has its length before it, so that other parts are other bytes.
struct Content(Sha256);

impl Content {
    fn length(&mut self, length: usize) {
        self.0.update(length.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.update(text);
    }

    fn item(&mut self, item: &Item) {
        self.length(item.len());
        for name in sorted(item) {
            self.text(name);
            self.value(&item[name]);
        }
    }

    fn value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::L(elements) => {
                self.text("L");
                self.length(elements.len());
                for element in elements {
                    self.value(element);
                }
            }
            AttributeValue::M(members) => {
                self.text("M");
                self.item(members);
            }
            plain => self.text(&format!("{plain:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::keys::Key;

    fn key(sk: &str) -> Key {
        Key { pk: "A".to_owned(), sk: sk.to_owned() }
    }

    /// An item with many members, whose map has another order each time.
    fn item(end: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let members: Item = (0..20).map(|number| (format!("m{number}"), text("x"))).collect();
        let list = AttributeValue::L(vec![AttributeValue::M(members), text(end), AttributeValue::N("7".to_owned())]);
        Item::from([("list".to_owned(), list), ("open".to_owned(), AttributeValue::Bool(true))])
    }

    fn update(expression: &str) -> Write {
        Write::update(key("1"), expression).only_if("#a = :b").name("#a", "a").name("#c", "c").text(":b", "b")
    }

    fn token(writes: &[Write]) -> String {
        of("store", writes)
    }

    #[test]
    fn the_same_writes_have_the_same_token() {
        let writes = || [Write::put(key("1"), item("x")), update("SET #c = :b"), Write::check(key("2"))];
        let one = token(&writes());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        for _ in 0..20 {
            assert_eq!(token(&writes()), one);
        }
        assert_ne!(of("copy", &writes()), one);
    }

    #[test]
    fn every_difference_is_another_token() {
        let different: Vec<Vec<Write>> = vec![
            vec![],
            vec![Write::put(key("1"), item("x"))],
            vec![Write::put(key("2"), item("x"))],
            vec![Write::put(key("1"), item("y"))],
            vec![Write::put(key("1"), item("x")).only_if_absent()],
            vec![Write::put(key("1"), item("x")), Write::delete(key("2"))],
            vec![Write::delete(key("2")), Write::put(key("1"), item("x"))],
            vec![Write::delete(key("1"))],
            vec![Write::check(key("1"))],
            vec![update("SET #c = :b")],
            vec![update("SET #a = :b")],
            vec![update("SET #c = :b").text(":b", "c")],
            vec![update("SET #c = :b").number(":b", 7)],
            vec![update("SET #c = :b").text(":b", "7")],
            vec![update("SET #c = :b").name("#c", "d")],
            vec![update("SET #c = :b").only_if("#a <> :b")],
        ];
        let tokens: Vec<String> = different.iter().map(|writes| token(writes)).collect();
        for (place, one) in tokens.iter().enumerate() {
            assert!(!tokens[..place].contains(one), "{:?}", different[place]);
        }
    }
}

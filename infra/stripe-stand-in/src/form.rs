//! Reads parameters: names with brackets become a tree.

use super::error::ApiError;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// The pairs of a body or a query.
pub(super) fn pairs(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

/// The tree: objects for `a[b]`, and for lists too, whose keys are numbers. `a[]` is numbered in the order of its values.
pub(super) fn tree(pairs: &[(String, String)]) -> Result<Map<String, Value>, ApiError> {
    let mut root = Map::new();
    for (name, value) in pairs {
        let (first, rest) = name.split_at(name.find('[').unwrap_or(name.len()));
        let mut node = &mut root;
        let mut key = first.to_owned();
        for part in parts(rest).ok_or_else(|| malformed(name))? {
            let below = node.entry(key).or_insert_with(|| Value::Object(Map::new()));
            node = below.as_object_mut().ok_or_else(|| malformed(name))?;
            key = if part.is_empty() { node.len().to_string() } else { part.to_owned() };
        }
        if node.insert(key, Value::String(value.clone())).is_some() {
            return Err(malformed(name));
        }
    }
    Ok(root)
}

/// The parts of `[a][b][]`.
fn parts(brackets: &str) -> Option<Vec<&str>> {
    if brackets.is_empty() {
        return Some(Vec::new());
    }
    let inner = brackets.strip_prefix('[')?.strip_suffix(']')?;
    let parts: Vec<&str> = inner.split("][").collect();
    parts.iter().all(|part| !part.contains(['[', ']'])).then_some(parts)
}

fn malformed(name: &str) -> ApiError {
    ApiError::parameter(name, format!("Invalid parameter name: {name}")).early()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, ApiError> {
        tree(&pairs(text.as_bytes())).map(Value::Object)
    }

    #[test]
    fn names_with_brackets_become_a_tree() {
        let text = "mode=payment&a[b][c]=1&a[b][d]=2+3&list[]=x&list[]=y&line_items%5B0%5D%5Bquantity%5D=1";
        let wanted = json!({
            "mode": "payment",
            "a": { "b": { "c": "1", "d": "2 3" } },
            "list": { "0": "x", "1": "y" },
            "line_items": { "0": { "quantity": "1" } },
        });
        assert_eq!(read(text).unwrap(), wanted);
    }

    #[test]
    fn a_name_that_makes_no_tree_is_refused() {
        for text in ["a=1&a=2", "a=1&a[b]=2", "a[b=1", "a]b[=1", "a[b]c=1", "a[[b]]=1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

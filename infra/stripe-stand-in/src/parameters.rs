//! The parameters of a call: names with brackets become a tree, and one that the call does not know is refused, as
//! Stripe does. And refusals in the shape in which Stripe sends them.

use http::StatusCode;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A text of 1 to so many characters.
    Text(usize),
    /// A whole number that is not negative.
    Integer,
    /// `true` or `false`.
    Boolean,
    Word(&'static [&'static str]),
    /// Texts under names of the caller.
    Metadata,
    List(&'static Shape),
    Object(&'static [Parameter]),
}

/// A parameter: name, whether it is required, shape.
pub(super) type Parameter = (&'static str, bool, Shape);

pub(super) fn check(tree: &Map<String, Value>, known: &[Parameter]) -> Result<(), ApiError> {
    object(tree, known, "").map_err(ApiError::early)
}

fn object(tree: &Map<String, Value>, known: &[Parameter], place: &str) -> Result<(), ApiError> {
    for (name, value) in tree {
        let path = join(place, name);
        let Some((_, _, shape)) = known.iter().find(|(known, ..)| known == name) else {
            let message = format!("Received unknown parameter: {path}");
            return Err(ApiError::parameter(&path, message).code("parameter_unknown"));
        };
        parameter(value, *shape, &path)?;
    }
    match known.iter().find(|(name, required, _)| *required && !tree.contains_key(*name)) {
        Some((name, ..)) => {
            let path = join(place, name);
            Err(ApiError::parameter(&path, format!("Missing required param: {path}.")).code("parameter_missing"))
        }
        None => Ok(()),
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}[{name}]") }
}

fn parameter(value: &Value, shape: Shape, path: &str) -> Result<(), ApiError> {
    match (shape, value) {
        (Shape::Object(known), Value::Object(tree)) => object(tree, known, path),
        (Shape::Metadata, Value::Object(tree)) => {
            tree.iter().try_for_each(|(name, value)| parameter(value, Shape::Text(500), &join(path, name)))
        }
        (Shape::List(shape), Value::Object(tree)) => {
            if tree.keys().any(|key| key.parse::<usize>().is_err()) {
                return Err(ApiError::parameter(path, "Invalid array"));
            }
            tree.iter().try_for_each(|(name, value)| parameter(value, *shape, &join(path, name)))
        }
        (Shape::Object(_) | Shape::Metadata, _) => Err(ApiError::parameter(path, "Invalid object")),
        (Shape::List(_), _) => Err(ApiError::parameter(path, "Invalid array")),
        (_, Value::String(text)) => scalar(text, shape, path),
        _ => Err(ApiError::parameter(path, "Invalid string: {}")),
    }
}

fn scalar(text: &str, shape: Shape, path: &str) -> Result<(), ApiError> {
    match shape {
        _ if text.is_empty() => {
            let message = format!(
                "You passed an empty string for '{path}'. We assume empty values are an attempt to unset a parameter; however '{path}' cannot be unset."
            );
            Err(ApiError::parameter(path, message).code("parameter_invalid_empty"))
        }
        Shape::Text(longest) if text.chars().count() > longest => {
            let message = format!("Invalid string; must be at most {longest} characters");
            Err(ApiError::parameter(path, message))
        }
        Shape::Integer if !is_integer(text) => {
            let message = format!("Invalid integer: {text}");
            Err(ApiError::parameter(path, message).code("parameter_invalid_integer"))
        }
        // The official libraries write it as their language does: `False`.
        Shape::Boolean if !["true", "false"].contains(&&*text.to_ascii_lowercase()) => {
            Err(ApiError::parameter(path, format!("Invalid boolean: {text}")))
        }
        Shape::Word(words) if !words.contains(&text) => {
            Err(ApiError::parameter(path, format!("Invalid {path}: must be one of {}", words.join(", "))))
        }
        _ => Ok(()),
    }
}

fn is_integer(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

/// The text of a parameter that was checked; `None` if it was not sent.
pub(super) fn text<'a>(tree: &'a Map<String, Value>, path: &[&str]) -> Option<&'a str> {
    let (last, above) = path.split_last()?;
    let mut node = tree;
    for part in above {
        node = node.get(*part)?.as_object()?;
    }
    node.get(*last)?.as_str()
}

/// The number of a parameter that was checked.
pub(super) fn integer(tree: &Map<String, Value>, path: &[&str]) -> Option<i64> {
    text(tree, path)?.parse().ok()
}

/// The truth value of a parameter that was checked.
pub(super) fn boolean(tree: &Map<String, Value>, path: &[&str]) -> Option<bool> {
    Some(text(tree, path)?.eq_ignore_ascii_case("true"))
}

/// The values of a list that was checked, in the order of their numbers.
pub(super) fn list<'a>(tree: &'a Map<String, Value>, name: &str) -> Vec<&'a Value> {
    let Some(list) = tree.get(name).and_then(Value::as_object) else { return Vec::new() };
    let mut numbered: Vec<(usize, &Value)> =
        list.iter().filter_map(|(number, value)| Some((number.parse().ok()?, value))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, value)| value).collect()
}

/// The texts of a list that was checked.
pub(super) fn texts(tree: &Map<String, Value>, name: &str) -> Vec<String> {
    list(tree, name).into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The names and texts of metadata that was checked.
pub(super) fn metadata(tree: Option<&Value>) -> Map<String, Value> {
    tree.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A call with the id in its path, empty if it has none.
pub(super) struct Input<'a> {
    pub(super) id: &'a str,
    /// The same id, empty if the object belongs to another account.
    pub(super) seen: &'a str,
    pub(super) tree: &'a Map<String, Value>,
    pub(super) now: i64,
    pub(super) largest_page: usize,
}

pub(super) const EXPAND: Parameter = ("expand", false, Shape::List(&Shape::Text(100)));

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    /// Whether it was found before the request was executed: such a refusal is not kept for the idempotency key.
    pub(super) is_early: bool,
}

impl ApiError {
    /// A refusal of a request (400).
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "invalid_request_error",
            code: None,
            param: None,
            message: message.into(),
            is_early: false,
        }
    }

    /// A refusal of a parameter (400).
    pub(super) fn parameter(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::request(message) }
    }

    /// An id that no object has (404).
    pub(super) fn missing(object: &str, param: &str, id: &str) -> Self {
        let error = Self::parameter(param, format!("No such {object}: '{id}'")).code("resource_missing");
        Self { status: StatusCode::NOT_FOUND, ..error }
    }

    pub(super) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(super) fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// The same refusal, found before the request was executed.
    pub(super) fn early(self) -> Self {
        Self { is_early: true, ..self }
    }

    /// A refusal with a status, for faults.
    pub(super) fn of_status(status: StatusCode) -> Self {
        let (kind, code, message) = match status.as_u16() {
            402 => ("card_error", Some("card_declined"), "Your card was declined."),
            403 => {
                let message = "The provided key does not have the required permissions for this endpoint.";
                ("invalid_request_error", None, message)
            }
            409 => {
                let message = "There is currently another in-progress request using this Idempotent Key.";
                ("idempotency_error", Some("idempotency_key_in_use"), message)
            }
            429 => ("invalid_request_error", Some("rate_limit"), "Request rate limit exceeded."),
            400..500 => ("invalid_request_error", None, "Invalid request."),
            _ => ("api_error", None, "An unknown error occurred."),
        };
        let error = Self { code, ..Self::request(message) };
        // Limits are applied before execution; the others are outcomes of it.
        let is_early = matches!(status.as_u16(), 401 | 403 | 409 | 429);
        Self { is_early, ..error.kind(kind).status(status) }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn json(&self) -> Value {
        let mut error = json!({ "type": self.kind, "message": self.message });
        if let Some(code) = self.code {
            error["code"] = code.into();
            error["doc_url"] = format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-")).into();
        }
        if let Some(param) = &self.param {
            error["param"] = param.as_str().into();
        }
        json!({ "error": error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KNOWN: &[Parameter] = &[
        ("mode", true, Shape::Word(&["payment"])),
        ("count", false, Shape::Integer),
        ("flag", false, Shape::Boolean),
        ("name", false, Shape::Text(3)),
        ("metadata", false, Shape::Metadata),
        ("list", false, Shape::List(&Shape::Object(&[("a", true, Shape::Text(3))]))),
    ];

    fn refusal(text: &str) -> Option<Value> {
        let checked = tree(&pairs(text.as_bytes())).and_then(|tree| check(&tree, KNOWN));
        checked.err().map(|error| error.json()["error"].clone())
    }

    #[test]
    fn known_parameters_pass() {
        assert_eq!(refusal("mode=payment&count=5&flag=true&name=abc&metadata[x]=y&list[0][a]=b&list[1][a]=c"), None);
    }

    #[test]
    fn a_refusal_names_the_parameter() {
        for (text, param, code) in [
            ("mode=payment&colour=red", "colour", Some("parameter_unknown")),
            ("mode=payment&list[0][a]=b&list[0][c]=d", "list[0][c]", Some("parameter_unknown")),
            ("", "mode", Some("parameter_missing")),
            ("mode=payment&list[0]=b", "list[0]", None),
            ("mode=payment&list[1][a]=", "list[1][a]", Some("parameter_invalid_empty")),
            ("mode=setup", "mode", None),
            ("mode=payment&count=-1", "count", Some("parameter_invalid_integer")),
            ("mode=payment&count=1.5", "count", Some("parameter_invalid_integer")),
            ("mode=payment&flag=1", "flag", None),
            ("mode=payment&name=abcd", "name", None),
            ("mode=payment&metadata=x", "metadata", None),
            ("mode=payment&list[x][a]=b", "list", None),
        ] {
            let error = refusal(text).unwrap_or_default();
            assert_eq!((error["param"].as_str(), error["code"].as_str()), (Some(param), code), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_is_in_the_order_of_its_numbers() {
        let tree = tree(&pairs(b"a[10]=x&a[2]=y&a[0]=z")).unwrap();
        assert_eq!(texts(&tree, "a"), ["z", "y", "x"]);
    }

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

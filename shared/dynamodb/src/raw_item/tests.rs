use super::*;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
struct Thing {
    id: u64,
    name: String,
    owed: i64,
    open: bool,
    kind: Kind,
    #[serde(default)]
    note: Option<String>,
    limits: Vec<Option<u32>>,
    reward: Reward,
    inner: Inner,
    tagged: Tagged,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Small,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Reward {
    Amount(i64),
    Pair(u32, u32),
    Named { text: String },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Inner {
    deep: Vec<Wrapped>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(u8);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    Gift { balance: i64, reward: Reward },
}

/// The item of a test with one attribute as given.
fn item(name: &str, attribute: &str) -> String {
    let mut attributes = vec![
        ("pk", r#"{"S":"T#1"}"#),
        ("sk", r#"{"S":"-"}"#),
        ("id", r#"{"N":"7"}"#),
        ("name", r#"{"S":"a \"b\"\n\u00e9"}"#),
        ("owed", r#"{"N":"-350"}"#),
        ("open", r#"{"BOOL":true}"#),
        ("kind", r#"{"S":"small"}"#),
        ("limits", r#"{"L":[{"N":"3"},{"NULL":true}]}"#),
        ("reward", r#"{"M":{"Amount":{"N":"5"}}}"#),
        ("inner", r#"{"M":{"deep":{"L":[{"N":"255"}]}}}"#),
        ("tagged", r#"{"M":{"kind":{"S":"gift"},"balance":{"N":"-1"},"reward":{"M":{"Amount":{"N":"2"}}}}}"#),
    ];
    attributes.retain(|(other, _)| *other != name);
    attributes.push((name, attribute));
    let members: Vec<String> = attributes.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{ {} }}", members.join(", "))
}

fn read(name: &str, attribute: &str) -> Result<Thing, String> {
    let item: Result<RawItem, _> = serde_json::from_str(&item(name, attribute));
    item.and_then(|item| item.read()).map_err(|error| error.to_string())
}

#[test]
fn every_type_of_attribute_is_read() {
    let thing = read("note", r#"{"NULL":true}"#).unwrap();
    assert_eq!(
        thing,
        Thing {
            id: 7,
            name: "a \"b\"\né".to_owned(),
            owed: -350,
            open: true,
            kind: Kind::Small,
            note: None,
            limits: vec![Some(3), None],
            reward: Reward::Amount(5),
            inner: Inner { deep: vec![Wrapped(255)] },
            tagged: Tagged::Gift { balance: -1, reward: Reward::Amount(2) },
        }
    );
    assert_eq!(read("note", r#"{"S":"x"}"#).unwrap().note.as_deref(), Some("x"));
}

#[test]
fn an_item_of_the_sdk_is_read_as_one_of_a_response() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let map = |name: &str, value| AttributeValue::M(Item::from([(name.to_owned(), value)]));
    let item = Item::from(
        [
            ("pk", text("T#1")),
            ("id", number("7")),
            ("name", text("a \"b\"\n\u{e9}")),
            ("owed", number("-350")),
            ("open", AttributeValue::Bool(true)),
            ("kind", text("small")),
            ("note", AttributeValue::Null(true)),
            ("limits", AttributeValue::L(vec![number("3"), AttributeValue::Null(true)])),
            ("reward", map("Amount", number("5"))),
            ("inner", map("deep", AttributeValue::L(vec![number("255")]))),
            ("tagged", {
                let mut gift = map("kind", text("gift"));
                if let AttributeValue::M(members) = &mut gift {
                    members.insert("balance".to_owned(), number("-1"));
                    members.insert("reward".to_owned(), map("Amount", number("2")));
                }
                gift
            }),
            ("added", AttributeValue::Ss(vec!["a".to_owned()])),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let thing: Thing = RawItem::from(item).read().unwrap();
    assert_eq!(thing, read("note", r#"{"NULL":true}"#).unwrap());
}

#[test]
fn one_text_is_read_without_the_rest() {
    let item: RawItem = serde_json::from_str(&item("note", r#"{"L":[]}"#)).unwrap();
    assert_eq!(item.text("name"), Some("a \"b\"\né"));
    assert_eq!(item.text("note"), None);
    assert_eq!(item.text("other"), None);
}

#[test]
fn what_owners_add_to_a_row_is_ignored() {
    for added in [
        r#"{"B":"Nw=="}"#,
        r#"{"SS":["a","b"]}"#,
        r#"{"N":"7.5e100"}"#,
        r#"{"M":{"a":{"NS":["1"]},"b":{"L":[{"N":"0.1"},{"BS":["Nw=="]}]}}}"#,
    ] {
        assert_eq!(read("added", added).unwrap().id, 7, "{added}");
    }
    let inner = read("inner", r#"{"M":{"deep":{"L":[]},"added":{"SS":["a"]},"more":{"N":"7.5"}}}"#);
    assert_eq!(inner.unwrap().inner, Inner { deep: vec![] });
}

#[test]
fn variants_have_content_of_every_shape() {
    let pair = read("reward", r#"{"M":{"Pair":{"L":[{"N":"1"},{"N":"2"}]}}}"#).unwrap();
    assert_eq!(pair.reward, Reward::Pair(1, 2));
    let named = read("reward", r#"{"M":{"Named":{"M":{"text":{"S":"x"}}}}}"#).unwrap();
    assert_eq!(named.reward, Reward::Named { text: "x".to_owned() });
}

#[test]
fn an_attribute_that_is_missing_or_of_another_type_is_refused() {
    for (name, attribute, problem) in [
        ("id", r#"{"N":"-7"}"#, "attribute `id`: expected u64"),
        ("id", r#"{"N":"7.5"}"#, "attribute `id`: expected u64"),
        ("id", r#"{"S":"7"}"#, "attribute `id`: expected u64"),
        ("id", r#"{"N":7}"#, "invalid type: integer `7`, expected a string"),
        ("id", "7", "expected value"),
        ("id", "{}", "expected value"),
        ("id", r#"{"N":"7","S":"7"}"#, "expected value"),
        ("id", r#"{"B":"Nw=="}"#, "attribute `id`: expected u64"),
        ("id", r#"{"X":"7"}"#, "unknown variant `X`"),
        ("inner", r#"{"M":{"deep":{"L":[{"N":7}]}}}"#, "invalid type: integer `7`, expected a string"),
        ("inner", r#"{"M":{"deep":7}}"#, "expected value"),
        ("inner", r#"{"M":{"deep":{}}}"#, "expected value"),
        ("inner", r#"{"M":{"deep":{"L":[],"S":"7"}}}"#, "expected value"),
        ("inner", r#"{"M":{"deep":{"NS":["7"]}}}"#, "attribute `inner`: expected a sequence"),
        ("inner", r#"{"M":{"deep":{"X":"7"}}}"#, "unknown variant `X`"),
        ("open", r#"{"N":"1"}"#, "attribute `open`: expected a boolean"),
        ("kind", r#"{"S":"large"}"#, "attribute `kind`: expected `small`"),
        ("reward", r#"{"M":{}}"#, UNREADABLE),
        ("inner", r#"{"L":[]}"#, "attribute `inner`: "),
        ("limits", r#"{"NULL":true}"#, "attribute `limits`: expected a sequence"),
    ] {
        let error = read(name, attribute).unwrap_err();
        assert!(error.contains(problem), "{name} {attribute}: {error}");
    }
    assert!(serde_json::from_str::<RawItem>("[]").is_err());
}

#[test]
fn an_error_quotes_no_value_of_a_buyer() {
    for attribute in [r#"{"S":"secret"}"#, r#"{"N":"4711.5"}"#, r#"{"M":{"deep":{"S":"secret, expected 4711"}}}"#] {
        for name in ["id", "kind", "inner", "tagged", "limits", "reward"] {
            let said = read(name, attribute).unwrap_err();
            assert!(said.contains(name) && !said.contains("secret") && !said.contains("4711"), "{said}");
        }
    }
    let item: RawItem = serde_json::from_str(r#"{"id":{"N":"7"}}"#).unwrap();
    assert_eq!(Unreadable::of(&item.read::<Thing>().unwrap_err()).to_string(), "missing field `name`");
}

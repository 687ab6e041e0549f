//! Items in the JSON that DynamoDB speaks, read straight into structs: `{"id":{"N":"7"},"lines":{"L":[…]}}`.
//!
//! The SDK reads every attribute into a map of its own first, and a second library reads that: for a row of a cart,
//! five times the work (see "Rows straight into structs" in `infra/docs/performance-notes.md`). JSON itself is
//! serde_json's here too; what is ours is that a value stands inside an object that names its type.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use std::fmt;
use std::slice;

/// An item as it came: its attributes by name. What contains others is not taken apart yet.
#[derive(Debug, Clone)]
pub struct RawItem(Vec<(String, RawAttribute)>);

/// An attribute by its type.
#[derive(Debug, Clone, serde::Deserialize)]
enum RawAttribute {
    S(String),
    N(String),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(IgnoredAny),
    L(Box<RawValue>),
    M(Box<RawValue>),
    /// Bytes or a set: nothing here is one, but owners may add to a row whatever they like.
    #[serde(alias = "SS", alias = "NS", alias = "BS")]
    B(IgnoredAny),
}

impl RawItem {
    /// Reads the whole item.
    ///
    /// # Errors
    /// Where it does not read as a `T`.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        T::deserialize(Whole(self))
    }

    /// An attribute that is text; `None` where there is none of that name, or it is something else.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).and_then(|(_, value)| match value {
            RawAttribute::S(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

impl<'de> Deserialize<'de> for RawItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawItemVisitor)
    }
}

struct RawItemVisitor;

impl<'de> Visitor<'de> for RawItemVisitor {
    type Value = RawItem;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut item: A) -> Result<RawItem, A::Error> {
        let mut attributes = Vec::new();
        while let Some(attribute) = item.next_entry()? {
            attributes.push(attribute);
        }
        Ok(RawItem(attributes))
    }
}

impl RawAttribute {
    fn read<'de, S: DeserializeSeed<'de>>(&'de self, seed: S) -> Result<S::Value, serde_json::Error> {
        match self {
            Self::S(text) => seed.deserialize(Present(BorrowedStrDeserializer::new(text))),
            Self::N(digits) => number(digits, seed),
            Self::Bool(value) => seed.deserialize(Present(value.into_deserializer())),
            Self::Null(_) | Self::B(_) => seed.deserialize(().into_deserializer()),
            Self::L(inner) | Self::M(inner) => {
                seed.deserialize(Present(Container(&mut serde_json::Deserializer::from_str(inner.get()))))
            }
        }
    }
}

/// Hands a seed the number that stands as text in an attribute of the type `N`. Every number that is read here is
/// whole; another stays text.
fn number<'de, S: DeserializeSeed<'de>, E: Error>(digits: &str, seed: S) -> Result<S::Value, E> {
    match digits.parse::<i64>() {
        Ok(number) => seed.deserialize(Present(number.into_deserializer())),
        Err(_) => seed.deserialize(Present(digits.into_deserializer())),
    }
}

/// What is said of a value when a decoder's words are nothing but the value.
const UNREADABLE: &str = "it does not read as what it should be";

/// What is wrong with an attribute, without its value: for logs.
pub(super) fn attribute(name: &str, error: &dyn std::error::Error) -> String {
    format!("attribute `{name}`: {}", without_values(error))
}

/// What a decoder of serde's says, without the value that it quotes, which may be a buyer's: for logs. Names of fields
/// and what was expected are the program's own.
pub(super) fn without_values(error: &dyn std::error::Error) -> String {
    let said = error.to_string();
    let names_a_field = ["missing field `", "duplicate field `", "attribute `"].iter().any(|how| said.starts_with(how));
    match said.rsplit_once(", expected ") {
        _ if names_a_field => said,
        Some((_, expected)) => format!("expected {expected}"),
        None => UNREADABLE.to_owned(),
    }
}

/// An item on its way to a visitor.
struct Whole<'de>(&'de RawItem);

impl<'de> Deserializer<'de> for Whole<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        visitor.visit_map(RawAttributes { rest: self.0.0.iter(), value: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// An item's attributes, one after the other.
struct RawAttributes<'de> {
    rest: slice::Iter<'de, (String, RawAttribute)>,
    value: Option<(&'de str, &'de RawAttribute)>,
}

impl<'de> MapAccess<'de> for RawAttributes<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, serde_json::Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((name, value));
        seed.deserialize(name.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, serde_json::Error> {
        let (name, value) =
            self.value.take().ok_or_else(|| serde_json::Error::custom("an attribute without a name"))?;
        value.read(seed).map_err(|error: serde_json::Error| Error::custom(attribute(name, &error)))
    }
}

/// What is there: of an optional value, and of one in a struct of its own, the value itself.
struct Present<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Present<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// A list or an object of attributes.
struct Container<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Container<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(OfAttributes(visitor))
    }

    /// A variant with content is an object with one attribute, named as the variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(OfVariant(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Hands a visitor the attributes of a list or an object.
struct OfAttributes<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfAttributes<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Typed(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Typed(list))
    }
}

/// Hands a visitor a variant with its content.
struct OfVariant<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for OfVariant<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<V::Value, A::Error> {
        let value = self.0.visit_enum(Typed(&mut object))?;
        end(&mut object).map(|()| value)
    }
}

/// Objects and lists whose values are attributes.
struct Typed<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Typed<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Attribute(seed))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Typed<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Attribute(seed))
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Typed<&mut A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), A::Error> {
        let variant = self.0.next_key_seed(seed)?.ok_or_else(|| A::Error::custom("a variant without a name"))?;
        Ok((variant, self))
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Typed<&mut A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.next_value::<IgnoredAny>().map(drop)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Attribute(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Attribute(Visited(visitor)))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Attribute(Visited(visitor)))
    }
}

/// Reads whatever comes for a visitor.
struct Visited<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Visited<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// Reads an attribute: an object with one member, which names the type.
struct Attribute<S>(S);

/// The types of attributes, as in [`RawAttribute`].
#[derive(serde::Deserialize)]
enum Type {
    S,
    N,
    #[serde(rename = "BOOL")]
    Bool,
    #[serde(rename = "NULL")]
    Null,
    L,
    M,
    #[serde(alias = "SS", alias = "NS", alias = "BS")]
    B,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Attribute<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Attribute<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<S::Value, A::Error> {
        let kind: Type = object.next_key()?.ok_or_else(|| A::Error::custom("an attribute without a type"))?;
        let value = match kind {
            Type::S | Type::Bool => object.next_value_seed(self.0)?,
            Type::N => object.next_value_seed(OfNumber(self.0))?,
            Type::Null | Type::B => {
                object.next_value::<IgnoredAny>()?;
                self.0.deserialize(().into_deserializer())?
            }
            Type::L | Type::M => object.next_value_seed(OfContainer(self.0))?,
        };
        end(&mut object).map(|()| value)
    }
}

/// Says that an object has no further member.
fn end<'de, A: MapAccess<'de>>(object: &mut A) -> Result<(), A::Error> {
    match object.next_key::<IgnoredAny>()? {
        None => Ok(()),
        Some(_) => Err(A::Error::custom("an attribute of two types")),
    }
}

/// Hands a seed a list or an object of attributes.
struct OfContainer<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for OfContainer<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Present(Container(deserializer)))
    }
}

/// Hands a seed a number, which stands as text.
struct OfNumber<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for OfNumber<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for OfNumber<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as text")
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<S::Value, E> {
        number(digits, self.0)
    }
}

#[cfg(test)]
mod tests {
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
    fn a_text_is_read_alone() {
        let item: RawItem = serde_json::from_str(&item("note", r#"{"L":[]}"#)).unwrap();
        assert_eq!(item.text("name"), Some("a \"b\"\né"));
        assert_eq!(item.text("note"), None);
        assert_eq!(item.text("other"), None);
    }

    #[test]
    fn what_owners_add_to_a_row_is_not_looked_at() {
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
    fn what_is_not_as_it_should_be_is_refused() {
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
            ("inner", r#"{"M":{"deep":{"L":[{"N":7}]}}}"#, "attribute `inner`: expected a number as text"),
            ("inner", r#"{"M":{"deep":7}}"#, "attribute `inner`: expected an attribute"),
            ("inner", r#"{"M":{"deep":{}}}"#, UNREADABLE),
            ("inner", r#"{"M":{"deep":{"L":[],"S":"7"}}}"#, UNREADABLE),
            ("inner", r#"{"M":{"deep":{"NS":["7"]}}}"#, "attribute `inner`: expected a sequence"),
            ("inner", r#"{"M":{"deep":{"X":"7"}}}"#, "attribute `inner`: expected one of `S`"),
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
    fn no_value_of_a_buyer_is_in_what_is_said_of_an_item() {
        for attribute in [r#"{"S":"secret"}"#, r#"{"N":"4711.5"}"#, r#"{"M":{"deep":{"S":"secret, expected 4711"}}}"#] {
            for name in ["id", "kind", "inner", "tagged", "limits", "reward"] {
                let said = read(name, attribute).unwrap_err();
                assert!(said.contains(name) && !said.contains("secret") && !said.contains("4711"), "{said}");
            }
        }
        let item: RawItem = serde_json::from_str(r#"{"id":{"N":"7"}}"#).unwrap();
        assert_eq!(without_values(&item.read::<Thing>().unwrap_err()), "missing field `name`");
    }
}

//! The values that a buyer may enter or choose for a variable (rules.md, "Variables").

use crate::model::{Variable, VariableKind};
use std::borrow::Cow;
use std::fmt;
use steam::SteamId;
use uuid::Uuid;

/// The most characters of a word and of a number.
const LONGEST_WORD: usize = 32;
/// The most characters of a text.
const LONGEST_TEXT: usize = 64;
/// The largest integer in either direction, which a JSON number has exactly.
pub const LARGEST_INTEGER: i64 = 9_007_199_254_740_991;

/// The reason why a value is not right for a variable. The text continues a sentence that begins with the variable's
/// name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongValue {
    #[error("must be one of: {0}")]
    Option(String),
    #[error("must be 1 to {LONGEST_WORD} letters (a to z), digits, \"_\" or \"-\"")]
    Word,
    #[error("must be 1 to {LONGEST_TEXT} letters (a to z), digits, spaces, \"_\", \".\", \",\" or \"-\"")]
    Text,
    #[error("must be a number such as 12 or -0.5, of at most {LONGEST_WORD} characters")]
    Number,
    #[error("must be a whole number{0}")]
    Integer(Range),
    #[error("must be a player's SteamID, such as 76561198135242017, STEAM_0:1:87488144 or [U:1:174976289]")]
    SteamId,
    #[error("must be a UUID, such as 069a79f4-44e9-4726-a5be-fca90e38aaf5")]
    Uuid,
}

/// The limits of an integer, as they continue `a whole number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    min: Option<i64>,
    max: Option<i64>,
}

impl Range {
    const fn of(variable: &Variable) -> Self {
        Self { min: variable.min, max: variable.max }
    }

    fn has(self, number: i64) -> bool {
        let (least, most) = (self.min.unwrap_or(-LARGEST_INTEGER), self.max.unwrap_or(LARGEST_INTEGER));
        (least..=most).contains(&number)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) => write!(f, " from {min} to {max}"),
            (Some(min), None) => write!(f, " of at least {min}"),
            (None, Some(max)) => write!(f, " of at most {max}"),
            (None, None) => f.write_str(" such as 12"),
        }
    }
}

/// A value as it is stored: ids and integers have several forms, of which one is kept, so that equal choices are equal and
/// game servers get the form that they know. Options are the owner's own text; what a buyer enters ends in the consoles of
/// game servers, so that it is limited to ASCII. Nothing is trimmed.
pub fn parse<'a>(variable: &Variable, value: &'a str) -> Result<Cow<'a, str>, WrongValue> {
    if !variable.options.is_empty() {
        let known = variable.options.iter().any(|option| option == value);
        return if known { Ok(value.into()) } else { Err(WrongValue::Option(variable.options.join(", "))) };
    }
    let unchanged = |is_right: bool| is_right.then_some(Cow::Borrowed(value));
    match variable.kind {
        VariableKind::Word => unchanged(is_word(value)).ok_or(WrongValue::Word),
        VariableKind::Text => unchanged(is_text(value)).ok_or(WrongValue::Text),
        VariableKind::Number => unchanged(is_number(value)).ok_or(WrongValue::Number),
        VariableKind::Integer => {
            let range = Range::of(variable);
            let number = integer(value).filter(|number| range.has(*number));
            number.map(|number| number.to_string().into()).ok_or(WrongValue::Integer(range))
        }
        VariableKind::SteamId => SteamId::parse(value).map(|id| id.to_string().into()).ok_or(WrongValue::SteamId),
        VariableKind::Uuid => uuid(value).map(|id| id.to_string().into()).ok_or(WrongValue::Uuid),
    }
}

/// What a buyer is told before a value is entered, as a sentence; empty if the variable's name says enough.
pub fn hint(variable: &Variable) -> String {
    match variable.kind {
        _ if !variable.options.is_empty() => String::new(),
        VariableKind::Word | VariableKind::Text | VariableKind::Number => String::new(),
        VariableKind::Integer if Range::of(variable) == (Range { min: None, max: None }) => {
            "A whole number.".to_owned()
        }
        VariableKind::Integer => format!("A whole number{}.", Range::of(variable)),
        VariableKind::SteamId => {
            "17 digits such as 76561198135242017; STEAM_0:1:87488144 and [U:1:174976289] are understood too.".to_owned()
        }
        VariableKind::Uuid => "A UUID, such as 069a79f4-44e9-4726-a5be-fca90e38aaf5.".to_owned(),
    }
}

/// The longest value that a buyer can choose or enter, in bytes.
pub fn longest(variable: &Variable) -> usize {
    match variable.kind {
        _ if !variable.options.is_empty() => variable.options.iter().map(String::len).max().unwrap_or_default(),
        VariableKind::Word | VariableKind::Number => LONGEST_WORD,
        VariableKind::Text => LONGEST_TEXT,
        VariableKind::Integer => {
            let of = |limit: Option<i64>, otherwise: i64| limit.unwrap_or(otherwise).to_string().len();
            of(variable.min, -LARGEST_INTEGER).max(of(variable.max, LARGEST_INTEGER))
        }
        VariableKind::SteamId => 17,
        VariableKind::Uuid => 36,
    }
}

fn is_word(value: &str) -> bool {
    (1..=LONGEST_WORD).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// A text of spaces only would look as if it were not set.
fn is_text(value: &str) -> bool {
    (1..=LONGEST_TEXT).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _.,-".contains(&byte))
        && value.bytes().any(|byte| byte != b' ')
}

/// Digits, possibly a `-` in front and a fraction after a point.
fn is_number(value: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = value.strip_prefix('-').unwrap_or(value);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    value.len() <= LONGEST_WORD && digits(whole) && digits(fraction)
}

/// Digits, possibly a `-` in front, that are not more than is counted exactly.
fn integer(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_written = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| is_written && value.len() <= LONGEST_WORD)
}

/// 32 hexadecimal digits, all together or in the usual groups. The one of zeros is not a player's.
fn uuid(value: &str) -> Option<Uuid> {
    let is_written = matches!(value.len(), 32 | 36);
    Uuid::try_parse(value).ok().filter(|id| is_written && !id.is_nil())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn entered(kind: VariableKind) -> Variable {
        Variable {
            id: 1,
            name: "Name".to_owned(),
            options: Vec::new(),
            surcharges: BTreeMap::new(),
            kind,
            min: None,
            max: None,
        }
    }

    #[test]
    fn each_kind_accepts_its_values_and_nothing_else() {
        let (word, text) = ("x".repeat(32), "x".repeat(64));
        let number = format!("-{}", "9".repeat(31));
        let (long_word, long_text, long_number) = (format!("{word}x"), format!("{text}x"), format!("{number}9"));
        let kinds: [(VariableKind, &[&str], &[&str]); 3] = [
            (
                VariableKind::Word,
                &["a", "Steve_1", "-", "007", &word],
                &["", " ", "a b", "a.b", "a;b", "a\0", "a\n", "аbc", "é", "٣", "$(x)", &long_word],
            ),
            (
                VariableKind::Text,
                &["a", "Mind the step, please.", "a-b_c", " a", &text],
                &["", " ", "  ", "a\tb", "a\nb", "a;b", "a'b", "\"", "\\", "§c", "é", "/op", "@a", &long_text],
            ),
            (
                VariableKind::Number,
                &["0", "12", "-0.5", "007", "-0", "1.50", &number],
                &["", "-", ".", "1.", ".5", "+1", "1e3", "1,5", "--1", "1.2.3", " 1", "٣", "NaN", &long_number],
            ),
        ];
        for (kind, right, wrong) in kinds {
            for value in right {
                assert_eq!(parse(&entered(kind), value), Ok(Cow::Borrowed(*value)), "{kind:?} {value:?}");
            }
            for value in wrong {
                assert!(parse(&entered(kind), value).is_err(), "{kind:?} {value:?}");
            }
        }
    }

    #[test]
    fn options_are_compared_exactly_and_may_be_any_text() {
        let options = vec!["Midnight blue!".to_owned(), "Ünder".to_owned()];
        let variable = Variable { options, ..entered(VariableKind::Word) };
        assert_eq!(parse(&variable, "Ünder"), Ok("Ünder".into()));
        let wrong = parse(&variable, "midnight blue!").unwrap_err();
        assert_eq!(wrong.to_string(), "must be one of: Midnight blue!, Ünder");
    }

    #[test]
    fn a_steam_id_is_stored_as_17_digits_whatever_its_form() {
        let id = entered(VariableKind::SteamId);
        for form in ["76561198135242017", "STEAM_0:1:87488144", "STEAM_1:1:87488144", "[U:1:174976289]"] {
            assert_eq!(parse(&id, form).unwrap(), "76561198135242017", "{form}");
        }
        for text in ["0", "-5", "12.5", "7656119813524201", "765611981352420170", "[g:1:4]", "103582791429521412", ""] {
            assert_eq!(parse(&id, text), Err(WrongValue::SteamId), "{text}");
        }
    }

    #[test]
    fn an_integer_is_whole_within_its_limits_and_stored_without_zeros_in_front() {
        let of = |min, max| Variable { min, max, ..entered(VariableKind::Integer) };
        let largest = LARGEST_INTEGER.to_string();
        for (min, max, right) in [
            (None, None, ["0", "-5", "12", &largest]),
            (Some(1), Some(64), ["1", "64", "7", "33"]),
            (Some(-3), None, ["-3", "0", "999", &largest]),
        ] {
            for value in right {
                assert_eq!(parse(&of(min, max), value).unwrap(), value, "{min:?} {max:?} {value}");
            }
        }
        assert_eq!(parse(&of(None, None), "007").unwrap(), "7");
        assert_eq!(parse(&of(None, None), "-0").unwrap(), "0");
        let above = (LARGEST_INTEGER + 1).to_string();
        for value in
            ["", "-", "12.5", "1e3", "+1", " 1", "1 ", "٣", "x", "99999999999999999999", &above, &"0".repeat(33)]
        {
            assert!(parse(&of(None, None), value).is_err(), "{value:?}");
        }
        for (min, max, value, said) in [
            (Some(1), Some(64), "65", "must be a whole number from 1 to 64"),
            (Some(1), Some(64), "0", "must be a whole number from 1 to 64"),
            (Some(2), None, "1", "must be a whole number of at least 2"),
            (None, Some(2), "3", "must be a whole number of at most 2"),
            (None, None, "x", "must be a whole number such as 12"),
        ] {
            assert_eq!(parse(&of(min, max), value).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_uuid_is_stored_with_hyphens_and_small_letters() {
        let id = entered(VariableKind::Uuid);
        for form in [
            "069a79f4-44e9-4726-a5be-fca90e38aaf5",
            "069A79F444E94726A5BEFCA90E38AAF5",
            "069A79F4-44E9-4726-a5be-fca90e38aaf5",
        ] {
            assert_eq!(parse(&id, form).unwrap(), "069a79f4-44e9-4726-a5be-fca90e38aaf5", "{form}");
        }
        let nil = "00000000-0000-0000-0000-000000000000";
        for text in [
            "",
            "069a79f4",
            "{069a79f4-44e9-4726-a5be-fca90e38aaf5}",
            "urn:uuid:069a79f4-44e9-4726-a5be-fca90e38aaf5",
            nil,
        ] {
            assert_eq!(parse(&id, text), Err(WrongValue::Uuid), "{text}");
        }
        assert!(parse(&id, "00000000-0000-0000-0009-01f6c7b5b2ab").is_ok(), "a player of Bedrock");
    }

    #[test]
    fn no_value_is_longer_than_the_longest() {
        let of = |kind, min, max| Variable { min, max, ..entered(kind) };
        for (variable, value) in [
            (of(VariableKind::SteamId, None, None), "STEAM_0:1:2147483647".to_owned()),
            (of(VariableKind::Uuid, None, None), "069a79f444e94726a5befca90e38aaf5".to_owned()),
            (of(VariableKind::Integer, None, None), (-LARGEST_INTEGER).to_string()),
            (of(VariableKind::Integer, Some(-100), Some(9)), "-100".to_owned()),
            (of(VariableKind::Word, None, None), "x".repeat(32)),
            (of(VariableKind::Text, None, None), "x".repeat(64)),
            (
                Variable { options: vec!["é".to_owned(), "ab c".to_owned()], ..of(VariableKind::Word, None, None) },
                "ab c".to_owned(),
            ),
        ] {
            assert_eq!(parse(&variable, &value).unwrap().len(), longest(&variable), "{variable:?}");
        }
    }
}

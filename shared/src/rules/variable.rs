//! The values that a buyer may enter or choose for a variable (rules.md, "Variables").

use crate::model::{Variable, VariableKind};

/// The most characters of a word and of a number.
const LONGEST_WORD: usize = 32;
/// The most characters of a text.
const LONGEST_TEXT: usize = 64;

/// The reason why a value is not right for a variable. The text continues a sentence that begins with the variable's
/// name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongValue {
    #[error("must be one of: {0}")]
    Option(String),
    #[error("must be 1 to 32 letters (a to z), digits, \"_\" or \"-\"")]
    Word,
    #[error("must be 1 to 64 letters (a to z), digits, spaces, \"_\", \".\", \",\" or \"-\"")]
    Text,
    #[error("must be a number such as 12 or -0.5, of at most 32 characters")]
    Number,
}

/// Checks a value. Options are the owner's own text; what a buyer enters ends in the consoles of game servers, so that
/// it is limited to ASCII. Nothing is trimmed.
pub fn check(variable: &Variable, value: &str) -> Result<(), WrongValue> {
    if !variable.options.is_empty() {
        let known = variable.options.iter().any(|option| option == value);
        return if known { Ok(()) } else { Err(WrongValue::Option(variable.options.join(", "))) };
    }
    let (is_right, wrong) = match variable.kind {
        VariableKind::Word => (is_word(value), WrongValue::Word),
        VariableKind::Text => (is_text(value), WrongValue::Text),
        VariableKind::Number => (is_number(value), WrongValue::Number),
    };
    if is_right { Ok(()) } else { Err(wrong) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(kind: VariableKind) -> Variable {
        Variable { id: 1, name: "Name".to_owned(), options: Vec::new(), kind }
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
                assert_eq!(check(&entered(kind), value), Ok(()), "{kind:?} {value:?}");
            }
            for value in wrong {
                assert!(check(&entered(kind), value).is_err(), "{kind:?} {value:?}");
            }
        }
    }

    #[test]
    fn options_are_compared_exactly_and_may_be_any_text() {
        let options = vec!["Midnight blue!".to_owned(), "Ünder".to_owned()];
        let variable = Variable { options, ..entered(VariableKind::Word) };
        assert_eq!(check(&variable, "Ünder"), Ok(()));
        let wrong = check(&variable, "midnight blue!").unwrap_err();
        assert_eq!(wrong.to_string(), "must be one of: Midnight blue!, Ünder");
    }
}

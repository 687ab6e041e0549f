//! Faults of YAML's syntax, in an owner's words: where what is wrong began, and what to write. The parser only knows where
//! it could not go on, which may be many lines later.

use crate::fault::Problem;

/// Line and problem of a fault of syntax that the parser reports as `message`, at `line`.
pub(crate) fn explain(text: &str, line: Option<u64>, message: &str) -> (Option<u64>, String) {
    // The fault has its line already.
    let message = &message[..message.rfind(" at line ").unwrap_or(message.len())];
    let written = line.and_then(|line| line_of(text, line)).unwrap_or_default();
    if let Some(command) = unquoted_command(written) {
        return (line, format!("a command with special characters needs quotes; write run: {}", quoted(command)));
    }
    if let Some((began, problem)) = line.and_then(|line| unclosed(text, line)) {
        return (Some(began), problem);
    }
    if let Some(problem) = missing_space(written) {
        return (line, problem);
    }
    let example = in_quotes(written).map_or_else(String::new, |example| format!("; write {example}"));
    let problem = match message {
        _ if message.contains("tab") => "is indented with a tab; indent with spaces, not with tabs".to_owned(),
        _ if message.contains("simple key expected") => {
            let written = written.trim().trim_start_matches("- ");
            let (name, value) = written.split_once(' ').unwrap_or((written, ""));
            format!("a colon is missing after a field's name; write {}", format!("{name}: {}", value.trim()).trim_end())
        }
        _ if message.contains("trailing content after") => {
            "text is behind the closing quote; a quote within the text is written '' in single quotes, and \\\" in double quotes"
                .to_owned()
        }
        _ if message.contains("mapping values are not allowed") && written.matches(':').count() == 1 => {
            "is indented more than the fields before it: begin it in their column".to_owned()
        }
        _ if message.contains("mapping values are not allowed") => {
            format!("a text that contains a colon needs quotes{example}")
        }
        _ if message.contains("unexpected character") => {
            format!("a text that begins with a special character needs quotes{example}")
        }
        _ if message.contains("expected ',' or") => {
            "a comma is missing: inside {…} and […] it separates what is written, as in {code: en, name: English}".to_owned()
        }
        _ if message.contains("block collection") || message.contains("block mapping") => {
            "is in another column than the entries before it: begin it in theirs; every entry of a list begins with a dash \
             and a space"
                .to_owned()
        }
        _ => message.to_owned(),
    };
    (line, problem)
}

/// A line of a text, from 1.
pub(crate) fn line_of(text: &str, line: u64) -> Option<&str> {
    text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)
}

/// The command of a line whose `run:` has no quotes, with characters that mean something to YAML.
pub(crate) fn unquoted_command(line: &str) -> Option<&str> {
    let (before, command) = line.split_once("run:")?;
    let command = command.trim();
    // Within braces it ends with them, or with the comma before the next field.
    let end = if before.contains('{') { end_of_value(command) } else { command.len() };
    let command = command.get(..end)?.trim_end();
    let is_special = command.contains(['{', '[', '@', '#', '&', '*', '%', '`']) || command.contains(": ");
    (is_special && !command.starts_with(['"', '\'', '|', '>'])).then_some(command)
}

/// Where a value within braces ends: its own braces are closed before.
fn end_of_value(text: &str) -> usize {
    let mut open = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '{' | '[' => open += 1,
            '}' | ']' | ',' if open == 0 => return place,
            '}' | ']' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

/// A text in the quotes that it does not have itself.
fn quoted(text: &str) -> String {
    if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
}

/// A line's field with its value in quotes, unless it has some or is more than one field.
fn in_quotes(line: &str) -> Option<String> {
    let (field, value) = line.trim().trim_start_matches("- ").split_once(':')?;
    let value = value.trim();
    let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '{', '[']) && !field.contains(['{', '[', '"']);
    is_plain.then(|| format!("{field}: {}", quoted(value)))
}

/// The fields with a text of one line.
const TEXTS: [&str; 5] = ["name", "title", "description", "message", "run"];

/// Texts of which YAML drops a part: the end, because it begins with ` #` (a comment has a space after the mark as well), or the
/// beginning, because it begins with `&`.
pub(crate) fn dropped(text: &str) -> Vec<Problem> {
    let dropped = |(number, line): (u64, &str)| {
        let entry = line.trim_start().trim_start_matches("- ");
        let (field, value) = entry.split_once(": ").filter(|(field, _)| TEXTS.contains(field))?;
        let value = value.trim();
        if value.starts_with('&') && !value.starts_with("& ") {
            let anchor = value.split(' ').next().unwrap_or_default();
            let problem =
                format!("YAML reads `{anchor}` as a mark and drops it; write the text in quotes: {}", quoted(value));
            return Some((Some(number), field.to_owned(), problem));
        }
        let (kept, rest) = value.split_once(" #").filter(|_| !value.starts_with(['"', '\'', '|', '>']))?;
        let is_text = rest.starts_with(|first: char| first.is_alphanumeric()) && !kept.contains('#');
        let problem = format!("YAML reads `#{rest}` as a comment; write the text in quotes: {}", quoted(value));
        is_text.then(|| (Some(number), field.to_owned(), problem))
    };
    // Nothing is dropped of a text of several lines, which are indented more than its field.
    let mut text_of = None;
    let mut is_field = |line: &str| {
        let entry = line.trim_start_matches([' ', '-']);
        let indent = line.len() - line.trim_start().len();
        if text_of.is_some_and(|field| entry.is_empty() || indent > field) {
            return false;
        }
        let value = entry.split_once(": ").map_or("", |(_, value)| value.trim());
        let begins_text = value.starts_with(['|', '>']) && value.len() <= 3;
        text_of = begins_text.then_some(line.len() - entry.len());
        true
    };
    (1..).zip(text.lines()).filter(|(_, line)| is_field(line)).filter_map(dropped).collect()
}

/// The line of the mark that begins a second document, if there is content before it.
pub(crate) fn second_document(text: &str) -> Option<u64> {
    let is_mark = |line: &str| line == "---" || line.starts_with("--- ");
    let has_content = |line: &str| !line.trim().is_empty() && !line.starts_with(['#', '%']) && !is_mark(line);
    let mut numbered = (1..).zip(text.lines().map(str::trim_end)).skip_while(|(_, line)| !has_content(line));
    numbered.find(|(_, line)| is_mark(line)).map(|(number, _)| number)
}

/// A colon or a dash of a list without the space after it.
fn missing_space(line: &str) -> Option<String> {
    let line = line.trim();
    let entry = line.strip_prefix("- ").unwrap_or(line);
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if let Some(rest) = entry.strip_prefix('-').filter(|rest| rest.split(':').next().is_some_and(is_name)) {
        return Some(format!("write a space after the dash: `- {rest}`"));
    }
    let (name, value) = entry.split_once(':').filter(|(name, value)| is_name(name) && !value.starts_with(' '))?;
    (!value.is_empty()).then(|| format!("write a space after the colon: `{name}: {value}`"))
}

/// A bracket or a quote that is open at the end of a line.
#[derive(Clone, Copy)]
struct Open {
    mark: char,
    line: u64,
}

/// The first bracket or quote up to `last` that nothing closes, with the line it is in.
fn unclosed(text: &str, last: u64) -> Option<(u64, String)> {
    let mut brackets: Vec<Open> = Vec::new();
    let mut quote: Option<Open> = None;
    for (line, written) in (1..=last).zip(text.lines()) {
        // A new entry or field outside of brackets: a plain text may contain any of them.
        let mut begins_value = true;
        let mut letters = written.chars().peekable();
        while let Some(letter) = letters.next() {
            if let Some(open) = quote {
                match letter {
                    '\\' if open.mark == '"' => drop(letters.next()),
                    '\'' if open.mark == '\'' && letters.peek() == Some(&'\'') => drop(letters.next()),
                    _ if letter == open.mark => quote = None,
                    _ => {}
                }
                continue;
            }
            match letter {
                '#' if begins_value => break,
                '"' | '\'' if begins_value => quote = Some(Open { mark: letter, line }),
                '{' | '[' if begins_value => brackets.push(Open { mark: letter, line }),
                '}' | ']' if !brackets.is_empty() => drop(brackets.pop()),
                _ => {}
            }
            let separates = matches!(letter, ':' | '-' | ',' | '{' | '[');
            begins_value = separates || begins_value && letter == ' ' || letter == ' ' && letters.peek() == Some(&'#');
        }
    }
    let open = quote.or_else(|| brackets.first().copied()).filter(|open| open.line < last || quote.is_none())?;
    let closing = match open.mark {
        '{' => "}",
        '[' => "]",
        '"' => "\"",
        _ => "'",
    };
    Some((open.line, format!("`{}` is not closed: write `{closing}` after its last value", open.mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str, line: u64) -> (u64, String) {
        let (line, problem) = explain(text, Some(line), "the parser's words at line 9");
        (line.unwrap(), problem)
    }

    #[test]
    fn what_is_not_closed_is_reported_where_it_was_opened() {
        let brace = "`{` is not closed: write `}` after its last value";
        assert_eq!(explained("a:\n  - {b: 1, c: 2\n  - {b: 3}\nd: 4\n", 4), (2, brace.to_owned()));
        let bracket = "`[` is not closed: write `]` after its last value";
        assert_eq!(explained("a: [x, y\nb: 1\n", 2), (1, bracket.to_owned()));
        let quote = "`\"` is not closed: write `\"` after its last value";
        assert_eq!(explained("a: \"x\nb: 1\n", 2), (1, quote.to_owned()));
        let nothing = "the parser's words".to_owned();
        assert_eq!(explained("a: {b: 'it''s } fine', c: \"\\\"{\"}\nd: an open { in a text\n", 2), (2, nothing));
    }

    #[test]
    fn a_missing_space_is_shown() {
        assert_eq!(explained("a: 1\nprice:9.99\n", 2), (2, "write a space after the colon: `price: 9.99`".to_owned()));
        assert_eq!(explained("a:\n  -id: 1\n", 2), (2, "write a space after the dash: `- id: 1`".to_owned()));
        assert_eq!(explained("url: https://a.example\n", 1).1, "the parser's words");
    }

    #[test]
    fn a_name_with_a_hash_needs_quotes() {
        let found =
            dropped("a:\n  - name: Vote Crate #1\n    name: \"Vote Crate #1\"\n    name: Squire   # required\n");
        let problem = "YAML reads `#1` as a comment; write the text in quotes: \"Vote Crate #1\"";
        assert_eq!(found, [(Some(2), "name".to_owned(), problem.to_owned())]);
        let found = dropped("- run: nick {player} #ff8800\n- run: nick {player}   # red\n");
        let problem = "YAML reads `#ff8800` as a comment; write the text in quotes: \"nick {player} #ff8800\"";
        assert_eq!(found, [(Some(1), "run".to_owned(), problem.to_owned())]);
        let found = dropped("- content: |\n    title: Season #2\n\n    name: Crate #3\n  name: Crate #4\n");
        assert_eq!(found.into_iter().map(|(line, ..)| line).collect::<Vec<_>>(), [Some(5)]);
    }

    #[test]
    fn a_second_document_begins_after_content() {
        assert_eq!(second_document("# a\n---\nid: 1\n"), None);
        assert_eq!(second_document("id: 1\n---\nslug: a\n"), Some(2));
        assert_eq!(second_document("id: 1\ntext: |\n  ---\n"), None);
    }
}

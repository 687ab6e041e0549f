//! CSV for spreadsheets.

/// The beginning of a file: without the mark Excel reads UTF-8 as another encoding.
pub const BEGINNING: &str = "\u{feff}";

/// A line of a text and of numbers, which may be negative, or of our own words.
pub fn row(name: &str, cells: &[String]) -> String {
    format!("{},{}\r\n", text(name), cells.join(","))
}

/// A cell with a text. A spreadsheet would run one that begins like a formula: it gets an apostrophe.
fn text(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r', ';', '\t']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_neither_run_nor_spilled_into_other_cells() {
        for (given, cell) in [
            ("Squire", "Squire"),
            ("", ""),
            ("=HYPERLINK(\"http://evil.example\")", "\"'=HYPERLINK(\"\"http://evil.example\"\")\""),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("-", "'-"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("a,b", "\"a,b\""),
            ("a;b", "\"a;b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("焔 – Ümläut", "焔 – Ümläut"),
        ] {
            assert_eq!(row(given, &["-1.50".to_owned()]), format!("{cell},-1.50\r\n"), "{given:?}");
        }
    }
}

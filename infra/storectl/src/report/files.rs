//! The report as files: one page (no script, no other file, light and dark, readable on a phone), and CSV for spreadsheets.

use super::{COLUMNS, Shown};
use jiff::ToSpan as _;
use jiff::civil::Date;
use shared::model::Money;
use shared::rules::report::{By, Sums};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1b1f;--soft:#5c5c66;--line:#d9d9e0;--page:#fff;--a:#2f6fde;--b:#d9534f}
@media(prefers-color-scheme:dark){:root{--ink:#ececf1;--soft:#a6a6b3;--line:#3a3a45;--page:#17171c;--a:#7aa7ff;--b:#ff8a85}}
body{margin:0 auto;padding:1rem;max-width:70rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page)}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0;color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right}th:first-child,td:first-child{text-align:left}
tr:last-child td{font-weight:600}dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.8rem;margin:1rem 0}
dt{color:var(--soft)}dd{margin:0;font-size:1.3rem}svg{display:block;width:100%;height:15rem}
.ends{display:flex;justify-content:space-between;gap:1rem;font-size:.85rem;overflow-wrap:anywhere}
.a{fill:var(--a)}.b{fill:var(--b)}.axis{stroke:var(--line);vector-effect:non-scaling-stroke}
";

/// The most bars of a chart; the largest are shown.
const MOST_BARS: usize = 62;
/// The most days of a chart.
const MOST_DAYS: usize = 366;

/// A text that cannot be markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

pub(super) fn page(shown: &Shown) -> String {
    let title = escaped(&shown.title());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<main>\n<h1>{title}</h1>\n"
    );
    let total = &shown.report.total;
    page.push_str("<dl>");
    for (name, amount) in [
        ("Received", total.received),
        ("Refunds", total.refunds),
        ("Disputes", total.disputes),
        ("Fees", total.fees),
        ("Net", total.net()),
    ] {
        // Writing to a String cannot fail.
        _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", shown.format.money(amount));
    }
    _ = writeln!(page, "<div><dt>Orders</dt><dd>{}</dd></div></dl>", total.orders);
    let by = shown.report.by.word();
    _ = writeln!(page, "<h2>Received and gone back, by {by}</h2>\n{}", chart(shown));
    page.push_str(&table(shown, by));
    for line in shown.counts().iter().chain(&shown.provider()).chain(&shown.notes) {
        _ = writeln!(page, "<p>{}</p>", escaped(line));
    }
    let differences = &shown.report.differences;
    if !differences.is_empty() {
        _ = writeln!(page, "<h2>{} differences</h2>", shown.report.differences_count);
        for difference in differences {
            _ = writeln!(page, "<p>{}.</p>", escaped(&shown.difference(difference)));
        }
    }
    page.push_str("</main>\n</html>\n");
    page
}

fn table(shown: &Shown, by: &str) -> String {
    let mut text = format!(
        "<h2>Sums</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Sums\" tabindex=\"0\"><table><tr><th>{by}</th>"
    );
    for column in COLUMNS {
        _ = write!(text, "<th>{}</th>", column.replace('_', " "));
    }
    text.push_str("</tr>\n");
    for row in shown.rows() {
        text.push_str("<tr>");
        for cell in &row {
            _ = write!(text, "<td>{}</td>", escaped(cell));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table></div>\n");
    text
}

/// The groups of the chart: of days also those on which nothing was sold, so that a gap is seen.
fn groups(shown: &Shown) -> BTreeMap<String, Sums> {
    let mut groups = shown.report.groups.clone();
    if let (By::Day, [Ok(first), Ok(last)]) = (shown.report.by, shown.days.each_ref().map(|day| day.parse::<Date>())) {
        let days: Vec<Date> = first.series(1.day()).take_while(|day| *day <= last).take(MOST_DAYS + 1).collect();
        for day in days.iter().filter(|_| days.len() <= MOST_DAYS) {
            groups.entry(day.to_string()).or_default();
        }
    }
    groups
}

/// Bars of what was received, and below the line of what went back. Texts are beside the picture, which is as wide as the page.
fn chart(shown: &Shown) -> String {
    const WIDTH: i64 = 720;
    const HALF: i64 = 120;
    let gone = |sums: &Sums| sums.refunds + sums.disputes;
    let groups = groups(shown);
    let mut bars: Vec<(&String, &Sums)> = groups.iter().collect();
    let most = if shown.report.by == By::Day { MOST_DAYS } else { MOST_BARS };
    if bars.len() > most {
        bars.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.received));
        bars.truncate(most);
        bars.sort_by_key(|(group, _)| group.as_str());
    }
    let largest = bars.iter().flat_map(|(_, sums)| [sums.received, gone(sums)]).max().unwrap_or_default();
    if largest <= Money::ZERO {
        return "<p>Nothing was received, and nothing went back.</p>".to_owned();
    }
    let height = |amount: Money| {
        let scaled = i128::from(amount.minor().max(0)) * i128::from(HALF) / i128::from(largest.minor());
        i64::try_from(scaled).unwrap_or(HALF)
    };
    let count = i64::try_from(bars.len()).unwrap_or(WIDTH);
    let left = |place: i64| place * WIDTH / count;
    let mut text = format!(
        "<p class=\"ends\"><span>{}</span></p>\n<svg viewBox=\"0 0 {WIDTH} {}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Received and gone back\">\n",
        shown.format.money(largest),
        2 * HALF,
    );
    for (place, (group, sums)) in (0_i64..).zip(&bars) {
        let (x, full) = (left(place), left(place + 1) - left(place));
        let width = if full > 4 { full - 2 } else { full };
        let (up, down) = (height(sums.received), height(gone(sums)));
        let said = format!(
            "{group}: received {}, gone back {}",
            shown.format.money(sums.received),
            shown.format.money(gone(sums))
        );
        _ = writeln!(
            text,
            "<g><title>{}</title><rect class=\"a\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{up}\"/>\
             <rect class=\"b\" x=\"{x}\" y=\"{HALF}\" width=\"{width}\" height=\"{down}\"/></g>",
            escaped(&said),
            HALF - up
        );
    }
    _ = writeln!(text, "<line class=\"axis\" x1=\"0\" y1=\"{HALF}\" x2=\"{WIDTH}\" y2=\"{HALF}\"/>\n</svg>");
    let ends: BTreeSet<&String> = bars.first().into_iter().chain(bars.last()).map(|(group, _)| *group).collect();
    let ends: Vec<String> = ends.iter().map(|group| format!("<span>{}</span>", escaped(group))).collect();
    _ = writeln!(text, "<p class=\"ends\">{}</p>", ends.concat());
    if bars.len() < groups.len() {
        _ = writeln!(text, "<p>The {} largest of {} are shown.</p>", bars.len(), groups.len());
    }
    text
}

/// The beginning of a file: without the mark Excel reads UTF-8 as another encoding.
pub const CSV_BEGINNING: &str = "\u{feff}";

/// A line of a text and of numbers, which may be negative, or of our own words.
pub fn csv_row(name: &str, cells: &[String]) -> String {
    format!("{},{}\r\n", csv_text(name), cells.join(","))
}

/// A cell with a text. A spreadsheet would run one that begins like a formula: it gets an apostrophe.
fn csv_text(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r', ';', '\t']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_markup() {
        for (name, shown) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("R&D 焔", "R&amp;D 焔"),
            ("", ""),
        ] {
            assert_eq!(escaped(name), shown);
        }
    }

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
            assert_eq!(csv_row(given, &["-1.50".to_owned()]), format!("{cell},-1.50\r\n"), "{given:?}");
        }
    }
}

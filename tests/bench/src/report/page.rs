//! A page of Markdown, piece by piece.

use std::fmt::Write as _;

/// A page that grows at its end.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// A heading of the second level.
    pub fn heading(&mut self, heading: &str) {
        let _ = write!(self.text, "## {heading}\n\n");
    }

    /// A heading of the third level.
    pub fn subheading(&mut self, heading: &str) {
        let _ = write!(self.text, "### {heading}\n\n");
    }

    /// A paragraph, wrapped.
    pub fn say(&mut self, paragraph: &str) {
        self.text.push_str(&wrapped(paragraph, ""));
        self.text.push('\n');
    }

    /// A list, each point wrapped.
    pub fn list<T: AsRef<str>>(&mut self, points: &[T]) {
        for point in points {
            self.text.push_str(&wrapped(&format!("- {}", point.as_ref()), "  "));
        }
        self.text.push('\n');
    }

    /// A picture, with what it shows for those who do not see it.
    pub fn picture(&mut self, file: &str, shows: &str) {
        let _ = write!(self.text, "![{shows}]({file})\n\n");
    }

    /// Lines as they are.
    pub fn code(&mut self, lines: &str) {
        let _ = write!(self.text, "```sh\n{lines}\n```\n\n");
    }

    /// A table. A heading that begins with `<` is of a column of words, the others hold figures.
    pub fn table(&mut self, headings: &[&str], rows: &[Vec<String>]) {
        let names: Vec<String> = headings.iter().map(|heading| heading.trim_start_matches('<').to_owned()).collect();
        let rule: Vec<&str> = headings.iter().map(|name| if name.starts_with('<') { "---" } else { "---:" }).collect();
        let _ = write!(self.text, "| {} |\n|{}|\n", names.join(" | "), rule.join("|"));
        for row in rows {
            let _ = writeln!(self.text, "| {} |", row.join(" | "));
        }
        self.text.push('\n');
    }

    /// The whole page, with one line break at its end.
    pub fn finish(self) -> String {
        format!("{}\n", self.text.trim_end())
    }
}

/// Words in lines of at most 120 letters, the second and later ones behind an indent.
fn wrapped(paragraph: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in paragraph.split_whitespace() {
        let letters = word.chars().count();
        if length == 0 {
            length = letters;
        } else if length + 1 + letters > 120 {
            let _ = write!(lines, "\n{indent}");
            length = indent.len() + letters;
        } else {
            lines.push(' ');
            length += 1 + letters;
        }
        lines.push_str(word);
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_point_goes_on_under_its_first_word() {
        let mut page = Page::default();
        page.list(&["word ".repeat(30)]);
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
        assert!(lines.iter().all(|line| line.len() <= 120));
    }
}

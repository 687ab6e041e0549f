//! The texts of the pages. A language is one file of the shop's assets, which scripts read as well.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

/// The language of a store whose own the shop does not speak.
const USUAL: &str = "en";

static TEXTS: LazyLock<Vec<(&str, Texts)>> =
    LazyLock::new(|| shop::TEXTS.iter().map(|(code, file)| (*code, Texts::parse(file))).collect());

#[derive(Debug)]
pub struct Texts(HashMap<String, String>);

impl Texts {
    /// The texts of a language, or of the usual one, after the code.
    pub fn of_language(code: &str) -> (&'static str, &'static Self) {
        static NONE: LazyLock<Texts> = LazyLock::new(|| Texts(HashMap::new()));
        let find = |wanted: &str| TEXTS.iter().find(|(own, _)| *own == wanted);
        find(code).or_else(|| find(USUAL)).map_or((USUAL, &*NONE), |(code, texts)| (*code, texts))
    }

    fn parse(file: &str) -> Self {
        let json = file.find('{').zip(file.rfind('}')).and_then(|(begin, end)| file.get(begin..=end));
        Self(json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default())
    }

    /// The text with a name; the name itself if there is none, which a test excludes.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// The heading of a page; its short name in menus, if they are the same.
    pub fn title<'a>(&'a self, page: &'a str) -> &'a str {
        self.0.get(&format!("{page}.title")).map_or_else(|| self.of(page), String::as_str)
    }

    /// A text with a value in it.
    pub fn with(&self, name: &str, value: impl Display) -> String {
        self.of(name).replace("{0}", &value.to_string())
    }

    /// A text with two values in it.
    pub fn with2(&self, name: &str, first: impl Display, second: impl Display) -> String {
        let (before, after) = self.of(name).split_once("{1}").unwrap_or((self.of(name), ""));
        let (first, second) = (first.to_string(), second.to_string());
        format!("{}{second}{}", before.replace("{0}", &first), after.replace("{0}", &first))
    }
}

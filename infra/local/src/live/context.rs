//! The rest of the store, as the readers of single live files need it.

use super::when::resolve;
use publish::fault::Report;
use publish::files::{At, CategoryFile, StoreFiles};
use publish::lower::{Category, Lowered};
use shared::model::{CodeText, Item};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) struct Context<'a> {
    pub(super) now: i64,
    pub(super) digits: u8,
    pub(super) currency: &'a str,
    /// The currencies a buyer may pay in, with that of the prices.
    pub(super) currencies: BTreeSet<&'a str>,
    pub(super) items: BTreeMap<u64, &'a Item>,
    pub(super) categories: BTreeSet<u64>,
    pub(super) given_up: GivenUp,
    /// Names by id; `None` where `users.yaml` is broken, so that one fault does not become many.
    pub(super) users: Option<BTreeMap<u64, String>>,
    pub(super) report: &'a mut Report,
}

/// Deleted categories and their items, which are never shown again.
#[derive(Default)]
pub(super) struct GivenUp {
    pub(super) categories: BTreeSet<u64>,
    pub(super) items: BTreeSet<u64>,
}

impl GivenUp {
    fn of(files: &StoreFiles) -> Self {
        let mut found = Self::default();
        for top in &files.categories {
            found.take(&top.content, false);
        }
        found
    }

    fn take(&mut self, category: &CategoryFile, parent_is: bool) {
        let is = parent_is || category.deleted;
        if is {
            self.categories.insert(*category.id);
            self.items.extend(category.items.iter().map(|item| *item.id));
        }
        for inner in &category.subcategories {
            self.take(inner, is);
        }
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(lowered: &'a Lowered, files: &'a StoreFiles, now: i64, report: &'a mut Report) -> Self {
        let categories = Category::all_of(&lowered.categories);
        Self {
            now,
            digits: lowered.site.config.digits,
            currency: &files.store.content.currency.code.value,
            currencies: lowered.site.settings.order_currencies().collect(),
            items: Category::items_of(&lowered.categories),
            categories: categories.iter().map(|category| category.shelf.head.id.get()).collect(),
            given_up: GivenUp::of(files),
            users: None,
            report,
        }
    }

    pub(super) fn enter(&mut self, name: &str) {
        self.report.enter(&Path::new("live").join(name));
    }

    /// Reports a user who does not exist.
    pub(super) fn check_user(&mut self, id: u64, line: Option<u64>, field: &str) {
        if self.users.as_ref().is_some_and(|users| !users.contains_key(&id)) {
            self.report.fault(line, field, format!("there is no user {id} in live/users.yaml"));
        }
    }

    /// Finds an item, or reports that it does not exist.
    pub(super) fn item(&mut self, id: &At<u64>, field: &str) -> Option<&'a Item> {
        let found = self.items.get(&id.value).copied();
        if found.is_none() {
            self.report.fault(id.line, field, format!("there is no item {}", id.value));
        }
        found
    }

    /// Reads a time; one that cannot be read is noted and counts as now.
    pub(super) fn time(&mut self, text: &At<String>, field: &str) -> i64 {
        resolve(text, self.now).unwrap_or_else(|error| {
            self.report.fault(text.line, field, error.to_string());
            self.now
        })
    }

    /// Reads the text of a code of at most `longest` characters.
    pub(super) fn code(&mut self, text: &At<String>, longest: usize, field: &str) -> Option<CodeText> {
        if text.chars().count() > longest {
            self.report.fault(text.line, field, format!("must have at most {longest} characters"));
            return None;
        }
        let parsed = CodeText::parse(text);
        if let Err(error) = parsed {
            self.report.fault(text.line, field, error.to_string());
        }
        parsed.ok()
    }
}

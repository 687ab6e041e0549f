//! Links inside texts: of pages and descriptions, in Markdown or HTML.

use crate::fault::Report;
use crate::files::{CategoryFile, StoreFiles};
use shared::model::{Page, PageUrl};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The text before a link in Markdown, and in HTML.
const BEFORE: [&str; 3] = ["](/pages/", "href=\"/pages/", "href='/pages/"];

/// Warns of links inside texts to pages that there are not: storefronts show a page at `/pages/` and its url.
pub(super) fn check(files: &StoreFiles, pages: &[(PathBuf, Page)], report: &mut Report) {
    let known: BTreeSet<PageUrl> = pages.iter().map(|(_, page)| PageUrl::new(&page.url)).collect();
    for (source, (path, page)) in files.pages.iter().zip(pages) {
        report.enter(path);
        check_text(&page.content, &known, source.content.id.line, "content", report);
    }
    for source in &files.categories {
        report.enter(&source.path);
        let top = &source.content;
        check_text(top.description.as_deref().unwrap_or_default(), &known, top.id.line, "description", report);
        for item in CategoryFile::items_of(std::slice::from_ref(source)) {
            let field = format!("items[{}].description", *item.id);
            check_text(item.description.as_deref().unwrap_or_default(), &known, item.id.line, &field, report);
        }
    }
}

fn check_text(text: &str, known: &BTreeSet<PageUrl>, line: Option<u64>, field: &str, report: &mut Report) {
    for before in BEFORE {
        for (at, _) in text.match_indices(before) {
            let rest = &text[at + before.len()..];
            let url = rest.split([')', '"', '\'', '?', '#', ' ']).next().unwrap_or_default();
            if !known.contains(&PageUrl::new(url)) {
                report.warn(line, field, format!("links to /pages/{url}, but there is no such page"));
            }
        }
    }
}

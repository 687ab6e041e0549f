//! Links and pictures inside texts: of pages, descriptions and the announcement, in Markdown or HTML.

use crate::fault::Report;
use crate::files::{CategoryFile, StoreFiles};
use shared::model::{Page, PageUrl};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The text before a link in Markdown, and in HTML.
const BEFORE: [&str; 3] = ["](/pages/", "href=\"/pages/", "href='/pages/"];
/// The path of the store's own pictures.
const PICTURES: &str = "/img/";
/// The characters before such a path in Markdown, HTML and a style sheet. In a whole URL the host is before it.
const BEFORE_PATH: [char; 4] = ['(', '"', '\'', '='];
/// The characters that end a link or a path.
const END: [char; 7] = [')', '"', '\'', '?', '#', ' ', '>'];

/// Warns of links inside texts to pages that there are not: storefronts show a page at `/pages/` and its url. In a store
/// with a shop, warns of pictures inside texts too: only those that a field names are uploaded.
pub(super) fn check(files: &StoreFiles, pages: &[(PathBuf, Page)], report: &mut Report) {
    let store = &files.store.content;
    let known = pages.iter().map(|(_, page)| PageUrl::new(&page.url)).collect();
    let texts = Texts { known, has_shop: store.shop.is_some() };
    report.enter(&files.store.path);
    if let Some(written) = &store.announcement {
        texts.check(&written.content, written.id.line, "announcement.content", report);
    }
    if let Some(shop) = &store.shop {
        check_pictures(&files.css, shop.css.line, "shop.css", report);
    }
    for (source, (path, page)) in files.pages.iter().zip(pages) {
        report.enter(path);
        texts.check(&page.content, source.content.id.line, "content", report);
    }
    for source in &files.categories {
        report.enter(&source.path);
        let top = &source.content;
        texts.check(top.description.as_deref().unwrap_or_default(), top.id.line, "description", report);
        for inner in &top.subcategories {
            let field = format!("subcategories[{}].description", *inner.id);
            texts.check(inner.description.as_deref().unwrap_or_default(), inner.id.line, &field, report);
        }
        for item in CategoryFile::items_of(std::slice::from_ref(source)) {
            let field = format!("items[{}].description", *item.id);
            texts.check(item.description.as_deref().unwrap_or_default(), item.id.line, &field, report);
        }
    }
}

/// The pages that texts may link to, and whether a shop needs their pictures.
struct Texts {
    known: BTreeSet<PageUrl>,
    has_shop: bool,
}

impl Texts {
    fn check(&self, text: &str, line: Option<u64>, field: &str, report: &mut Report) {
        for before in BEFORE {
            for (at, _) in text.match_indices(before) {
                let url = until_end(&text[at + before.len()..]);
                if !self.known.contains(&PageUrl::new(url)) {
                    report.warn(line, field, format!("links to /pages/{url}, but there is no such page"));
                }
            }
        }
        if self.has_shop {
            check_pictures(text, line, field, report);
        }
    }
}

fn check_pictures(text: &str, line: Option<u64>, field: &str, report: &mut Report) {
    for (at, _) in text.match_indices(PICTURES) {
        if text[..at].ends_with(BEFORE_PATH) {
            let path = until_end(&text[at..]);
            let problem = format!("names {path}, which a deployed shop does not have: write a whole URL (https://…)");
            report.warn(line, field, problem);
        }
    }
}

/// The link or path at the beginning of a text.
fn until_end(text: &str) -> &str {
    text.split(END).next().unwrap_or_default()
}

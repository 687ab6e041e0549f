//! Pages, staff, the announcement, and the links of all of them.

use super::check_id;
use super::text::{check_html, check_long_text, check_name};
use crate::fault::{Report, Unique};
use crate::files::{At, CategoryFile, PageFile, Source, StaffFile, StoreFile, StoreFiles};
use jiff::Timestamp;
use shared::model::{Announcement, Link, Page, PageUrl, Staff, StaffMember};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) fn pages(sources: &[Source<PageFile>], report: &mut Report) -> Vec<(PathBuf, Page)> {
    let (mut ids, mut urls) = (Unique::new("page id"), Unique::new("page url"));
    let mut pages = Vec::with_capacity(sources.len());
    for source in sources {
        report.enter(&source.path);
        let page = &source.content;
        check_id(*page.id, page.id.line, "id", report);
        ids.take(report, *page.id, page.id.line, "id");
        let url = PageUrl::new(&page.url);
        if url.as_str().is_empty() {
            report.fault(page.url.line, "url", "must not be blank");
        } else if page.url.chars().count() > PageUrl::LONGEST {
            report.fault(page.url.line, "url", format!("must have at most {} characters", PageUrl::LONGEST));
        }
        // Addresses that differ only by their case are too easily taken for each other.
        urls.take(report, url.as_str().to_lowercase(), page.url.line, "url");
        check_name(&page.title, page.id.line, "title", report);
        check_long_text(&page.content, page.id.line, "content", report);
        let shop_content = check_html(&page.content, page.id.line, "content", report);
        if page.url.contains("://") || page.url.contains(char::is_whitespace) {
            let problem = "must be the path behind /pages/ in the page's address, without spaces, such as rules";
            report.fault(page.url.line, "url", problem);
        }
        let (title, url, content) = (page.title.clone(), page.url.value.clone(), page.content.clone());
        pages.push((source.path.clone(), Page { id: *page.id, title, url, content, shop_content }));
    }
    pages
}

/// Reads the staff: members by sorting, then by name.
pub(super) fn staff(file: &StaffFile, report: &mut Report) -> Staff {
    let mut staff = Staff::default();
    for (group, entries) in &file.0 {
        let mut names = Unique::new("member");
        for entry in entries {
            let field = format!("{group}.username");
            check_name(&entry.username, entry.username.line, &field, report);
            names.take(report, entry.username.value.clone(), entry.username.line, &field);
        }
        let member = |entry: &crate::files::StaffEntry| StaffMember {
            username: entry.username.value.clone(),
            prefix: entry.prefix.clone(),
            sorting: entry.sorting,
        };
        let mut members: Vec<StaffMember> = entries.iter().map(member).collect();
        members.sort_by(|a, b| (a.sorting, &a.username).cmp(&(b.sorting, &b.username)));
        staff.0.insert(group.clone(), members);
    }
    staff
}

/// Reads the announcement, if there is one.
pub(super) fn announcement(file: &StoreFile, report: &mut Report) -> Option<Announcement> {
    let written = file.announcement.as_ref()?;
    let line = written.id.line;
    check_id(*written.id, line, "announcement.id", report);
    check_name(&written.title, line, "announcement.title", report);
    check_long_text(&written.content, line, "announcement.content", report);
    let created_at = time(written.created_at.as_ref(), "announcement.created_at", report);
    let updated_at = time(written.updated_at.as_ref(), "announcement.updated_at", report);
    if let (Some(created), Some(updated)) = (created_at, updated_at)
        && updated < created
    {
        let line = written.updated_at.as_ref().and_then(|at| at.line);
        report.fault(line, "announcement.updated_at", "must not be before created_at");
    }
    Some(Announcement {
        id: *written.id,
        title: written.title.clone(),
        content: written.content.clone(),
        shop_content: check_html(&written.content, line, "announcement.content", report),
        button: written.button.as_ref().map(Link::from),
        created_at,
        updated_at,
    })
}

/// A time of the calendar: one that is counted from now would make another version with every publish.
fn time(written: Option<&At<String>>, field: &str, report: &mut Report) -> Option<i64> {
    let written = written?;
    let time = written.trim().parse::<Timestamp>();
    if time.is_err() {
        report.fault(written.line, field, "must be a time such as 2031-05-01T12:00:00Z");
    }
    time.ok().map(Timestamp::as_second)
}

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

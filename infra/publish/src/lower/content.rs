//! Pages and staff.

use super::text::{check_html, check_long_text, check_name};
use super::value::check_id;
use crate::fault::{Report, Unique};
use crate::files::{PageFile, Source, StaffFile};
use shared::model::{Page, PageUrl, Staff, StaffMember};
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

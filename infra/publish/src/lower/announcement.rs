//! The announcement of `store.yaml`.

use super::text::{check_html, check_link, check_long_text, check_name};
use super::value::check_id;
use crate::fault::Report;
use crate::files::{At, StoreFile};
use jiff::Timestamp;
use shared::model::{Announcement, Link};

/// Reads the announcement, if there is one.
pub(super) fn announcement(file: &StoreFile, report: &mut Report) -> Option<Announcement> {
    let written = file.announcement.as_ref()?;
    let line = written.id.line;
    check_id(*written.id, line, "announcement.id", report);
    check_name(&written.title, line, "announcement.title", report);
    check_long_text(&written.content, line, "announcement.content", report);
    if let Some(button) = &written.button {
        check_name(&button.name, button.url.line, "announcement.button.name", report);
        check_link(&button.url, button.url.line, "announcement.button.url", report);
    }
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
        button: written.button.as_ref().map(|link| Link { name: link.name.clone(), url: link.url.value.clone() }),
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

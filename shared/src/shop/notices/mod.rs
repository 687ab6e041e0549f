//! What owners are told of: its rows, and how they are sent (rules.md, "Notices").

mod daily;
mod rows;
mod run;

pub(in crate::shop) use daily::tell_daily;
pub(in crate::shop) use rows::change_about;
pub use rows::{MOST_LISTED, NoticeRow, end_pause, listed, resend, waiting};
pub use run::{Sent, run};

pub(in crate::shop) mod of_commands;
pub(in crate::shop) mod of_orders;
pub(in crate::shop) mod of_stock;

use crate::model::{About, Notice, NoticeEvent, NoticeTarget};
use crate::table::StoreError;
use crate::table::keys;
use crate::table::transaction::Write;
use serde_json::json;

/// Whether one of the targets is told of an event.
pub fn tells(targets: &[NoticeTarget], event: NoticeEvent) -> bool {
    targets.iter().any(|target| target.events.contains(&event))
}

/// The write of a notice, for the transaction of what it tells of. It is sent in the next minute.
pub fn put(event: NoticeEvent, id: String, at: i64, about: About) -> Result<Write, StoreError> {
    let key = keys::notice_due(at, &id);
    Write::put_live(key, &Notice::new(event, id, at, about))
}

/// The writes of a notice of something that lasts, on the condition that it is not the last one that was written of `what`.
pub(in crate::shop) fn put_once(
    what: &str,
    event: NoticeEvent,
    id: String,
    at: i64,
    about: About,
) -> Result<Vec<Write>, StoreError> {
    let mark = Write::put_live(keys::notice_told(what), &json!({ "notice": id }))?;
    let mark = mark.only_if("attribute_not_exists(#notice) OR #notice <> :notice");
    let mark = mark.name("#notice", "notice").text(":notice", &id);
    Ok(vec![mark, put(event, id, at, about)?])
}

//! What owners are told of: its rows (rules.md, "Notices").

mod daily;

pub(in crate::shop) use daily::tell_daily;

use crate::model::{About, Notice, NoticeEvent};
use crate::table::StoreError;
use crate::table::codec::encode_live;
use crate::table::keys;
use crate::table::transaction::Write;
use std::collections::BTreeMap;

/// The write of a notice, for the transaction of what it tells of. It is sent in the next minute.
pub fn put(event: NoticeEvent, id: String, at: i64, about: About) -> Result<Write, StoreError> {
    let key = keys::notice_due(at, &id);
    let notice = Notice { id, event, at, about, targets: BTreeMap::new() };
    Ok(Write::put(key.clone(), encode_live(&key, &notice)?))
}

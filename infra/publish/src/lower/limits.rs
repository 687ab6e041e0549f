//! Limits of an item in time and place (rules.md, "Limits in time and place").

use super::item_reader::ItemReader;
use crate::calendar::offsets;
use crate::duration;
use crate::files::{At, LimitFile};
use shared::model::{Every, ItemLimit, Server, ServerId, Window, WindowKind};

/// The most limits of one item.
const MOST_LIMITS: usize = 8;
/// The most units of a limit whose units are kept with their times: of one user, or in total.
const MOST_TIMES: [u32; 2] = [100, 200];

/// The limits of an item whose buyers select one of `servers`, if they do: those in time and place, and those for ever in all and per
/// user, which have a field of their own.
pub(super) fn all(reader: &mut ItemReader<'_>, servers: &[Server]) -> (Vec<ItemLimit>, [Option<u32>; 2]) {
    let file = reader.file;
    let of_field = [(&file.global_limit, "global_limit"), (&file.user_limit, "user_limit")];
    let mut forever = of_field.map(|(limit, name)| reader.limit(limit.as_ref(), name));
    let mut limits = limits(reader, servers);
    limits.retain(|limit| {
        let is_forever = limit.every.is_none() && limit.server.is_none();
        if is_forever {
            let [global, user] = &mut forever;
            *(if limit.per_user { user } else { global }) = Some(limit.most);
        }
        !is_forever
    });
    (limits, forever)
}

/// Notes what cannot be a limit.
fn limits(reader: &mut ItemReader<'_>, servers: &[Server]) -> Vec<ItemLimit> {
    let file = reader.file;
    if let Some(limit) = file.limit.get(MOST_LIMITS) {
        reader.fault(line_of(limit), "limit", &format!("an item has at most {MOST_LIMITS} limits"));
    }
    let mut limits: Vec<ItemLimit> = Vec::new();
    for limit in &file.limit {
        let Some(read) = one(reader, limit, servers) else { continue };
        let is_like = |other: &ItemLimit| {
            (other.per_user, &other.every, other.server) == (read.per_user, &read.every, read.server)
        };
        if limits.iter().any(is_like) {
            reader.fault(line_of(limit), "limit", "has two limits alike: leave out the looser one");
        }
        limits.push(read);
    }
    limits
}

fn line_of(limit: &LimitFile) -> Option<u64> {
    limit.per_user.as_ref().or(limit.total.as_ref())?.line
}

fn one(reader: &mut ItemReader<'_>, limit: &LimitFile, servers: &[Server]) -> Option<ItemLimit> {
    let (units, per_user) = match (&limit.per_user, &limit.total) {
        (Some(units), None) => (units, true),
        (None, Some(units)) => (units, false),
        (Some(units), Some(_)) => {
            reader.fault(units.line, "limit", "has `per_user` and `total` at once: write a limit for each");
            return None;
        }
        (None, None) => {
            reader.fault(
                limit.every.as_ref().and_then(|at| at.line),
                "limit",
                "needs `per_user` or `total`, such as {per_user: 1, every: 7 days}",
            );
            return None;
        }
    };
    let most = reader.limit(Some(units), "limit")?;
    let every = match &limit.every {
        Some(every) => Some(time(reader, every)?),
        None => None,
    };
    let most_times = MOST_TIMES[usize::from(!per_user)];
    let keeps_times = every.as_ref().is_some_and(|every| per_user || matches!(every, Every::Rolling(_)));
    if keeps_times && most > most_times {
        let problem = if per_user {
            format!("is at most {most_times} for one user in a time")
        } else {
            format!("is at most {most_times} in a time that ends now: write `every: day` or another window for more")
        };
        reader.fault(units.line, "limit", &problem);
    }
    let server = limit.server.as_ref().and_then(|server| selectable(reader, server, per_user, servers));
    if every.is_none() && limit.server.is_none() {
        let (name, written) = if per_user {
            ("user_limit", reader.file.user_limit.is_some())
        } else {
            ("global_limit", reader.file.global_limit.is_some())
        };
        if written {
            reader.fault(units.line, "limit", &format!("is the same as `{name}`: write one of them"));
        }
    }
    Some(ItemLimit { most, per_user, every, server })
}

fn time(reader: &mut ItemReader<'_>, every: &At<String>) -> Option<Every> {
    let kind = match every.trim() {
        "hour" => WindowKind::Hour,
        "day" => WindowKind::Day,
        "monday" => WindowKind::Monday,
        "month" => WindowKind::Month,
        text => {
            let seconds = duration::seconds(text);
            let problem =
                |error| format!("{error}; or one of `hour`, `day`, `monday` and `month`, which begin by the calendar");
            return seconds
                .map_err(|error| reader.fault(every.line, "limit", &problem(error)))
                .ok()
                .map(Every::Rolling);
        }
    };
    Some(Every::Window(Window { kind, offsets: offsets(&reader.category.site.time_zone) }))
}

fn selectable(reader: &mut ItemReader<'_>, server: &At<u64>, per_user: bool, servers: &[Server]) -> Option<ServerId> {
    let problem = if per_user {
        "of one user counts for all servers: leave `server` out".to_owned()
    } else if !reader.file.selects_server() {
        "of a server is for an item with `select_server: true`".to_owned()
    } else if servers.iter().any(|known| known.id == ServerId::new(**server)) {
        return Some(ServerId::new(**server));
    } else {
        format!("the item has no server {}", **server)
    };
    reader.fault(server.line, "limit", &problem);
    None
}

//! Who may buy an item: its limits in time and place (rules.md, "Limits in time and place"), what it requires and excludes, and
//! categories of which a player has one item.

use super::catalog::Category;
use super::item::ItemReader;
use crate::calendar::offsets;
use crate::duration;
use crate::fault::Report;
use crate::files::{At, CategoryFile, ItemFile, LimitFile, RequiresFile, Source};
use shared::model::{Conditions, Every, Item, ItemId, ItemLimit, NamedItem, Server, ServerId, Window, WindowKind};
use std::collections::{BTreeMap, BTreeSet};

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

/// The names of all items, by id.
pub(super) type Names = BTreeMap<u64, String>;

/// An item in its file, with the category that it is in.
pub(super) struct Written<'a> {
    pub(super) item: &'a ItemFile,
    pub(super) category: &'a CategoryFile,
    prefix: String,
}

impl Written<'_> {
    pub(super) fn field(&self, name: &str) -> String {
        format!("{}items[{}].{name}", self.prefix, *self.item.id)
    }

    pub(super) fn fault(&self, line: Option<u64>, name: &str, problem: impl Into<String>, report: &mut Report) {
        report.fault(line.or(self.item.id.line), self.field(name), problem);
    }
}

pub(super) fn written(top: &CategoryFile) -> impl Iterator<Item = Written<'_>> {
    let inner = top.subcategories.iter().map(|inner| (format!("subcategories[{}].", *inner.id), inner));
    let all = std::iter::once((String::new(), top)).chain(inner);
    all.flat_map(|(prefix, category)| {
        category.items.iter().map(move |item| Written { item, category, prefix: prefix.clone() })
    })
}

/// Gives each item what it says of others.
pub(super) fn resolve(files: &[Source<CategoryFile>], categories: &mut [Category], report: &mut Report) {
    let names: Names = Category::items_of(categories).into_iter().map(|(id, item)| (id, item.name.clone())).collect();
    let mut all: BTreeMap<ItemId, Conditions> = BTreeMap::new();
    for source in files {
        report.enter(&source.path);
        let top = &source.content;
        check_one_of(top, "", report);
        for inner in &top.subcategories {
            check_one_of(inner, &format!("subcategories[{}].", *inner.id), report);
        }
        for written in written(top) {
            all.insert(ItemId::new(*written.item.id), conditions(&written, &names, report));
        }
    }
    check_reachable(files, &all, report);
    for item in items_mut(categories) {
        item.conditions = all.get(&item.id).cloned().unwrap_or_default();
    }
}

pub(super) fn items_mut(categories: &mut [Category]) -> impl Iterator<Item = &mut Item> {
    categories.iter_mut().flat_map(|top| {
        let inner = top.subcategories.iter_mut().flat_map(|inner| &mut inner.shelf.items);
        top.shelf.items.iter_mut().chain(inner)
    })
}

fn check_one_of(category: &CategoryFile, prefix: &str, report: &mut Report) {
    let field = format!("{prefix}one_of");
    if !category.one_of {
        return;
    }
    if category.cumulative {
        let problem =
            "is not for a cumulative category, in which a buyer has one item and pays the difference for the next";
        report.fault(category.id.line, field, problem);
    } else if category.items.len() > Conditions::MOST_ONE_OF {
        let problem = format!("is for a category of at most {} items: move some to another", Conditions::MOST_ONE_OF);
        report.fault(category.id.line, field, problem);
    } else if category.items.is_empty() {
        report.warn(category.id.line, field, "is about this category's own items, and it has none");
    }
}

fn conditions(written: &Written<'_>, names: &Names, report: &mut Report) -> Conditions {
    let item = written.item;
    let requires = match &item.requires {
        None => Vec::new(),
        Some(RequiresFile::All(items)) => {
            named(items, "requires", written, names, report).into_iter().map(|item| vec![item]).collect()
        }
        Some(RequiresFile::Any(items)) => {
            let group = named(items, "requires.any", written, names, report);
            if items.is_empty() {
                written.fault(None, "requires.any", "names no item, such as {any: [101, 102]}", report);
            }
            if group.is_empty() { Vec::new() } else { vec![group] }
        }
    };
    let excludes = named(&item.excludes, "excludes", written, names, report);
    let one_of = if written.category.one_of { written.category.items.iter() } else { [].iter() };
    let one_of: Vec<ItemId> = one_of.map(|item| ItemId::new(*item.id)).collect();
    let conditions = Conditions { requires, excludes, one_of };
    let unowned: BTreeSet<ItemId> = conditions.unowned().collect();
    for group in conditions.requires.iter().filter(|group| group.iter().all(|item| unowned.contains(&item.id))) {
        let line = item.requires.as_ref().and_then(|requires| requires.items().first()).and_then(|id| id.line);
        let ids: Vec<String> = group.iter().map(|item| item.id.to_string()).collect();
        let problem = format!("can never be bought: who owns item {} cannot own this one", ids.join(" or "));
        written.fault(line, "requires", problem, report);
    }
    conditions
}

/// The items that a field names.
pub(super) fn named(
    ids: &[At<u64>],
    name: &str,
    written: &Written<'_>,
    names: &Names,
    report: &mut Report,
) -> Vec<NamedItem> {
    if ids.len() > Conditions::MOST {
        let problem = format!("names at most {} items", Conditions::MOST);
        written.fault(ids.first().and_then(|id| id.line), name, problem, report);
    }
    let mut found: Vec<NamedItem> = Vec::with_capacity(ids.len());
    for id in ids {
        match names.get(&id.value) {
            None => written.fault(id.line, name, format!("there is no item {}", **id), report),
            Some(_) if **id == *written.item.id => {
                let problem = "is the item itself: leave it out; user_limit: 1 sells an item once to a player";
                written.fault(id.line, name, problem, report);
            }
            Some(_) if found.iter().any(|item| item.id == ItemId::new(**id)) => {
                written.fault(id.line, name, format!("names item {} twice", **id), report);
            }
            Some(text) => found.push(NamedItem { id: ItemId::new(**id), name: text.clone() }),
        }
    }
    found
}

/// Notes items that require each other in a circle.
fn check_reachable(files: &[Source<CategoryFile>], all: &BTreeMap<ItemId, Conditions>, report: &mut Report) {
    let mut reachable: BTreeSet<ItemId> = BTreeSet::new();
    loop {
        let can = |conditions: &Conditions| {
            conditions.requires.iter().all(|group| group.iter().any(|item| reachable.contains(&item.id)))
        };
        let more = all.iter().filter(|(id, conditions)| !reachable.contains(id) && can(conditions));
        let more: Vec<ItemId> = more.map(|(id, _)| *id).collect();
        if more.is_empty() {
            break;
        }
        reachable.extend(more);
    }
    for source in files {
        report.enter(&source.path);
        for written in written(&source.content) {
            let id = ItemId::new(*written.item.id);
            let Some(circle) = circle(id, all, &reachable) else { continue };
            let shown: Vec<String> = circle.iter().map(ToString::to_string).collect();
            let line = written.item.requires.as_ref().and_then(|requires| requires.items().first());
            let problem = format!("no one can ever buy it: {} require each other", shown.join(", "));
            written.fault(line.and_then(|id| id.line), "requires", problem, report);
        }
    }
}

/// The items that require each other, from `first` on and back to it; `None` if it is not in such a circle.
fn circle(first: ItemId, all: &BTreeMap<ItemId, Conditions>, reachable: &BTreeSet<ItemId>) -> Option<Vec<ItemId>> {
    let mut chain = vec![first];
    loop {
        let last = all.get(chain.last()?).filter(|_| !reachable.contains(&first))?;
        let group = last.requires.iter().find(|group| !group.iter().any(|item| reachable.contains(&item.id)))?;
        let next = group.first()?.id;
        if next == first {
            return Some(chain);
        }
        if chain.contains(&next) {
            return None;
        }
        chain.push(next);
    }
}

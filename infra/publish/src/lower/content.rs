//! What people read: pages, staff, the announcement and the links of all of them, how the shop's pages look, goals, and who is
//! told of what, and in which words (`notify` of `store.yaml`).

use super::catalog::Category;
use super::sales::items_in;
use super::site::Site;
use super::text::{check_html, check_image, check_long_text, check_name};
use super::{check_id, commands, money};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{
    At, CategoryFile, GoalFile, NotifyFile, PageFile, PaletteFile, ShopFile, Source, StaffFile, StoreFile, StoreFiles,
};
use jiff::Timestamp;
use shared::model::{
    Announcement, Goal, Hero, Link, Money, NoticeEvent, NoticeTarget, Page, PageUrl, Palette, Shop, Staff, StaffMember,
};
use shared::rules::colours::{self, Scheme};
use shared::rules::notice;
use std::collections::{BTreeMap, BTreeSet};
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

/// The largest style sheet of an owner in bytes: every visitor loads it before anything is shown.
const LARGEST_CSS: usize = 16 * 1024;

pub(super) fn shop(files: &StoreFiles, report: &mut Report) -> Option<Shop> {
    let file = files.store.content.shop.as_ref()?;
    for (image, field) in [(&file.logo, "shop.logo"), (&file.hero.image, "shop.hero.image")] {
        check_image(image, &files.images, image.line, field, report);
    }
    let mut sections = file.sections.value.clone();
    sections.sort_by_key(|section| *section as u8);
    sections.dedup();
    if sections.len() < file.sections.len() {
        report.fault(file.sections.line, "shop.sections", "names a section twice");
    }
    Some(Shop {
        logo: file.logo.value.clone(),
        hero: Hero {
            image: file.hero.image.value.clone(),
            title: file.hero.title.clone(),
            text: file.hero.text.clone(),
            button: file.hero.button.as_ref().map(Link::from),
        },
        light: palette(file.colours.light.as_ref(), "light", report),
        dark: palette(file.colours.dark.as_ref(), "dark", report),
        font: file.font,
        links: file.links.iter().map(Link::from).collect(),
        sections: file.sections.value.clone(),
        delivery_times: file.delivery_times,
        css: css(file, &files.css, report),
    })
}

/// Three colours in which every text of a page can be read.
fn palette(file: Option<&PaletteFile>, name: &str, report: &mut Report) -> Option<Palette> {
    let file = file?;
    let mut colour = |text: &At<String>, part: &str| {
        let parsed = colours::parse(text);
        if parsed.is_none() {
            report.fault(
                text.line,
                format!("shop.colours.{name}.{part}"),
                "must be a colour such as \"#b1380e\", in quotes",
            );
        }
        parsed
    };
    let (accent, background, text) =
        (colour(&file.accent, "accent"), colour(&file.background, "background"), colour(&file.text, "text"));
    let palette = Palette { accent: accent?, background: background?, text: text? };
    let (part, contrast) = Scheme::of(&palette).worst();
    if contrast < colours::LEAST_CONTRAST {
        let line = if part == "accent" { file.accent.line } else { file.text.line };
        let shown = |contrast: u64| format!("{}.{} to 1", contrast / 1_000, contrast % 1_000 / 100);
        let problem = format!(
            "cannot be read well: its contrast with the background is {}, and must be {} on every part of a page",
            shown(contrast),
            shown(colours::LEAST_CONTRAST)
        );
        report.fault(line, format!("shop.colours.{name}.{part}"), problem);
    }
    Some(palette)
}

/// The owner's style sheet. It can load nothing: the policy of the pages allows the shop's own style sheets only.
fn css(file: &ShopFile, text: &str, report: &mut Report) -> String {
    let mut fault = |problem: &str| report.fault(file.css.line, "shop.css", problem);
    if text.len() > LARGEST_CSS {
        fault(&format!("may have at most {} KiB, because every visitor loads it first", LARGEST_CSS / 1024));
    }
    if text.to_ascii_lowercase().contains("@import") {
        fault("must not have @import: browsers would refuse it; copy what it imports");
    }
    text.to_owned()
}

/// Reads the goals; the file being looked at is `store.yaml`.
pub(super) fn goals(file: &StoreFile, site: &Site, categories: &[Category], report: &mut Report) -> Vec<Goal> {
    let mut ids = Unique::new("goal id");
    let read = |written: &GoalFile| {
        check_id(*written.id, written.id.line, "goals.id", report);
        ids.take(report, *written.id, written.id.line, "goals.id");
        goal(written, site, categories, report)
    };
    file.goals.iter().map(read).collect()
}

fn goal(written: &GoalFile, site: &Site, categories: &[Category], report: &mut Report) -> Goal {
    let path = format!("goals[{}].", *written.id);
    check_name(&written.name, written.id.line, &format!("{path}name"), report);
    let commands = commands::of_goal(written, site, report);
    let faults = report.len();
    let goal_amount = money(&written.amount, site.config.digits, &format!("{path}amount"), report);
    if goal_amount == Money::ZERO && (written.repeat || !commands.is_empty()) {
        let problem = "must be more than 0 for a goal that repeats or has commands";
        report.fault(written.amount.line(), format!("{path}amount"), problem);
    } else if goal_amount == Money::ZERO && report.len() == faults {
        let problem = "is 0: the goal is reached before anything is given";
        report.warn(written.amount.line(), format!("{path}amount"), problem);
    }
    let GoalFile { items, categories: of_categories, .. } = written;
    let counted = (!items.is_empty() || !of_categories.is_empty()).then(|| {
        items_in((items, of_categories), categories, |line, field, problem| {
            report.fault(line, format!("{path}{field}"), problem);
        })
    });
    Goal {
        id: *written.id,
        name: written.name.clone(),
        goal_amount,
        items: counted,
        until: calendar::on_sale((None, written.until.as_ref()), &site.time_zone, &path, report).until,
        repeat: written.repeat,
        commands,
    }
}

/// The most targets of a store: every function reads them with the active version.
const MOST_TARGETS: usize = 10;
const LONGEST_NAME: usize = 32;

pub(super) fn targets(files: &[NotifyFile], report: &mut Report) -> Vec<NoticeTarget> {
    if let Some(extra) = files.get(MOST_TARGETS) {
        report.fault(extra.name.line, "notify", format!("a store has at most {MOST_TARGETS} targets: remove some"));
    }
    let mut names = Unique::new("target");
    files.iter().map(|file| target(file, &mut names, report)).collect()
}

fn target(file: &NotifyFile, names: &mut Unique<String>, report: &mut Report) -> NoticeTarget {
    let (name, line) = (&file.name.value, file.name.line);
    let is_sign = |sign: u8| matches!(sign, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_sign) {
        let problem = format!("must be 1 to {LONGEST_NAME} characters of [a-z0-9-], such as `sales`");
        report.fault(line, "notify.name", problem);
    }
    names.take(report, name.clone(), line, "notify.name");
    let events = events(file, report);
    let mut texts = BTreeMap::new();
    for (word, text) in &file.texts {
        let field = format!("notify[{name}].texts.{word}");
        match notice::event(word) {
            None => report.fault(text.line, field, unknown(word)),
            Some(event) if !events.contains(&event) => {
                report.fault(text.line, field, format!("is not told: add {word} to `events`, or remove the text"));
            }
            Some(event) => {
                if let Err(fault) = notice::check(event, text) {
                    report.fault(text.line, field, fault.to_string());
                }
                texts.insert(event, text.value.clone());
            }
        }
    }
    NoticeTarget { name: name.clone(), kind: file.to, events, texts }
}

fn events(file: &NotifyFile, report: &mut Report) -> Vec<NoticeEvent> {
    let field = format!("notify[{}].events", *file.name);
    if file.events.is_empty() {
        report.fault(file.name.line, &field, format!("must name one event or more of {}", known()));
    }
    let mut events = Vec::with_capacity(file.events.len());
    for word in &file.events {
        match notice::event(word) {
            Some(event) if events.contains(&event) => {
                report.fault(word.line, &field, format!("{} is there twice", **word));
            }
            Some(event) => events.push(event),
            None => report.fault(word.line, &field, unknown(word)),
        }
    }
    events
}

fn unknown(word: &str) -> String {
    format!("there is no event {word}; there are {}", known())
}

fn known() -> String {
    notice::EVENTS.map(|(word, _)| word).join(", ")
}

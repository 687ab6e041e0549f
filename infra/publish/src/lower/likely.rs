//! What can be published, and goes wrong: values that contradict what the store is, and what other programs write differently.
//! Each has a warning that shows what to write.

mod commands;
mod prices;

use super::catalog::Category;
use super::site::Site;
use crate::fault::{Report, Unique};
use crate::files::{CategoryFile, ItemFile, LinkFile, StoreFile, StoreFiles};
use shared::model::{AuthType, CommandEvent, Page, PageUrl};
use std::path::PathBuf;

/// What the shop's paths begin with, but those of categories.
const OWN_PAGES: [&str; 11] = [
    "/cart",
    "/checkout",
    "/account",
    "/subscriptions",
    "/orders",
    "/payment",
    "/login",
    "/staff",
    "/patrons",
    "/item",
    "/pages",
];

/// An item with the path of its fields in its file.
struct Listed<'a> {
    item: &'a ItemFile,
    field: String,
}

impl Listed<'_> {
    fn warn(&self, line: Option<u64>, name: &str, problem: impl Into<String>, report: &mut Report) {
        report.warn(line.or(self.item.id.line), format!("{}.{name}", self.field), problem);
    }
}

/// The items of a top category's file that buyers see.
fn on_sale(top: &CategoryFile) -> impl Iterator<Item = Listed<'_>> {
    let inner = top.subcategories.iter().map(|inner| (format!("subcategories[{}].", *inner.id), inner));
    let all = std::iter::once((String::new(), top)).chain(inner);
    let visible = all.filter(|(_, category)| category.enabled && !category.deleted);
    visible.flat_map(|(prefix, category)| {
        let listed = move |item: &ItemFile| format!("{prefix}items[{}]", *item.id);
        category.items.iter().filter(|item| item.active).map(move |item| Listed { item, field: listed(item) })
    })
}

/// Warns of what is probably a mistake anywhere in a store.
pub(super) fn check(
    files: &StoreFiles,
    categories: &[Category],
    pages: &[(PathBuf, Page)],
    site: &Site,
    report: &mut Report,
) {
    let store = &files.store.content;
    report.enter(&files.store.path);
    server_names(store, report);
    forgotten_payments(files, report);
    language(store, report);
    shop_links(store, categories, pages, report);
    store_commands(files, report);
    for source in &files.categories {
        report.enter(&source.path);
        for listed in on_sale(&source.content).filter(|_| source.content.enabled && !source.content.deleted) {
            prices::check(&listed, site, report);
            commands::check(&listed, store, report);
            missing_picture(&listed, files, report);
            if listed.item.virtual_only && store.auth_type == AuthType::Username {
                let problem = "can be paid by nobody: with auth_type: username a name is all that a login proves, and virtual \
                               currency is spent by proven accounts only; write auth_type: ingame in store.yaml";
                listed.warn(None, "virtual_only", problem, report);
            }
        }
    }
}

/// Refuses two servers of one name: buyers choose, and commands are listed, by it.
fn server_names(store: &StoreFile, report: &mut Report) {
    let mut names = Unique::new("server name");
    for server in &store.servers {
        let name = server.name.trim().to_lowercase();
        names.take(report, name, server.id.line, &format!("servers[{}].name", *server.id));
    }
}

fn forgotten_payments(files: &StoreFiles, report: &mut Report) {
    let store = &files.store.content;
    let sells = CategoryFile::items_of(&files.categories).any(|item| item.active && !item.virtual_only);
    if store.shop.is_some() && store.payments.methods.is_empty() && sells {
        let problem = "is missing: the shop shows its items, and none can be paid; write payments: {methods: [Stripe]}";
        report.warn(None, "payments", problem);
    }
}

/// Warns of a language that the shop's own texts are not in.
fn language(store: &StoreFile, report: &mut Report) {
    let Some(wanted) = store.language.as_ref().filter(|_| store.shop.is_some()) else { return };
    let mut spoken = shop::TEXTS.iter().map(|(code, _)| *code);
    if !spoken.clone().any(|code| code == wanted.value) {
        let known = spoken.by_ref().collect::<Vec<_>>().join(", ");
        let problem = format!(
            "the shop's own texts, such as its buttons, are not in {} but in English; there are {known}",
            wanted.value
        );
        report.warn(wanted.line, "language", problem);
    }
}

/// Warns of links to paths that the shop does not have. Links to pages are checked where all links are.
fn shop_links(store: &StoreFile, categories: &[Category], pages: &[(PathBuf, Page)], report: &mut Report) {
    let Some(shop) = &store.shop else { return };
    let button = store.announcement.as_ref().and_then(|written| written.button.as_ref());
    let places: [(&str, &[LinkFile]); 5] = [
        ("header.url", &store.header),
        ("footer.url", &store.footer),
        ("announcement.button.url", button.map(std::slice::from_ref).unwrap_or_default()),
        ("shop.links.url", &shop.links),
        ("shop.hero.button.url", shop.hero.button.as_slice()),
    ];
    let slugs: Vec<&str> =
        Category::all_of(categories).iter().map(|category| category.shelf.head.slug.as_str()).collect();
    for (field, link) in places.into_iter().flat_map(|(field, links)| links.iter().map(move |link| (field, link))) {
        let path = link.url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let is_own = path.starts_with('/') && !path.starts_with("//");
        let category = path.strip_prefix("/categories").or_else(|| path.strip_prefix("/category"));
        let is_there = match category {
            Some(slug) => slugs.contains(&slug),
            None => OWN_PAGES.iter().any(|known| path == *known || path.starts_with(&format!("{known}/"))),
        };
        if !is_own || is_there {
            continue;
        }
        let meant = if slugs.contains(&path) {
            format!("did you mean /category{path}?")
        } else if pages.iter().any(|(_, page)| PageUrl::new(&page.url) == PageUrl::new(path)) {
            format!("did you mean /pages{path}?")
        } else {
            "categories are at /category/…, pages at /pages/…".to_owned()
        };
        report.warn(link.url.line, field, format!("the shop has no page {path}; {meant}"));
    }
}

/// Warns of commands of every sale that run for some items and silently not for others.
fn store_commands(files: &StoreFiles, report: &mut Report) {
    let store = &files.store.content;
    for command in store.commands.iter().filter(|command| !command.servers.is_empty()) {
        let runs_for = |item: &&ItemFile| {
            item.servers.is_empty()
                || item.servers.iter().any(|id| command.servers.iter().any(|own| own.value == id.value))
        };
        let concerns = |item: &&ItemFile| match command.on {
            CommandEvent::Renewed => item.subscription.is_some(),
            CommandEvent::Expired => item.subscription.is_some() || item.expires_after.is_some(),
            CommandEvent::Bought | CommandEvent::Refunded | CommandEvent::ChargedBack => true,
        };
        let items = CategoryFile::items_of(&files.categories).filter(|item| item.active).filter(concerns);
        let missed: Vec<String> = items.filter(|item| !runs_for(item)).map(|item| item.id.to_string()).collect();
        if !missed.is_empty() {
            let problem = format!(
                "never runs for items {}, which are delivered to other servers; leave servers out to run it wherever an item is delivered",
                missed.join(", ")
            );
            report.warn(command.run.line, "commands.servers", problem);
        }
    }
}

/// Warns of a picture that a shop cannot show, because the store brings none. A missing one among others is a fault.
fn missing_picture(listed: &Listed<'_>, files: &StoreFiles, report: &mut Report) {
    let store = &files.store.content;
    let is_own = listed.item.image.starts_with("/img/") && store.assets_url.is_empty();
    if is_own && files.images.is_empty() && store.shop.is_some() {
        let problem = format!("there is no {}: the store has no folder img", listed.item.image.trim_start_matches('/'));
        listed.warn(None, "image", problem, report);
    }
}

//! What can be published, and goes wrong: values that contradict what the store is, and what other programs write differently.
//! Each has a warning that shows what to write.

use super::catalog::Category;
use super::site::Site;
use crate::fault::{Report, Unique};
use crate::files::{CategoryFile, CommandFile, Decimal, ItemFile, StoreFile, StoreFiles};
use shared::model::{AuthType, CommandEvent, Money, Page, PageUrl};
use shared::money::CurrencyFormat;
use shared::rules::command_text::{CommandText, Placeholder};
use std::collections::BTreeSet;
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

/// Prices of this many major units and more, that end as prices in cents do, are probably in cents.
const MANY_UNITS: i64 = 100;
/// The last two digits of usual prices.
const USUAL_ENDS: [i64; 3] = [49, 95, 99];
/// Usual percentages that would be large amounts.
const PERCENTAGES: [i64; 13] = [10, 15, 20, 25, 30, 33, 40, 50, 60, 70, 75, 80, 90];

/// The words that other programs put between their own marks for the player.
const PLAYER_WORDS: [&str; 9] =
    ["player", "player_name", "playername", "username", "user", "name", "buyer", "target", "uuid"];
/// How other programs mark what they replace.
const MARKS: [(&str, &str); 5] = [("%", "%"), ("<", ">"), ("{{", "}}"), ("${", "}"), ("[", "]")];

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
    top.visible().flat_map(|(prefix, category)| {
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
    forgotten_terms(store, site, report);
    language(store, report);
    shop_links(store, categories, pages, report);
    store_commands(files, report);
    for source in &files.categories {
        report.enter(&source.path);
        for listed in on_sale(&source.content) {
            prices(&listed, site, report);
            commands(&listed, store, report);
            missing_picture(&listed, files, report);
            if listed.item.virtual_only && store.auth_type == AuthType::Username {
                let problem = "can be paid by no one: with auth_type: username a name is all that a login proves, and virtual \
                               currency is spent by proven accounts only; write auth_type: ingame in store.yaml";
                listed.warn(None, "virtual_only", problem, report);
            }
        }
    }
}

/// Refuses two servers of one name: buyers choose, and commands are listed, by it.
fn server_names(store: &StoreFile, report: &mut Report) {
    let mut names = Unique::new("server name");
    // What is in the place of a file that cannot be read has no line, and no name of its own.
    for server in store.servers.iter().filter(|server| server.id.line.is_some()) {
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

/// Warns of a shop that takes payments and links no terms, or no privacy policy, to which buyers agree.
fn forgotten_terms(store: &StoreFile, site: &Site, report: &mut Report) {
    if store.shop.is_none() || store.payments.methods.is_empty() {
        return;
    }
    for (word, what, name) in [("terms", "terms", "Terms"), ("privacy", "privacy policy", "Privacy")] {
        if site.settings.link_about(word).is_none() {
            let problem = format!(
                "no link is to the {what} to which buyers agree when they pay; write a page, and a link with `{word}` in its address: \
                 {{name: {name}, url: /pages/{word}}}"
            );
            report.warn(None, "footer", problem);
        }
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
    if store.shop.is_none() {
        return;
    }
    let slugs: Vec<&str> =
        Category::all_of(categories).iter().map(|category| category.shelf.head.slug.as_str()).collect();
    for (field, link) in store.links() {
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
        report.warn(link.url.line, format!("{field}.url"), format!("the shop has no page {path}; {meant}"));
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

/// Warns of amounts that look as if another unit was meant.
fn prices(listed: &Listed<'_>, site: &Site, report: &mut Report) {
    let digits = site.config.digits;
    if digits != 2 {
        return;
    }
    let (item, code) = (listed.item, &site.settings.system_currency.name);
    let amount = |written: Option<&Decimal>| written.and_then(|written| written.money(digits).ok());
    // Whole major units, or nothing.
    let whole = |amount: Money| (amount.minor() % 100 == 0).then_some(amount.minor() / 100);
    let Some(price) = amount(item.price.as_ref()) else { return };
    if let Some(units) = whole(price).filter(|units| *units >= MANY_UNITS && USUAL_ENDS.contains(&(units % 100))) {
        let meant = CurrencyFormat::new(digits).money(Money::from_minor(units)).to_string();
        let problem = format!("is {units}.00 {code}; amounts are not in cents: {meant} is {units} cents");
        listed.warn(item.price.as_ref().and_then(Decimal::line), "price", problem, report);
    }
    let discount = amount(item.discount.as_ref()).and_then(whole);
    if let Some(units) = discount.filter(|units| PERCENTAGES.contains(units) && whole(price).is_none()) {
        let shown = |minor| CurrencyFormat::new(digits).money(Money::from_minor(minor)).to_string();
        let percent = (price.minor() * units + 50) / 100;
        let problem = format!(
            "takes {units}.00 {code} off, so that the item costs {}; {units} percent of it are {}",
            shown(price.minor() - units * 100),
            shown(percent)
        );
        listed.warn(item.discount.as_ref().and_then(Decimal::line), "discount", problem, report);
    }
}

/// Warns of commands that run, and do not do what was meant.
fn commands(listed: &Listed<'_>, store: &StoreFile, report: &mut Report) {
    let commands = &listed.item.commands;
    for (place, command) in commands.iter().enumerate() {
        if let Some(foreign) = foreign_placeholder(&command.run) {
            let problem = format!("`{foreign}` is sent as it is: the player is {{player}} here");
            listed.warn(command.run.line, "commands.run", problem, report);
        }
        if commands.iter().take(place).any(|other| same(other, command)) {
            let problem = "is the same as a command before it, and runs as often as it is written";
            listed.warn(command.run.line, "commands.run", problem, report);
        }
    }
    let placeholders: Vec<Placeholder> = commands.iter().flat_map(placeholders).collect();
    no_player(listed, report);
    let named_by_servers = store.servers.iter().filter_map(|server| server.players.id.as_ref());
    let ids: BTreeSet<u64> = named_by_servers.filter_map(|id| variable(CommandText::only(id)?)).collect();
    let used: BTreeSet<u64> = placeholders.into_iter().filter_map(variable).chain(ids).collect();
    for unused in listed.item.variables.iter().filter(|_| !commands.is_empty()).filter(|one| !used.contains(&*one.id)) {
        let name = format!("variables[{}]", *unused.id);
        let problem = format!("is asked of every buyer, and no command uses it: write {{var:{}}} in one", *unused.id);
        listed.warn(unused.id.line, &name, problem, report);
    }
}

fn variable(placeholder: Placeholder) -> Option<u64> {
    if let Placeholder::Variable(id) = placeholder { Some(id) } else { None }
}

fn placeholders(command: &CommandFile) -> Vec<Placeholder> {
    CommandText::parse(&command.run).map(|text| text.placeholders().collect()).unwrap_or_default()
}

fn same(one: &CommandFile, other: &CommandFile) -> bool {
    (one.run.value.trim(), one.on, &one.servers, &one.delay)
        == (other.run.value.trim(), other.on, &other.servers, &other.delay)
}

/// Warns of an item whose purchase runs commands that are the same whoever buys it.
fn no_player(listed: &Listed<'_>, report: &mut Report) {
    let bought = || listed.item.commands.iter().filter(|command| command.on == CommandEvent::Bought);
    let names_person = |placeholder: Placeholder| {
        matches!(
            placeholder,
            Placeholder::Player
                | Placeholder::Buyer
                | Placeholder::Variable(_)
                | Placeholder::ChatId
                | Placeholder::Order
        )
    };
    let Some(first) = bought().next().filter(|_| !bought().flat_map(placeholders).any(names_person)) else { return };
    if bought().all(|command| foreign_placeholder(&command.run).is_none()) {
        let problem =
            "names no player: it does the same whoever bought the item; write {player} where the name belongs";
        listed.warn(first.run.line, "commands.run", problem, report);
    }
}

/// The first text that another program would replace by the player.
fn foreign_placeholder(run: &str) -> Option<String> {
    let lower = run.to_lowercase();
    let marked = MARKS.iter().find_map(|(before, after)| {
        PLAYER_WORDS.iter().map(|word| format!("{before}{word}{after}")).find(|text| lower.contains(text.as_str()))
    });
    let bare = || {
        PLAYER_WORDS.iter().map(|word| format!("${word}")).find(|text| {
            lower
                .split(|letter: char| !(letter.is_alphanumeric() || letter == '$' || letter == '_'))
                .any(|part| part == text)
        })
    };
    marked.or_else(bare)
}

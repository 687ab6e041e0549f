//! A published store back as files: compiling them again yields the very same version.
//!
//! Hidden categories were never published and are missing. Fields with their default are left out.

mod servers;
mod shop;

use crate::compile::{Compiled, CompiledCategory};
use crate::duration;
use crate::files::{
    AnnouncementFile, At, CategoryFile, ChatClientFile, ChatFile, CommandFile, ComparisonRow, CurrencyFile, Decimal,
    FORMAT, GameServerFile, GoalFile, IntervalFile, ItemFile, LanguageFile, LinkFile, MaintenanceFile, OnDisputeFile,
    PageFile, PatronsFile, PaymentsFile, PlayersFile, PromotionFile, RateFile, Source, StaffEntry, StaffFile,
    StoreFile, StoreFiles, StorefrontFile, VariableFile, VirtualCurrencyFile,
};
use crate::provider;
use serde::Serialize;
use shared::model::{
    Announcement, CategoryWithItems, CommandTemplate, Currency, Item, ItemDelivery, ItemId, Link, Money, Page,
    Payments, Plan, Rate, Slug,
};
use shared::money;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Digits and rate that need not be written down.
const USUAL_DIGITS: u8 = 2;
const PAR: Rate = Rate::from_millionths(1_000_000);

/// Turns a compiled store back into files.
pub fn export(store: &Compiled) -> StoreFiles {
    let mut names = Names::default();
    let deliveries = store.items.iter().map(|entry| (entry.item.id, &entry.delivery)).collect();
    let published = Published { deliveries, digits: store.config.digits };
    let file = |folder: &str, name: String| Path::new(folder).join(format!("{name}.yaml"));
    let orders = store.categories.iter().map(|top| top.shelf.head.id.get()).collect::<Vec<_>>();
    let sorting = sorting(&orders);
    let categories = store.categories.iter().zip(sorting).map(|(top, sorting)| Source {
        path: file("categories", names.take(&segment(&top.shelf.head.slug))),
        content: top_category(top, sorting, &published),
    });
    let mut categories: Vec<_> = categories.collect();
    categories.sort_by(|one, other| one.path.cmp(&other.path));
    let mut names = Names::default();
    let pages = store
        .pages
        .iter()
        .map(|page| Source { path: file("pages", names.take(&plain(&page.url))), content: self::page(page) });
    let mut pages: Vec<_> = pages.collect();
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    StoreFiles {
        store: Source { path: PathBuf::from("store.yaml"), content: site(store) },
        categories,
        pages,
        staff: Source { path: PathBuf::from("staff.yaml"), content: staff(store) },
        images: BTreeSet::new(),
        shop_url: store.config.shop_url.clone(),
        css: store.settings.shop.as_ref().map(|shop| shop.css.clone()).unwrap_or_default(),
    }
}

/// Writes files into a directory. If a file cannot be written, those before it are.
pub fn write_files(dir: &Path, files: &StoreFiles) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    write(dir, &files.store)?;
    shop::write_css(dir, files)?;
    for category in &files.categories {
        write(dir, category)?;
    }
    for page in &files.pages {
        write(dir, page)?;
    }
    if files.staff.content.0.is_empty() { Ok(()) } else { write(dir, &files.staff) }
}

fn write<T: Serialize>(dir: &Path, source: &Source<T>) -> io::Result<()> {
    let text = serde_saphyr::to_string(&source.content).map_err(io::Error::other)?;
    let path = dir.join(&source.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// File names of one folder, none twice.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn take(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut next = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{wanted}-{next}");
            next += 1;
        }
        name
    }
}

/// A text as a file name: letters, digits and dashes, not empty, not hidden, not too long.
fn plain(text: &str) -> String {
    let letters =
        text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let name: String = letters.take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "page".to_owned() } else { name.to_owned() }
}

/// A category's own part of its slug.
fn own(slug: &Slug, parent: Option<&Slug>) -> String {
    let full = slug.as_str();
    let rest = parent.and_then(|parent| full.strip_prefix(parent.as_str())).unwrap_or(full);
    rest.trim_start_matches('/').to_owned()
}

fn segment(slug: &Slug) -> String {
    plain(&own(slug, None))
}

/// A `sorting` for things with these ids in this order: none at all if the ids say it already.
fn sorting(ids: &[u64]) -> Vec<i64> {
    let ordered = ids.is_sorted();
    (1..).take(ids.len()).map(|place| if ordered { 0 } else { place }).collect()
}

fn amount(amount: Money, digits: u8) -> Option<Decimal> {
    (amount != Money::ZERO).then(|| Decimal::from_money(amount, digits))
}

fn site(store: &Compiled) -> StoreFile {
    let (settings, config) = (&store.settings, &store.config);
    let own_currency = std::slice::from_ref(&settings.system_currency);
    let rate = |currency: &Currency| RateFile {
        code: currency.name.clone().into(),
        per_usd: Decimal::from_rate(currency.value),
    };
    let listed =
        if settings.currencies == own_currency { Vec::new() } else { settings.currencies.iter().map(rate).collect() };
    let language = &settings.system_language;
    let first = settings.languages.first().cloned().unwrap_or_default();
    let languages = settings.languages.iter();
    StoreFile {
        format: FORMAT.into(),
        name: settings.website_name.clone(),
        description: settings.website_description.clone(),
        auth_type: settings.auth_type,
        language: (*language != first).then(|| language.code.clone().into()),
        languages: languages.map(|l| LanguageFile { code: l.code.clone().into(), name: l.name.clone() }).collect(),
        currency: currency(&settings.system_currency, config.digits, !listed.is_empty()),
        currencies: listed,
        header: links(&settings.header),
        footer: links(&settings.footer),
        game_server: GameServerFile { ip: settings.server.ip.clone(), port: settings.server.port },
        goals: goals(store),
        announcement: settings.announcement.as_ref().map(announcement),
        socials: settings.socials.clone(),
        chat: chat(store),
        referrals: config.is_ref,
        profiles: settings.is_profile_enabled,
        details_form: settings.details,
        virtual_currency: VirtualCurrencyFile {
            enabled: config.is_virtual_currency,
            name: settings.virtual_currency.clone(),
        },
        guest_mode: config.guest_mode_enabled,
        maintenance: MaintenanceFile {
            enabled: config.maintenance.enabled,
            message: config.maintenance.message.clone(),
        },
        players: PlayersFile {
            avatar: config.player_avatar.clone().into(),
            bedrock: config.bedrock.map(|prefix| char::from(prefix).to_string().into()),
        },
        storefront: StorefrontFile { url: config.storefront_url.clone().into() },
        assets_url: config.assets_url.clone().into(),
        images: config.images,
        payments: payments(store),
        on_dispute: OnDisputeFile { ban: store.config.ban_on_dispute },
        shop: settings.shop.as_ref().map(shop::shop),
        patrons: patrons(store),
        servers: servers::servers(store),
        commands: commands(&store.config.delivery.commands),
    }
}

fn currency(own: &Currency, digits: u8, among_others: bool) -> CurrencyFile {
    CurrencyFile {
        code: own.name.clone().into(),
        digits: (digits != USUAL_DIGITS).then(|| digits.into()),
        per_usd: (among_others || own.value != PAR).then(|| Decimal::from_rate(own.value)),
    }
}

fn links(links: &[Link]) -> Vec<LinkFile> {
    links.iter().map(|link| LinkFile { name: link.name.clone(), url: link.url.clone().into() }).collect()
}

fn goals(store: &Compiled) -> Vec<GoalFile> {
    let goal = |goal: &shared::model::Goal| GoalFile {
        id: goal.id.into(),
        name: goal.name.clone(),
        amount: Decimal::from_money(goal.goal_amount, store.config.digits),
    };
    store.settings.goals.iter().map(goal).collect()
}

fn announcement(announcement: &Announcement) -> AnnouncementFile {
    let time = |at: i64| At::from(money::iso_8601(at));
    let button = announcement.button.as_ref();
    AnnouncementFile {
        id: announcement.id.into(),
        title: announcement.title.clone(),
        content: announcement.content.clone(),
        button: button.map(|link| LinkFile { name: link.name.clone(), url: link.url.clone().into() }),
        created_at: announcement.created_at.map(time),
        updated_at: announcement.updated_at.map(time),
    }
}

fn chat(store: &Compiled) -> ChatFile {
    let login = &store.config.chat;
    ChatFile {
        sync: store.config.chat_sync,
        url: store.settings.chat_url.clone(),
        id: store.settings.chat_id.clone(),
        platform: login.platform,
        client: ChatClientFile {
            client_id: login.client_id.clone(),
            redirect_url: login.redirect_url.clone().into(),
            scopes: login.scopes.clone(),
            authorize_url: login.authorize_url.clone().into(),
            token_url: login.token_url.clone().into(),
            user_url: login.user_url.clone().into(),
        },
    }
}

fn payments(store: &Compiled) -> PaymentsFile {
    let (payments, usual) = (&store.config.payments, Payments::default());
    let charged = provider::at_stripe(&payments.currency).ok().filter(|_| !payments.methods.is_empty());
    let least = charged.and_then(|charged| charged.least).unwrap_or(usual.least);
    PaymentsFile {
        methods: payments.methods.iter().map(|method| method.clone().into()).collect(),
        hold_minutes: (payments.hold_minutes != usual.hold_minutes).then(|| payments.hold_minutes.into()),
        hold_units: (payments.hold_units != usual.hold_units).then(|| payments.hold_units.into()),
        delayed: payments.delayed,
        least: (payments.least != least).then(|| Decimal::from_money(payments.least, store.config.digits)),
    }
}

fn patrons(store: &Compiled) -> PatronsFile {
    let patronage = &store.patronage;
    let named = patronage.currency_code != store.settings.system_currency.name;
    let thresholds = patronage.thresholds.iter();
    PatronsFile {
        enabled: patronage.enabled,
        currency_code: if named { patronage.currency_code.clone() } else { String::new() },
        description: patronage.description.clone(),
        thresholds: thresholds.map(|sum| Decimal::from_money(*sum, store.config.digits)).collect(),
    }
}

fn commands(templates: &[CommandTemplate]) -> Vec<CommandFile> {
    let command = |template: &CommandTemplate| CommandFile {
        run: template.run.clone().into(),
        on: template.on,
        online: template.online,
        delay: (template.delay > 0).then(|| duration::text(template.delay).into()),
        once: template.once,
        per_unit: template.per_unit,
        servers: template.servers.iter().map(|server| server.get().into()).collect(),
    };
    templates.iter().map(command).collect()
}

/// The inputs of the writer of categories.
struct Published<'a> {
    deliveries: BTreeMap<ItemId, &'a ItemDelivery>,
    digits: u8,
}

fn top_category(top: &CompiledCategory, sorting: i64, published: &Published<'_>) -> CategoryFile {
    let ids: Vec<u64> = top.subcategories.iter().map(|inner| inner.head.id.get()).collect();
    let inner = top.subcategories.iter().zip(self::sorting(&ids));
    let parent = Some(&top.shelf.head.slug);
    CategoryFile {
        subcategories: inner.map(|(shelf, sorting)| category(shelf, parent, sorting, published)).collect(),
        ..category(&top.shelf, None, sorting, published)
    }
}

fn category(shelf: &CategoryWithItems, parent: Option<&Slug>, sorting: i64, published: &Published<'_>) -> CategoryFile {
    let row = |row: &shared::model::Comparison| ComparisonRow {
        id: row.id.into(),
        name: row.name.clone(),
        description: row.description.clone(),
        kind: row.kind.clone(),
        sorting: row.sorting,
    };
    let ids: Vec<u64> = shelf.items.iter().map(|item| item.id.get()).collect();
    let items = shelf.items.iter().zip(self::sorting(&ids));
    CategoryFile {
        id: shelf.head.id.get().into(),
        slug: own(&shelf.head.slug, parent).into(),
        name: shelf.head.name.clone(),
        description: shelf.head.description.clone(),
        image: shelf.head.image.clone(),
        sorting,
        enabled: true,
        deleted: false,
        cumulative: shelf.cumulative,
        comparison: shelf.comparison.iter().map(row).collect(),
        items: items.map(|(item, sorting)| self::item(item, sorting, published)).collect(),
        subcategories: Vec::new(),
    }
}

fn item(item: &Item, sorting: i64, published: &Published<'_>) -> ItemFile {
    let digits = published.digits;
    let delivery = published.deliveries.get(&item.id).copied();
    let variable = |variable: &shared::model::Variable| VariableFile {
        id: variable.id.into(),
        name: variable.name.clone(),
        options: (!variable.options.is_empty()).then(|| variable.options.clone()),
        kind: variable.kind,
        min: variable.min.map(At::from),
        max: variable.max.map(At::from),
    };
    let promotion = item.promotion.as_ref();
    let cells = item.comparison.iter();
    ItemFile {
        id: item.id.get().into(),
        name: item.name.clone(),
        description: item.description.clone(),
        image: item.image.clone(),
        price: Some(Decimal::from_money(item.price, digits)),
        discount: amount(item.discount, digits),
        active: item.active,
        kind: item.kind,
        subscription: item.is_subscription.then(|| interval(item.plan)),
        grace: (item.is_subscription && item.plan.grace != Plan::usual_grace(item.plan.every, item.plan.unit))
            .then(|| duration::text(item.plan.grace).into()),
        any_price: item.any_price,
        min_price: amount(item.min_price, digits),
        global_limit: item.global_limit.map(At::from),
        user_limit: item.user_limit.map(At::from),
        most: item.most.map(At::from),
        select_server: item.allow_select_server,
        servers: item.servers.iter().map(|server| server.id.get().into()).collect(),
        virtual_price: if item.virtual_only {
            Some(Decimal::from_money(item.virtual_price, digits))
        } else {
            amount(item.virtual_price, digits)
        },
        virtual_only: item.virtual_only,
        featured: item.featured,
        gifting: item.gifting,
        needs_chat: item.needs_chat,
        comparison: cells.map(|cell| (cell.comparison_id, cell.value.clone().into())).collect(),
        variables: item.variables.iter().map(variable).collect(),
        promotion: promotion
            .map(|offer| PromotionFile { price: Decimal::from_money(offer.price, digits), sorting: offer.sorting }),
        commands: delivery.map_or_else(Vec::new, |delivery| commands(&delivery.commands)),
        expires_after: delivery.and_then(|delivery| delivery.expires_after).map(|time| duration::text(time).into()),
        sorting,
    }
}

fn interval(plan: Plan) -> IntervalFile {
    IntervalFile { every: u32::from(plan.every).into(), unit: plan.unit }
}

fn page(page: &Page) -> PageFile {
    PageFile {
        id: page.id.into(),
        title: page.title.clone(),
        url: page.url.clone().into(),
        content: page.content.clone(),
    }
}

fn staff(store: &Compiled) -> StaffFile {
    let entry = |member: &shared::model::StaffMember| StaffEntry {
        username: member.username.clone().into(),
        prefix: member.prefix.clone(),
        sorting: member.sorting,
    };
    let groups = store.staff.0.iter();
    StaffFile(groups.map(|(name, members)| (name.clone(), members.iter().map(entry).collect())).collect())
}

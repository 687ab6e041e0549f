//! `store.yaml` as settings, config and patronage.

use super::content::{announcement, targets};
use super::payments::{currencies, payments};
use super::text::{check_image, check_link, check_name};
use super::{amount, check_id};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{
    At, ChatFile, FORMAT, LanguageFile, MaintenanceFile, NO_ID, PatronsFile, PlayersFile, StoreFile, StorefrontFile,
};
use jiff::tz::TimeZone;
use oauth2::{AuthUrl, RedirectUrl};
use shared::model::{
    BedrockPrefix, ChatLogin, ChatPlatform, FreeNames, GameServer, Language, Link, Maintenance, Page, PageUrl,
    Patronage, Server, ServerId, Settings, StoreConfig, StoreDelivery,
};
use shared::rules::command_text::{CommandText, Placeholder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Digits of a currency's minor unit if its owner says nothing (rules.md, "Money and rounding").
const USUAL_DIGITS: u8 = 2;
/// The most digits a currency may have.
const MOST_DIGITS: u8 = 4;

#[derive(Debug)]
pub struct Site {
    /// The settings; whether a deal exists, how the shop looks and the goals are not known yet.
    pub settings: Settings,
    pub config: StoreConfig,
    pub patronage: Patronage,
    pub servers: BTreeMap<u64, Server>,
    /// The tax code of items that have none of their own.
    pub tax_code: Option<At<String>>,
    /// The zone of times that name none.
    pub time_zone: TimeZone,
    /// The pictures of the store, see [`crate::files::StoreFiles::images`].
    pub images: BTreeSet<String>,
    /// Whether most prices are below `payments.least`, which was noted: then it is at fault, and not they.
    pub least_is_doubtful: bool,
}

pub(super) fn site(file: &StoreFile, report: &mut Report) -> Site {
    if *file.format != FORMAT {
        report.fault(file.format.line, "format", format!("must be {FORMAT}, the only format there is"));
    }
    let digits = digits(file, report);
    let settings = settings(file, report);
    let (servers, delivery) = servers(file, report);
    let time_zone = time_zone(file, report);
    let config = StoreConfig {
        digits,
        guest_mode_enabled: file.guest_mode,
        is_ref: file.referrals,
        is_virtual_currency: file.virtual_currency.enabled,
        chat_sync: file.chat.sync,
        is_patrons_enabled: file.patrons.enabled,
        chat: chat(&with_platform(&file.chat), report),
        auth_type: file.auth_type,
        player_avatar: player_avatar(&file.players, report),
        bedrock: bedrock(&file.players, report),
        storefront_url: storefront_url(&file.storefront, report),
        assets_url: assets_url(&file.assets_url, report),
        shop_url: String::new(),
        images: file.images,
        maintenance: maintenance(&file.maintenance),
        price_history: file.price_history,
        payments: payments(file, digits, report),
        ban_on_dispute: file.on_dispute.ban,
        delivery,
        sales: Vec::new(),
        notify: targets(&file.notify, report),
        zone: calendar::store_zone(file.time_zone.as_deref().map(String::as_str), &time_zone),
    };
    let patronage = patronage(&file.patrons, &file.currency.code, digits, report);
    let tax_code = file.payments.tax_code.clone();
    Site {
        settings,
        config,
        patronage,
        servers,
        time_zone,
        tax_code,
        images: BTreeSet::new(),
        least_is_doubtful: false,
    }
}

fn settings(file: &StoreFile, report: &mut Report) -> Settings {
    check_name(&file.name, None, "name", report);
    let currencies = currencies(file, report);
    check_links(file, report);
    let (languages, system_language) = languages(file, report);
    Settings {
        auth_type: file.auth_type,
        header: file.header.iter().map(Link::from).collect(),
        footer: file.footer.iter().map(Link::from).collect(),
        website_name: file.name.clone(),
        website_description: file.description.clone(),
        server: GameServer { ip: file.game_server.ip.clone(), port: file.game_server.port },
        is_featured_deal: false,
        details: file.details_form,
        goals: Vec::new(),
        chat_url: file.chat.url.clone(),
        chat_id: file.chat.id.clone(),
        is_profile_enabled: file.profiles,
        socials: file.socials.clone(),
        virtual_currency: file.virtual_currency.name.clone(),
        system_currency: currencies.own,
        currencies: currencies.listed,
        languages,
        system_language,
        is_patrons_enabled: file.patrons.enabled,
        announcement: announcement(file, report),
        shop: None,
    }
}

fn maintenance(file: &MaintenanceFile) -> Maintenance {
    Maintenance { enabled: file.enabled, message: file.message.trim().to_owned() }
}

fn time_zone(file: &StoreFile, report: &mut Report) -> TimeZone {
    let Some(written) = &file.time_zone else { return TimeZone::UTC };
    calendar::zone(written).unwrap_or_else(|error| {
        report.fault(written.line, "time_zone", error.to_string());
        TimeZone::UTC
    })
}

fn digits(file: &StoreFile, report: &mut Report) -> u8 {
    match &file.currency.digits {
        Some(digits) if **digits > MOST_DIGITS => {
            report.fault(digits.line, "currency.digits", format!("must be from 0 to {MOST_DIGITS}"));
            // So that prices, which may be right, have no faults of their own.
            MOST_DIGITS
        }
        Some(digits) => **digits,
        None => USUAL_DIGITS,
    }
}

fn languages(file: &StoreFile, report: &mut Report) -> (Vec<Language>, Language) {
    let mut codes = Unique::new("language");
    let known = |entry: &LanguageFile| Language { code: entry.code.value.clone(), name: entry.name.clone() };
    let languages: Vec<Language> = file.languages.iter().map(known).collect();
    for entry in &file.languages {
        codes.take(report, entry.code.value.clone(), entry.code.line, "languages.code");
        check_name(&entry.name, entry.code.line, "languages.name", report);
    }
    let Some(wanted) = &file.language else {
        let first = languages.first().cloned().unwrap_or_default();
        return (languages, first);
    };
    let found = languages.iter().find(|language| language.code == wanted.value).cloned();
    if found.is_none() {
        let problem = format!("is not among `languages`: add {{code: {}, name: …}} to them", wanted.value);
        report.fault(wanted.line, "language", problem);
    }
    (languages, found.unwrap_or_default())
}

fn check_links(file: &StoreFile, report: &mut Report) {
    for (field, link) in file.links() {
        check_name(&link.name, link.url.line, &format!("{field}.name"), report);
        check_link(&link.url, link.url.line, &format!("{field}.url"), report);
    }
    for (network, url) in &file.socials {
        check_link(url, None, &format!("socials.{network}"), report);
    }
    if !file.chat.url.is_empty() {
        check_link(&file.chat.url, None, "chat.url", report);
    }
}

/// Warns of links to pages that there are not: storefronts show a page at `/pages/` and its url.
pub(super) fn check_page_links(file: &StoreFile, pages: &[(PathBuf, Page)], report: &mut Report) {
    let known: BTreeSet<PageUrl> = pages.iter().map(|(_, page)| PageUrl::new(&page.url)).collect();
    for (field, link) in file.links() {
        let page = link.url.strip_prefix("/pages/").map(|url| url.split(['?', '#']).next().unwrap_or_default());
        if page.is_some_and(|page| !known.contains(&PageUrl::new(page))) {
            report.warn(link.url.line, format!("{field}.url"), format!("there is no page for {}", link.url.value));
        }
    }
}

/// The servers by id, and the delivery to them, still without the commands of every sale.
fn servers(file: &StoreFile, report: &mut Report) -> (BTreeMap<u64, Server>, StoreDelivery) {
    let mut ids = Unique::new("server id");
    let (mut servers, mut delivery) = (BTreeMap::new(), StoreDelivery::default());
    for server in &file.servers {
        check_id(*server.id, server.id.line, "servers.id", report);
        ids.take(report, *server.id, server.id.line, "servers.id");
        check_name(&server.name, server.id.line, &format!("servers[{}].name", *server.id), report);
        let id = ServerId::new(*server.id);
        servers.insert(*server.id, Server { id, name: server.name.clone() });
        delivery.quotes.extend(server.quotes.then_some(id));
        let Some(written) = &server.players.id else { continue };
        let variable = match CommandText::only(written) {
            _ if written.value == NO_ID => None,
            Some(Placeholder::Variable(variable)) => Some(variable),
            _ => {
                let field = format!("servers[{}].players.id", *server.id);
                report.fault(written.line, &field, "must be a variable in quotes, such as \"{var:7}\", or none");
                continue;
            }
        };
        delivery.free_names.push(FreeNames { server: id, variable });
    }
    delivery.servers = servers.values().cloned().collect();
    (servers, delivery)
}

/// The chat with what its platform is known by, where the owner wrote nothing.
fn with_platform(file: &ChatFile) -> ChatFile {
    let mut chat = file.clone();
    if chat.platform == Some(ChatPlatform::Discord) {
        let client = &mut chat.client;
        for (url, known) in [
            (&mut client.authorize_url, "https://discord.com/oauth2/authorize"),
            (&mut client.token_url, "https://discord.com/api/oauth2/token"),
            (&mut client.user_url, "https://discord.com/api/users/@me"),
        ] {
            if url.is_empty() {
                known.clone_into(&mut url.value);
            }
        }
        if client.scopes.is_empty() {
            client.scopes.push("identify".to_owned());
        }
    }
    chat
}

/// The chat platform's client. Parts may be missing (then auth/chat says so); what is there must be a URL as
/// soon as buyers are sent to it (rules.md, "Chat login").
fn chat(file: &ChatFile, report: &mut Report) -> ChatLogin {
    let client = &file.client;
    if file.sync {
        check_endpoints(file, report);
        let authorize = AuthUrl::new(client.authorize_url.value.clone()).map(|url| is_web(url.url().scheme()));
        let redirect = RedirectUrl::new(client.redirect_url.value.clone()).map(|url| is_web(url.url().scheme()));
        let fields = [
            ("chat.client.authorize_url", &client.authorize_url, authorize),
            ("chat.client.redirect_url", &client.redirect_url, redirect),
        ];
        for (field, text, parsed) in fields {
            if !text.is_empty() && !parsed.is_ok_and(|web| web) {
                report.fault(text.line, field, "must be a URL such as https://chat.example/oauth2/authorize");
            }
        }
    }
    ChatLogin {
        platform: file.platform,
        client_id: client.client_id.clone(),
        redirect_url: client.redirect_url.value.clone(),
        scopes: client.scopes.clone(),
        authorize_url: client.authorize_url.value.clone(),
        token_url: client.token_url.value.clone(),
        user_url: client.user_url.value.clone(),
    }
}

/// Checks the endpoints that the service itself calls: the first receives the client secret, the second an access token.
fn check_endpoints(file: &ChatFile, report: &mut Report) {
    let client = &file.client;
    for (name, url) in [("token_url", &client.token_url), ("user_url", &client.user_url)] {
        let field = format!("chat.client.{name}");
        if url.is_empty() {
            report.warn(None, &field, "is missing; without it, no chat login can be completed");
        } else if !url.parse().is_ok_and(|url| outgoing::is_allowed(&url)) {
            let problem =
                "must begin with https://, such as https://chat.example/api/token, or name a loopback address";
            report.fault(url.line, &field, problem);
        }
    }
}

/// The URL of a player's picture. It is of no use without the player in it.
fn player_avatar(file: &PlayersFile, report: &mut Report) -> String {
    const FIELD: &str = "players.avatar";
    let url = &file.avatar;
    if !url.is_empty() {
        check_image(url, &BTreeSet::new(), url.line, FIELD, report);
        if !url.contains("{player}") {
            report.fault(url.line, FIELD, "must have {player} in it, such as https://img.example/{player}.png");
        }
    }
    url.value.clone()
}

/// The sign before the names of Bedrock players.
fn bedrock(file: &PlayersFile, report: &mut Report) -> Option<BedrockPrefix> {
    const FIELD: &str = "players.bedrock";
    let written = file.bedrock.as_ref()?;
    let prefix = BedrockPrefix::parse(written);
    match prefix {
        None => {
            let signs = BedrockPrefix::SIGNS.map(|sign| format!("\"{sign}\"")).join(", ");
            report.fault(written.line, FIELD, format!("must be the username-prefix of Floodgate, one of {signs}"));
        }
        Some(prefix) if prefix.is_ambiguous() => {
            let problem = "names of Java players may begin with it too, so that one can have another's name: set another \
                           username-prefix in Floodgate";
            report.warn(written.line, FIELD, problem);
        }
        Some(_) => {}
    }
    prefix
}

/// The storefront's address, without a slash at the end.
fn storefront_url(file: &StorefrontFile, report: &mut Report) -> String {
    let url = &file.url;
    let is_address = RedirectUrl::new(url.value.clone()).is_ok_and(|parsed| {
        let parsed = parsed.url();
        is_web(parsed.scheme()) && parsed.path() == "/" && parsed.query().is_none() && parsed.fragment().is_none()
    });
    if !url.is_empty() && !is_address {
        report.fault(url.line, "storefront.url", "must be an address such as https://shop.example");
    }
    url.trim_end_matches('/').to_owned()
}

/// The URL below which pictures are, without a slash at the end.
fn assets_url(url: &At<String>, report: &mut Report) -> String {
    let is_base = RedirectUrl::new(url.value.clone()).is_ok_and(|parsed| {
        let parsed = parsed.url();
        is_web(parsed.scheme()) && parsed.query().is_none() && parsed.fragment().is_none()
    });
    if !url.is_empty() && !is_base {
        report.fault(url.line, "assets_url", "must be a URL such as https://cdn.example or https://shop.example/store");
    }
    url.trim_end_matches('/').to_owned()
}

fn is_web(scheme: &str) -> bool {
    matches!(scheme, "https" | "http")
}

fn patronage(file: &PatronsFile, currency: &str, digits: u8, report: &mut Report) -> Patronage {
    const FIELD: &str = "patrons.thresholds";
    let mut thresholds = Vec::with_capacity(file.thresholds.len());
    for threshold in &file.thresholds {
        let Some(amount) = amount(threshold, digits, FIELD, report) else { continue };
        if thresholds.last().is_some_and(|last| *last >= amount) {
            report.fault(threshold.line(), FIELD, "must ascend");
        }
        thresholds.push(amount);
    }
    let named = file.currency_code.as_str();
    if !named.is_empty() && named != currency {
        let problem =
            format!("is {named}, and the sums are in the store's currency; write {currency}, or leave it out");
        report.fault(file.currency_code.line, "patrons.currency_code", problem);
    }
    Patronage {
        enabled: file.enabled,
        currency_code: currency.to_owned(),
        description: file.description.clone(),
        thresholds,
    }
}

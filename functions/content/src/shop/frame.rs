//! The parts of every page of the shop: head, menu, footer, and the data of its scripts.

use super::offer::Picture;
use super::theme::Texts;
use super::{Loaded, theme};
use serde::Serialize;
use shared::http::reply::render_in_html;
use shared::model::{AuthType, CategoryHead, Donations, Donor, GameServer, Link, Money, RecentDonation, Settings};
use shared::model::{Shop, StoreConfig, StoreDelivery, TaxMode, TaxPrices, Tree};
use shared::money::{self, CurrencyFormat, Decimal};
use std::borrow::Borrow;

/// The game's own port, with which a player need not type one.
const GAME_PORT: u16 = 25565;
/// How many recent buyers are shown.
const RECENT: usize = 6;
/// The longest description for search engines in characters.
const DESCRIPTION: usize = 160;

/// The head of a page.
#[derive(Default)]
pub struct Head {
    /// The kind of page, by which its script is found.
    pub kind: &'static str,
    pub title: String,
    pub description: String,
    /// The page's own path; empty if it has none that search engines should know.
    pub path: String,
    pub image: String,
    /// Whether search engines leave it out.
    pub is_private: bool,
    /// A description of what is sold, for search engines.
    pub json_ld: String,
}

pub struct Frame<'a> {
    pub texts: &'static Texts,
    pub language: &'static str,
    /// The path of the files of this build.
    pub assets: String,
    pub version: &'a str,
    pub head: Head,
    pub settings: &'a Settings,
    pub config: &'a StoreConfig,
    pub shop: &'a Shop,
    pub tree: &'a Tree,
    donations: &'a Donations,
    is_this_month: bool,
    /// The data of the page's scripts, as JSON.
    pub data: String,
}

/// The data of a page's scripts.
#[derive(Serialize)]
struct Data<'a> {
    website_name: &'a str,
    auth_type: AuthType,
    /// The sign before the names of Bedrock players. Empty if the store does not say; `None` if its games have no such players.
    bedrock: Option<String>,
    server: &'a GameServer,
    virtual_currency: &'a str,
    system_currency: Rate<'a>,
    currencies: Vec<Rate<'a>>,
    /// Digits after the point of the store's own currency.
    digits: u8,
    profiles: bool,
    /// Whether referral codes are accepted.
    is_ref: bool,
    terms: Option<&'a str>,
    privacy: Option<&'a str>,
    refunds: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tax_on_top: bool,
}

#[derive(Serialize)]
struct Rate<'a> {
    name: &'a str,
    value: Decimal,
}

pub struct Goal<'a> {
    pub name: &'a str,
    /// What was given; since it was last reached, of a goal that is reached again.
    pub given: Money,
    pub wanted: Money,
    pub share: i64,
    /// How often a goal that is reached again was reached.
    pub reached: i64,
}

impl<'a> Frame<'a> {
    pub fn new(loaded: &'a Loaded, shop: &'a Shop, head: Head) -> Self {
        let settings = loaded.settings.as_ref();
        let (language, texts) = Texts::of_language(&settings.system_language.code);
        let mut frame = Self {
            texts,
            language,
            assets: format!("/assets/{}", shop::hash()),
            version: &loaded.active.version,
            head,
            settings,
            config: &loaded.active.config,
            shop,
            tree: &loaded.tree,
            donations: &loaded.donations,
            is_this_month: loaded.donations.month == Donations::month_of(loaded.now),
            data: String::new(),
        };
        if frame.head.description.is_empty() {
            frame.head.description.clone_from(&settings.website_description);
        }
        if frame.head.description.chars().count() > DESCRIPTION {
            frame.head.description = frame.head.description.chars().take(DESCRIPTION - 1).chain(['…']).collect();
        }
        frame.head.image = match frame.head.image.as_str() {
            "" => frame.logo(),
            image => frame.config.picture(image).into_owned(),
        };
        frame.data = frame.data();
        frame
    }

    fn data(&self) -> String {
        let rate =
            |currency: &'a shared::model::Currency| Rate { name: &currency.name, value: money::rate(currency.value) };
        let about = |word: &str| self.settings.link_about(word).map(|link| link.url.as_str());
        render_in_html(&Data {
            website_name: &self.settings.website_name,
            auth_type: self.settings.auth_type,
            bedrock: self.bedrock(),
            server: &self.settings.server,
            virtual_currency: &self.settings.virtual_currency,
            system_currency: rate(&self.settings.system_currency),
            currencies: self.settings.currencies.iter().map(rate).collect(),
            digits: self.config.digits,
            profiles: self.settings.is_profile_enabled,
            is_ref: self.config.is_ref,
            terms: about("terms"),
            privacy: about("privacy"),
            refunds: about("refund"),
            tax_on_top: self.has_tax_on_top(),
        })
    }

    /// Names are free only in games that Bedrock players do not join.
    fn bedrock(&self) -> Option<String> {
        let StoreDelivery { servers, free_names, .. } = &self.config.delivery;
        let has_own_names = servers.is_empty() || servers.len() > free_names.len();
        let prefix = || self.config.bedrock.map_or_else(String::new, |prefix| char::from(prefix).to_string());
        has_own_names.then(prefix)
    }

    /// What belongs into the field for a gift's recipient.
    pub fn gift_hint(&self) -> String {
        match self.config.bedrock {
            Some(prefix) => self.texts.with("gift_hint.bedrock", char::from(prefix)),
            None => self.texts.of("gift_hint").to_owned(),
        }
    }

    /// Whether tax comes on top of the prices.
    pub fn has_tax_on_top(&self) -> bool {
        let payments = &self.config.payments;
        payments.tax != TaxMode::None && payments.tax_prices == TaxPrices::Exclusive
    }

    /// Whether the payment provider sells in its own name.
    pub fn is_sold_by_provider(&self) -> bool {
        self.config.payments.tax == TaxMode::Managed
    }

    pub fn full_title(&self) -> String {
        let (title, name) = (&self.head.title, &self.settings.website_name);
        if title == name { name.clone() } else { format!("{title} – {name}") }
    }

    /// An address for other sites; `None` if the store does not say where its shop is, or the path is empty.
    pub fn absolute(&self, path: &str) -> Option<String> {
        let is_path = path.starts_with('/') && !path.starts_with("//");
        let base = &self.config.storefront_url;
        if path.is_empty() || is_path && base.is_empty() {
            return None;
        }
        Some(if is_path { format!("{base}{path}") } else { path.to_owned() })
    }

    pub fn logo(&self) -> String {
        match self.shop.logo.as_str() {
            "" => format!("{}/icon.svg", self.assets),
            logo => self.config.picture(logo).into_owned(),
        }
    }

    pub fn has_theme(&self) -> bool {
        !self.version.is_empty() && !theme::is_plain(self.shop)
    }

    /// Whether the page is that of a category, or of one below it.
    pub fn is_within(&self, slug: &str) -> bool {
        let below = self.head.path.strip_prefix("/category").and_then(|path| path.strip_prefix(slug));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The links of the footer: the owner's, and the shop's own pages.
    pub fn footer(&self) -> Vec<Link> {
        let own =
            [("staff", true), ("patrons", self.settings.is_patrons_enabled), ("orders", true), ("subscriptions", true)];
        let link = |name: &str| Link { name: self.texts.of(name).to_owned(), url: format!("/{name}") };
        let own = own.into_iter().filter(|(_, is_shown)| *is_shown).map(|(name, _)| link(name));
        self.settings.header.iter().cloned().chain(own).chain(self.settings.footer.iter().cloned()).collect()
    }

    pub fn hero_picture(&self) -> Option<Picture> {
        let image = &self.shop.hero.image;
        (!image.is_empty()).then(|| Picture::of(image, self.config))
    }

    pub fn hero_title(&self) -> &str {
        Some(&self.shop.hero.title).filter(|title| !title.is_empty()).unwrap_or(&self.settings.website_name)
    }

    pub fn hero_text(&self) -> &str {
        Some(&self.shop.hero.text).filter(|text| !text.is_empty()).unwrap_or(&self.settings.website_description)
    }

    /// The owner's button, else one that leads to the first category.
    pub fn hero_button(&self) -> Option<Link> {
        let first = self.tree.0.first().map(|node| Link {
            name: self.texts.with("see", node.head.name.to_lowercase()),
            url: format!("/category{}", node.head.slug),
        });
        self.shop.hero.button.clone().or(first)
    }

    /// In what time half of the last day's commands ran, and 95 of 100, if the store shows that.
    pub fn delivery_times(&self) -> Option<[String; 2]> {
        let times = self.donations.delivery.filter(|_| self.shop.delivery_times)?;
        Some([times.half, times.most].map(shared::rules::delivery_times::shown))
    }

    pub fn goals(&self) -> Vec<Goal<'a>> {
        let goal = |goal: &'a shared::model::Goal| {
            let sum = self.donations.goals.get(&goal.id.to_string()).copied().unwrap_or(Money::ZERO).minor();
            let wanted = goal.goal_amount.minor();
            let reached = sum.checked_div(wanted).filter(|_| goal.repeat && wanted > 0).unwrap_or(0).max(0);
            let given = sum - reached.saturating_mul(wanted);
            // Rounded down: 100 % is a goal that is reached.
            let share = given.saturating_mul(100).checked_div(wanted).unwrap_or(100).clamp(0, 100);
            Goal { name: &goal.name, given: Money::from_minor(given), wanted: goal.goal_amount, share, reached }
        };
        self.settings.goals.iter().map(goal).collect()
    }

    /// Whether players log in by typing a name, which proves nothing.
    pub fn is_by_name(&self) -> bool {
        self.settings.auth_type == AuthType::Username
    }

    /// The address of the game server as a player types it: with the port if that is not the game's own.
    pub fn server_address(&self) -> String {
        let GameServer { ip, port } = &self.settings.server;
        if [0, GAME_PORT].contains(port) { ip.clone() } else { format!("{ip}:{port}") }
    }

    /// The month's largest donator.
    pub fn top(&self) -> Option<&'a Donor> {
        self.donations.top.first().filter(|_| self.is_this_month)
    }

    pub fn recent(&self) -> Vec<&'a RecentDonation> {
        self.donations.recent.iter().filter(|donation| donation.amount > Money::ZERO).take(RECENT).collect()
    }

    pub fn picture(&self, image: &str) -> Picture {
        Picture::of(image, self.config)
    }

    pub fn avatar(&self, player: &str) -> Picture {
        self.picture(&self.config.avatar_of(&player.to_lowercase()))
    }

    pub fn head_picture(&self, head: &CategoryHead) -> Picture {
        self.picture(head.image.as_deref().unwrap_or_default())
    }

    /// An amount as scripts read it: `9.99`.
    pub fn plain(&self, amount: impl Borrow<Money>) -> String {
        CurrencyFormat::new(self.config.digits).money(*amount.borrow()).to_string()
    }

    pub fn money(&self, amount: impl Borrow<Money>) -> String {
        self.money_in(amount, &self.settings.system_currency.name)
    }

    /// An amount in a currency, as browsers format it for English readers.
    pub fn money_in(&self, amount: impl Borrow<Money>, currency: &str) -> String {
        let plain = grouped(&self.plain(amount));
        match currency {
            "EUR" => format!("€{plain}"),
            "USD" => format!("${plain}"),
            "GBP" => format!("£{plain}"),
            code => format!("{code}\u{a0}{plain}"),
        }
    }

    /// An amount of the virtual currency.
    pub fn virtual_money(&self, amount: impl Borrow<Money>) -> String {
        let plain = self.plain(amount);
        let whole = plain.split_once('.').filter(|(_, part)| part.bytes().all(|digit| digit == b'0'));
        format!("{} {}", grouped(whole.map_or(plain.as_str(), |(whole, _)| whole)), self.settings.virtual_currency)
    }
}

/// A decimal number with a comma between thousands.
fn grouped(number: &str) -> String {
    let (whole, part) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut grouped = String::with_capacity(number.len() + number.len() / 3);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + part
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_separated() {
        for (number, expected) in
            [("0.50", "0.50"), ("999", "999"), ("1000.00", "1,000.00"), ("1234567", "1,234,567"), ("-100.5", "-100.5")]
        {
            assert_eq!(grouped(number), expected);
        }
    }
}

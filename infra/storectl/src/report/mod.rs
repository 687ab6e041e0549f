//! `report`: what was earned in a time, as a table, a CSV file and a page.

mod files;

use crate::order::payout_format;
use crate::prelude::*;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::ToSpan as _;
use jiff::civil::Date;
use serde::Serialize;
use serde_json::Value;
use shared::model::{CategoryHead, Money, Server, Settings};
use shared::money::CurrencyFormat;
use shared::rules::report::{
    Balance, By, Difference, DifferenceKind, MOST_DIFFERENCES, Names, Report, Sums, day_text, seconds_of_day,
};
use shared::shop::report::{Listed, listed, read};
use shared::table::{keys, read_published};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct ReportOptions {
    /// The first day in the store's time zone, such as 2027-05-01, or a month such as 2027-05; else the first of this month.
    #[arg(long, value_name = "DAY")]
    pub from: Option<String>,
    /// The last day, or a month, which is part of it; else today, or the end of the month of --from.
    #[arg(long, value_name = "DAY")]
    pub to: Option<String>,
    /// What the sums are split by.
    #[arg(long, value_name = "WORD", default_value = "day", value_parser = words())]
    pub by: By,
    /// File that the table is written to, for a spreadsheet.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// File that the report is written to as a page with charts.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The columns, in the order in which they are shown and written.
const COLUMNS: [&str; 11] =
    ["orders", "gross", "discounts", "gift_cards", "tax", "received", "refunds", "disputes", "fees", "net", "virtual"];

fn amounts(sums: &Sums) -> [Money; 10] {
    let Sums { gross, discounts, gift_cards, tax, received, refunds, disputes, fees, virtual_currency, .. } = *sums;
    [gross, discounts, gift_cards, tax, received, refunds, disputes, fees, sums.net(), virtual_currency]
}

/// The provider's account, by the names that are shown.
fn amounts_of(balance: &Balance) -> [(&'static str, Money); 6] {
    let Balance { charges, refunds, disputes, other, fees, net, .. } = *balance;
    [("charges", charges), ("refunds", refunds), ("disputes", disputes), ("other", other), ("fees", fees), ("net", net)]
}

/// A report with what is needed to show it.
struct Shown {
    report: Report,
    store: String,
    /// The first and the last day.
    days: [String; 2],
    zone: String,
    format: CurrencyFormat,
    listed: Listed,
    /// What the sums do not say by themselves.
    notes: Vec<String>,
}

fn words() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(|(word, _)| word)).map(|word| By::parse(&word).unwrap_or_default())
}

pub async fn run(at: &Deployment, options: &ReportOptions) -> Outcome {
    let shown = make(at, options).await?;
    if let Some(path) = &options.csv {
        write(path, &shown.csv())?;
    }
    if let Some(path) = &options.html {
        write(path, &files::page(&shown))?;
    }
    let mut text = shown.text();
    for file in options.csv.iter().chain(&options.html) {
        text = format!("{text}\n{}", ok!("written to {}.", file.display()));
    }
    let printed = Printed::new(text, &shown.facts());
    Ok(if shown.report.differences_count > 0 { printed.with_exit(Exit::Faults) } else { printed })
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| Failure::file(path, &error))
}

async fn make(at: &Deployment, options: &ReportOptions) -> Result<Shown> {
    let active = at.published().await?;
    let settings: Option<Settings> = read_published(&at.db, &keys::settings(&active.version)).await?;
    let settings = settings.unwrap_or_default();
    let now = at.clock.seconds();
    let today = active.config.zone.days().number(now);
    let [first, last] = days(options, &day_text(today))?;
    let [first_day, last_day] = [first, last].map(day_number);
    let wide = (first_day - 2) * 86_400..(last_day + 2) * 86_400;
    let zone = publish::zone_during(&active.config.zone, wide);
    let days = zone.days();
    let time = seconds_of_day(&days, first_day).start..seconds_of_day(&days, last_day).end;
    let names = names(at, &active.version, &active.config.delivery.servers, options.by).await?;
    let currency = settings.system_currency.name.clone();
    let mut report = Report::new(options.by, time.clone(), days, currency, names);
    read(&at.db, &mut report, None).await?;
    let listed = listed(&at.db).await?;
    let notes = notes(&report, listed, &time, now);
    Ok(Shown {
        report,
        store: settings.website_name,
        days: [first.to_string(), last.to_string()],
        zone: if zone.name.is_empty() { "UTC".to_owned() } else { zone.name },
        format: CurrencyFormat::new(active.config.digits),
        listed,
        notes,
    })
}

/// A day as the number of days since 1970.
fn day_number(day: Date) -> i64 {
    let since = day.since((jiff::Unit::Day, jiff::civil::date(1970, 1, 1)));
    since.map(|span| i64::from(span.get_days())).unwrap_or_default()
}

/// The first and the last day that are asked for. `today` is that of the store.
fn days(options: &ReportOptions, today: &str) -> Result<[Date; 2]> {
    let unreadable = |text: &str| {
        let next = "Write a day such as 2027-05-01, or a month such as 2027-05.";
        Failure::refused(format!("{text:?} is not a day."), next)
    };
    let whole = |text: &str| -> Result<[Date; 2]> {
        let text = text.trim();
        if let Ok(first) = format!("{text}-01").parse::<Date>()
            && text.len() == 7
        {
            return Ok([first, first.last_of_month()]);
        }
        let day: Date = text.parse().map_err(|_| unreadable(text))?;
        if day.to_string() == text && day.year() >= 1970 { Ok([day, day]) } else { Err(unreadable(text)) }
    };
    let [today, _] = whole(today)?;
    let from = options.from.as_deref().map(whole).transpose()?.unwrap_or([today.first_of_month(), today]);
    let is_month = options.from.as_deref().is_some_and(|text| text.trim().len() == 7);
    let last = match &options.to {
        Some(text) => whole(text)?[1],
        None if is_month => from[1],
        None => today.max(from[0]),
    };
    let most = from[0].checked_add(10.years()).unwrap_or(Date::MAX);
    let is_given = options.from.is_some();
    if last < from[0] || last > most {
        let what = format!("--to {last} is before --from {}, or more than ten years after it.", from[0]);
        let next =
            if is_given { "Correct one of them." } else { "Add --from: without it the report begins with this month." };
        return Err(Failure::refused(what, next));
    }
    Ok([from[0], last])
}

/// Names of what orders have only by id, as they are now.
async fn names(at: &Deployment, version: &str, servers: &[Server], by: By) -> Result<Names> {
    let servers = servers.iter().map(|server| (server.id, server.name.clone())).collect();
    let mut names = Names { servers, ..Names::default() };
    if matches!(by, By::Category | By::Item) {
        let store = publish::load_version(&at.db, version).await;
        let shelves = || store.iter().flat_map(|store| &store.categories).flat_map(publish::CompiledCategory::shelves);
        for shelf in shelves() {
            let CategoryHead { name, slug, .. } = &shelf.head;
            let is_shared = shelves().filter(|other| other.head.name == *name).count() > 1;
            let name = if is_shared { format!("{name} ({slug})") } else { name.clone() };
            names.categories.extend(shelf.items.iter().map(|item| (item.id, name.clone())));
            names.items.extend(shelf.items.iter().map(|item| (item.id, item.name.clone())));
        }
    }
    Ok(names)
}

/// What the sums do not say by themselves.
fn notes(report: &Report, listed: Listed, time: &Range<i64>, now: i64) -> Vec<String> {
    let mut notes = Vec::new();
    match listed {
        Listed::Filling => notes.push(
            "The provider's list of what it paid and took is not here yet: payments count on the day of their order, and refunds in part are missing. \
             The sweep fills it; `storectl doctor --repair` does it at once."
                .to_owned(),
        ),
        Listed::Until(until) if until < time.end.min(now) => {
            notes.push(format!("What the provider paid and took is known until {}.", Time(until)));
        }
        Listed::Until(_) | Listed::Never => {}
    }
    for currency in report.balance.keys().filter(|currency| **currency != report.currency) {
        notes.push(format!(
            "The provider pays out in {currency}: its fees in that are below, and not in the sums in {}.",
            report.currency
        ));
    }
    notes
}

impl Shown {
    /// Sums as scripts read them.
    fn sums_of(&self, group: &str, sums: &Sums) -> BTreeMap<&'static str, Value> {
        let amounts = amounts(sums).map(|amount| value(&self.format.money(amount)));
        let cells = std::iter::once(value(&sums.orders)).chain(amounts);
        COLUMNS.into_iter().zip(cells).chain([("group", value(&group))]).collect()
    }

    fn cells(&self, group: &str, sums: &Sums) -> [String; 12] {
        let amounts = amounts(sums).map(|amount| self.format.money(amount).to_string());
        let mut cells = [group.to_owned(), sums.orders.to_string()].into_iter().chain(amounts);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    }

    /// The rows of the table, the sum last.
    fn rows(&self) -> Vec<[String; 12]> {
        let groups = self.report.groups.iter().map(|(group, sums)| self.cells(group, sums));
        groups.chain([self.cells("Total", &self.report.total)]).collect()
    }

    fn provider(&self) -> Vec<String> {
        let account = |(currency, balance): (&String, &Balance)| {
            let format = payout_format(currency);
            let amounts = amounts_of(balance).map(|(name, amount)| format!("{name} {}", format.money(amount)));
            let said = format!("The provider says: {} {currency}.", amounts.join(", "));
            let (stray, count) = (format.money(balance.without_order), balance.without_order_count);
            match count {
                0 => said,
                _ => format!("{said} Of it {stray} {currency} in {count} entries have no order here."),
            }
        };
        self.report.balance.iter().map(account).collect()
    }

    fn difference(&self, difference: &Difference) -> String {
        let Difference { order, kind, here, provider } = difference;
        let (here, provider) = (self.format.money(*here), self.format.money(*provider));
        match kind {
            DifferenceKind::NotListed => format!("{order}: {here} are paid here, and the provider does not list it"),
            DifferenceKind::NotPaid => format!("{order}: the provider charged {provider}, and it is not paid here"),
            DifferenceKind::Amount => format!("{order}: costs {here} here, and the provider charged {provider}"),
            DifferenceKind::Returned => format!("{order}: {here} came back here, and {provider} at the provider"),
        }
    }

    fn counts(&self) -> [String; 2] {
        let ((new, returning), [begun, paid, left]) = (self.report.buyers(), self.report.checkouts);
        [
            format!("Buyers: {new} new, {returning} returning."),
            format!("Checkouts: {begun} begun, {paid} paid, {left} left."),
        ]
    }

    fn title(&self) -> String {
        let Self { store, days: [first, last], zone, report, .. } = self;
        format!("{store}, {first} to {last} ({zone}), in {}", report.currency)
    }

    fn text(&self) -> String {
        let headings: [String; 12] =
            std::array::from_fn(|place| if place == 0 { self.report.by.word() } else { COLUMNS[place - 1] }.to_owned());
        let headings = headings.map(|heading| heading.to_uppercase().replace('_', " "));
        let table = columns(headings.each_ref().map(String::as_str), self.rows());
        let mut lines = vec![paint(STRONG, &self.title()), table, String::new()];
        lines.extend(self.counts());
        lines.extend(self.provider());
        lines.extend(self.notes.iter().map(|text| note!("{text}")));
        let differences = &self.report.differences;
        lines.extend(differences.iter().map(|difference| warning!("{}.", self.difference(difference))));
        let more = self.report.differences_count - differences.len() as u64;
        if more > 0 {
            lines.push(warning!("{more} more than these {MOST_DIFFERENCES} differ."));
        } else if differences.is_empty() && matches!(self.listed, Listed::Until(_)) {
            lines.push(ok!("Orders and provider agree."));
        }
        lines.join("\n")
    }

    fn csv(&self) -> String {
        let mut text = files::CSV_BEGINNING.to_owned();
        text.push_str(&files::csv_row(self.report.by.word(), &COLUMNS.map(str::to_owned)));
        for row in self.rows() {
            text.push_str(&files::csv_row(&row[0], &row[1..]));
        }
        text
    }

    fn facts(&self) -> impl Serialize + use<'_> {
        let report = &self.report;
        let groups: Vec<_> = report.groups.iter().map(|(group, sums)| self.sums_of(group, sums)).collect();
        let account = |(currency, balance): (&String, &Balance)| {
            let amounts = amounts_of(balance).into_iter().chain([("without_order", balance.without_order)]);
            let amounts = amounts.map(|(name, amount)| (name, value(&payout_format(currency).money(amount))));
            let named = [("currency", value(currency)), ("without_order_count", value(&balance.without_order_count))];
            amounts.chain(named).collect::<BTreeMap<_, _>>()
        };
        let provider: Vec<_> = report.balance.iter().map(account).collect();
        let differences: Vec<_> = report
            .differences
            .iter()
            .map(|difference| {
                facts! { order: &difference.order, said: self.difference(difference), here: self.format.money(difference.here),
                provider: self.format.money(difference.provider) }
            })
            .collect();
        let ((new, returning), [begun, paid, left]) = (report.buyers(), report.checkouts);
        facts! {
            from: &self.days[0], to: &self.days[1], zone: &self.zone, currency: &report.currency,
            total: self.sums_of("Total", &report.total), groups, provider,
            buyers: facts! { new, returning }, checkouts: facts! { begun, paid, left },
            differences, differences_count: report.differences_count, notes: &self.notes,
        }
    }
}

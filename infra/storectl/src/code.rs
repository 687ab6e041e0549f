//! Commands that coupons and gift cards have in common: `show`, `list`, `disable` and `enable`, and the time in which a code may be
//! used; and `referral …`, of codes that credit a user for what others buy.

use crate::arguments::{self, beginning, end};
use crate::prelude::*;
use crate::user;
use serde_json::Value;
use shared::model::{Code, CodeKind, CodeText, Coupon, Discount, GiftCard, Money, Referral};
use shared::money::{self, CurrencyFormat};
use shared::rules::referral::Credit;
use shared::shop::codes::{self, switch_referral, tag};
use shared::shop::upkeep::credits;
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};
use shared::table::published::read_active_version;
use shared::table::read_live;
use shared::table::single::create;

/// A code and nothing else.
#[derive(Debug, Clone, Args)]
pub struct OneCode {
    /// The code; case does not matter.
    pub code: String,
}

/// When a code may be used.
#[derive(Debug, Clone, Args)]
pub struct PeriodOptions {
    /// From when it may be used: from the beginning of a day such as 2026-12-01 (UTC), 2031-05-01T12:00:00Z, `now`, `in 3
    /// days`.
    #[arg(long, alias = "from", value_name = "TIME")]
    pub starts_at: Option<String>,
    /// Until when it may be used: until the end of a day such as 2026-12-24 (UTC), or a time as for --starts-at.
    #[arg(long, alias = "until", value_name = "TIME")]
    pub ends_at: Option<String>,
}

/// A code, as it is printed.
pub fn facts(code: &Code, digits: u8) -> Value {
    let format = CurrencyFormat::new(digits);
    match code {
        Code::Coupon(coupon) => value(&facts! {
            id: coupon.id, code: &coupon.code, kind: "coupon", active: coupon.active, off: off(coupon, format),
            starts_at: coupon.starts_at.map(Time), ends_at: coupon.ends_at.map(Time),
            minimum: format.money(coupon.minimum), categories: &coupon.scope.categories, items: &coupon.scope.items,
            uses: coupon.uses, max_uses: coupon.max_uses, max_uses_per_user: coupon.max_uses_per_user,
            once_per: coupon.once_per.map(duration), first_purchase: coupon.first_purchase.then_some(true), user: coupon.user,
        }),
        Code::Gift(gift) => value(&facts! {
            id: gift.id, code: &gift.code, kind: "gift", active: gift.active, balance: format.money(gift.balance),
            start_balance: format.money(gift.start_balance), r#for: &gift.made_for, note: &gift.note,
            starts_at: gift.starts_at.map(Time), ends_at: gift.ends_at.map(Time),
        }),
    }
}

pub fn off(coupon: &Coupon, format: CurrencyFormat) -> String {
    match coupon.discount {
        _ if coupon.cheapest_free => "the cheapest item".to_owned(),
        Discount::Percentage(percent) => format!("{} %", money::percent(percent)),
        Discount::Amount(amount) => format.money(amount).to_string(),
    }
}

/// Seconds as a duration is written: "30d", "1d 12h".
pub fn duration(seconds: u32) -> String {
    let (mut left, mut parts) = (seconds, Vec::new());
    for (unit, length) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
        if left >= length {
            parts.push(format!("{}{unit}", left / length));
            left %= length;
        }
    }
    parts.join(" ")
}

/// A line for each fact of a code.
pub fn lines(facts: &Value) -> String {
    let lines = facts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    lines.map(|(name, value)| format!("{name}: {}", text(value))).collect::<Vec<_>>().join("\n")
}

pub fn missing(kind: CodeKind) -> Failure {
    let command = tag(kind);
    let what = format!("There is no {} with this code.", word(kind));
    Failure::refused(what, format!("`storectl {command} list` shows those there are."))
}

pub async fn find(at: &Deployment, kind: CodeKind, written: &str) -> Result<Code> {
    let text = CodeText::parse(written).map_err(|_| missing(kind))?;
    let found: Option<Code> = read_live(&at.db, &keys::code(&text)).await?;
    found.filter(|code| code.kind() == kind).ok_or_else(|| missing(kind))
}

pub async fn list(at: &Deployment, kind: CodeKind) -> Outcome {
    let codes = all(&at.db, prefix::CODE).await?.into_iter().map(|(_, code)| code);
    let mut codes: Vec<Code> = codes.filter(|code: &Code| code.kind() == kind).collect();
    codes.sort_by_key(Code::id);
    let digits = at.digits().await?;
    let format = CurrencyFormat::new(digits);
    let now = at.clock.seconds();
    let state = |active: bool, (starts, ends): (Option<i64>, Option<i64>), is_left: bool| {
        if !active {
            "off".to_owned()
        } else if ends.is_some_and(|end| end <= now) {
            "ended".to_owned()
        } else if !is_left {
            "used up".to_owned()
        } else {
            let later = starts.filter(|start| *start > now);
            later.map_or_else(|| "active".to_owned(), |start| format!("from {}", Time(start)))
        }
    };
    let coupon = |code: &Code| {
        let Code::Coupon(coupon) = code else { return None };
        let Coupon { id, code, active, uses, max_uses, starts_at, ends_at, .. } = coupon;
        let state = state(*active, (*starts_at, *ends_at), max_uses.is_none_or(|most| *uses < most));
        let uses = max_uses.map_or(uses.to_string(), |most| format!("{uses} of {most}"));
        Some([id.to_string(), code.to_string(), off(coupon, format), state, uses])
    };
    let gift = |code: &Code| {
        let Code::Gift(card) = code else { return None };
        let GiftCard { id, code, balance, active, made_for, note, starts_at, ends_at, .. } = card;
        let state = state(*active, (*starts_at, *ends_at), *balance > Money::ZERO);
        let [made_for, note] = [made_for, note].map(|text| text.clone().unwrap_or_default());
        Some([id.to_string(), code.to_string(), format.money(*balance).to_string(), state, made_for, note])
    };
    let text = match kind {
        CodeKind::Coupon => columns(["ID", "CODE", "OFF", "STATE", "USES"], codes.iter().filter_map(coupon)),
        CodeKind::Gift => columns(["ID", "CODE", "BALANCE", "STATE", "FOR", "NOTE"], codes.iter().filter_map(gift)),
    };
    let codes: Vec<Value> = codes.iter().map(|code| facts(code, digits)).collect();
    Ok(Printed::new(text, &facts! { codes }))
}

pub async fn switch(at: &Deployment, kind: CodeKind, written: &str, active: bool) -> Outcome {
    let code = CodeText::parse(written).map_err(|_| missing(kind))?;
    if !codes::switch(&at.db, kind, &code, active).await.unsure(UNKNOWN_SWITCH, AGAIN)? {
        return Err(missing(kind));
    }
    let effect = if active { "on" } else { "off; carts that have it no longer count it" };
    Ok(Printed::new(ok!("The {} is switched {effect}.", word(kind)), &facts! { code, active }))
}

/// The failure of a switch without a response.
pub const UNKNOWN_SWITCH: &str = "It is not known whether it was switched.";

const fn word(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift card",
    }
}

/// Reads the time in which a code may be used.
pub fn period(options: &PeriodOptions, now: i64) -> Result<(Option<i64>, Option<i64>)> {
    let starts = options.starts_at.as_ref().map(|text| beginning(text, now)).transpose()?;
    let ends = options.ends_at.as_ref().map(|text| end(text, now)).transpose()?;
    check_period(starts, ends, now)?;
    Ok((starts, ends))
}

/// Refuses a time in which a code could never be used.
fn check_period(starts: Option<i64>, ends: Option<i64>, now: i64) -> Result<()> {
    if ends.is_some_and(|end| end <= starts.unwrap_or(now).max(now)) {
        let what = "--ends-at must be after now and after --starts-at: the code could never be used.";
        return Err(Failure::refused(what, "Correct it and try again."));
    }
    Ok(())
}

/// The time in which a code may be used, with what the command line changes of it.
pub fn edited(
    at: &Deployment,
    options: &PeriodOptions,
    (old_start, old_end): (Option<i64>, Option<i64>),
) -> Result<(Option<i64>, Option<i64>)> {
    let now = at.clock.seconds();
    let read = |text: &Option<String>, old: Option<i64>, time: fn(&str, i64) -> Result<i64>| match text.as_deref() {
        None => Ok(old),
        Some("none") => Ok(None),
        Some(text) => time(text, now).map(Some),
    };
    let (starts, ends) = (read(&options.starts_at, old_start, beginning)?, read(&options.ends_at, old_end, end)?);
    if options.starts_at.is_some() || options.ends_at.is_some() {
        check_period(starts, ends, now)?;
    }
    Ok((starts, ends))
}

/// Writes a changed code.
pub async fn write(at: &Deployment, before: &Code, after: Code, digits: u8) -> Result<Value> {
    let written = codes::edit(&at.db, before, &after).await.map_err(|error| {
        let next = format!("Look at it with `storectl {} show`, then decide.", tag(before.kind()));
        Failure::from(error).done("It is not known whether the code was changed.").next(next)
    })?;
    if written { Ok(facts(&after, digits)) } else { Err(missing(before.kind())) }
}

#[derive(Debug, Clone, Subcommand)]
pub enum ReferralCommand {
    /// Make a user's referral code.
    #[command(after_help = "Example:\n  storectl referral add lantern --owner 1 --stack storefront")]
    Add(AddReferral),
    /// List every referral code; looks through the whole table.
    #[command(after_help = "Example:\n  storectl referral list --stack storefront")]
    List,
    /// Switch a referral code off.
    #[command(after_help = "Example:\n  storectl referral disable lantern --stack storefront")]
    Disable(OneCode),
    /// Switch a referral code on again.
    #[command(after_help = "Example:\n  storectl referral enable lantern --stack storefront")]
    Enable(OneCode),
    /// Add up the paid orders with each referral code; looks through the whole table.
    #[command(after_help = "Examples:\n  storectl referral report --stack storefront\n  \
                            storectl referral report --from 2026-11-01 --to 2026-11-30 --json --stack storefront\n\n\
                            The sums are what was charged in money, less refunds. An order belongs to the code that was \
                            on the cart when its checkout began, and to its owner then.")]
    Report(ReferralReport),
}

#[derive(Debug, Clone, Args)]
pub struct ReferralReport {
    /// Only orders made at or after this time, or on or after this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only orders made before this time, or up to the end of this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct AddReferral {
    /// The code, at most 255 characters without spaces; case does not matter.
    pub code: String,
    /// Its owner: id or name.
    #[arg(long, value_name = "USER")]
    pub owner: String,
}

impl ReferralCommand {
    pub async fn run(&self, at: &Deployment) -> Outcome {
        match self {
            Self::Add(options) => add(at, options).await,
            Self::List => list_referrals(at).await,
            Self::Disable(one) => switch_referral_code(at, &one.code, false).await,
            Self::Enable(one) => switch_referral_code(at, &one.code, true).await,
            Self::Report(options) => report(at, options).await,
        }
    }
}

async fn add(at: &Deployment, options: &AddReferral) -> Outcome {
    let wrong = || {
        let what = format!("A referral code has 1 to {} characters.", CodeText::LONGEST);
        Failure::refused(what, "Choose one that buyers can type.")
    };
    let typed = options.code.trim();
    if options.code.chars().count() > CodeText::LONGEST {
        return Err(wrong());
    }
    if typed.contains(char::is_whitespace) {
        let what = format!("The referral code {typed:?} has a space, which the links with it cannot have.");
        return Err(Failure::refused(what, "Write it in one word, such as lantern-crew."));
    }
    let code = CodeText::parse(&options.code).map_err(|_| wrong())?;
    let owner = user::find(at, &options.owner).await?;
    let referral = Referral { code: code.clone(), owner: owner.id, owner_name: owner.username.clone(), active: true };
    let written = create(&at.db, &keys::referral(&code), &referral).await;
    let mut active = true;
    if !written.after("It is not known whether the code was made; check with `storectl referral list`.")? {
        let known: Option<Referral> = read_live(&at.db, &keys::referral(&code)).await?;
        let taken = || Failure::refused(format!("The referral code {code} is taken."), "Choose another.");
        active = known.filter(|known| known.owner == owner.id).ok_or_else(taken)?.active;
    }
    let switched_on = read_active_version(&at.db).await?.is_some_and(|active| active.config.is_ref);
    let state = if active { "" } else { ", and is switched off: `storectl referral enable` switches it on" };
    let mut text = ok!("Referral code {code} belongs to {}{state}.", owner.username);
    if !switched_on {
        text.push_str("\nReferrals are switched off: set `referrals: true` in store.yaml and publish.");
    }
    Ok(Printed::new(text, &facts! { code, owner: owner.id, active, switched_on }))
}

async fn list_referrals(at: &Deployment) -> Outcome {
    let found = all(&at.db, prefix::REFERRAL).await?;
    let mut referrals: Vec<Referral> = found.into_iter().map(|(_, referral)| referral).collect();
    referrals.sort_by(|one, other| one.code.cmp(&other.code));
    let row = |Referral { code, owner, owner_name, active }: &Referral| {
        let state = if *active { "active" } else { "off" };
        [code.to_string(), format!("{owner_name} ({owner})"), state.to_owned()]
    };
    Ok(Printed::new(columns(["CODE", "OWNER", "STATE"], referrals.iter().map(row)), &facts! { referrals }))
}

async fn switch_referral_code(at: &Deployment, written: &str, active: bool) -> Outcome {
    let missing = || Failure::refused("There is no such referral code.", "`storectl referral list` shows them.");
    let code = CodeText::parse(written).map_err(|_| missing())?;
    if !switch_referral(&at.db, &code, active).await.unsure(UNKNOWN_SWITCH, AGAIN)? {
        return Err(missing());
    }
    let text = ok!("Referral code {code} is switched {}.", if active { "on" } else { "off" });
    Ok(Printed::new(text, &facts! { code, active }))
}

async fn report(at: &Deployment, options: &ReferralReport) -> Outcome {
    let period = arguments::period(options.from.as_deref(), options.to.as_deref(), at.clock.seconds())?;
    let credits = credits(&at.db, &period).await?;
    let (mut rows, mut referrals) = (Vec::new(), Vec::new());
    for ((code, owner), Credit { orders, sums }) in credits.0 {
        let owner_name = user::read(at, owner).await?.map(|user| user.username);
        let sums = sums.into_iter().map(|((currency, digits), sum)| {
            let amount = CurrencyFormat::new(digits).money(sum);
            facts! { currency, amount }
        });
        let sums: Vec<_> = sums.collect();
        let name = owner_name.as_ref();
        let shown = name.map_or_else(|| format!("user {owner}, erased"), |name| format!("{name} ({owner})"));
        let paid: Vec<String> = sums.iter().map(|sum| format!("{} {}", sum.amount, sum.currency)).collect();
        rows.push([code.to_string(), shown, orders.to_string(), paid.join(", ")]);
        referrals.push(facts! { code, owner, owner_name, orders, sums });
    }
    let bound = |second: i64| (second != i64::MIN && second != i64::MAX).then_some(Time(second));
    let facts = facts! { from: bound(period.start), before: bound(period.end), referrals };
    Ok(Printed::new(columns(["CODE", "OWNER", "ORDERS", "PAID"], rows), &facts))
}

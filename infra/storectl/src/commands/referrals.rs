//! `referral add`, `list`, `disable`, `enable` and `report`.

use super::codes::{digits, unknown_switch};
use super::common::{period, shown_time};
use super::find_user::{find, read};
use crate::answer::{Answer, GOOD, columns, paint};
use crate::cli::{AddReferral, ReferralReport};
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{CodeText, Referral};
use shared::money::CurrencyFormat;
use shared::rules::referral::Credit;
use shared::shop::codes::switch_referral;
use shared::shop::upkeep::credits;
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};
use shared::table::published::read_active_version;
use shared::table::single::create;

pub(super) async fn add(target: &Target, options: &AddReferral) -> Result<Answer, Failure> {
    let wrong = || {
        let what = format!("A referral code has 1 to {} characters.", CodeText::LONGEST);
        Failure::refused(what, "Choose one that buyers can type.")
    };
    if options.code.chars().count() > CodeText::LONGEST {
        return Err(wrong());
    }
    if options.code.trim().contains(char::is_whitespace) {
        let what =
            format!("The referral code {:?} has a space, which the links with it cannot have.", options.code.trim());
        return Err(Failure::refused(what, "Write it in one word, such as lantern-crew."));
    }
    let code = CodeText::parse(&options.code).map_err(|_| wrong())?;
    let owner = find(target, &options.owner).await?;
    let referral = Referral { code: code.clone(), owner: owner.id, owner_name: owner.username.clone(), active: true };
    let written = create(&target.db, &keys::referral(&code), &referral).await.map_err(|error| {
        let done = "It is not known whether the code was made; check with `storectl referral list`.";
        Failure::from(error).done(done)
    })?;
    if !written {
        return Err(Failure::refused(format!("The referral code {code} is taken."), "Choose another."));
    }
    let on = read_active_version(&target.db).await?.is_some_and(|active| active.config.is_ref);
    let hint = if on { "" } else { "\nReferrals are switched off: set `referrals: true` in store.yaml and publish." };
    let text = format!("{} Referral code {code} belongs to {}.{hint}", paint(GOOD, "ok"), owner.username);
    Ok(Answer::new(text, json!({ "code": code, "owner": owner.id, "switched_on": on })))
}

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let found = all(&target.db, prefix::REFERRAL).await?;
    let mut found: Vec<Referral> = found.into_iter().map(|(_, referral)| referral).collect();
    found.sort_by(|one, other| one.code.cmp(&other.code));
    let row = |referral: &Referral| {
        let state = if referral.active { "active" } else { "off" };
        let owner = format!("{} ({})", referral.owner_name, referral.owner);
        vec![referral.code.to_string(), owner, state.to_owned()]
    };
    let text = columns(&["CODE", "OWNER", "STATE"], &found.iter().map(row).collect::<Vec<_>>());
    Ok(Answer::new(text, json!({ "referrals": found })))
}

pub(super) async fn switch(target: &Target, written: &str, on: bool) -> Result<Answer, Failure> {
    let missing = || Failure::refused("There is no such referral code.", "`storectl referral list` shows them.");
    let code = CodeText::parse(written).map_err(|_| missing())?;
    if !switch_referral(&target.db, &code, on).await.map_err(unknown_switch)? {
        return Err(missing());
    }
    let word = if on { "on" } else { "off" };
    let text = format!("{} Referral code {code} is switched {word}.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "code": code, "active": on })))
}

pub(super) async fn report(target: &Target, options: &ReferralReport) -> Result<Answer, Failure> {
    let period = period(options.from.as_deref(), options.to.as_deref(), target.clock.seconds())?;
    let digits = digits(target).await?;
    let credits = credits(&target.db, &period).await?;
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for ((code, owner), Credit { orders, sums }) in credits.0 {
        let name = read(target, owner).await?.map(|user| user.username);
        let shown = name.clone().map_or_else(|| format!("user {owner}, erased"), |name| format!("{name} ({owner})"));
        let amount = |(currency, of_order), amount| {
            let format: CurrencyFormat = CurrencyFormat::new(Option::unwrap_or(of_order, digits));
            (currency, format.money(amount))
        };
        let sums: Vec<_> = sums.into_iter().map(|(unit, sum)| amount(unit, sum)).collect();
        let text: Vec<String> = sums.iter().map(|(currency, sum): &(String, _)| format!("{sum} {currency}")).collect();
        rows.push(vec![code.to_string(), shown, orders.to_string(), text.join(", ")]);
        let sums = sums.iter().map(|(currency, sum)| json!({ "currency": currency, "amount": sum }));
        let sums: Vec<_> = sums.collect();
        found.push(json!({ "code": code, "owner": owner, "owner_name": name, "orders": orders, "sums": sums }));
    }
    let bound = |second: i64| (second != i64::MIN && second != i64::MAX).then(|| shown_time(second));
    let json = json!({ "from": bound(period.start), "before": bound(period.end), "referrals": found });
    Ok(Answer::new(columns(&["CODE", "OWNER", "ORDERS", "PAID"], &rows), json))
}

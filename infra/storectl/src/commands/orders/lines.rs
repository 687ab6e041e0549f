//! The lines of `order record`, as they are typed.

use crate::cli::{ForLine, RecordOrder};
use crate::commands::find_user::find;
use crate::commands::items;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{CodeText, GiftCardPayment, ItemId, LineVariable, Money, PlayerName, ServerId, UserId};
use shared::shop::accounts::names;
use shared::shop::orders::LineRequest;

/// The lines with their variables and servers.
pub(super) async fn requests(target: &Target, options: &RecordOrder, digits: u8) -> Result<Vec<LineRequest>, Failure> {
    let mut lines = Vec::with_capacity(options.lines.len());
    for text in &options.lines {
        lines.push(line(target, text, digits).await?);
    }
    for variable in &options.variables {
        let (id, value) = variable.value.clone();
        of(&mut lines, "--var", variable)?.variables.push(LineVariable { id, value });
    }
    for server in &options.servers {
        of(&mut lines, "--server", server)?.server = Some(ServerId::new(server.value));
    }
    for line in &mut lines {
        line.variables.sort_by_key(|variable| variable.id);
    }
    Ok(lines)
}

fn of<'a, T>(lines: &'a mut [LineRequest], option: &str, about: &ForLine<T>) -> Result<&'a mut LineRequest, Failure> {
    let count = lines.len();
    let place = match (about.line, count) {
        (Some(place), _) => Some(place),
        (None, 1) => Some(1),
        (None, _) => None,
    };
    let line = place.and_then(|place| lines.get_mut(place.checked_sub(1)?));
    line.ok_or_else(|| {
        let what = format!("The order has {count} lines, and {option} does not say which of them it is about.");
        Failure::refused(what, format!("Write the line's place before it, from 1 to {count}: {option} LINE:…"))
    })
}

/// Reads `ITEM:COUNT:TOTAL[@RECIPIENT]`.
async fn line(target: &Target, text: &str, digits: u8) -> Result<LineRequest, Failure> {
    let wrong = |what: &str| {
        let what = format!("The line {text:?} {what}.");
        Failure::refused(what, "Write it as ITEM:COUNT:TOTAL[@RECIPIENT]; TOTAL is what the buyer paid for all units.")
    };
    // There is no @ before the recipient; a name may have any character.
    let (bought, recipient) = text.split_once('@').map_or((text, None), |(bought, name)| (bought, Some(name)));
    let mut parts = bought.split(':');
    let item: ItemId = parts.next().and_then(|id| id.trim().parse().ok()).ok_or_else(|| wrong("has no item"))?;
    let count: u32 = parts.next().and_then(|count| count.parse().ok()).ok_or_else(|| wrong("has no count"))?;
    let total = parts.next().ok_or_else(|| wrong("has no total"))?;
    let total = items::money("A line's total", total, digits)?;
    if parts.next().is_some() || count == 0 {
        return Err(wrong("cannot be read"));
    }
    let (recipient, gift_to) = match recipient {
        Some(text) => player(target, text).await?,
        None => (None, None),
    };
    Ok(LineRequest { item, count, total, recipient, gift_to, variables: Vec::new(), server: None })
}

/// A player who gets something: an account, or a name that has none yet.
pub(super) async fn player(target: &Target, text: &str) -> Result<(Option<UserId>, Option<PlayerName>), Failure> {
    if text.parse::<UserId>().is_ok() {
        let user = find(target, text).await?;
        return Ok((Some(user.id), PlayerName::parse(&user.username).ok()));
    }
    if let Ok(name) = PlayerName::parse(text) {
        return Ok((names::owner(&target.db, name.key()).await?, Some(name)));
    }
    // An account that was not made by a login may have another name.
    Ok((Some(find(target, text).await?.id), None))
}

/// Reads `CODE:AMOUNT`. A code may have colons, an amount has none.
pub(super) fn gift(text: &str, digits: u8) -> Result<GiftCardPayment, Failure> {
    let wrong = || Failure::refused("--gift cannot be read.", "Write it as CODE:AMOUNT.");
    let (code, amount) = text.rsplit_once(':').ok_or_else(wrong)?;
    let amount: Money = items::money("The amount of --gift", amount, digits)?;
    Ok(GiftCardPayment { code: CodeText::parse(code).map_err(|_| wrong())?, amount })
}

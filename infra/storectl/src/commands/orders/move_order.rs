//! `order move`: an order, or a gift of it, goes to another player.

use super::lines::player;
use super::names::Names;
use super::{facts, unknown};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::MoveOrder;
use crate::commands::common::published;
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{InternalId, LineId, OrderLine, User, UserId};
use shared::shop::delivery::{Given, given_of};
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::{self, MoveError, Moved, NewPlayer, OrderRefusal, check_move, moved_lines, player_of};

pub(in crate::commands) async fn move_order(
    target: &Target,
    console: &Console,
    options: &MoveOrder,
) -> Result<Answer, Failure> {
    let (id, line) = (InternalId::new(&options.id), options.line.map(LineId::new));
    let digits = published(target).await?.config.digits;
    let fails = |error| failure(error, &id, options);
    let stored = store::get(&target.db, &id).await?.ok_or_else(|| fails(MoveError::Unknown(id.clone())))?;
    let places = moved_lines(&stored.order, line).map_err(fails)?;
    let (user, name) = player(target, &options.to).await?;
    let to = NewPlayer { user, name };
    let from = player_of(&stored.order, &places);
    if user.is_none() || user != from {
        check_move(&stored).map_err(fails)?;
        let given = given_of(&target.db, &stored, &places).await?;
        let names = Names::read(target, std::slice::from_ref(&stored)).await?;
        let to = shown(target, &to).await?;
        let text = asked(&stored, &places, (from, &to), &given, &names);
        console.confirm(&text, &format!("Move it to {to}?"), options.yes)?;
    }
    let moved = orders::move_order(&target.db, target.clock.as_ref(), &id, line, &to, options.force).await;
    let Moved { stored, is_new } = moved.map_err(fails)?;
    let names = Names::read(target, std::slice::from_ref(&stored)).await?;
    let to = player_of(&stored.order, &places).map_or_else(|| options.to.clone(), |user| names.user(user));
    let is_under_way = stored.delivery_due();
    let mut text = if is_new {
        format!("{} Order {id} is moved to {to}.", paint(GOOD, "ok"))
    } else {
        format!("Nothing to do: order {id} is moved to {to} already, or was always theirs.")
    };
    if is_under_way {
        text.push_str(
            "\nWhat ran for the player before is taken back first, as soon as nothing of it can run any more; the sweep does \
             the rest within minutes.",
        );
    }
    let mut json = facts(&stored, digits);
    json["moved"] = is_new.into();
    json["is_under_way"] = is_under_way.into();
    names.add_to(&mut json, &stored);
    Ok(Answer::new(text, json))
}

/// The new player, in words.
async fn shown(target: &Target, to: &NewPlayer) -> Result<String, Failure> {
    let user: Option<User> = match to.user {
        Some(user) => crate::commands::find_user::read(target, user).await?,
        None => None,
    };
    let name = to.name.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(user.map_or_else(
        || format!("{name} (who has no account yet, and gets one)"),
        |user| format!("{} (user {})", user.username, user.id),
    ))
}

/// What the move does, before it is confirmed.
fn asked(
    stored: &StoredOrder,
    places: &[u16],
    (from, to): (Option<UserId>, &str),
    given: &Given,
    names: &Names,
) -> String {
    let order = &stored.order;
    let from = from.map_or_else(|| "nobody".to_owned(), |from| names.user(from));
    let mut lines = vec![format!("Order {}, from {from} to {to}:", order.internal_id)];
    let at = |place: &u16| order.lines.get(usize::from(*place));
    let of_line = |line: &OrderLine| format!("  {} × {}", line.units(), names.item(line));
    lines.extend(places.iter().filter_map(at).map(of_line));
    let of = |count: usize| if count == 1 { "1 command".to_owned() } else { format!("{count} commands") };
    if !given.ran.is_empty() {
        lines.push(format!("{} may have run for {from}: taken back.", of(given.ran.len())));
    }
    if !given.waiting.is_empty() {
        lines.push(format!("{} wait for {from}: recalled.", of(given.waiting.len())));
    }
    if !given.ran.is_empty() || !given.waiting.is_empty() {
        lines.push(format!("What the lines give runs for {to} then."));
    }
    for line in given.stays.iter().filter_map(at) {
        let warning = format!("{} has no `refunded` command: {from} keeps it in the game.", names.item(line));
        lines.push(format!("{} {warning}", paint(WARN, "warning")));
    }
    lines.join("\n")
}

fn failure(error: MoveError, id: &InternalId, options: &MoveOrder) -> Failure {
    let what = format!("The order is not moved: {error}.");
    let show = format!("`storectl order show {id}` shows it.");
    match error {
        MoveError::Store(error) => unknown(error, id, "the order was moved"),
        MoveError::Unknown(_) => Failure::refused(what, "It is matched exactly, case included."),
        MoveError::NoAccount => Failure::refused(what, "Give the name that the player types at login: --to NAME."),
        MoveError::Refused(OrderRefusal::UserLimit { .. }) => Failure::refused(what, "--force moves it all the same."),
        MoveError::Refused(OrderRefusal::Banned) => {
            let what = format!("The order is not moved: {} is banned.", options.to);
            Failure::refused(what, "`storectl unban` lifts a ban.")
        }
        MoveError::Disputed(_) => Failure::refused(what, "Wait until it is decided."),
        MoveError::InReview => {
            Failure::refused(what, format!("`storectl order accept {id}` or `storectl order refund {id}` ends that."))
        }
        MoveError::OnItsWay => Failure::refused(what, "Run the same command again in a few minutes."),
        MoveError::OnlyGifts => Failure::refused(what, format!("Say which: --line LINE. {show}")),
        MoveError::NotAGift(_) => {
            Failure::refused(what, "Leave out --line: the lines that are not gifts are moved together.")
        }
        MoveError::Older(newest) => {
            let next = format!("`storectl order move {newest} --to {}` moves the subscription.", options.to);
            Failure::refused(what, next)
        }
        MoveError::Subscribed => {
            Failure::refused(what, "`storectl subscription list` shows it; cancel one of the two.")
        }
        MoveError::Status(_) | MoveError::NoPlayer | MoveError::NoLine(_) | MoveError::Refused(_) => {
            Failure::refused(what, show)
        }
    }
}

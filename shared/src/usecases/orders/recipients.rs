//! The accounts of players that gifts are for.

use crate::clock::Clock;
use crate::model::{Order, OrderLine, PlayerName, UserId};
use crate::store::{Db, StoreError, names, published};
use crate::usecases::accounts;

/// The lines with the accounts of all recipients; `None` if they are all known. A recipient who is banned by now has
/// none.
pub(in crate::usecases) async fn with_accounts(
    db: &Db,
    clock: &dyn Clock,
    order: &Order,
) -> Result<Option<Vec<OrderLine>>, StoreError> {
    let mut lines = order.lines.clone();
    for line in lines.iter_mut().filter(|line| line.recipient.is_none()) {
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        if let Some(name) = name {
            line.recipient = account(db, clock, name).await?;
        }
    }
    Ok((lines != order.lines).then_some(lines))
}

/// The account of a player, made if there is none; `None` if the name is banned.
pub(in crate::usecases) async fn account(
    db: &Db,
    clock: &dyn Clock,
    name: &PlayerName,
) -> Result<Option<UserId>, StoreError> {
    if let Some(user) = names::owner(db, name.key()).await? {
        return Ok(Some(user));
    }
    let config = published::read_active_version(db).await?.unwrap_or_default().config;
    let row = accounts::create(db, &config, name, clock.seconds()).await?;
    Ok(row.map(|row| row.user))
}

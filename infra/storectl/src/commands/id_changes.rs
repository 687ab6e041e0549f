//! Ids of items and servers that a publish gives to something else. Orders, ledgers and commands refer to them.

use crate::error::Failure;
use crate::target::Target;
use publish::{Compiled, Moved, Reassigned};
use shared::model::ItemId;
use shared::shop::stock;
use shared::table::keys;
use std::collections::{BTreeMap, BTreeSet};

/// The warnings, and whether one of them is about what was sold, or about a server. Units sold are counted per item, with and
/// without a limit, so one read says which items buyers own.
pub(super) async fn warnings(
    target: &Target,
    before: Option<&Compiled>,
    after: &Compiled,
) -> Result<(Vec<String>, bool), Failure> {
    let (reassigned, moved) = (publish::reassigned(before, after), publish::moved(before, after));
    let ids = reassigned.iter().flat_map(|one| [Some(one.id), one.swapped_with]).flatten();
    let sold = sold(target, ids.chain(moved.iter().map(|one| one.before)).collect()).await?;
    let is_sold = |id: ItemId| sold.get(&id).is_some_and(|units| *units > 0);
    let (mut warnings, mut is_asked) = (Vec::new(), false);
    for Reassigned { id, before, after, swapped_with } in reassigned {
        match swapped_with {
            Some(other) => {
                is_asked |= is_sold(id) || is_sold(other);
                warnings.push(format!(
                    "Items {id} and {other} swap their names, {before} and {after}: who owns one owns the other then."
                ));
            }
            None if is_sold(id) => {
                is_asked = true;
                let units = sold.get(&id).copied().unwrap_or_default();
                warnings.push(format!(
                    "Item {id} was sold {units} times as {before} and gets another name, {after}, and another price: who \
                     owns it owns {after} then. Give a new item an id of its own."
                ));
            }
            None => {}
        }
    }
    for Moved { name, before, after } in moved.into_iter().filter(|one| is_sold(one.before)) {
        is_asked = true;
        let units = sold.get(&before).copied().unwrap_or_default();
        warnings.push(format!(
            "{name} was sold {units} times as item {before} and becomes item {after}: nobody owns it then, and limits count from \
             0. Write id: {before} again."
        ));
    }
    for (one, other) in publish::swapped_servers(before, after) {
        is_asked = true;
        warnings.push(format!(
            "Servers {} and {} swap their names, {} and {}: keys and commands stay with the ids, so that each would get what is \
             meant for the other.",
            one.id, other.id, one.name, other.name
        ));
    }
    Ok((warnings, is_asked))
}

/// How many units of each of these items were sold.
async fn sold(target: &Target, ids: BTreeSet<ItemId>) -> Result<BTreeMap<ItemId, u64>, Failure> {
    let mut rows = target.db.batch_get(ids.iter().map(|id| keys::count(*id)).collect()).await?;
    let mut sold = BTreeMap::new();
    for id in ids {
        let units = stock::take(&mut rows, id)?.unwrap_or_default();
        sold.insert(id, u64::try_from(units).unwrap_or_default());
    }
    Ok(sold)
}

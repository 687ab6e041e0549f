//! Published items, categories and their numbers, as commands look them up.

use crate::error::Failure;
use crate::target::Target;
use shared::model::{DecimalError, ItemId, Money, Percent, PublishedItem, Tree};
use shared::store::StoreError;
use shared::store::codec::decode_published;
use shared::store::keys;

pub(super) async fn item(target: &Target, version: &str, id: ItemId) -> Result<PublishedItem, Failure> {
    let key = keys::item(version, id);
    let read = target.db.get(&key, true).await?.map(|item| decode_published(&key, &item)).transpose();
    let read: Option<(PublishedItem, usize)> = read.map_err(|error: StoreError| Failure::from(error))?;
    read.map(|(item, _)| item).ok_or_else(|| {
        let what = format!("There is no published item {id}.");
        Failure::refused(what, "Items of hidden categories are not published; check the id.")
    })
}

/// The category list of a version.
pub(super) async fn tree(target: &Target, version: &str) -> Result<Tree, Failure> {
    Ok(publish::read_tree(&target.db, version).await?.unwrap_or_default())
}

/// Reads an amount of the command line.
pub(super) fn money(name: &str, text: &str, digits: u8) -> Result<Money, Failure> {
    Money::parse(text, digits).map_err(|error| wrong(name, &error))
}

/// Reads a percentage of the command line.
pub(super) fn percent(name: &str, text: &str) -> Result<Percent, Failure> {
    Percent::parse(text).map_err(|error| wrong(name, &error))
}

fn wrong(name: &str, error: &DecimalError) -> Failure {
    Failure::refused(format!("{name} {error}."), "Correct it and try again.")
}

//! Published items, categories and their numbers, as commands look them up.

use super::common::published;
use crate::error::Failure;
use crate::target::Target;
use publish::LoadError;
use shared::model::{DecimalError, ItemId, Money, Percent, PublishedItem, Tree};
use shared::table::{keys, read_published};

pub(super) async fn item(target: &Target, version: &str, id: ItemId) -> Result<PublishedItem, Failure> {
    read_published(&target.db, &keys::item(version, id)).await?.ok_or_else(|| {
        let what = format!("There is no published item {id}.");
        Failure::refused(what, "Items of hidden categories are not published; check the id.")
    })
}

/// Every published item; none if what is published is damaged.
pub(super) async fn all(target: &Target) -> Result<Vec<PublishedItem>, Failure> {
    let version = published(target).await?.version;
    match publish::load_version(&target.db, &version).await {
        Ok(store) => Ok(store.items),
        Err(LoadError::Store(error)) => Err(error.into()),
        // That is the doctor's to say.
        Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => Ok(Vec::new()),
    }
}

pub(super) async fn tree(target: &Target, version: &str) -> Result<Tree, Failure> {
    Ok(publish::read_tree(&target.db, version).await?.unwrap_or_default())
}

/// Reads an amount of the command line.
pub(super) fn money(name: &str, text: &str, digits: u8) -> Result<Money, Failure> {
    Money::parse(text, digits).map_err(|error| wrong(name, &error))
}

/// Reads an amount of the command line that must be more than 0.
pub(super) fn positive(name: &str, text: &str, digits: u8) -> Result<Money, Failure> {
    match money(name, text, digits)? {
        Money::ZERO => Err(Failure::refused(format!("{name} must be more than 0."), "Correct it and try again.")),
        amount => Ok(amount),
    }
}

/// Reads a percentage of the command line.
pub(super) fn percent(name: &str, text: &str) -> Result<Percent, Failure> {
    Percent::parse(text).map_err(|error| wrong(name, &error))
}

fn wrong(name: &str, error: &DecimalError) -> Failure {
    Failure::refused(format!("{name} {error}."), "Correct it and try again.")
}

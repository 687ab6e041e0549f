//! The content that game servers show. Everything is public in settings/get and patrons/get as well, so that these calls also
//! work without a key, as plugins send them whose keys are switched off; a key that is sent must be valid.

use crate::path::{SentKey, ServerKeyText};
use crate::reply::UnknownKey;
use crate::{State, path};
use lambda_http::RequestExt as _;
use shared::endpoint::{Error, Input, InputKind, Received, RequestSchemas};
use shared::http::body::BodyFault;
use shared::model::{ActiveVersion, Donations, Settings, TopPatrons};
use shared::shop::{delivery, statistics};
use shared::table::{StoreError, keys};
use shared::telemetry;
use std::sync::Arc;

/// How many entries a page has.
pub const PER_PAGE: usize = 10;

/// A page of a list.
#[derive(Debug)]
pub struct PageOf {
    pub key: SentKey,
    /// From 1.
    pub page: usize,
}

/// Which page is wanted.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct PageQuery {
    /// The page, from 1. Without it, or if it is something else, the first.
    #[schemars(default, with = "String")]
    page: Option<String>,
}

impl Input for PageOf {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let query = received.request.query_string_parameters();
        let page = query.first("page").and_then(|page| page.parse().ok()).filter(|page| *page > 0);
        let key = SentKey::of(&path::parameters(received.request));
        Ok(Self { key, page: page.unwrap_or(1) })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let query = Some(generator.subschema_for::<PageQuery>());
        RequestSchemas { path_parameters: vec![generator.subschema_for::<ServerKeyText>()], query, body: None }
    }
}

impl PageOf {
    /// The entries of the page, and the number of the last page.
    pub fn cut<'a, T>(&self, all: &'a [T]) -> (&'a [T], usize) {
        let first = self.page.saturating_sub(1).saturating_mul(PER_PAGE).min(all.len());
        let end = (first + PER_PAGE).min(all.len());
        (all.get(first..end).unwrap_or_default(), all.len().div_ceil(PER_PAGE).max(1))
    }
}

/// The result of `load`, which runs while the key is read. A key that is not valid is refused.
pub async fn shown<T>(
    state: &State,
    key: &SentKey,
    load: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, Error<UnknownKey>> {
    let thing = if *key == SentKey::Absent {
        load.await?
    } else {
        let key = key.required()?;
        let (server, thing) = tokio::join!(delivery::server_of(&state.base.db, key), load);
        server?.ok_or(Error::Refused(UnknownKey))?;
        thing?
    };
    telemetry::routine();
    Ok(thing)
}

/// The active version with its settings, and the donations.
pub async fn donations(state: &State) -> Result<(Arc<ActiveVersion>, Arc<Settings>, Arc<Donations>), StoreError> {
    let published = state.base.published.at_current(|active| settings(state, active));
    let donations = state.donations.get(state.base.clock.millis(), statistics::donations(&state.base.db));
    let (published, donations) = tokio::join!(published, donations);
    let (active, settings) = published?;
    Ok((active, settings, donations?))
}

async fn settings(state: &State, active: Arc<ActiveVersion>) -> Result<Arc<Settings>, StoreError> {
    let settings = state.base.published.get(&keys::settings(&active.version)).await?;
    Ok(settings.unwrap_or_default())
}

/// The active version, and the largest patrons; none if the store does not show them.
pub async fn patrons(state: &State) -> Result<(Arc<ActiveVersion>, Arc<TopPatrons>), StoreError> {
    let active = state.base.published.active_version();
    let patrons = state.patrons.get(state.base.clock.millis(), statistics::top_patrons(&state.base.db));
    let (active, patrons) = tokio::join!(active, patrons);
    let (active, patrons) = (active?, patrons?);
    let patrons = if active.config.is_patrons_enabled { patrons } else { Arc::default() };
    Ok((active, patrons))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_cut_and_there_is_always_one() {
        let all: Vec<usize> = (0..21).collect();
        let page = |page| PageOf { key: SentKey::Absent, page };
        assert_eq!(page(1).cut(&all), (&all[..10], 3));
        assert_eq!(page(3).cut(&all), (&all[20..], 3));
        assert_eq!(page(4).cut(&all), (&all[21..], 3));
        assert_eq!(page(usize::MAX).cut(&all), (&all[21..], 3));
        assert_eq!(page(1).cut(&all[..0]), (&all[..0], 1));
    }
}

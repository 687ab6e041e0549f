//! GET /patrons/get: the patrons by contribution (contract 16; ruling 12).

use crate::State;
use crate::error::Error;
use lambda_http::{Body, Request, Response};
use serde::{Serialize, Serializer};
use shared::http::wire::{Decimal, Wire};
use shared::model::{Donor, Patronage, Pointer};
use shared::store::{StoreError, keys, statistics};
use std::sync::Arc;

/// How many patrons `top_patrons` lists (ruling 12).
const TOP: usize = 10;

#[derive(Serialize)]
#[serde(untagged)]
enum Reply<'a> {
    Patrons(PatronsBody<'a>),
    Disabled { success: bool, error: &'static str },
}

#[derive(Serialize)]
struct PatronsBody<'a> {
    success: bool,
    currency_code: &'a str,
    description: &'a str,
    top_patrons: Vec<PatronBody<'a>>,
    patrons: Tiers<'a>,
}

#[derive(Serialize)]
struct PatronBody<'a> {
    username: &'a str,
    amount: Decimal,
}

/// Threshold as a string to the names of those who reached it, lowest threshold first.
struct Tiers<'a>(Vec<(String, Vec<&'a str>)>);

impl Serialize for Tiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(threshold, names)| (threshold, names)))
    }
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let published = state.base.published.at_current(|pointer| load(state, pointer));
    let patrons = state.patrons.get(state.base.clock.millis(), statistics::patrons(&state.base.db));
    let (published, patrons) = tokio::join!(published, patrons);
    let (pointer, patronage) = published?;
    let patrons = patrons?;
    let wire = Wire::new(pointer.config.digits);
    let key = (pointer.version.clone(), Arc::clone(&patrons));
    let rendered = state.patrons_reply.get(key, || body(&patronage, &patrons, wire));
    Ok(rendered.reply(request.headers()))
}

async fn load(state: &State, pointer: Arc<Pointer>) -> Result<Arc<Patronage>, StoreError> {
    let patronage = state.patronage.get(&state.base.db, &keys::patronage(&pointer.version)).await?;
    Ok(patronage.unwrap_or_default())
}

fn body<'a>(patronage: &'a Patronage, patrons: &'a [Donor], wire: Wire) -> Reply<'a> {
    if !patronage.enabled {
        return Reply::Disabled { success: false, error: "The patrons list is disabled or not configured." };
    }
    let given = || patrons.iter().filter(|donor| donor.amount.minor() > 0);
    let top = given().take(TOP);
    let tier = |threshold| {
        let reached = given().filter(move |donor| donor.amount >= threshold);
        (threshold_text(wire.money(threshold)), reached.map(|donor| donor.username.as_str()).collect())
    };
    Reply::Patrons(PatronsBody {
        success: true,
        currency_code: &patronage.currency_code,
        description: &patronage.description,
        top_patrons: top.map(|d| PatronBody { username: &d.username, amount: wire.money(d.amount) }).collect(),
        patrons: Tiers(patronage.thresholds.iter().copied().map(tier).collect()),
    })
}

/// A threshold as the number it would be on the wire: `50`, `12.5`.
fn threshold_text(threshold: Decimal) -> String {
    serde_json::to_string(&threshold).unwrap_or_default()
}

//! GET /staff: the staff by player group (api.md, "GET /staff").

use crate::State;
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::model::{ActiveVersion, Staff};
use shared::table::{StoreError, keys};
use std::convert::Infallible;
use std::sync::Arc;

/// The published structure is returned unchanged.
pub struct ListStaff;

impl Endpoint for ListStaff {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Staff>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /staff"];
    const SUMMARY: &'static str = "lists the staff by group";
    const NUMBER: Option<u8> = Some(14);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, staff) = state.base.published.at_current(|active| load(state, active)).await?;
        Ok(Json::kept(state.staff_reply.get(active.version.clone(), || staff.as_ref().clone())))
    }
}

async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<Arc<Staff>, StoreError> {
    let staff = state.base.published.get(&keys::staff(&active.version)).await?;
    Ok(staff.unwrap_or_default())
}

//! POST /pages/get: a page by its url (contract 1; rulings 2 and 12). Needs a token, but no user: signature, issuer and
//! expiry are all that is checked.

use crate::State;
use crate::error::Error;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::bearer::Caller;
use shared::http::body::BodyFault;
use shared::http::{body, reply};
use shared::model::{Page, PageUrl, Pointer};
use shared::store::{StoreError, keys};
use std::sync::Arc;

const FIELD: &str = "url";

/// The answer.
#[derive(Serialize)]
struct Reply<'a> {
    success: bool,
    page: Option<&'a Page>,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let url = || body::required_text(request, FIELD, PageUrl::LONGEST).map(|text| PageUrl::new(&text));
    let page = match Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds()) {
        Caller::Invalid => return Err(Error::Unauthorized),
        Caller::Claimed(_) => {
            let url = url()?;
            let (_, page) = state.base.published.at_current(|pointer| load(state, pointer, Ok(&url))).await?;
            page?
        }
        Caller::Nobody => {
            let url = url();
            let load = |pointer| load(state, pointer, url.as_ref());
            let (_, page) = state.base.published.at_current_for_guest(load).await?.ok_or(Error::Unauthorized)?;
            page?
        }
    };
    Ok(reply::ok(&Reply { success: page.is_some(), page: page.as_deref() }))
}

/// The page; the fault of a body without a url passes through, because a guest's token comes first.
async fn load(
    state: &State,
    pointer: Arc<Pointer>,
    url: Result<&PageUrl, &BodyFault>,
) -> Result<Result<Option<Arc<Page>>, BodyFault>, StoreError> {
    let url = match url {
        Ok(url) => url,
        Err(fault) => return Ok(Err(fault.clone())),
    };
    state.pages.get(&state.base.db, &keys::page(&pointer.version, url)).await.map(Ok)
}

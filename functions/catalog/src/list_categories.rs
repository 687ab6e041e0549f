//! GET and POST /categories/get: the category list (contract 13; ruling 7). Only the answer to GET may be kept (ruling 12).

use crate::State;
use crate::error::Error;
use lambda_http::http::Method;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::body;
use shared::model::{CategoryHead, CategoryId, TreeNode};
use shared::store::keys;

/// An entry of the list.
#[derive(Serialize)]
struct EntryBody<'a> {
    #[serde(flatten)]
    head: HeadBody<'a>,
    subcategories: Vec<HeadBody<'a>>,
}

#[derive(Serialize)]
struct HeadBody<'a> {
    idx: CategoryId,
    name: &'a str,
    active: bool,
    description: &'a str,
    url: &'a str,
    img: Option<&'a str>,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let posted = request.method() == Method::POST;
    if posted {
        body::check_size(request)?;
    }
    let load = |pointer: std::sync::Arc<shared::model::Pointer>| async move {
        state.trees.get(&state.base.db, &keys::tree(&pointer.version)).await
    };
    let (pointer, tree) = state.base.published.at_current(load).await?;
    let tree = tree.unwrap_or_default();
    let rendered = state
        .category_list
        .get(pointer.version.clone(), || -> Vec<EntryBody<'_>> { tree.0.iter().map(entry).collect() });
    Ok(if posted { rendered.reply_unkept() } else { rendered.reply(request.headers()) })
}

fn entry(node: &TreeNode) -> EntryBody<'_> {
    EntryBody { head: head(&node.head), subcategories: node.subcategories.iter().map(head).collect() }
}

/// Only active categories are published, so `active` is always true here.
fn head(head: &CategoryHead) -> HeadBody<'_> {
    HeadBody {
        idx: head.id,
        name: &head.name,
        active: true,
        description: head.description.as_deref().unwrap_or_default(),
        url: head.slug.as_str(),
        img: head.image.as_deref(),
    }
}

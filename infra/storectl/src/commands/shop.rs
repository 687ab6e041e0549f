//! `shop upload`.

use crate::answer::{Answer, GOOD, paint};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::shop::upload_assets;
use crate::target::Target;
use serde_json::json;

pub(super) async fn upload(target: &Target, console: &Console) -> Result<Answer, Failure> {
    let Some(bucket) = &target.bucket else {
        let next = "Name a stack that was deployed with Shop=true.";
        return Err(Failure::new(Exit::Denied, format!("{} has no shop.", target.name), next));
    };
    let failed = |failure: Failure| failure.done("Files that were uploaded stay; run again, it uploads the rest.");
    let uploaded = upload_assets(bucket, console).await.map_err(failed)?;
    let text = format!("{} The shop's files are uploaded ({uploaded} were missing).", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "uploaded": uploaded, "hash": shop::hash() })))
}

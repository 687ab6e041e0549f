//! `token` and `revoke` (rules.md, "Tokens").

use super::common::shown_time;
use super::users::find_which;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{OneUser, Token};
use crate::error::{Exit, Failure};
use crate::target::Target;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use shared::store::codec::key_attributes;
use shared::store::{StoreError, keys};
use shared::token::LEEWAY;

/// Prints a token, issued by the database's clock and never within a revocation (rules.md, "Tokens").
pub(super) async fn token(target: &Target, options: &Token) -> Result<Answer, Failure> {
    let token_keys = target.token_keys().await?;
    let user = find_which(target, &options.user).await?;
    let now = target.seconds().await?;
    let issued = user.next_issue(now);
    // Only files can date a revocation ahead: it is meant to refuse tokens until then.
    if issued > now + LEEWAY {
        let what = format!("Tokens of user {} are refused until {}.", user.id, shown_time(issued));
        return Err(Failure::refused(what, "Wait until then, or look at the account with `storectl user show`."));
    }
    let token = token_keys.sign(user.id, issued, options.ttl).map_err(|_| {
        Failure::new(Exit::Local, "The token could not be signed.", "Look at the keys with `storectl doctor`.")
    })?;
    let json = json!({
        "token": token, "user": user.id, "username": user.username, "expires_at": shown_time(issued + options.ttl),
    });
    Ok(Answer::new(token, json))
}

/// Refuses every token issued so far, by the database's clock: also one that was made in this second, after an earlier
/// revocation.
pub(super) async fn revoke(target: &Target, options: &OneUser) -> Result<Answer, Failure> {
    let user = find_which(target, &options.user).await?;
    let after = user.next_issue(target.seconds().await?);
    let request = target.db.client().update_item().table_name(target.db.table());
    let request = request
        .set_key(Some(key_attributes(&keys::user(user.id))))
        .update_expression("SET tokens_valid_after = :after")
        .condition_expression("attribute_exists(#pk)")
        .expression_attribute_names("#pk", keys::PK)
        .expression_attribute_values(":after", AttributeValue::N(after.to_string()));
    Box::pin(request.send()).await.map_err(|error| {
        let failure = Failure::from(StoreError::from_sdk("UpdateItem", error));
        failure.done("It is not known whether the tokens were revoked.").next("Run the same command again.")
    })?;
    let text = format!("{} Every token that {} (user {}) had is refused.", paint(GOOD, "ok"), user.username, user.id);
    Ok(Answer::new(text, json!({ "user": user.id, "tokens_valid_after": shown_time(after) })))
}

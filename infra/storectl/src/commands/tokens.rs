//! `token` (rules.md, "Tokens").

use super::common::shown_time;
use super::find_user::find_which;
use crate::answer::Answer;
use crate::cli::Token;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::json;
use shared::token::LEEWAY;

/// Prints a token, issued by the database's clock and never within a revocation (rules.md, "Tokens").
pub(super) async fn token(target: &Target, options: &Token) -> Result<Answer, Failure> {
    let token_keys = target.keys.read().await?;
    let user = find_which(target, &options.user).await?;
    if user.banned {
        let what = format!("The name {} is banned.", user.username);
        return Err(Failure::refused(what, format!("`storectl unban {}` lifts the ban.", user.username)));
    }
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

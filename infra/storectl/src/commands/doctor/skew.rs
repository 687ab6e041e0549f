//! How far this machine's clock is from the database's. Accounts, tokens and revocations are dated by the database's;
//! orders and the times of codes by this machine's.

use super::finding::Finding;
use crate::commands::common::shown_time;
use crate::target::Target;
use shared::table::shape;

/// Seconds that are forgiven: what a token's validity forgives (rules.md, "Tokens").
const FORGIVEN: i64 = shared::token::LEEWAY;

pub(super) async fn clock(target: &Target) -> Finding {
    const CHECK: &str = "clock";
    if target.is_local {
        return Finding::ok(CHECK, format!("it is {} in the local store", shown_time(target.clock.seconds())));
    }
    let theirs = match shape::seconds(&target.db).await {
        Ok(theirs) => theirs,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    let ours = target.clock.seconds();
    match theirs.map(|theirs| ours - theirs) {
        None => Finding::ok(CHECK, "this database does not say what time it is"),
        Some(skew) if skew.abs() <= FORGIVEN => {
            Finding::ok(CHECK, format!("{} s off, {FORGIVEN} s are forgiven", skew.abs()))
        }
        Some(skew) => {
            let way = if skew > 0 { "ahead of" } else { "behind" };
            let said = format!("{} s {way} the database's", skew.abs());
            Finding::bad(CHECK, said, "set this machine's clock (NTP): orders and codes are dated by it")
        }
    }
}

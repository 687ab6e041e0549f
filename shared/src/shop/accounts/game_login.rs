//! Logins that a player confirms in the game: begun and ended for a browser, told to game servers and confirmed by them.

use super::logins::{self, Told};
use crate::model::{AuthId, CallerHash, GameLogin, LoginSecret, PendingLogin, PlayerName, ServerId};
use crate::random;
use crate::rules::game_login as rule;
use crate::rules::game_login::Begun;
use crate::table::{Db, StoreError, TURNS, Turns, in_turns, single};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many logins one poll returns.
pub const MOST_SERVED: usize = 90;
/// How many seconds a row is kept after it has decided about anything.
const KEPT_SECONDS: i64 = 3_600;

/// The result of beginning a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// The player is asked in the game, or has confirmed already.
    Pending,
    /// Another caller logs this player in as well: neither counts.
    Voided,
    /// It cannot begin for these seconds, because another caller began one.
    Wait { seconds: i64 },
}

/// A client that logs a player in, in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    caller: CallerHash,
    network: String,
}

impl Client {
    /// The client at an address, which is in `network`. One that keeps a secret is known by it at any address.
    pub fn new(player: &PlayerName, secret: Option<&LoginSecret>, (address, network): (&str, &str)) -> Self {
        let name = player.key().to_string();
        let caller = match secret {
            Some(secret) => hashed([name.as_str(), "#secret#", secret.as_str()]),
            None => hashed([name.as_str(), "#", address]),
        };
        Self { caller: CallerHash(caller), network: hashed([network]) }
    }
}

fn hashed<const N: usize>(parts: [&str; N]) -> String {
    let digest = parts.into_iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    hex::encode(&digest[..16])
}

/// A client begins a login of a player at `now` (seconds since 1970 UTC). Fails also if other requests for the same
/// name kept colliding.
pub async fn begin(db: &Db, player: &PlayerName, client: &Client, now: i64) -> Result<Beginning, StoreError> {
    let fresh = random::bits().map(AuthId::new).ok_or_else(StoreError::no_entropy)?;
    in_turns(TURNS, || async {
        let found = logins::of_name(db, player.key()).await?;
        let (next, told, result) = match rule::begin(&found.login, &client.caller, fresh.clone(), now) {
            Begun::Confirmed => return Ok(Beginning::Pending),
            Begun::Wait { seconds } => return Ok(Beginning::Wait { seconds }),
            Begun::Voided { next, former } => (next, Told::Ends(former), Beginning::Voided),
            Begun::Pending { next, auth_id, is_known } => {
                let login = PendingLogin { is_known, ..pending(db, player, client, auth_id, now).await? };
                (next, Told::Begins(login), Beginning::Pending)
            }
        };
        save(db, player, &found, &next, &told).await?;
        Ok(result)
    })
    .await
}

async fn save(
    db: &Db,
    player: &PlayerName,
    found: &logins::StoredLogin,
    next: &GameLogin,
    told: &Told,
) -> Result<(), StoreError> {
    let kept = rule::forgotten_at(next) + KEPT_SECONDS;
    logins::save(db, player.key(), found, next, kept, told).await
}

async fn pending(
    db: &Db,
    player: &PlayerName,
    client: &Client,
    auth_id: AuthId,
    now: i64,
) -> Result<PendingLogin, StoreError> {
    let id = single::reserve(db, single::COMMANDS, 1).await?;
    let id = u32::try_from(id).map_err(|_| StoreError::no_more_ids())?;
    let until = now + rule::SECONDS;
    let (player, served, network) = (player.clone(), BTreeMap::new(), client.network.clone());
    let expires_at = until + KEPT_SECONDS;
    Ok(PendingLogin { id, auth_id, player, until, served, is_known: false, network, expires_at })
}

/// A game server says at `now` that the player has confirmed the login with this id. Returns whether there was one to
/// confirm. Fails also if other requests for the same name kept colliding.
pub async fn confirm(db: &Db, auth_id: &AuthId, now: i64) -> Result<bool, StoreError> {
    let Some(pending) = logins::pending(db, auth_id).await? else { return Ok(false) };
    let told = Told::Ends(Some(auth_id.clone()));
    in_turns(TURNS, || async {
        let found = logins::of_name(db, pending.player.key()).await?;
        let Some(next) = rule::confirm(&found.login, auth_id, now) else { return Ok(false) };
        save(db, &pending.player, &found, &next, &told).await?;
        Ok(true)
    })
    .await
}

/// Whether the login that a client began is confirmed, so that [`end`] would end it.
pub fn is_confirmed(found: &logins::StoredLogin, client: &Client, now: i64) -> bool {
    rule::end(&found.login, &client.caller, now).is_some()
}

/// Whether the login that a client began is confirmed; it ends then. Fails also if other requests for the same name
/// kept colliding.
pub async fn end(
    db: &Db,
    player: &PlayerName,
    found: logins::StoredLogin,
    client: &Client,
    now: i64,
) -> Result<bool, StoreError> {
    let first = AtomicBool::new(true);
    in_turns(TURNS, || async {
        let found = if first.swap(false, Ordering::Relaxed) {
            found.clone()
        } else {
            logins::of_name(db, player.key()).await?
        };
        let Some(next) = rule::end(&found.login, &client.caller, now) else { return Ok(false) };
        save(db, player, &found, &next, &Told::Ends(None)).await?;
        Ok(true)
    })
    .await
}

/// The logins that a server has to be notified of at `now`: each every [`rule::EVERY`] seconds, until it is confirmed or has ended.
/// Those of known callers are first, then one of each network in turn: a crowd in one network, which costs no one anything,
/// keeps no other player waiting.
pub async fn due(db: &Db, server: ServerId, now: i64) -> Result<Vec<PendingLogin>, StoreError> {
    let (before, server) = (now - rule::EVERY, server.to_string());
    let mut due = logins::all_pending(db, now).await?;
    due.retain(|login| login.served.get(&server).is_none_or(|served| *served <= before));
    // Of a network, first those that were not told yet, then the longest untold: none waits for others to be told again and again.
    due.sort_by_key(|login| (login.served.get(&server).copied(), login.id));
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    let in_turn = due.into_iter().map(|login| {
        if login.is_known {
            return (0, login);
        }
        let turn = turns.entry(login.network.clone()).or_default();
        *turn += 1;
        (*turn, login)
    });
    let mut in_turn: Vec<(usize, PendingLogin)> = in_turn.collect();
    in_turn.sort_by_key(|(turn, _)| *turn);
    Ok(in_turn.into_iter().map(|(_, login)| login).take(MOST_SERVED).collect())
}

/// Takes the logins of [`due`] for a response to the server, whose key is known to be valid. Those that have ended, or that another
/// poll of the server takes at the same time, are left out.
pub async fn take(
    db: &Db,
    server: ServerId,
    due: Vec<PendingLogin>,
    now: i64,
) -> Result<Vec<PendingLogin>, StoreError> {
    let (mut left, mut turns) = (due, Turns::of(TURNS));
    while !left.is_empty() && turns.next().await {
        let Err(changed) = logins::mark_served(db, server, &left, now, now - rule::EVERY).await? else {
            return Ok(left);
        };
        left.retain(|login| !changed.contains(&login.auth_id));
    }
    // Others write the same rows: the next poll tells them.
    Ok(Vec::new())
}

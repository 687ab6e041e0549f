//! Logins that a player confirms in the game (rules.md, "Logins in the game"): who may begin one, confirm it and end it.
//!
//! The confirmation comes from the game and does not say which browser it is for. A name therefore has one login at a time, and
//! a second caller voids it: an attacker who begins a login while the player does cannot use the player's confirmation. A caller
//! is known by a secret, or by an address.

use crate::model::{Attempt, AuthId, CallerHash, GameLogin, KnownCaller};

/// How many seconds a login may take.
pub const SECONDS: i64 = 300;
/// How many seconds a game server remembers an id after it was last sent it. It keeps the first id of a name.
pub const REMEMBERED: i64 = 300;
/// How many seconds a caller that confirmed a name is known: 90 days.
pub const KNOWN: i64 = 90 * 86_400;
/// How many seconds pass before a server is sent a login again: it drops one whose player is away.
pub const EVERY: i64 = 30;
/// How many callers of a name are known.
const MOST_KNOWN: usize = 8;

/// The outcome of beginning a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is confirmed already.
    Confirmed,
    /// It begins, or begins again. The game servers are told its id.
    Pending { next: GameLogin, auth_id: AuthId, is_known: bool },
    /// Neither this one nor the one of another caller counts. The game servers are no longer told.
    Voided { next: GameLogin, former: Option<AuthId> },
    /// It cannot begin for these seconds: another caller began one.
    Wait { seconds: i64 },
}

/// A caller begins a login at `now`. `fresh` is the id that it has if no earlier one is used again.
pub fn begin(found: &GameLogin, caller: &CallerHash, fresh: AuthId, now: i64) -> Begun {
    let is_known = is_known(found, caller, now);
    let last = found.attempt.as_ref();
    let is_own = last.is_some_and(|attempt| attempt.caller == *caller);
    let pending = last.filter(|attempt| now < attempt.until);
    if is_own && pending.is_some_and(|attempt| attempt.is_confirmed) {
        return Begun::Confirmed;
    }
    if let Some(other) = pending.filter(|_| !is_own) {
        if self::is_known(found, &other.caller, now) {
            return Begun::Wait { seconds: other.until - now };
        }
        if !is_known {
            let (waits_until, former) = (now + REMEMBERED, found.auth_id.clone());
            let next = GameLogin { attempt: None, waits_until, remembered_until: waits_until, ..found.clone() };
            return Begun::Voided { next, former };
        }
    }
    let is_remembered = found.auth_id.is_some() && now < found.remembered_until;
    if !is_known {
        // The game servers may still have the id of another caller, and would confirm that one.
        let until = if is_remembered && !is_own { found.remembered_until } else { 0 };
        let until = until.max(found.waits_until);
        if now < until {
            return Begun::Wait { seconds: until - now };
        }
    }
    let auth_id = found.auth_id.clone().filter(|_| is_remembered).unwrap_or(fresh);
    let until = now + SECONDS;
    let next = GameLogin {
        auth_id: Some(auth_id.clone()),
        remembered_until: until + REMEMBERED,
        attempt: Some(Attempt { caller: caller.clone(), until, is_confirmed: false }),
        waits_until: 0,
        known: found.known.clone(),
    };
    Begun::Pending { next, auth_id, is_known }
}

/// A game server says that the player has confirmed the login with this id; `None` if there is none to confirm.
pub fn confirm(found: &GameLogin, auth_id: &AuthId, now: i64) -> Option<GameLogin> {
    let attempt = found.attempt.as_ref().filter(|attempt| now < attempt.until && !attempt.is_confirmed)?;
    if found.auth_id.as_ref() != Some(auth_id) {
        return None;
    }
    let mut known: Vec<KnownCaller> =
        found.known.iter().filter(|known| now < known.until && known.caller != attempt.caller).cloned().collect();
    known.push(KnownCaller { caller: attempt.caller.clone(), until: now + KNOWN });
    known.drain(..known.len().saturating_sub(MOST_KNOWN));
    Some(GameLogin { attempt: Some(Attempt { is_confirmed: true, ..attempt.clone() }), known, ..found.clone() })
}

/// A caller asks whether its login is confirmed. `None` if not; otherwise the login has ended, and has this result once.
pub fn end(found: &GameLogin, caller: &CallerHash, now: i64) -> Option<GameLogin> {
    let attempt = found.attempt.as_ref()?;
    let is_done = attempt.is_confirmed && now < attempt.until && attempt.caller == *caller;
    is_done.then(|| GameLogin { attempt: None, auth_id: None, remembered_until: 0, ..found.clone() })
}

/// From when on what is stored of a name decides about nothing.
pub fn forgotten_at(login: &GameLogin) -> i64 {
    let known = login.known.iter().map(|known| known.until).max().unwrap_or_default();
    known.max(login.remembered_until).max(login.waits_until)
}

fn is_known(found: &GameLogin, caller: &CallerHash, now: i64) -> bool {
    found.known.iter().any(|known| known.caller == *caller && now < known.until)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn caller(name: &str) -> CallerHash {
        CallerHash(name.to_owned())
    }

    fn id(number: u8) -> AuthId {
        AuthId::new([number; 16])
    }

    /// The state after a caller begins a login, which must be possible, and the id.
    fn pending(found: &GameLogin, who: &str, number: u8, now: i64) -> (GameLogin, AuthId) {
        match begin(found, &caller(who), id(number), now) {
            Begun::Pending { next, auth_id, .. } => (next, auth_id),
            other => panic!("{other:?}"),
        }
    }

    /// The state after a caller has logged in.
    fn known(who: &str) -> GameLogin {
        let (begun, auth_id) = pending(&GameLogin::default(), who, 1, NOW);
        let confirmed = confirm(&begun, &auth_id, NOW + 10).unwrap();
        end(&confirmed, &caller(who), NOW + 15).unwrap()
    }

    #[test]
    fn a_login_is_confirmed_once_and_ends_once_for_the_address_that_began() {
        let (begun, auth_id) = pending(&GameLogin::default(), "a", 1, NOW);
        assert_eq!(auth_id, id(1));
        assert_eq!(end(&begun, &caller("a"), NOW + 1), None);
        assert_eq!(confirm(&begun, &id(2), NOW + 1), None);
        let confirmed = confirm(&begun, &auth_id, NOW + 299).unwrap();
        assert_eq!(confirm(&confirmed, &auth_id, NOW + 299), None);
        assert_eq!(begin(&confirmed, &caller("a"), id(2), NOW + 299), Begun::Confirmed);
        assert_eq!(end(&confirmed, &caller("b"), NOW + 299), None);
        assert_eq!(end(&confirmed, &caller("a"), NOW + 300), None);
        let ended = end(&confirmed, &caller("a"), NOW + 299).unwrap();
        assert_eq!((end(&ended, &caller("a"), NOW + 299), confirm(&ended, &auth_id, NOW + 299)), (None, None));
        assert_eq!(confirm(&begun, &auth_id, NOW + 300), None, "too late");
    }

    #[test]
    fn a_login_that_begins_again_from_its_address_keeps_its_id_as_long_as_servers_remember_it() {
        let (begun, first) = pending(&GameLogin::default(), "a", 1, NOW);
        for later in [1, 299, 300, 599] {
            let (again, auth_id) = pending(&begun, "a", 2, NOW + later);
            assert_eq!(auth_id, first);
            assert_eq!(again.attempt.unwrap().until, NOW + later + SECONDS);
        }
        assert_eq!(pending(&begun, "a", 2, NOW + 600).1, id(2));
    }

    #[test]
    fn a_second_address_voids_both_and_the_name_waits() {
        let (begun, auth_id) = pending(&GameLogin::default(), "a", 1, NOW);
        let Begun::Voided { next, former } = begin(&begun, &caller("b"), id(2), NOW + 10) else { panic!() };
        assert_eq!(former, Some(auth_id.clone()));
        assert_eq!(confirm(&next, &auth_id, NOW + 11), None);
        for who in ["a", "b", "c"] {
            let again = begin(&next, &caller(who), id(3), NOW + 11);
            assert_eq!(again, Begun::Wait { seconds: 299 }, "{who}: waiting is not made longer");
            assert_eq!(pending(&next, who, 3, NOW + 310).1, id(3), "{who}");
        }
    }

    #[test]
    fn another_address_waits_until_servers_have_forgotten_an_id_that_has_ended() {
        let (begun, _) = pending(&GameLogin::default(), "a", 1, NOW);
        assert_eq!(begin(&begun, &caller("b"), id(2), NOW + 300), Begun::Wait { seconds: 300 });
        assert_eq!(pending(&begun, "b", 2, NOW + 600).1, id(2));
    }

    #[test]
    fn the_login_of_a_known_address_is_voided_by_no_other() {
        let (begun, auth_id) = pending(&known("a"), "a", 2, NOW + 1_000);
        let stranger = begin(&begun, &caller("b"), id(3), NOW + 1_100);
        assert_eq!(stranger, Begun::Wait { seconds: 200 });
        assert!(confirm(&begun, &auth_id, NOW + 1_100).is_some());
        let (late, _) = pending(&known("a"), "a", 2, NOW + KNOWN + 1_000);
        assert!(matches!(begin(&late, &caller("b"), id(3), NOW + KNOWN + 1_001), Begun::Voided { .. }), "90 days");
    }

    #[test]
    fn a_known_address_takes_over_what_servers_remember_of_a_stranger() {
        let (strangers, first) = pending(&known("a"), "b", 2, NOW + 1_000);
        let (own, auth_id) = pending(&strangers, "a", 3, NOW + 1_010);
        assert_eq!(auth_id, first, "servers keep the first id of a name");
        let confirmed = confirm(&own, &auth_id, NOW + 1_020).unwrap();
        assert_eq!(end(&confirmed, &caller("b"), NOW + 1_021), None);
        assert!(end(&confirmed, &caller("a"), NOW + 1_021).is_some());
        let Begun::Voided { next, .. } = begin(&strangers, &caller("c"), id(4), NOW + 1_010) else { panic!() };
        assert_eq!(pending(&next, "a", 5, NOW + 1_020).1, first, "also while strangers wait");
    }

    #[test]
    fn a_bounded_number_of_addresses_is_known() {
        let mut login = GameLogin::default();
        for number in 0..20 {
            let (begun, auth_id) = pending(&login, &number.to_string(), number, NOW + i64::from(number) * 1_000);
            let confirmed = confirm(&begun, &auth_id, NOW + i64::from(number) * 1_000).unwrap();
            login = end(&confirmed, &caller(&number.to_string()), NOW + i64::from(number) * 1_000).unwrap();
        }
        assert_eq!(login.known.len(), MOST_KNOWN);
        assert_eq!(login.known.last().unwrap().caller, caller("19"));
        assert_eq!(forgotten_at(&login), NOW + 19_000 + KNOWN);
    }
}

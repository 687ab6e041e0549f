//! SteamIDs of players, in every form in which game servers and players write them. Knows nothing of stores and of consoles.

use std::fmt;

/// What all ids of players have above their number: the public universe, an individual account, its first instance.
const INDIVIDUAL: u64 = 0x0110_0001_0000_0000;
/// The digits of such an id.
const DIGITS: usize = 17;

/// The id of a player: an individual account in the public universe. It is printed as 17 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SteamId {
    /// The number of the account, never 0.
    account: u32,
}

impl SteamId {
    /// Reads 17 digits, `STEAM_X:Y:Z` with X 0 or 1 (games differ in it, the account is the same), or `[U:1:W]`, with or
    /// without the brackets. `None` for all else, such as a group, a game server, or an account of another universe.
    pub fn parse(text: &str) -> Option<Self> {
        let account = if text.len() == DIGITS && is_number(text) {
            // Everything above the number is universe, type and instance.
            let above = text.parse::<u64>().ok()?.checked_sub(INDIVIDUAL)?;
            u32::try_from(above).ok()?
        } else if let Some(rest) = without_prefix(text, "STEAM_") {
            steam_2(rest)?
        } else {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            number(without_prefix(inner, "U:1:")?)?
        };
        (account != 0).then_some(Self { account })
    }
}

impl fmt::Display for SteamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (INDIVIDUAL | u64::from(self.account)).fmt(f)
    }
}

/// The number of the account in `X:Y:Z`: twice Z, and Y.
fn steam_2(text: &str) -> Option<u32> {
    let mut parts = text.splitn(3, ':');
    let (universe, lowest, half) = (parts.next()?, parts.next()?, number(parts.next()?)?);
    let lowest = match lowest {
        "0" => 0,
        "1" => 1,
        _ => return None,
    };
    let is_public = matches!(universe, "0" | "1");
    half.checked_mul(2).filter(|_| is_public).map(|even| even | lowest)
}

fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| is_number(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_the_same_id() {
        for (digits, forms) in [
            (
                "76561198135242017",
                ["STEAM_0:1:87488144", "STEAM_1:1:87488144", "steam_0:1:87488144", "[U:1:174976289]", "U:1:174976289"],
            ),
            ("76561197960265729", ["STEAM_0:1:0", "STEAM_1:1:0", "Steam_0:1:0", "[U:1:1]", "u:1:1"]),
            (
                "76561202255233023",
                [
                    "STEAM_0:1:2147483647",
                    "STEAM_1:1:2147483647",
                    "STEAM_0:1:2147483647",
                    "[U:1:4294967295]",
                    "[u:1:4294967295]",
                ],
            ),
        ] {
            assert_eq!(SteamId::parse(digits).unwrap().to_string(), digits);
            for form in forms {
                assert_eq!(SteamId::parse(form).unwrap().to_string(), digits, "{form}");
            }
        }
    }

    #[test]
    fn what_is_no_individual_account_is_refused() {
        for text in [
            // No account, one below and one above all accounts, 16 and 18 digits.
            "76561197960265728",
            "76561197960265727",
            "76561202255233024",
            "7656119813524201",
            "765611981352420170",
            // A group, a game server, the beta universe, the second instance.
            "103582791429521412",
            "[g:1:4]",
            "[G:1:12345]",
            "90071992547409920",
            "[U:2:174976289]",
            "76561202430242017",
            "STEAM_2:1:87488144",
            "STEAM_0:2:1",
            "STEAM_0:0:0",
            "[U:1:0]",
            "[U:1:4294967296]",
            "STEAM_0:1:2147483648",
            // No id at all.
            "",
            "0",
            "-5",
            "12.5",
            "+6561198135242017",
            "STEAM_0:1:",
            "STEAM_0:1",
            "STEAM_0:1:+5",
            "STEAM_0:1:5:1",
            "[U:1:174976289",
            "U:1:174976289]",
            "[U:1: 5]",
            " 76561198135242017",
            "７6561198135242017",
            "STEAM_ID_LAN",
            "BOT",
        ] {
            assert_eq!(SteamId::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_account_is_read_from_what_is_printed(account in 1..=u32::MAX) {
            let id = SteamId { account };
            prop_assert_eq!(SteamId::parse(&id.to_string()), Some(id));
            prop_assert_eq!(SteamId::parse(&format!("[U:1:{account}]")), Some(id));
            prop_assert_eq!(SteamId::parse(&format!("STEAM_0:{}:{}", account % 2, account / 2)), Some(id));
        }

        #[test]
        fn no_text_is_a_panic(text in "(STEAM_|\\[U:|U:1:)?[0-9:\\]é]{0,20}") {
            if let Some(id) = SteamId::parse(&text) {
                prop_assert_eq!(id.to_string().len(), 17);
            }
        }
    }
}

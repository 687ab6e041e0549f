//! The players on the game server: the command that lists them, and how its response is read.

use rcon::{Connection, RconError};
use regex_lite::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor, value::MapAccessDeserializer};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use steam::SteamId;

/// Names as Minecraft's authenticated players have them; those of Bedrock begin with a dot or the like. A name is all that is
/// between two commas: the end of a name with a space in it is not another player's.
const MINECRAFT: &str =
    r"(?:^|[:,] )(?P<name>[.*+!-]?[A-Za-z0-9_]{1,32}) \((?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\)";

/// How many players Minecraft's list says that there are, before their names.
const COUNT: &str = r"(?i)^\s*there are (?P<count>\d+)[^:]*:";

/// The command for the list of players, which no plugin replaces, and what it is called where there are no plugins.
const LIST: &str = "minecraft:list uuids";
const PLAIN_LIST: &str = "list uuids";

/// How the list of players is asked for and read.
#[derive(Debug, Clone)]
pub struct Players {
    pub command: String,
    each: Each,
    /// Whether names are unique and authenticated.
    names: bool,
}

#[derive(Debug, Clone)]
enum Each {
    Matches(Regex),
    Json { name: String, id: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    pub name: String,
    pub id: String,
    /// Whether the name proves who it is.
    pub is_known_by_name: bool,
}

/// A reason why a list may not show who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error(
        "not all of the list of players was understood: commands for the others wait. `agent players` shows what was; \
         see players: in operations.md, \"Agent or plugin\""
    )]
    Short,
    #[error(
        "some names are not authenticated: commands for them wait. Set online-mode=true, the proxy's forwarding of UUIDs, \
         or a sign before names of Bedrock"
    )]
    Unproven,
}

/// The players who are online.
#[derive(Debug, Default)]
pub struct Online {
    names: HashSet<String>,
    ids: HashSet<String>,
}

impl Players {
    fn minecraft() -> Result<Self, String> {
        Ok(Self { command: LIST.to_owned(), each: matches(MINECRAFT)?, names: true })
    }

    fn rust() -> Self {
        let each = Each::Json { name: "DisplayName".to_owned(), id: "SteamID".to_owned() };
        Self { command: "playerlist".to_owned(), each, names: false }
    }

    #[must_use]
    pub const fn is_minecraft(&self) -> bool {
        self.names
    }

    /// Whether the game server says that it has no such command.
    #[must_use]
    pub fn is_refused(&self, response: &str) -> bool {
        self.names && without_colors(response).trim_start().starts_with("Unknown")
    }

    /// Forgets which command the game server knows: it may have other plugins after a restart.
    pub fn forget(&mut self) {
        if self.names && self.command == PLAIN_LIST {
            LIST.clone_into(&mut self.command);
        }
    }

    /// Asks the game server for its list.
    pub async fn ask(&mut self, console: &mut Connection) -> Result<String, RconError> {
        let response = console.run_whole(&self.command).await?;
        if !(self.command == LIST && self.is_refused(&response)) {
            return Ok(response);
        }
        PLAIN_LIST.clone_into(&mut self.command);
        console.run_whole(&self.command).await
    }

    /// What is wrong with a list, of which these players were read: who is not read of it is taken to be away.
    #[must_use]
    pub fn doubts(&self, response: &str, read: &[Player]) -> Vec<Doubt> {
        let is_short = match &self.each {
            Each::Matches(_) if self.names => {
                let text = without_colors(response);
                let count = Regex::new(COUNT)
                    .ok()
                    .and_then(|count| count.captures(&text)?.name("count")?.as_str().parse().ok());
                count.is_some_and(|count: usize| count > read.len())
            }
            Each::Matches(_) => false,
            Each::Json { .. } => serde_json::from_str::<Vec<Value>>(response).is_err(),
        };
        let is_unproven = self.names && read.iter().any(|player| !player.is_known_by_name);
        [is_short.then_some(Doubt::Short), is_unproven.then_some(Doubt::Unproven)].into_iter().flatten().collect()
    }

    /// The players that a response lists.
    #[must_use]
    pub fn read(&self, response: &str) -> Vec<Player> {
        match &self.each {
            Each::Matches(each) => {
                let text = without_colors(response);
                let found =
                    each.captures_iter(&text).filter_map(|found| Some((found.name("name")?, found.name("id")?)));
                found.map(|(name, id)| self.player(name.as_str(), id.as_str())).collect()
            }
            Each::Json { name, id } => {
                let list: Vec<Value> = serde_json::from_str(response).unwrap_or_default();
                let text = |value: &Value| match value {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                };
                let fields = |entry: &Value| Some((text(entry.get(name)?)?, text(entry.get(id)?)?));
                list.iter().filter_map(fields).map(|(name, id)| self.player(&name, &id)).collect()
            }
        }
    }

    fn player(&self, name: &str, id: &str) -> Player {
        // Accounts have UUIDs of version 4. Servers that do not authenticate make those of version 3, from the name. Players of
        // Bedrock have others; their names are their own only if they begin with a sign.
        let is_marked = !name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
        let is_authenticated = match id.as_bytes().get(14) {
            Some(b'4') => true,
            Some(b'0') => is_marked,
            _ => false,
        };
        Player { name: name.to_owned(), id: id.to_owned(), is_known_by_name: self.names && is_authenticated }
    }
}

impl Online {
    pub fn of(players: &[Player]) -> Self {
        let named = players.iter().filter(|player| player.is_known_by_name);
        Self {
            names: named.map(|player| player.name.to_lowercase()).collect(),
            ids: players.iter().map(|player| same_id(&player.id)).collect(),
        }
    }

    /// Whether a buyer is there: by the id, or by the name if the store compares names.
    #[must_use]
    pub fn has(&self, name: &str, id: Option<&str>) -> bool {
        match id.map(same_id) {
            Some(id) => !id.is_empty() && self.ids.contains(&id),
            None => self.names.contains(&name.to_lowercase()),
        }
    }
}

/// An id in the form in which it is compared: UUIDs are written with and without hyphens, SteamIDs in several forms.
fn same_id(id: &str) -> String {
    if let Some(steam) = SteamId::parse(id) {
        return steam.to_string();
    }
    id.chars().filter(|character| *character != '-').flat_map(char::to_lowercase).collect()
}

/// A text without Minecraft's colors, § and a character.
pub(crate) fn without_colors(text: &str) -> String {
    let mut parts = text.split('§');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.get(part.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default())
}

fn matches(each: &str) -> Result<Each, String> {
    let each = Regex::new(each).map_err(|error| format!("players.each: {error}"))?;
    let has = |wanted| each.capture_names().flatten().any(|name| name == wanted);
    if !has("name") || !has("id") {
        return Err("players.each: must have the groups (?P<name>…) and (?P<id>…)".to_owned());
    }
    Ok(Each::Matches(each))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Custom {
    command: String,
    #[serde(default)]
    each: Option<String>,
    #[serde(default)]
    json: Option<JsonFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonFields {
    name: String,
    id: String,
}

impl TryFrom<Custom> for Players {
    type Error = String;

    fn try_from(Custom { command, each, json }: Custom) -> Result<Self, String> {
        rcon::check(&command).map_err(|why| format!("players.command: {why}"))?;
        let each = match (each, json) {
            (Some(each), None) => matches(&each)?,
            (None, Some(JsonFields { name, id })) => Each::Json { name, id },
            _ => return Err("players: one of each: or json: is missing, or both are there".to_owned()),
        };
        Ok(Self { command, each, names: false })
    }
}

impl<'de> Deserialize<'de> for Players {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PresetOrOwn;
        impl<'de> Visitor<'de> for PresetOrOwn {
            type Value = Players;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "minecraft, rust, or {command: …, each: a regular expression} or {command: …, json: {name, id}}",
                )
            }

            fn visit_str<E: serde::de::Error>(self, preset: &str) -> Result<Players, E> {
                match preset {
                    "minecraft" => Players::minecraft().map_err(E::custom),
                    "rust" => Ok(Players::rust()),
                    _ => Err(E::custom(format_args!(
                        "players: `{preset}` is not a preset; write minecraft or rust, or {{command: …, each: …}}"
                    ))),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Players, A::Error> {
                let own = Custom::deserialize(MapAccessDeserializer::new(map))?;
                Players::try_from(own).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(PresetOrOwn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(players: &[Player]) -> Vec<(&str, &str)> {
        players.iter().map(|player| (player.name.as_str(), player.id.as_str())).collect()
    }

    #[test]
    fn minecrafts_list_names_who_is_there_and_who_is_authenticated() {
        let list = "There are 3 of a max of 20 players online: Alex (069a79f4-44e9-4726-a5be-fca90e38aaf5), \
                    .Bedrock_1 (00000000-0000-0000-0009-01f6c7b5b2ab), §6Fake§r (8667ba71-b85a-3004-af54-457a9734eed7)";
        let players = Players::minecraft().unwrap().read(list);
        assert_eq!(named(&players)[1], (".Bedrock_1", "00000000-0000-0000-0009-01f6c7b5b2ab"));
        let online = Online::of(&players);
        assert!(online.has("alex", None) && online.has(".bedrock_1", None));
        assert!(!online.has("Fake", None), "any player may take a name that the server does not authenticate");
        assert!(online.has("x", Some("8667BA71B85A3004AF54457A9734EED7")) && !online.has("Alex", Some("")));
        for taken in ["Alex (00000000-0000-0000-0009-01f6c7b5b2ab)", ".Not Alex (00000000-0000-0000-0009-01f6c7b5b2ab)"]
        {
            let list = format!("There are 1 of a max of 20 players online: {taken}");
            assert!(!Online::of(&Players::minecraft().unwrap().read(&list)).has("Alex", None), "{list}");
        }
        let mut own: Players =
            serde_saphyr::from_str("{command: list uuids, each: \"(?P<name>.*)(?P<id>.*)\"}").unwrap();
        own.forget();
        assert_eq!(own.command, PLAIN_LIST, "an owner's own command stays");
        assert_eq!(Players::minecraft().unwrap().doubts(list, &players), [Doubt::Unproven]);
        assert_eq!(Players::minecraft().unwrap().doubts(list, &players[..2]), [Doubt::Short]);
        assert_eq!(Players::rust().doubts("[{", &[]), [Doubt::Short]);
        for empty in ["There are 0 of a max of 20 players online: ", "", "Unknown or incomplete command<--[HERE]"] {
            assert_eq!(Players::minecraft().unwrap().read(empty), []);
            assert_eq!(Players::minecraft().unwrap().doubts(empty, &[]), []);
        }
    }

    #[test]
    fn rusts_list_is_compared_by_steam_ids_only() {
        let list = r#"[{"SteamID": "76561198135242017", "OwnerSteamID": "0", "DisplayName": "Alex \"(x)\"", "Ping": 24,
            "Address": "127.0.0.1:1", "ConnectedSeconds": 7, "VoiationLevel": 0.0, "Health": 63.0}, {"SteamID": 5, "DisplayName": "B"}]"#;
        let players = Players::rust().read(list);
        assert_eq!(named(&players), [("Alex \"(x)\"", "76561198135242017"), ("B", "5")]);
        let online = Online::of(&players);
        assert!(online.has("", Some("76561198135242017")) && !online.has("B", None));
        assert_eq!(Players::rust().read("[]"), []);
    }

    #[test]
    fn a_steam_id_is_the_same_in_every_form_in_which_a_game_lists_it() {
        for listed in ["STEAM_0:1:87488144", "STEAM_1:1:87488144", "[U:1:174976289]", "76561198135242017"] {
            let list = [Player { name: "Alex".to_owned(), id: listed.to_owned(), is_known_by_name: false }];
            assert!(Online::of(&list).has("", Some("76561198135242017")), "{listed}");
            assert!(!Online::of(&list).has("", Some("76561198135242018")), "{listed}");
        }
    }

    proptest! {
        #[test]
        fn no_list_makes_the_agent_panic_and_none_but_listed_names_are_there(text in "(Alex|§|\\(|\\)| |[0-9a-f]{8}|-|,|\\PC){0,60}") {
            for players in [Players::minecraft().unwrap(), Players::rust()] {
                for player in players.read(&text) {
                    prop_assert!(without_colors(&text).contains(&player.name) && !player.name.is_empty());
                }
            }
        }
    }
}

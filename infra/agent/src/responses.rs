//! The meaning of a game server's response to a command: games say in words whether a command did something.

use crate::players::without_colors;
use rcon::Protocol;
use regex_lite::Regex;
use serde::Deserialize;

/// How many of a line's first characters must not be in the command: a line that begins with words of the command repeats them.
const REPEATED: usize = 12;

/// What a response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The command ran. Everything that no pattern knows says so.
    Ran,
    /// There is no such command, it is not permitted, or it has a wrong argument: nothing has happened.
    Refused,
    /// The player is not there: nothing has happened.
    NoPlayer,
}

/// The games whose words are known. ARK responds alike to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Game {
    Minecraft,
    Rust,
    Source,
}

use Game::{Minecraft, Rust, Source};
use Meaning::{NoPlayer, Refused};

/// The words of games and of the plugins that stores use most. A pattern matches a whole first line. Minecraft joins the lines of
/// a response, Paper does not: `<--[HERE]` is then in the second. A pattern begins with words of the console, because a console
/// may end with what a buyer wrote.
const TABLE: &[(Game, Meaning, &str)] = &[
    // No such command: 1.13 and later, Bukkit, before 1.13.
    (Minecraft, Refused, r"Unknown or incomplete command[,.] see below for error"),
    (Minecraft, Refused, r#"Unknown command\. Type "/?help" for help\."#),
    (Minecraft, Refused, r"Unknown command\. Try /help for a list of commands"),
    // A wrong argument.
    (
        Minecraft,
        Refused,
        r"(?:Unknown|Incorrect|Expected|Invalid|Malformed|Un[ct]\w+|Can't|Cannot|Integer|Long|Float|Double) .*<--\[HERE\]",
    ),
    (Minecraft, Refused, r"Incorrect argument for command"),
    (Minecraft, Refused, r"Expected whitespace to end one argument, but found trailing data"),
    (Minecraft, Refused, r"Expected (?:integer|long|float|double|boolean|a .+|value .+|closing .+|end of options)"),
    (Minecraft, Refused, r"Unknown [a-z ]+(?: '.*'|: .+)"),
    (Minecraft, Refused, r"Invalid [a-z ]+ '.*'"),
    (Minecraft, Refused, r"Can't find element '.*' of type '.*'"),
    (Minecraft, Refused, r"(?:Integer|Long|Float|Double) must not be (?:less|more) than .+, found .+"),
    (Minecraft, Refused, r"Only one (?:player|entity) is allowed, but the provided selector allows more than one"),
    (Minecraft, Refused, r"Usage: /.+"),
    (Minecraft, Refused, r"\[LP\] (?:A group named .+ could not be found\.|.+ is not a valid group name\.)"),
    // No permission: vanilla, Bukkit, EssentialsX, LuckPerms.
    (Minecraft, Refused, r"You do not have permission to use this command"),
    (Minecraft, Refused, r"I'm sorry, but you do not have permission to perform this command\..*"),
    (Minecraft, Refused, r"You do not have access to that command\."),
    (Minecraft, Refused, r"\[LP\] You do not have permission to use this command!"),
    // No such player: 1.13 and later, before it, EssentialsX, LuckPerms.
    (Minecraft, NoPlayer, r"No (?:player|entity) was found"),
    (Minecraft, NoPlayer, r"That player (?:cannot be found|does not exist)"),
    (Minecraft, NoPlayer, r"(?:Error: ?)?Player not found\.?"),
    (Minecraft, NoPlayer, r"\[LP\] (?:A user for .+ could not be found|User .+ is not online)\."),
    // The game, then Oxide.
    (Rust, Refused, r"Command '.+' not found"),
    (Rust, Refused, r"Invalid Item!"),
    (Rust, Refused, r"Unknown command: .+"),
    (Rust, Refused, r"Usage: .+"),
    (Rust, Refused, r"(?:Group|Permission) '.+' doesn't exist"),
    (Rust, Refused, r"You are not allowed to use the '.+' command"),
    (Rust, NoPlayer, r"Couldn't find player[!.]?"),
    (Rust, NoPlayer, r"(?:Player|User) '.+' not found"),
    (Rust, NoPlayer, r"Player not found[!.]?"),
    // The engine, then SourceMod.
    (Source, Refused, r#"Unknown command:? ["'].+["']!?"#),
    (Source, Refused, r"\[SM\] (?:Usage: .+|Invalid .+|You do not have access to this command)\.?"),
    (Source, NoPlayer, r"\[SM\] No matching clients? (?:was|were) found\.?"),
    (Source, NoPlayer, r"\[SM\] Player no longer available\.?"),
];

impl Game {
    /// Whether a server that is spoken to so may be one of the game. Rust speaks Source RCON too, where it is set so, and an
    /// agent without a list of players does not know that its server is Minecraft.
    const fn may_speak(self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Minecraft => matches!(self, Minecraft),
            Protocol::WebSocket => matches!(self, Rust),
            Protocol::Source => true,
        }
    }
}

/// Patterns of an owner, as agent.yaml has them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnPatterns {
    /// Responses to commands that ran, although the table knows them otherwise.
    ran: Vec<String>,
    refused: Vec<String>,
    no_player: Vec<String>,
}

/// What the responses of a game server mean.
#[derive(Debug)]
pub struct Responses(Vec<(Meaning, Regex)>);

impl Responses {
    /// The owner's patterns, which come first, and those of the games that speak a protocol.
    pub fn new(protocol: Protocol, own: &OwnPatterns) -> Result<Self, String> {
        let lists = [("ran", Meaning::Ran, &own.ran), ("refused", Refused, &own.refused)];
        let lists = lists.into_iter().chain([("no_player", NoPlayer, &own.no_player)]);
        let own = lists.flat_map(|(field, meaning, list)| list.iter().map(move |text| (field, meaning, text.as_str())));
        let known = TABLE.iter().filter(|(game, ..)| game.may_speak(protocol));
        let known = known.map(|(_, meaning, pattern)| ("", *meaning, *pattern));
        let compiled = own.chain(known).map(|(field, meaning, pattern)| {
            let whole = Regex::new(&format!("(?i)^(?:{pattern})$"));
            whole.map(|whole| (meaning, whole)).map_err(|error| format!("responses.{field}: `{pattern}`: {error}"))
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }

    /// What the response to a command says. A console that repeats a text of the command has not refused it.
    #[must_use]
    pub fn meaning(&self, command: &str, response: &str) -> Meaning {
        let text = plain(response);
        let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) else { return Meaning::Ran };
        let found = self.0.iter().find(|(_, whole)| whole.is_match(line));
        let meaning = found.map_or(Meaning::Ran, |(meaning, _)| *meaning);
        if repeats(command, line) { Meaning::Ran } else { meaning }
    }
}

/// Whether a line begins with words of a command.
fn repeats(command: &str, line: &str) -> bool {
    let first: String = line.chars().take(REPEATED).flat_map(char::to_lowercase).collect();
    plain(command).to_lowercase().contains(first.as_str())
}

/// A text without the colors of Minecraft and of terminals.
fn plain(text: &str) -> String {
    let text = without_colors(text);
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let is_code = |letter: char| letter.is_ascii_digit() || letter == ';';
    parts.fold(first, |text, part| text + part.trim_start_matches(is_code).strip_prefix('m').unwrap_or(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Meaning::Ran;
    use proptest::prelude::*;

    fn known(protocol: Protocol) -> Responses {
        Responses::new(protocol, &OwnPatterns::default()).unwrap()
    }

    #[test]
    fn consoles_are_understood_in_their_own_words() {
        let paper = "Unknown or incomplete command, see below for error\nwarp Alex<--[HERE]";
        let vanilla = "Unknown or incomplete command, see below for errorwarp Alex<--[HERE]";
        let mistaken = "I'm sorry, but you do not have permission to perform this command. Please contact the server \
                        administrators if you believe that this is in error.";
        for (protocol, command, response, meaning) in [
            (Protocol::Minecraft, "warp Alex", paper, Refused),
            (Protocol::Minecraft, "warp Alex", vanilla, Refused),
            (Protocol::Minecraft, "warp Alex", "Unknown command. Type \"/help\" for help.", Refused),
            (Protocol::Minecraft, "warp Alex", "§cUnknown command. Try /help for a list of commands", Refused),
            (Protocol::Minecraft, "xp add Alex x", "Expected integerxp add Alex x<--[HERE]", Refused),
            (Protocol::Minecraft, "xp add Alex x", "Expected integer\n...d Alex x<--[HERE]", Refused),
            (Protocol::Minecraft, "give Alex gold", "Unknown item 'minecraft:gold'\n...lex gold<--[HERE]", Refused),
            (Protocol::Minecraft, "give Alex a b", "Incorrect argument for command\n...Alex a b<--[HERE]", Refused),
            (Protocol::Minecraft, "fly Alex", mistaken, Refused),
            (Protocol::Minecraft, "give Alex gold", "No player was found", NoPlayer),
            (Protocol::Minecraft, "give Alex gold", "That player cannot be found", NoPlayer),
            (Protocol::Minecraft, "eco give Alex 5", "§cError: §4Player not found.", NoPlayer),
            (Protocol::Minecraft, "eco give Alex 5", "\u{1b}[31mError:\u{1b}[0m Player not found.\n", NoPlayer),
            (Protocol::Minecraft, "lp user Alex info", "[LP] A user for alex could not be found.", NoPlayer),
            (Protocol::Minecraft, "give Alex gold", "Gave 1 [Gold] to Alex", Ran),
            (Protocol::Minecraft, "lp user Alex info", "", Ran),
            (Protocol::WebSocket, "crate.give 7", "Command 'crate.give' not found", Refused),
            (Protocol::WebSocket, "oxide.usergroup add 7 vip", "Player '7' not found", NoPlayer),
            (Protocol::WebSocket, "oxide.usergroup add 7 vip", "Group 'vip' doesn't exist", Refused),
            (Protocol::WebSocket, "oxide.usergroup add 7 vip", "User '7' added to group: vip", Ran),
            (Protocol::WebSocket, "inventory.giveto 7 x", "Couldn't find player!", NoPlayer),
            (Protocol::Source, "sm_vip 7", "Unknown command \"sm_vip\"", Refused),
            (Protocol::Source, "sm_vip 7", "[SM] No matching client was found.", NoPlayer),
            (Protocol::Source, "GiveItemToPlayer 7", "Server received, But no response!! \n ", Ran),
        ] {
            assert_eq!(known(protocol).meaning(command, response), meaning, "{command}: {response}");
        }
    }

    #[test]
    fn a_text_that_the_command_itself_contained_refuses_nothing() {
        let all = known(Protocol::Source);
        for (command, response) in [
            ("say Unknown or incomplete command", "[Server] Unknown or incomplete command"),
            (
                "echo Unknown or incomplete command, see below for error",
                "Unknown or incomplete command, see below for error",
            ),
            ("echo Unknown command \"x\"", "Unknown command \"x\""),
            ("title Alex No player was found", "No player was found"),
            ("broadcast &cPlayer not found", "§cPlayer not found"),
            ("bio Alex <--[HERE]", "Alex's bio is now: <--[HERE]"),
            ("nick Alex not found", "Alex is now: not found"),
        ] {
            assert_eq!(all.meaning(command, response), Ran, "{command}: {response}");
        }
        let later = "Gave 1 [Gold] to Alex\nNo player was found";
        assert_eq!(all.meaning("give Alex gold", later), Ran, "only the first line says it");
    }

    #[test]
    fn an_owners_patterns_come_first_and_a_wrong_one_is_named() {
        let own = |text: &str| Responses::new(Protocol::Minecraft, &serde_saphyr::from_str(text).unwrap());
        let responses =
            own("{refused: ['Crate .* unknown'], no_player: [Nobody], ran: ['No player was found']}").unwrap();
        assert_eq!(responses.meaning("crate 7", "Crate 7 unknown"), Refused);
        assert_eq!(responses.meaning("crate 7", "Crate 7 unknown."), Ran, "the whole line");
        assert_eq!(responses.meaning("give Alex gold", "nobody"), NoPlayer);
        assert_eq!(responses.meaning("give Alex gold", "No player was found"), Ran);
        assert!(own("{refused: ['(']}").unwrap_err().starts_with("responses.refused: `(`"));
    }

    proptest! {
        #[test]
        fn nothing_that_a_console_says_makes_the_agent_panic_and_no_repeated_line_refuses(
            text in "(\\[|\u{1b}|\\n|m|§|Usage: /|No player was found|\\PC){0,40}",
        ) {
            let all = known(Protocol::Source);
            _ = all.meaning("give", &text);
            // A command is one line.
            let line = text.trim().lines().next().unwrap_or_default();
            prop_assert_eq!(all.meaning(&format!("say {line}"), line), Ran);
        }
    }
}

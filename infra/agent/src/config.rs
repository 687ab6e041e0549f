//! The configuration: a YAML file, and files or environment variables for the two secrets.

use crate::book::{Book, Source};
use crate::players::Players;
use crate::responses::{OwnPatterns, Responses};
use rcon::Protocol;
use serde::Deserialize;
use std::fmt::Display;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variables of the secrets. They replace the files.
const KEY: &str = "AGENT_KEY";
const PASSWORD: &str = "AGENT_RCON_PASSWORD";

/// The configuration is unusable; the text names the field, and says what to write.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {text}")]
pub struct ConfigError {
    file: String,
    text: String,
}

/// A secret that no log shows.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("…")
    }
}

#[derive(Debug)]
pub struct Config {
    /// The URL below which the calls are; it ends with a slash.
    pub store: String,
    pub key: Secret,
    /// The store and the server whose commands it runs.
    pub source: Source,
    /// The same under the address that the store had before.
    former: Option<Source>,
    pub rcon: Rcon,
    pub players: Option<Players>,
    pub responses: Responses,
    /// The folder of the journal.
    pub journal: PathBuf,
    /// The files of secrets that were read.
    pub secret_files: Vec<PathBuf>,
}

#[derive(Debug)]
pub struct Rcon {
    pub address: String,
    pub password: Secret,
    pub protocol: Protocol,
    pub limit: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: String,
    #[serde(default)]
    moved_from: Option<String>,
    #[serde(default)]
    key: Option<SecretFile>,
    rcon: RconFile,
    #[serde(default)]
    players: Option<Players>,
    #[serde(default)]
    responses: OwnPatterns,
    journal: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFile {
    file: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RconFile {
    address: String,
    #[serde(default)]
    password: Option<SecretFile>,
    protocol: ProtocolName,
    /// Seconds until a command without a response is unknown.
    #[serde(default = "ten")]
    timeout: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProtocolName {
    Source,
    Websocket,
}

const fn ten() -> u64 {
    10
}

impl Config {
    /// Reads a file. Paths in it are relative to its folder.
    pub fn read(file: &Path, environment: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let failed = |text: String| ConfigError { file: file.display().to_string(), text };
        let text = std::fs::read_to_string(file).map_err(|error| failed(format!("cannot be read: {error}")))?;
        let options = serde_saphyr::options! { with_snippet: false };
        let parsed: File = serde_saphyr::from_str_with_options(text.trim_start_matches('\u{feff}'), options)
            .map_err(|error| failed(error.to_string()))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        Self::of(parsed, folder, environment).map_err(failed)
    }

    fn of(file: File, folder: &Path, environment: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut secret_files = Vec::new();
        let mut secret = |field: &str, variable: &str, from: Option<SecretFile>| {
            let text = match (environment(variable), from) {
                (Some(text), _) => text,
                (None, Some(SecretFile { file })) => {
                    let path = folder.join(file);
                    let text = std::fs::read_to_string(&path);
                    let text =
                        text.map_err(|error| format!("{field}.file: {} cannot be read: {error}", path.display()));
                    secret_files.push(path);
                    text?
                }
                (None, None) => return Err(format!("{field}: write {field}: {{file: PATH}}, or set {variable}")),
            };
            // Editors of Windows put a byte order mark before the first character.
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() || text.contains(char::is_control) {
                return Err(format!("{field}: must be one line that is not empty"));
            }
            Ok(Secret(text.to_owned()))
        };
        let key = secret("key", KEY, file.key)?;
        let server = server_of(key.expose()).ok_or("key: is not a key of `storectl server add`")?.to_owned();
        let password = secret("rcon.password", PASSWORD, file.rcon.password)?;
        let protocol = match file.rcon.protocol {
            ProtocolName::Websocket => Protocol::WebSocket,
            ProtocolName::Source if file.players.as_ref().is_some_and(Players::is_minecraft) => Protocol::Minecraft,
            ProtocolName::Source => Protocol::Source,
        };
        if !(1..=60).contains(&file.rcon.timeout) {
            return Err("rcon.timeout: must be 1 to 60 seconds".to_owned());
        }
        let responses = Responses::new(protocol, &file.responses)?;
        let limit = Duration::from_secs(file.rcon.timeout);
        let rcon = Rcon { address: address(file.rcon.address)?, password, protocol, limit };
        let moved_from = file.moved_from.map(|text| address_of("moved_from", &text)).transpose()?;
        let (store, journal) = (address_of("store", &file.store)?, folder.join(file.journal));
        let source = |store: &str| Source { store: place_of(store), server: server.clone() };
        let (source, former) = (source(&store), moved_from.as_deref().map(source));
        Ok(Self { store, key, source, former, rcon, players: file.players, responses, journal, secret_files })
    }

    /// The other store or server whose commands a book has; `None` if they are its own, or the store had that address before.
    #[must_use]
    pub fn foreign<'a>(&self, book: &'a Book) -> Option<&'a Source> {
        let is_own = |found: &Source| *found == self.source || Some(found) == self.former.as_ref();
        book.source().filter(|found| !book.is_empty() && !is_own(found))
    }
}

impl Rcon {
    /// A command that changes nothing and has a response, if the game server runs any.
    #[must_use]
    pub const fn harmless(&self) -> &'static str {
        match self.protocol {
            Protocol::Minecraft => "list",
            Protocol::WebSocket => "version",
            // Games without it respond that they do not know it.
            Protocol::Source => "echo agent",
        }
    }

    /// Whether the password leaves this machine in plain text.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
    }
}

fn address(text: String) -> Result<String, String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('/'));
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(1..) => Ok(text),
        _ => Err(format!("rcon.address: `{text}` is not HOST:PORT; write for example 127.0.0.1:25575")),
    }
}

/// The server's id in a key; `None` of a text with another form.
fn server_of(key: &str) -> Option<&str> {
    let (server, random) = key.split_once('-')?;
    let is_id = !server.is_empty() && server.bytes().all(|byte| byte.is_ascii_digit());
    (is_id && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(server)
}

/// A store's address in the form in which two are compared.
fn place_of(store: &str) -> String {
    let url: http::Uri = store.parse().unwrap_or_default();
    // Only an address of this machine may begin so.
    if url.scheme_str() == Some("http") {
        return "http://localhost/".to_owned();
    }
    let (host, port) = (url.host().unwrap_or_default().to_lowercase(), url.port_u16().filter(|port| *port != 443));
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("https://{host}{port}{}", url.path())
}

fn address_of(field: &str, text: &str) -> Result<String, String> {
    let failed = |why: &dyn Display| format!("{field}: {why}; write for example https://api.shop.example/plugin/");
    let url: http::Uri = text.parse().map_err(|error| failed(&error))?;
    if url.query().is_some() || !outgoing::is_allowed(&url) {
        return Err(failed(&"must begin with https://, or name this machine, and have no ?"));
    }
    Ok(format!("{}/", text.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "store: https://api.shop.example/plugin
key: {file: key.txt}
rcon: {address: \"127.0.0.1:25575\", password: {file: rcon.txt}, protocol: source}
players: minecraft
journal: ./journal
";

    fn read(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("agent.yaml", text);
        write("key.txt", "1-abcdef\n");
        write("rcon.txt", "swordfish\n");
        write("marked.txt", "\u{feff}swordfish\r\n");
        let environment =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let read = Config::read(&folder.path().join("agent.yaml"), environment);
        read.map_err(|error| error.text)
    }

    #[test]
    fn a_file_as_storectl_prints_it_is_read_and_secrets_come_from_files_or_the_environment() {
        let config = read(GOOD, &[]).unwrap();
        assert_eq!(config.store, "https://api.shop.example/plugin/");
        assert_eq!((config.key.expose(), config.rcon.password.expose()), ("1-abcdef", "swordfish"));
        assert_eq!((config.rcon.protocol, config.rcon.is_remote()), (Protocol::Minecraft, false));
        assert!(!format!("{config:?}").contains("swordfish"), "{config:?}");
        let marked = read(&GOOD.replace("rcon.txt", "marked.txt"), &[(KEY, "\u{feff}2-x\r\n")]).unwrap();
        assert_eq!(
            (marked.key.expose(), marked.rcon.password.expose()),
            ("2-x", "swordfish"),
            "a byte order mark is dropped"
        );
        let own = GOOD.replace("key: {file: key.txt}\n", "");
        assert_eq!(read(&own, &[(KEY, "2-x")]).unwrap().key.expose(), "2-x");
    }

    #[test]
    fn every_error_names_its_field_and_what_to_write() {
        for (old, new, named) in [
            ("https://api.shop.example/plugin", "http://api.shop.example/plugin", "store: must begin with https://"),
            ("https://api.shop.example/plugin", "https://a.example/?a", "store: must begin with https://"),
            ("key: {file: key.txt}\n", "", "key: write key: {file: PATH}, or set AGENT_KEY"),
            ("key: {file: key.txt}", "key: {file: no.txt}", "key.file: "),
            ("key: {file: key.txt}", "key: {file: agent.yaml}", "key: must be one line"),
            ("key: {file: key.txt}", "key: {file: rcon.txt}", "key: is not a key"),
            ("127.0.0.1:25575", "127.0.0.1", "rcon.address: `127.0.0.1` is not HOST:PORT"),
            ("password: {file: rcon.txt}, ", "", "rcon.password: write"),
            ("source", "telnet", "telnet"),
            ("protocol: source", "protocol: source, timeout: 0", "rcon.timeout: must be"),
            ("minecraft", "factorio", "`factorio` is not a preset; write minecraft or rust, or {command: …"),
            ("minecraft", "{command: players}", "each: or json: is missing"),
            ("minecraft", "{command: players, each: \"(\"}", "each: "),
            ("minecraft", "{command: players, each: \"(?P<name>.*)\"}", "each: must have the groups"),
            ("journal: ./journal", "journal: ./journal\nresponses: {refused: ['(']}", "responses.refused: `(`: "),
            ("journal: ./journal", "journal: ./journal\nresponses: {denied: [a]}", "denied"),
            ("journal: ./journal", "journals: ./journal", "journals"),
        ] {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD);
            let error = read(&text, &[]).map(|_| ()).unwrap_err();
            assert!(error.contains(named), "{new}: {error}");
        }
    }
}

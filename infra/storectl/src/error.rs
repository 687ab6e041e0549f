//! A command's failure: what happened, what was done and not done, what to do next.
//!
//! Nothing secret comes in here: keys and tokens are never part of an error, and of the database's own words only
//! those that say who may not do what.

use crate::answer::{BAD, facts, paint, value};
use archive::ArchiveError;
use serde::Serialize;
use shared::fault::{capital, chain};
use shared::table::StoreError;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// How a command ends; 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Something on this machine: a file that cannot be read or written, an interrupt.
    Local = 1,
    Usage = 2,
    /// The store's files have faults, or doctor, reconcile, report or try found something.
    Faults = 3,
    /// The object does not exist, or a rule forbids the change.
    Refused = 4,
    /// Conflict: it was changed by another request.
    Raced = 5,
    /// The database or AWS did not respond, or throttles; run the same command again in a moment.
    Unavailable = 6,
    /// Credentials are missing or refused, or there is no such table, stack or secret.
    Denied = 7,
    /// The question was not answered with yes.
    Declined = 8,
}

impl Exit {
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// A command that did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub exit: Exit,
    pub what: String,
    pub done: String,
    pub next: String,
}

/// State after most failures.
const NOTHING: &str = "Nothing was changed.";

impl Failure {
    /// A failure that left everything as it was.
    pub fn new(exit: Exit, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { exit, what: what.into(), done: NOTHING.to_owned(), next: next.into() }
    }

    /// Something that is not there or against the rules.
    pub fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Refused, what, next)
    }

    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        let what = format!("{} cannot be used: {error}.", path.display());
        Self::new(Exit::Local, what, "Check the path and its permissions.")
    }

    /// A command line that cannot be read, as clap says it.
    pub fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let what = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let help = "`storectl --help` and `storectl COMMAND --help` show what can be typed.";
        let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
        let next = tips.map(|tip| format!("{}. ", capital(tip))).chain([help.to_owned()]).collect::<String>();
        Self::new(Exit::Usage, what.trim(), next)
    }

    /// Ctrl-C.
    pub fn interrupted() -> Self {
        let next = "Look at what is there, then run the same command again: it continues. `storectl --help` names those \
                    that cannot.";
        Self::new(Exit::Local, "Interrupted.", next)
            .done("What was written so far stays; it is not known how far it came.")
    }

    /// Says what was done, if that is not nothing.
    #[must_use]
    pub fn done(mut self, done: impl Into<String>) -> Self {
        self.done = done.into();
        self
    }

    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    pub fn print(&self, json: bool) -> String {
        if json {
            // Texts may be painted for a terminal.
            let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
            let (what, done, next) = (plain(&self.what), plain(&self.done), plain(&self.next));
            let error = facts! { kind: self.exit, exit: self.exit as u8, what, done, next };
            return format!("{}\n", value(&facts! { error }));
        }
        let label = paint(BAD.bold(), "error:");
        format!("{label} {}\n{}\n{}\n", self.what, self.done, self.next)
    }

    pub fn exit(&self) -> ExitCode {
        self.exit.code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.what, self.done, self.next)
    }
}

impl Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = chain(&error);
        if let Some(known) = classify(&text) {
            return known;
        }
        let said = format!("{}.", capital(&text));
        match &error {
            StoreError::Unavailable { operation, .. } => {
                let next = "Check the network and the endpoint, then run the same command again.";
                Self::new(Exit::Unavailable, format!("The database did not respond ({operation})."), next)
            }
            StoreError::Contended => Self::new(Exit::Raced, "Other writes kept changing the same items.", AGAIN),
            StoreError::Internal(_) => Self::new(Exit::Local, said, "Fix the system, then run it again."),
            StoreError::Refused { operation, .. } | StoreError::Credentials { operation, .. } => {
                let what = format!("The database refused {operation}: {}.", last(&error));
                Self::new(Exit::Denied, what, "Check with `storectl doctor`.")
            }
            StoreError::Outdated { .. } => Self::refused(said, "Take a backup before."),
            StoreError::Unreadable { .. } => {
                Self::refused(said, "It was not written by this version of the tool; look at the item in the console.")
            }
        }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let what = format!("{}.", capital(&error.to_string()));
        match error {
            ArchiveError::File { path, source } => Self::file(&path, &source),
            ArchiveError::Broken { .. } => {
                Self::new(Exit::Local, what, "Take another copy of the file, or an older backup.")
            }
            ArchiveError::NotAnItem { .. } => {
                Self::new(Exit::Local, what, "It was not written by this tool; take another backup.")
            }
        }
    }
}

/// The result of a write whose response may be lost.
pub trait Unsure<T> {
    /// Fails with what is then not known, and what to do about it.
    fn unsure(self, done: impl Into<String>, next: impl Into<String>) -> Result<T, Failure>;

    /// Fails with what was done before; what to do next is what the error says.
    fn after(self, done: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Unsure<T> for Result<T, E> {
    fn unsure(self, done: impl Into<String>, next: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| error.into().done(done).next(next))
    }

    fn after(self, done: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| error.into().done(done))
    }
}

/// The advice after most writes without a response.
pub const AGAIN: &str = "Run the same command again.";

/// An error of a service other than the database, as `from_sdk` is one of the database.
pub fn of_service(service: &str, error: &(dyn Error + 'static)) -> Failure {
    classify(&chain(error)).unwrap_or_else(|| {
        let what = format!("Unexpected response from {service}: {}.", last(error));
        Failure::new(Exit::Unavailable, what, "Check the network and the region, then run the same command again.")
    })
}

/// The failure that an error chain names, if it is a known one.
fn classify(chain: &str) -> Option<Failure> {
    let has = |words: &[&str]| words.iter().any(|word| chain.contains(word));
    let denied = |what: &str, next: &str| Some(Failure::new(Exit::Denied, what, next));
    if has(&["ExpiredToken", "TokenRefreshRequired", "token has expired", "session has expired"]) {
        return denied(
            "The AWS credentials have expired.",
            "Log in again (`aws sso login`), then run the command again.",
        );
    }
    if has(&[
        "UnrecognizedClient",
        "InvalidSignature",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidAccessKeyId",
    ]) {
        let next = "Check which account and profile are meant (`aws sts get-caller-identity`, --profile).";
        return denied("AWS does not accept these credentials.", next);
    }
    if has(&["AccessDenied", "not authorized to perform"]) {
        let next = "Ask the owner of the account for that permission, or choose another --profile.";
        return denied(&format!("These credentials may not do this: {}.", sentence(chain)), next);
    }
    if has(&[
        "credential provider was not enabled",
        "no providers in chain",
        "CredentialsNotLoaded",
        "failed to load credentials",
    ]) || has(&["error occurred while loading credentials", "InvalidConfiguration"])
    {
        let next = "Log in (`aws sso login`), choose a --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
        return denied("There are no usable AWS credentials.", next);
    }
    if has(&["ResourceNotFoundException", "Requested resource not found", "non-existent table"]) {
        let next = "Check --table, --region and --profile, or deploy the stack first.";
        return denied("There is no such table.", next);
    }
    if has(&["ProvisionedThroughputExceeded", "ThrottlingException", "RequestLimitExceeded", "Throttling:"]) {
        let next = "Wait a minute and run the same command again.";
        return Some(Failure::new(Exit::Unavailable, "The database is throttling and kept doing so.", next));
    }
    None
}

fn last(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string().trim_end_matches('.').to_owned()
}

/// The part of a chain in which AWS says who may not do what.
fn sentence(chain: &str) -> String {
    let words = chain.find("User:").or_else(|| chain.find("AccessDenied")).map_or(chain, |start| &chain[start..]);
    words.trim_end_matches('.').to_owned()
}

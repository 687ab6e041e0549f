//! Command lines of steps and patches, and how programs are run.

use crate::error::TaskError;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at a running program.
const POLL: Duration = Duration::from_millis(100);
/// Time between two lines that say that a program still runs.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// A command line: `NAME=value` words first, then the program and its arguments, separated by spaces. No shell reads it:
/// quotes have no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    environment: Vec<(String, String)>,
    program: String,
    arguments: Vec<String>,
}

impl CommandLine {
    /// Parses a command line.
    pub fn parse(text: &str) -> Result<Self, TaskError> {
        let refuse = |problem| TaskError::CommandLine { text: text.to_owned(), problem };
        if text.contains(['"', '\'', '|', '>', '<', ';', '&', '$', '`']) {
            return Err(refuse("quotes and characters of a shell have no meaning here"));
        }
        let mut environment = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            environment.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let program = words.next().ok_or_else(|| refuse("it names no program"))?.to_owned();
        Ok(Self { environment, program, arguments: words.map(str::to_owned).collect() })
    }

    /// Whether this runs tests.
    #[must_use]
    pub fn is_cargo_test(&self) -> bool {
        self.program == "cargo" && self.arguments.first().is_some_and(|first| first == "test")
    }

    /// The same tests, built but not run.
    #[must_use]
    pub fn without_running(&self) -> Self {
        let own = self.arguments.iter().take_while(|word| *word != "--");
        let arguments = own.cloned().chain(["--no-run".to_owned()]).collect();
        Self { arguments, ..self.clone() }
    }

    /// The command, to be run in a folder. A `cargo` is the one that runs this program, without what it has set for it;
    /// `cargo xtask` is this program.
    #[must_use]
    pub fn command(&self, folder: &Path) -> Command {
        let own = std::env::current_exe().ok().filter(|_| self.program == "cargo");
        let (mut command, arguments) = match (own, self.arguments.split_first()) {
            (Some(own), Some((first, rest))) if first == "xtask" => (Command::new(own), rest),
            _ if self.program == "cargo" => (cargo(), self.arguments.as_slice()),
            // A path is one in the repository.
            _ if self.program.contains('/') => (Command::new(folder.join(&self.program)), self.arguments.as_slice()),
            _ => (Command::new(&self.program), self.arguments.as_slice()),
        };
        command.args(arguments).envs(self.environment.iter().cloned()).current_dir(folder);
        command
    }
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={value} ")?;
        }
        write!(formatter, "{}", self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {argument}"))
    }
}

/// The cargo that runs this program. What cargo set for this package must not reach the build of another.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_this_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if of_this_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// Runs a command that must succeed, and returns its standard output.
pub fn capture(command: &mut Command) -> Result<String, TaskError> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(command, error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(TaskError::Failed { command: shown(command), output: last_lines(&said, 40) })
}

/// Runs a command with all of its output in a file. Every half minute a line says how long it has run, and its last line.
pub fn run_logged(command: &mut Command, log: &Path) -> Result<ExitStatus, TaskError> {
    let file = |error| TaskError::File { path: log.to_owned(), error };
    let output = File::create(log).map_err(file)?;
    command.stdin(Stdio::null()).stdout(output.try_clone().map_err(file)?).stderr(output);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| not_started(command, error))?;
    wait(&mut child, started, log).map_err(|error| not_started(command, error))
}

fn wait(child: &mut Child, started: Instant, log: &Path) -> std::io::Result<ExitStatus> {
    let mut next = started + HEARTBEAT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= next {
            next += HEARTBEAT;
            let said = read_lossy(log).unwrap_or_default();
            let line: String = last_lines(&said, 1).chars().take(90).collect();
            // A closed output does not end a proof.
            _ = writeln!(std::io::stdout(), "     {:>5} s: {line}", started.elapsed().as_secs());
        }
        thread::sleep(POLL);
    }
}

/// A file's text; bytes that are not UTF-8 are replaced.
pub fn read_lossy(path: &Path) -> Result<String, TaskError> {
    let bytes = std::fs::read(path).map_err(TaskError::file(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a text that are not blank.
#[must_use]
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

fn not_started(command: &Command, error: std::io::Error) -> TaskError {
    TaskError::Start { program: command.get_program().to_string_lossy().into_owned(), error }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_printed_as_it_was_written() {
        for text in ["cargo test", "A=1 B=x=y cargo test -p tests races:: -- --nocapture"] {
            assert_eq!(CommandLine::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn words_with_an_equals_sign_are_variables_only_before_the_program() {
        let line = CommandLine::parse("N=3 fuzz --inputs=7").unwrap();
        assert_eq!(line.environment, [("N".to_owned(), "3".to_owned())]);
        assert_eq!((line.program.as_str(), line.arguments.as_slice()), ("fuzz", &["--inputs=7".to_owned()][..]));
    }

    #[test]
    fn a_command_line_for_a_shell_is_refused() {
        for text in ["", "A=1", "cargo test | tail", "cargo test 'a b'", "echo $HOME"] {
            assert!(CommandLine::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_build_of_tests_has_none_of_their_arguments() {
        let line = CommandLine::parse("cargo test -p tests races:: -- --nocapture").unwrap();
        assert!(line.is_cargo_test());
        assert_eq!(line.without_running().to_string(), "cargo test -p tests races:: --no-run");
        assert!(!CommandLine::parse("cargo run -p fuzz").unwrap().is_cargo_test());
    }

    #[test]
    fn a_task_of_this_program_is_run_without_cargo() {
        let command = CommandLine::parse("cargo xtask planted --list").unwrap().command(Path::new("."));
        assert_eq!(command.get_program(), std::env::current_exe().unwrap());
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["planted", "--list"]);
        let command = CommandLine::parse("cargo test -p tests").unwrap().command(Path::new("."));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["test", "-p", "tests"]);
    }

    #[test]
    fn the_output_of_a_program_is_in_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let status = run_logged(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), &log).unwrap();
        assert_eq!((status.code(), read_lossy(&log).unwrap().as_str()), (Some(3), "out\nerr\n"));
        assert!(run_logged(&mut Command::new("/no/such/program"), &log).is_err());
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let failure = capture(Command::new("sh").args(["-c", "echo reason >&2; exit 1"])).unwrap_err();
        assert!(failure.to_string().contains("reason"), "{failure}");
        assert_eq!(capture(Command::new("echo").arg("x")).unwrap(), "x\n");
    }
}

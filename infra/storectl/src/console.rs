//! The terminal: asks questions if there is one, and shows progress.

use crate::error::{Exit, Failure};
use dialoguer::Input;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Console {
    answers: Answers,
    drawn: bool,
}

#[derive(Debug)]
enum Answers {
    Terminal,
    NoTerminal,
    /// Every question gets this answer.
    Always(bool),
}

impl Console {
    /// The console of this process. Questions and progress go to standard error, so that standard output stays
    /// what a script reads.
    pub fn of_process(json: bool) -> Self {
        let seen = std::io::stderr().is_terminal();
        let asks = std::io::stdin().is_terminal() && seen && !json;
        Self { answers: if asks { Answers::Terminal } else { Answers::NoTerminal }, drawn: seen && !json }
    }

    /// A console that gives every question the same answer and draws nothing.
    pub const fn answering(yes: bool) -> Self {
        Self { answers: Answers::Always(yes), drawn: false }
    }

    pub const fn without_terminal() -> Self {
        Self { answers: Answers::NoTerminal, drawn: false }
    }

    /// Asks before something is changed; anything but yes is no. `yes` is the command's `--yes`. Fails with
    /// [`Exit::Declined`] if the answer is no, or there is no terminal.
    pub fn confirm(&self, shown: &str, question: &str, yes: bool) -> Result<(), Failure> {
        let agreed = match self.answers {
            _ if yes => true,
            Answers::Always(answer) => answer,
            Answers::NoTerminal => {
                let what = "This needs a confirmation, and there is no terminal to ask on.";
                return Err(Failure::new(Exit::Declined, what, "Run it on a terminal, or add --yes."));
            }
            Answers::Terminal => ask(shown, question),
        };
        if agreed { Ok(()) } else { Err(Failure::new(Exit::Declined, "Not confirmed.", "Answer y, or add --yes.")) }
    }

    /// Asks to type `word` before something is changed for which `--yes` (`yes`) is not enough. `what` says what
    /// changes, for those who cannot be asked, and `option` is what they add to the command. Fails with
    /// [`Exit::Declined`] if another word is typed, or there is no terminal.
    pub fn confirm_word(&self, shown: &str, what: &str, word: &str, option: &str, yes: bool) -> Result<(), Failure> {
        let agreed = match self.answers {
            Answers::Terminal if !yes => read_answer(shown, &format!("Type {word} to allow it")).trim() == word,
            Answers::Always(answer) if !yes => answer,
            _ => return Err(Failure::new(Exit::Declined, what, format!("If it is meant, add {option}."))),
        };
        if agreed { Ok(()) } else { Err(Failure::new(Exit::Declined, "Not confirmed.", format!("Type {word}."))) }
    }

    /// Asks for a text that is not shown while it is typed; `None` if there is no terminal.
    pub fn secret(&self, question: &str) -> Option<String> {
        match self.answers {
            Answers::NoTerminal | Answers::Always(_) => None,
            Answers::Terminal => {
                _ = write!(std::io::stderr(), "{question}: ");
                console::Term::stderr().read_secure_line().ok()
            }
        }
    }

    /// Asks which of two words is meant, and returns its place. Fails with [`Exit::Declined`] if something else is
    /// typed, or there is no terminal.
    pub fn choose(&self, shown: &str, question: &str, words: [&str; 2]) -> Result<usize, Failure> {
        let options = format!("Add --{} or --{}.", words[0], words[1]);
        let typed = match self.answers {
            Answers::Terminal => read_answer(shown, &format!("{question} [{}/{}]", words[0], words[1])),
            Answers::Always(answer) => words[usize::from(!answer)].to_owned(),
            Answers::NoTerminal => return Err(Failure::new(Exit::Declined, shown, options)),
        };
        let place = words.iter().position(|word| *word == typed.trim().to_lowercase());
        place.ok_or_else(|| Failure::new(Exit::Declined, "Not confirmed.", options))
    }

    /// A progress bar over `total` steps; it appears once the work has taken two seconds.
    pub fn progress(&self, label: &'static str, total: Option<u64>) -> Progress {
        Progress::new(label, total, self.drawn)
    }
}

fn ask(shown: &str, question: &str) -> bool {
    is_yes(&read_answer(shown, &format!("{question} [y/N]")))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The line that is typed; empty if it cannot be read, or on Ctrl-C.
fn read_answer(shown: &str, question: &str) -> String {
    // Removes the colours if the terminal shows none.
    let mut err = anstream::stderr();
    if writeln!(err, "{shown}").is_err() {
        return String::new();
    }
    Input::new().with_prompt(question).allow_empty(true).interact_text().unwrap_or_else(|_| {
        _ = writeln!(err);
        String::new()
    })
}

/// Work that is done faster than this is not worth a bar.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Progress of one piece of work. Cheap to call from many places at once.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: AtomicBool,
    drawn: bool,
}

impl Progress {
    pub fn new(label: &'static str, total: Option<u64>, drawn: bool) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let known = "{msg} {bar:30} {human_pos}/{human_len}, {rate}, {eta} left";
        let template = if total.is_some() { known } else { "{msg} {human_pos}, {rate}" };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| _ = write!(text, "{:.0}/s", state.per_sec());
        let style = style.with_key("rate", rate);
        Self {
            bar: bar.with_style(style).with_message(label),
            begun: Instant::now(),
            shown: AtomicBool::new(false),
            drawn,
        }
    }

    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        if self.drawn && self.begun.elapsed() >= TIMEOUT && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    pub fn position(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_a_yes() {
        for answer in ["y", "Y", "yes", " YES "] {
            assert!(is_yes(answer), "{answer}");
        }
        for answer in ["", "n", "no", "not yet", "yess", "j"] {
            assert!(!is_yes(answer), "{answer}");
        }
    }
}

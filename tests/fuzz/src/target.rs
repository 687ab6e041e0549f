//! The trait of a target.

use crate::error::FuzzError;
use crate::random::Random;
use std::fmt::Debug;

/// The outcome of an input that broke no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was valid.
    Accepted,
    /// It was refused.
    Refused,
}

impl Outcome {
    /// By a result.
    pub fn of<T, E>(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Accepted } else { Self::Refused }
    }
}

/// Code under test, with the inputs that it gets and the rules that its output keeps.
pub trait Target: Sized {
    /// Its name on the command line.
    const NAME: &'static str;
    /// Inputs that share a state: the target starts again after so many. 1 if inputs are independent.
    const ROUND: u64 = 1;

    /// An input.
    type Input: Debug;

    /// Sets it up.
    ///
    /// # Errors
    /// [`FuzzError`] if that is not possible.
    fn start() -> Result<Self, FuzzError>;

    /// Forgets what earlier inputs did.
    ///
    /// # Errors
    /// [`FuzzError`] if that is not possible.
    fn restart(&mut self) -> Result<(), FuzzError> {
        Ok(())
    }

    /// The next input.
    fn input(&self, random: &mut Random) -> Self::Input;

    /// Runs the code under test.
    ///
    /// # Errors
    /// The rule that was broken.
    fn check(&mut self, input: &Self::Input) -> Result<Outcome, String>;
}

/// A rule that an output keeps.
///
/// # Errors
/// The text, if the rule is broken.
pub fn rule(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}

//! What a command line that cannot be read most likely meant.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// Lets every value be a negative number, so that the command says which value must not be one.
pub(super) fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let takes_value = arg.get_action().takes_values();
        if takes_value { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(with_negative_numbers)
}

/// An error with the word that is right in this program.
pub(super) fn with_hint(mut error: clap::Error, line: &[OsString]) -> clap::Error {
    let wrong = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].into_iter().find_map(|kind| {
        let ContextValue::String(wrong) = error.get(kind)? else { return None };
        Some(wrong.split([' ', '=']).next().unwrap_or_default().to_owned())
    });
    let types = |word: &str| line.iter().any(|typed| typed == word);
    let hint = match wrong.as_deref() {
        Some("--amount") if types("refund") => "--to TOTAL says how much of the order is refunded afterwards",
        Some("delete" | "remove") if types("gift") || types("referral") => {
            "a code that was given out is not deleted: `disable` switches it off"
        }
        Some("delete" | "remove") if types("user") => "`storectl user erase` erases an account",
        Some("delete" | "remove") if types("coupon") => {
            "`coupon delete` deletes an unused coupon, `coupon disable` switches one off"
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    error
}

//! The command line and its help.

use super::*;
use crate::error::Failure;

#[test]
fn the_command_line_is_consistent() {
    Cli::documented().debug_assert();
}

/// The help of `storectl WORDS --help`.
fn help(words: &[&str]) -> String {
    let line = [&["storectl"], words, &["--help"]].concat();
    Cli::read(line.into_iter().map(OsString::from)).unwrap_err().to_string()
}

#[test]
fn the_target_is_described_once() {
    let (all, heading) = (help(&[]), "Target (one of");
    assert!(all.contains(heading) && all.contains("--endpoint-url") && all.contains("--json"), "{all}");
    for words in [&["publish"][..], &["user"], &["user", "show"], &["order", "record"], &["ban", "list"]] {
        let one = help(words);
        assert!(!one.contains(heading) && !one.contains("--endpoint-url") && one.contains("--json"), "{one}");
    }
    assert!(help(&["user", "show"]).contains(TARGET_HELP));
    let line = ["storectl", "user", "show", "7", "--table", "t", "--json"].map(OsString::from);
    let read = Cli::read(line).unwrap();
    assert_eq!((read.target.table.as_deref(), read.json), (Some("t"), true));
    let line = ["storectl", "--local", "d", "user", "list"].map(OsString::from);
    assert_eq!(Cli::read(line).unwrap().target.local, Some("d".into()));
    let line = ["storectl", "user", "list", "--stack", "s", "--local", "d"].map(OsString::from);
    Cli::read(line).unwrap_err();
}

#[test]
fn what_is_for_developers_is_under_a_heading_of_its_own() {
    let all = help(&[]);
    let (commands, developers) = all.split_once("For developers:\n").unwrap();
    assert!(!commands.contains("openapi") && developers.trim_start().starts_with("openapi"), "{all}");
}

#[test]
fn every_command_that_does_something_has_an_example() {
    fn visit(command: &clap::Command) {
        if command.has_subcommands() {
            command.get_subcommands().for_each(visit);
        } else {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Example"), "{} has no example", command.get_name());
        }
    }
    Cli::command().get_subcommands().for_each(visit);
}

#[test]
fn durations_are_read_in_seconds() {
    for (text, length) in [
        ("90s", 90),
        ("30m", 1_800),
        ("30min", 1_800),
        (" 6h ", 21_600),
        ("7d", 604_800),
        ("1h 30m", 5_400),
        ("2 weeks", 1_209_600),
        ("3650d", 315_360_000),
    ] {
        assert_eq!(seconds(text), Ok(length));
    }
    for text in ["", "6", "h", "-1h", "0s", "4000d", "1.5h", "99999999999999999999d", "3 days ago", "1 month"] {
        assert!(seconds(text).is_err(), "{text}");
    }
}

fn read(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::read([&["storectl"], words].concat().into_iter().map(OsString::from))
}

#[test]
fn a_word_that_is_another_one_here_is_named() {
    for (words, tip) in [
        (&["order", "refund", "x", "--amount", "5"][..], "--to TOTAL"),
        (&["gift", "delete", "x"], "`disable`"),
        (&["referral", "delete", "x"], "`disable`"),
        (&["user", "delete", "x"], "`storectl user erase`"),
        (&["coupon", "remove", "x"], "`coupon delete`"),
    ] {
        let error = read(words).unwrap_err();
        assert!(error.to_string().contains(tip), "{words:?}: {error}");
        assert!(Failure::usage(&error).next.contains(tip), "{words:?}");
    }
}

#[test]
fn a_negative_number_is_a_value_that_the_command_refuses() {
    for words in [
        &["user", "credit", "Newt", "-5", "--note", "x"][..],
        &["gift", "top-up", "x", "-2.50"],
        &["coupon", "add", "x", "--amount", "-5"],
        &["order", "refund", "x", "--to", "-5"],
    ] {
        read(words).unwrap_or_else(|error| panic!("{error}"));
    }
}

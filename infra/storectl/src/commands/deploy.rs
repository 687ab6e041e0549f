//! The deploy that hands a new secret to the functions. The tool prints it, and the owner runs it.

use crate::answer::{STRONG, paint};

/// A value of KeyRevision that differs from the present one.
pub(super) fn next_revision(present: &str, now: i64) -> String {
    present
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_add(1))
        .map_or_else(|| now.to_string(), |next| next.to_string())
}

/// The deploy of a stack with other parameters. Without the build it would upload the sources.
pub(super) fn command(stack: &str, parameters: &str) -> String {
    format!("sam build && sam deploy --stack-name {stack} --parameter-overrides {parameters}")
}

/// A sentence with the deploy on a line of its own. The name of its environment is not known here.
pub(super) fn shown(sentence: &str, command: &str) -> String {
    format!("{sentence}, from the version that is deployed and with its --config-env:\n  {}", paint(STRONG, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_revision_differs() {
        assert_eq!(next_revision("1", 7), "2");
        assert_eq!(next_revision("2026-06-01_b", 1_781_524_800), "1781524800");
    }
}

//! The proofs: what each one shows, and the commands that show it.

/// A proof.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub name: &'static str,
    /// The statement that holds if it passes.
    pub proves: &'static str,
    /// The commands of a quick run. Without any, a quick run leaves the step out.
    pub quick: &'static [&'static str],
    /// The commands of a run that takes its time.
    pub long: &'static [&'static str],
    /// Texts whose lines in the output are figures, besides the numbers of tests and lines that begin with `figures: `.
    pub figures: &'static [&'static str],
}

/// The proofs in the order in which they run: those that fail soonest are first.
pub const STEPS: &[Step] = &[
    Step {
        name: "tests",
        proves: "every rule, refusal, limit and right that has a test; limits under races of several instances",
        quick: &["cargo test -p shared", "cargo test -p tests --test blackbox -- races:: access:: rights::"],
        long: &["cargo test --workspace"],
        figures: &[],
    },
    Step {
        name: "faults",
        proves: "a database that throttles, fails, hangs or loses responses causes a 503 and never half a write",
        quick: &["cargo test -p tests --test blackbox -- faults:: connections:: faults_wire::clocks"],
        long: &[
            "FAULTS=all cargo test -p tests --test blackbox -- faults:: connections:: faults_wire:: --nocapture",
            "cargo test -p storectl --test suite -- checkouts::faults",
            "cargo test -p dynamodb -p outgoing",
        ],
        figures: &[
            "one call fails: ",
            "all calls fail: ",
            "one call gets no response: ",
            "a purchase: ",
            "a purchase in ",
        ],
    },
    Step {
        name: "attacks",
        proves: "forged tokens, bombs, injections, look-alikes, enumeration and guessing get what any wrong request gets",
        quick: &["cargo test -p tests --test blackbox -- attacks::"],
        long: &["cargo test -p tests --test blackbox -- attacks:: access:: bodies:: gateway::"],
        figures: &[],
    },
    Step {
        name: "histories",
        proves: "what concurrent buyers see under injected faults is explained by some order of their requests",
        quick: &["HISTORIES=4 cargo test -p tests --test histories"],
        long: &["HISTORIES=100 cargo test -p tests --test histories"],
        figures: &[" histories of one buyer, ", " histories of many buyers, "],
    },
    // Needs the Python environment that .ci/run makes.
    Step {
        name: "load",
        proves: "traffic at a fixed rate without an error and with flat connections; a flash sale sells exactly what there is",
        quick: &[
            "cargo build --profile prove -p local",
            "target/venv-load/bin/python tests/load/load.py --server target/prove/local mixed --seconds 60",
            "target/venv-load/bin/python tests/load/load.py --server target/prove/local flash-sale --buyers 500 --units 50 --seconds 5",
        ],
        long: &[
            "cargo build --profile prove -p local",
            "target/venv-load/bin/python tests/load/load.py --server target/prove/local mixed --minutes 30",
            "target/venv-load/bin/python tests/load/load.py --server target/prove/local flash-sale --buyers 5000 --units 500 --seconds 60",
        ],
        figures: &["kept   ", "BROKEN "],
    },
    Step {
        name: "fuzz",
        proves: "no mutated event, token, body, webhook, file or row breaks a rule of what reads it",
        quick: &["PROPTEST_CASES=2000 cargo test --profile prove -p tests --test fuzz -- --nocapture"],
        long: &["PROPTEST_CASES=50000 cargo test --profile prove -p tests --test fuzz -- --nocapture"],
        figures: &[],
    },
    // Needs the Python environment that .ci/run makes.
    Step {
        name: "second-opinion",
        proves: "the tests hold on another DynamoDB than the embedded one",
        quick: &["target/venv-deploy/bin/python .ci/dynamodb/test.py races:: rows::"],
        long: &["target/venv-deploy/bin/python .ci/dynamodb/test.py"],
        figures: &[],
    },
    Step {
        name: "planted",
        proves: "a test finds each fault that is planted in a copy of the code",
        quick: &[],
        long: &["cargo xtask planted"],
        figures: &[],
    },
    Step {
        name: "sources",
        proves: "every dependency has an allowed licence and comes from crates.io, and none is banned",
        quick: &["cargo xtask deny"],
        long: &["cargo xtask deny"],
        figures: &[],
    },
    Step {
        name: "sbom",
        proves: "a bill of materials can be made of every function",
        quick: &[],
        long: &["cargo xtask sbom"],
        figures: &[],
    },
    Step {
        name: "reproducible",
        proves: "two builds of a commit in two folders are the same bytes",
        quick: &[],
        long: &["cargo xtask reproducible"],
        figures: &[],
    },
];

/// The steps with these names, in the order of the table; all of them if none is named.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Step>, crate::error::TaskError> {
    if let Some(name) = names.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        let known = STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
        return Err(crate::error::TaskError::Unknown { kind: "step", name: name.clone(), known });
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::CommandLine;
    use std::collections::BTreeSet;

    #[test]
    fn every_step_has_commands_that_can_be_run() {
        for step in STEPS {
            assert!(!step.long.is_empty(), "{}", step.name);
            for text in step.quick.iter().chain(step.long) {
                CommandLine::parse(text).unwrap();
            }
        }
        let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |chosen: Vec<&Step>| chosen.iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(chosen(&["faults".to_owned(), "tests".to_owned()]).unwrap()), ["tests", "faults"]);
        assert_eq!(chosen(&[]).unwrap().len(), STEPS.len());
        let refusal = chosen(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(refusal.contains("tset") && refusal.contains("reproducible"), "{refusal}");
    }
}

//! Every target for a few seconds.

use crate::TARGETS;
use crate::error::FuzzError;
use crate::random::Random;
use crate::run::{Range, run};
use crate::target::{Outcome, Target, rule};
use std::time::Duration;

/// The seed of what is tried in tests, which is the same every time.
const SEED: u64 = 20_260_615;

/// A target whose state is wrong after its fifth input in a round of ten, and which panics at the seventh.
struct Broken(u64);

impl Target for Broken {
    const NAME: &'static str = "broken";
    const ROUND: u64 = 10;
    type Input = u64;

    fn start() -> Result<Self, FuzzError> {
        Ok(Self(0))
    }

    fn restart(&mut self) -> Result<(), FuzzError> {
        self.0 = 0;
        Ok(())
    }

    fn input(&self, random: &mut Random) -> u64 {
        random.next()
    }

    fn check(&mut self, _: &u64) -> Result<Outcome, String> {
        self.0 += 1;
        assert!(self.0 != 7, "the seventh");
        rule(self.0 != 5, || "the fifth".to_owned())?;
        Ok(if self.0.is_multiple_of(2) { Outcome::Accepted } else { Outcome::Refused })
    }
}

#[test]
fn an_input_that_breaks_a_rule_is_kept_with_the_command_that_tries_it_again() {
    let range = Range { seed: 1, from: 0, inputs: 20, time: None };
    let summary = run::<Broken>(range).unwrap();
    assert_eq!((summary.tried, summary.accepted), (20, 10));
    let numbers: Vec<u64> = summary.found.iter().map(|finding| finding.number).collect();
    assert_eq!(numbers, [4, 6, 14, 16]);
    assert_eq!(summary.found[0].problem, "the fifth");
    assert!(summary.found[1].problem.contains("the seventh"), "{:?}", summary.found[1]);
    // What came before it in its round is tried again, too.
    let again = run::<Broken>(Range { from: 14, inputs: 1, ..range }).unwrap();
    assert_eq!((again.tried, again.found[0].number), (5, 14));
    let kept = std::fs::read_to_string(&again.found[0].file).unwrap();
    assert!(kept.starts_with("the fifth\n") && kept.contains("-- broken --seed 1 --from 14 --inputs 1"), "{kept}");
    for finding in summary.found {
        std::fs::remove_file(finding.file).unwrap();
    }
}

fn tries(name: &str, inputs: u64) {
    let (_, run) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
    let time = Some(Duration::from_secs(5));
    let summary = run(Range { seed: SEED, from: 0, inputs, time }).unwrap();
    assert!(summary.found.is_empty(), "{:#?}", summary.found);
    // A target whose inputs are all refused, or all accepted, tests nothing.
    assert!(summary.accepted > 0 && summary.accepted < summary.tried, "{summary:?}");
}

macro_rules! targets {
    ($($name:ident: $target:literal, $inputs:literal;)+) => {
        $(#[test]
        fn $name() {
            tries($target, $inputs);
        })+

        #[test]
        fn every_target_is_tried() {
            let tried = [$($target),+];
            assert_eq!(tried.to_vec(), TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
    };
}

targets! {
    texts: "texts", 50_000;
    tokens: "token", 5_000;
    forwarded_for: "forwarded-for", 20_000;
    paths: "path", 5_000;
    bodies: "body", 10_000;
    webhooks: "webhook", 5_000;
    responses_of_the_provider: "provider", 5_000;
    responses_of_the_table: "table", 1_000;
    archives: "archive", 1_000;
    files_of_a_store: "store-files", 300;
    events_of_auth: "auth", 400;
    events_of_cart: "cart", 400;
    events_of_catalog: "catalog", 400;
    events_of_content: "content", 400;
    events_of_payments: "payments", 400;
}

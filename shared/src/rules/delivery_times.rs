//! How long commands take from the payment to the game server's word that they ran (rules.md, "From paid to the game").
//!
//! Times are counted in fixed steps, rounded up: what is said of them is never better than what was measured.

use std::collections::BTreeMap;
use std::fmt;

/// The steps: up to how many milliseconds each is used, and its length.
const STEPS: [(u64, u64); 4] = [(10_000, 500), (60_000, 1_000), (3_600_000, 60_000), (LONGEST_TIME, 3_600_000)];
/// Two days in milliseconds: what takes longer counts as this.
const LONGEST_TIME: u64 = 172_800_000;

/// The end of the step that a time is counted in, both in milliseconds.
#[must_use]
pub fn step_of(took: u64) -> u64 {
    let took = took.clamp(1, LONGEST_TIME);
    let length = STEPS.iter().find(|(until, _)| took <= *until).map_or(LONGEST_TIME, |(_, length)| *length);
    took.div_ceil(length).saturating_mul(length)
}

/// How many commands took how long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryTimes(BTreeMap<u64, u64>);

impl DeliveryTimes {
    /// Counts `commands` that took `took` milliseconds, or the end of their step.
    pub fn add(&mut self, took: u64, commands: u64) {
        let count = self.0.entry(step_of(took)).or_default();
        *count = count.saturating_add(commands);
    }

    /// Counts what another one has.
    pub fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(took, commands)| self.add(took, commands));
    }

    /// The ends of the steps in milliseconds, with how many commands are in each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(took, commands)| (*took, *commands))
    }

    /// How many commands were measured.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.0.values().fold(0, |sum, commands| sum.saturating_add(*commands))
    }

    /// The time in milliseconds in which `share` of a hundred commands ran, at least; `None` if none was measured.
    #[must_use]
    pub fn within(&self, share: u64) -> Option<u64> {
        let wanted = self.commands().saturating_mul(share).div_ceil(100);
        let mut sum = 0_u64;
        self.iter().find_map(|(took, commands)| {
            sum = sum.saturating_add(commands);
            (sum >= wanted).then_some(took)
        })
    }

    /// The longest time in milliseconds; `None` if none was measured.
    #[must_use]
    pub fn slowest(&self) -> Option<u64> {
        self.0.keys().next_back().copied()
    }
}

impl fmt::Display for DeliveryTimes {
    /// Such as `half within 3 s, 95 of 100 within 7 s, slowest 14 s`; empty if none was measured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(half), Some(most), Some(slowest)) = (self.within(50), self.within(95), self.slowest()) else {
            return Ok(());
        };
        let [half, most, slowest] = [half, most, slowest].map(shown);
        write!(f, "half within {half}, 95 of 100 within {most}, slowest {slowest}")
    }
}

/// A time in milliseconds as people read it, such as `6.5 s`, `14 s`, `3 min` or `2 h`.
#[must_use]
pub fn shown(millis: u64) -> String {
    match millis {
        LONGEST_TIME.. => "two days or more".to_owned(),
        3_600_000.. => format!("{} h", millis / 3_600_000),
        60_001.. => format!("{} min", millis / 60_000),
        _ if millis.is_multiple_of(1_000) => format!("{} s", millis / 1_000),
        _ => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_said_is_never_better_than_what_was_measured(
            took in prop::collection::vec(0_u64..200_000_000, 1..60),
            share in 1_u64..=100,
        ) {
            let mut times = DeliveryTimes::default();
            for took in &took {
                times.add(*took, 1);
            }
            prop_assert_eq!(times.commands(), u64::try_from(took.len()).unwrap());
            let said = times.within(share).unwrap();
            let within = took.iter().filter(|took| (**took).min(LONGEST_TIME) <= said).count();
            prop_assert!(within * 100 >= took.len() * usize::try_from(share).unwrap());
            prop_assert_eq!(times.within(100), times.slowest());
            prop_assert_eq!(times.slowest().unwrap(), step_of(*took.iter().max().unwrap()));
        }

        #[test]
        fn a_step_is_stable_and_little_longer(took in 1_u64..=LONGEST_TIME) {
            let step = step_of(took);
            prop_assert_eq!(step_of(step), step);
            let most = STEPS.iter().find(|(until, _)| took <= *until).unwrap().1;
            prop_assert!((took..took + most).contains(&step));
        }
    }

    #[test]
    fn times_are_read_as_people_say_them() {
        let mut times = DeliveryTimes::default();
        assert_eq!((times.to_string(), times.within(50)), (String::new(), None));
        for (took, commands) in [(2_600, 50), (6_100, 45), (13_200, 5)] {
            times.add(took, commands);
        }
        assert_eq!(times.to_string(), "half within 3 s, 95 of 100 within 6.5 s, slowest 14 s");
        let said = [60_000, 61_000, 3_600_000, 3_700_000, 900_000_000].map(|took| shown(step_of(took)));
        assert_eq!(said, ["60 s", "2 min", "1 h", "2 h", "two days or more"]);
    }
}

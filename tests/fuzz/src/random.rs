//! Pseudorandom numbers: the same seed, target and number of the input always give the same input.

/// A SplitMix64 generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of one input.
    #[must_use]
    pub fn of(seed: u64, target: &str, number: u64) -> Self {
        // FNV-1a over the target's name, so that targets do not share their inputs.
        let name = target
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut random = Self(seed ^ name);
        let start = random.next().wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(start)
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from(self.next().checked_rem(limit).unwrap_or_default()).unwrap_or_default()
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_depends_on_seed_target_and_number_only() {
        let first = |seed, target, number| Random::of(seed, target, number).next();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        assert_ne!(first(1, "a", 0), first(2, "a", 0));
        assert_ne!(first(1, "a", 0), first(1, "b", 0));
        assert_ne!(first(1, "a", 0), first(1, "a", 1));
        let mut random = Random::of(1, "a", 0);
        assert_eq!(random.below(0), 0);
        let mut seen = [0_u32; 8];
        (0..8_000).for_each(|_| seen[random.below(8)] += 1);
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
    }
}

//! When something is on sale.

use serde::{Deserialize, Serialize};

/// The time in which something is on sale: from one second up to another, which is not included. Both in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OnSale {
    /// `None` if it has always been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// `None` if it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

impl OnSale {
    /// When it begins, if that is later than `now`.
    pub fn begins(self, now: i64) -> Option<i64> {
        self.from.filter(|from| *from > now)
    }

    pub fn is_over(self, now: i64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The part of it that is within another.
    #[must_use]
    pub fn within(self, outer: Self) -> Self {
        let until = self.until.into_iter().chain(outer.until).min();
        Self { from: self.from.max(outer.from), until }
    }

    /// The next second after `now` at which something of it changes.
    pub fn edge(self, now: i64) -> Option<i64> {
        self.from.into_iter().chain(self.until).filter(|edge| *edge > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_now(on_sale: OnSale, now: i64) -> bool {
        on_sale.begins(now).is_none() && !on_sale.is_over(now)
    }

    #[test]
    fn it_begins_and_ends_at_its_seconds() {
        let spring = OnSale { from: Some(10), until: Some(20) };
        let state = |now| (spring.begins(now), is_now(spring, now), spring.is_over(now), spring.edge(now));
        assert_eq!(state(9), (Some(10), false, false, Some(10)));
        assert_eq!(state(10), (None, true, false, Some(20)));
        assert_eq!(state(19), (None, true, false, Some(20)));
        assert_eq!(state(20), (None, false, true, None));
        let always = OnSale::default();
        assert_eq!((is_now(always, i64::MIN), is_now(always, i64::MAX), always.edge(0)), (true, true, None));
    }

    #[test]
    fn what_is_within_another_is_on_sale_while_both_are() {
        let all = [None, Some(5), Some(10), Some(15)];
        let any = || all.into_iter().flat_map(|from| all.into_iter().map(move |until| OnSale { from, until }));
        for (inner, outer) in any().flat_map(|inner| any().map(move |outer| (inner, outer))) {
            for now in 0..20 {
                assert_eq!(
                    is_now(inner.within(outer), now),
                    is_now(inner, now) && is_now(outer, now),
                    "{inner:?} {outer:?}"
                );
            }
        }
    }
}

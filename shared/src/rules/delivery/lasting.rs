//! Which lines of orders keep a text that takes something from an account from running, and until when (rules.md,
//! "Delivery"). The commands that run it are not known here.

use crate::model::{Holder, InternalId, ItemId, Lasting, Lasts, RunName};

/// The most holders of a kind that are listed. An account may buy the same thing a thousand times.
pub const MOST_HOLDERS: usize = 100;
/// The line of a holder that stands for several, so that no order is it.
const SEVERAL: u16 = u16::MAX;
/// Later than any end, seconds since 1970 UTC.
pub const NEVER: i64 = 253_402_300_799;

impl Holder {
    /// Whether it is of no order, but of several that are not listed.
    pub const fn stands_for_several(&self) -> bool {
        self.line == SEVERAL
    }
}

impl Lasting {
    /// Whether a holder never ends.
    pub fn is_permanent(&self) -> bool {
        self.more > 0 || self.holders.iter().any(|holder| holder.lasts == Lasts::Always)
    }

    /// When the holders that end have all ended, seconds since 1970 UTC; `None` if there are none.
    pub fn end(&self) -> Option<i64> {
        let ends = self.holders.iter().filter_map(|holder| match holder.lasts {
            Lasts::Always => None,
            Lasts::For(_) => Some(self.ends_at),
            Lasts::Until(end) => Some(end),
        });
        ends.max()
    }

    /// Until when any holder holds it, seconds since 1970 UTC; `None` if there is none.
    pub fn until(&self) -> Option<i64> {
        if self.is_permanent() { Some(NEVER) } else { self.end() }
    }

    pub fn lasts(&self, now: i64) -> bool {
        self.until().is_some_and(|until| now < until)
    }

    /// Whether it runs when its holders have ended: as the end of an item, or because it was left to the last of them and
    /// nothing else runs at its end.
    pub fn is_due_at_end(&self) -> bool {
        let is_owed = self.owed && !self.holders.iter().any(|holder| holder.closes);
        is_owed || self.holders.iter().any(|holder| holder.ends)
    }

    /// Adds a line of an order that gives something since a second (`since`, 1970 UTC). Its time begins when what holds the
    /// text already ends, and not before `after`. A period of a subscription takes the place of the one before it.
    pub fn hold(&mut self, holder: Holder, after: Option<i64>, since: i64, now: i64) {
        // What was left to those that have ended since was taken at their end.
        self.owed &= self.lasts(now);
        let ends_at = self.ends_at;
        self.holders.retain(|other| match other.lasts {
            Lasts::Always => true,
            Lasts::For(_) => since < ends_at,
            Lasts::Until(end) => {
                let is_before = matches!(holder.lasts, Lasts::Until(_)) && other.item == holder.item;
                since < end && !is_before
            }
        });
        if let Lasts::For(seconds) = holder.lasts {
            let begins = self.end().into_iter().chain(after).fold(since, i64::max);
            self.ends_at = begins.saturating_add(seconds);
        }
        self.holders.push(holder);
        self.limit();
    }

    /// Adds a line that lasts until `ends_at`, if it ends.
    pub fn adopt(&mut self, holder: Holder, ends_at: i64) {
        if matches!(holder.lasts, Lasts::For(_)) {
            self.ends_at = self.ends_at.max(ends_at);
        }
        self.holders.push(holder);
        self.limit();
    }

    /// Adds a line of an order that is given again in a new season, and ends as it would have, if it ends.
    pub fn resume(&mut self, holder: Holder, ends_at: i64, now: i64) {
        if !self.lasts(now) {
            self.holders.clear();
            self.owed = false;
        }
        self.adopt(holder, ends_at);
    }

    /// Keeps the list short. Of what is not listed, a refund moves no end any more.
    fn limit(&mut self) {
        let is_permanent = |holder: &Holder| holder.lasts == Lasts::Always;
        if self.holders.iter().filter(|holder| is_permanent(holder)).count() > MOST_HOLDERS {
            let oldest = self.holders.iter().position(is_permanent);
            oldest.map(|place| self.holders.remove(place));
            self.more += 1;
        }
        let timed = |holder: &Holder| matches!(holder.lasts, Lasts::For(_));
        if self.holders.iter().filter(|holder| timed(holder)).count() > MOST_HOLDERS
            && let Some(place) = self.holders.iter().position(timed)
        {
            let oldest = self.holders.remove(place);
            if let Some(next) = self.holders.iter_mut().find(|holder| timed(holder)) {
                next.line = SEVERAL;
                next.ends |= oldest.ends;
                next.closes |= oldest.closes;
                if let (Lasts::For(seconds), Lasts::For(more)) = (&mut next.lasts, oldest.lasts) {
                    *seconds = seconds.saturating_add(more);
                }
            }
        }
    }

    /// Whether a line of an order is among the holders that are listed.
    pub fn is_held_by(&self, order: &InternalId, line: u16) -> bool {
        self.holders.iter().any(|holder| holder.order == *order && holder.line == line)
    }

    /// Takes a line of an order out, and its time off the end. `is_permanent` says whether it never ends.
    pub fn release(&mut self, order: &InternalId, line: u16, is_permanent: bool) {
        let place = self.holders.iter().position(|holder| holder.order == *order && holder.line == line);
        match place.map(|place| self.holders.remove(place)) {
            Some(Holder { lasts: Lasts::For(seconds), .. }) => self.ends_at = self.ends_at.saturating_sub(seconds),
            None if is_permanent => self.more = self.more.saturating_sub(1),
            Some(_) | None => {}
        }
    }

    /// Lets the holders with a time of their own end so many seconds later, once per run of the owner's. `false` if there are none
    /// at `now`, or the run did so before.
    pub fn extend(&mut self, run: &RunName, seconds: i64, now: i64) -> bool {
        let is_timed = self.holders.iter().any(|holder| matches!(holder.lasts, Lasts::For(_)));
        if !is_timed || self.ends_at <= now || self.runs.contains(run) {
            return false;
        }
        self.ends_at = self.ends_at.saturating_add(seconds);
        self.runs.push(run.clone());
        true
    }

    /// Takes a part of the time of a line of an order off the end; `false` if the line does not hold it for a time.
    pub fn shorten(&mut self, order: &InternalId, line: u16, less: i64) -> bool {
        let own = self.holders.iter_mut().find(|holder| holder.order == *order && holder.line == line);
        let Some(Holder { lasts: Lasts::For(seconds), .. }) = own else { return false };
        *seconds = seconds.saturating_sub(less);
        self.ends_at = self.ends_at.saturating_sub(less);
        true
    }

    /// When its holders but one line of an order end, seconds since 1970 UTC.
    pub fn end_without(&self, order: &InternalId, line: u16) -> Option<i64> {
        let mut others = self.clone();
        others.release(order, line, false);
        others.end()
    }

    /// Lets the text no longer run when an item ends. Whether no other item's end needs it at `now`.
    pub fn drop_end_of(&mut self, item: ItemId, now: i64) -> bool {
        for holder in self.holders.iter_mut().filter(|holder| holder.item == item) {
            (holder.ends, holder.closes) = (false, false);
        }
        !self.lasts(now) || !self.holders.iter().any(|holder| holder.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(order: &str, lasts: Lasts) -> Holder {
        let order = InternalId::new(order);
        Holder { order, line: 0, item: ItemId::new(1), lasts, ends: false, closes: false }
    }

    fn held(holders: &[(&str, Lasts)]) -> Lasting {
        let mut held = Lasting::default();
        for (order, lasts) in holders {
            held.hold(holder(order, *lasts), None, 0, 0);
        }
        held
    }

    #[test]
    fn purchases_add_up_and_a_refund_takes_its_time_off() {
        let mut both = held(&[("a", Lasts::For(30)), ("b", Lasts::For(60))]);
        assert_eq!(both.until(), Some(90));
        both.release(&InternalId::new("a"), 0, false);
        assert_eq!((both.until(), both.lasts(59), both.lasts(60)), (Some(60), true, false));
    }

    #[test]
    fn a_period_takes_the_place_of_the_one_before_it_only() {
        let mut both = held(&[("a", Lasts::Until(30)), ("b", Lasts::Until(60))]);
        assert_eq!((both.until(), both.holders.len()), (Some(60), 1));
        both.hold(Holder { item: ItemId::new(2), ..holder("c", Lasts::Until(40)) }, None, 0, 0);
        assert_eq!((both.until(), both.holders.len()), (Some(60), 2));
    }

    #[test]
    fn what_never_ends_holds_until_it_is_released() {
        let mut both = held(&[("a", Lasts::For(30)), ("b", Lasts::Always)]);
        assert!(both.lasts(1_000));
        both.release(&InternalId::new("b"), 0, true);
        assert!(both.lasts(29) && !both.lasts(30));
    }

    #[test]
    fn a_thousand_purchases_of_one_text_make_a_short_row_and_are_all_counted() {
        for lasts in [Lasts::Always, Lasts::For(1)] {
            let names: Vec<String> = (0..1_000).map(|number| format!("o{number}")).collect();
            let mut all = held(&names.iter().map(|name| (name.as_str(), lasts)).collect::<Vec<_>>());
            assert!(all.holders.len() <= MOST_HOLDERS, "{}", all.holders.len());
            for name in names.iter().rev().take(999) {
                all.release(&InternalId::new(name.as_str()), 0, lasts == Lasts::Always);
                assert!(all.lasts(0), "{name}");
            }
            all.release(&InternalId::new("o0"), 0, lasts == Lasts::Always);
            assert_eq!(all.lasts(0), lasts != Lasts::Always);
        }
    }
}

//! Limits in time and place: windows of the calendar, what counts, and when it is possible again.

use crate::any::{buyer, item, money, terms};
use proptest::prelude::*;
use serde_json::json;
use shared::model::{Counted, Item, ItemId, ItemLimit, Ledger, Server, ServerId, Sold, Window, WindowKind, mark};
use shared::rules::limits::{self, Standing};
use shared::rules::pricing::{Buyer, Terms, availability};
use shared::rules::sets::unavailable_because;

const DAY: i64 = 86_400;
const HOUR: i64 = 3_600;

/// Midnights of Berlin in UTC: 25 October 2026 has 25 hours, 28 March 2027 has 23.
const OCTOBER: i64 = 1_792_879_200;
const MARCH: i64 = 1_806_188_400;

fn berlin(kind: WindowKind) -> Window {
    let offsets = vec![(OCTOBER - 200 * DAY, 2 * 3_600), (OCTOBER + 3 * HOUR, 3_600), (MARCH + 2 * HOUR, 2 * 3_600)];
    Window { kind, offsets }
}

#[test]
fn a_day_ends_at_midnight_of_the_zone_whatever_the_clocks_do() {
    let day = |at| berlin(WindowKind::Day).seconds(at);
    assert_eq!(day(OCTOBER), OCTOBER..OCTOBER + 25 * HOUR);
    assert_eq!(day(OCTOBER + 25 * HOUR - 1), OCTOBER..OCTOBER + 25 * HOUR);
    assert_eq!(day(OCTOBER - 1), OCTOBER - DAY..OCTOBER);
    assert_eq!(day(MARCH + HOUR), MARCH..MARCH + 23 * HOUR);
    let hour = |at| berlin(WindowKind::Hour).seconds(at);
    // The hour from two to three is there twice, and each is one of its own.
    assert_eq!(
        [hour(OCTOBER + 2 * HOUR + 1), hour(OCTOBER + 3 * HOUR)].map(|hour| hour.start),
        [2, 3].map(|n| OCTOBER + n * HOUR)
    );
    // 25 October 2026 is a Sunday.
    assert_eq!(berlin(WindowKind::Monday).seconds(OCTOBER), OCTOBER - 6 * DAY..OCTOBER + 25 * HOUR);
    assert_eq!(berlin(WindowKind::Month).seconds(OCTOBER), OCTOBER - 24 * DAY..OCTOBER + 7 * DAY + HOUR);
    // A zone in which midnight is skipped: the day begins an hour later by its clocks.
    let skipped = Window { kind: WindowKind::Day, offsets: vec![(0, 7_200), (10 * DAY - 7_200, 10_800)] };
    assert_eq!(skipped.seconds(10 * DAY), 10 * DAY - 7_200..11 * DAY - 10_800);
}

#[test]
fn a_limit_of_seven_days_ends_after_the_604_800th_second() {
    let mut weekly = item(1, 100);
    weekly.limits = vec![limit(&json!({ "most": 1, "per_user": true, "every": { "rolling": 604_800 } }))];
    let mut ledger = Ledger::default();
    ledger.set_times(weekly.id, vec![1_000]);
    let sold = Sold::new();
    let at = |now| {
        let buyer = Buyer { ledger: &ledger, subscriptions: &[], now };
        let shown = availability(&weekly, &[], Terms { now, ..terms(&sold) }, Some(buyer));
        (shown.unavailable, shown.available_again_at, shown.limits.user_current)
    };
    assert_eq!(at(1_000 + 604_799), (true, Some(1_000 + 604_800), Some(1)), "the 604,800th second is too early");
    assert_eq!(at(1_000 + 604_800), (false, None, Some(0)));
}

#[test]
fn a_bundle_waits_for_the_limits_in_time_of_its_parts() {
    let mut set = item(9, 100);
    let every = json!({ "rolling": 100 });
    let limits = [json!({ "most": 1, "per_user": true, "every": every }), json!({ "most": 2, "every": every })];
    let part_limit = limit(&limits[1]);
    let part = json!({ "item": 1, "name": "Crate", "price": 50, "limits": limits, "included_in": [] });
    set.bundle = Some(serde_json::from_value(json!({ "parts": [part] })).unwrap());
    let mut ledger = Ledger::default();
    ledger.set_times(ItemId::new(1), vec![1_000]);
    let mut sold = Sold::new();
    let at = |now, sold: &Sold| {
        let (buyer, terms) = (Buyer { ledger: &ledger, subscriptions: &[], now }, Terms { now, ..terms(sold) });
        (availability(&set, &[], terms, None).unavailable, unavailable_because(&set, terms, Some(buyer)))
    };
    let says = |why: &str| Some(format!("This item cannot be bought: {why}."));
    let as_many = says("you have as many of \"Crate\", which is part of it, as one player may have");
    assert_eq!(at(1_099, &sold), (false, as_many), "who is not known may have none");
    assert_eq!(at(1_100, &sold), (false, None));
    let place = part_limit.place(1_000).unwrap();
    let marks = [1_050, 1_060].map(|at| mark(at, "order", 0)).into();
    sold.insert(ItemId::new(1), Counted { marks: [(place, marks)].into(), ..Counted::default() });
    assert_eq!(at(1_149, &sold), (true, says("\"Crate\", which is part of it, is sold out")));
    assert_eq!(at(1_150, &sold), (false, None));
}

fn limit(limit: &serde_json::Value) -> ItemLimit {
    serde_json::from_value(limit.clone()).unwrap()
}

#[test]
fn the_tightest_limit_is_shown_and_a_full_server_is_one_of_several() {
    let mut kit = item(1, 100);
    kit.limits = vec![
        limit(&json!({ "most": 5, "server": 2 })),
        limit(&json!({ "most": 9, "every": { "window": { "kind": "day" } } })),
    ];
    kit.global_limit = Some(4);
    kit.allow_select_server = true;
    kit.servers = [1, 2].map(|id| Server { id: ServerId::new(id), name: id.to_string() }).into();
    let today = kit.limits[1].place(1_000).unwrap();
    let counted = |sold: u64, of_server: u64, of_day: u64| {
        let places = [("av2".to_owned(), of_server), (today.clone(), of_day)].into();
        Sold::from([(kit.id, Counted { sold, places, ..Counted::default() })])
    };
    let shown = |sold: &Sold| {
        let shown = availability(&kit, &[], terms(sold), None);
        (shown.limits.global, shown.limits.global_current, shown.unavailable, shown.available_again_at)
    };
    assert_eq!(shown(&counted(3, 5, 8)), (Some(4), Some(3), false, None), "as little is left of both: the first");
    assert_eq!(shown(&counted(2, 5, 8)), (Some(9), Some(8), false, None));
    assert_eq!(shown(&counted(2, 0, 9)), (Some(9), Some(9), true, Some(DAY)));
    assert_eq!(shown(&counted(4, 0, 9)), (Some(4), Some(4), true, None), "time gives only one of them back");
    let full = |sold: &Sold, server: u64| {
        limits::of(&kit, terms(sold), None, Some(ServerId::new(server))).any(Standing::is_reached)
    };
    assert_eq!([1, 2].map(|server| full(&counted(0, 5, 0), server)), [false, true]);
    kit.servers.remove(0);
    assert!(availability(&kit, &[], terms(&counted(0, 5, 0)), None).unavailable, "each of its servers is full");
    assert_eq!(kit.price, money(100));
}

/// Any limit of a kind that has a time.
fn some_limit() -> impl Strategy<Value = ItemLimit> {
    let rolling = (1_i64..4 * DAY).prop_map(|seconds| json!({ "rolling": seconds }));
    let kinds = prop::sample::select(vec!["hour", "day", "monday", "month"]);
    let offsets = json!(berlin(WindowKind::Day).offsets);
    let window = kinds.prop_map(move |kind| json!({ "window": { "kind": kind, "offsets": offsets } }));
    (1_u32..4, any::<bool>(), prop_oneof![rolling, window])
        .prop_map(|(most, per_user, every)| limit(&json!({ "most": most, "per_user": per_user, "every": every })))
}

/// Whether two seconds are in one window, told hour by hour: a naive reading of the calendar of Berlin.
fn is_same_window(kind: WindowKind, one: i64, other: i64) -> bool {
    let local = |at: i64| if (OCTOBER + 3 * HOUR..MARCH + 2 * HOUR).contains(&at) { at + HOUR } else { at + 2 * HOUR };
    let month = |at: i64| time_month(local(at).div_euclid(DAY));
    match kind {
        WindowKind::Hour => one.div_euclid(HOUR) == other.div_euclid(HOUR),
        WindowKind::Day => local(one).div_euclid(DAY) == local(other).div_euclid(DAY),
        WindowKind::Monday => {
            (local(one).div_euclid(DAY) + 3).div_euclid(7) == (local(other).div_euclid(DAY) + 3).div_euclid(7)
        }
        WindowKind::Month => month(one) == month(other),
    }
}

/// The month of a day, counted from 1970 year by year.
fn time_month(mut day: i64) -> (i64, usize) {
    let mut year = 1970;
    loop {
        let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        let months = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, days) in months.into_iter().enumerate() {
            if day < days {
                return (year, month);
            }
            day -= days;
        }
        year += 1;
    }
}

proptest! {
    /// Purchases, refunds and the passing of time against a list of purchases.
    #[test]
    fn limits_agree_with_a_list_of_purchases(
        limit in some_limit(), steps in prop::collection::vec((0_i64..DAY, any::<bool>(), 0_usize..8), 1..40),
    ) {
        let mut some = item(1, 100);
        some.limits = vec![limit.clone()];
        let mut now = OCTOBER - 2 * DAY;
        let (mut bought, mut ledger, mut counted): (Vec<(i64, usize)>, Ledger, Counted) = Default::default();
        for (number, (passes, is_refund, which)) in steps.into_iter().enumerate() {
            now += passes;
            if is_refund && !bought.is_empty() {
                let (at, order) = bought.remove(which % bought.len());
                refund(&some, at, order, &mut ledger, &mut counted);
                continue;
            }
            let counts = |at: i64| match &limit.every {
                Some(shared::model::Every::Rolling(length)) => now - at < i64::from(*length),
                Some(shared::model::Every::Window(window)) => is_same_window(window.kind, at, now),
                None => true,
            };
            let taken = bought.iter().filter(|(at, _)| counts(*at)).count();
            let may = taken < limit.most as usize;
            let sold = Sold::from([(some.id, counted.clone())]);
            let owner = Buyer { now, ..buyer(&ledger) };
            let shown = availability(&some, &[], Terms { now, ..terms(&sold) }, Some(owner));
            prop_assert_eq!(shown.unavailable, !may, "{:?} at {} of {:?}", limit, now, bought);
            if let Some(again) = shown.available_again_at {
                let at = |now| {
                    let owner = Buyer { now, ..buyer(&ledger) };
                    availability(&some, &[], Terms { now, ..terms(&sold) }, Some(owner)).unavailable
                };
                prop_assert!(again > now && at(again - 1) && !at(again));
            }
            if may {
                bought.push((now, number));
                buy(&some, now, number, &mut ledger, &mut counted);
            }
        }
    }
}

fn buy(item: &Item, at: i64, order: usize, ledger: &mut Ledger, counted: &mut Counted) {
    if let Some(times) = limits::times_after(item, ledger.times(item.id), at, 1) {
        ledger.set_times(item.id, times);
    }
    for place in limits::places(item, None, at, at) {
        if place.starts_with('r') {
            counted.marks.entry(place).or_default().insert(mark(at, &order.to_string(), 0));
        } else {
            *counted.places.entry(place).or_default() += 1;
        }
    }
}

fn refund(item: &Item, at: i64, order: usize, ledger: &mut Ledger, counted: &mut Counted) {
    let id: ItemId = item.id;
    if let Some(times) = limits::times_without(ledger.times(id), at, 1) {
        ledger.set_times(id, times);
    }
    for place in limits::places(item, None, at, at) {
        if let Some(marks) = counted.marks.get_mut(&place) {
            marks.remove(&mark(at, &order.to_string(), 0));
        }
        counted.places.entry(place).and_modify(|units| *units = units.saturating_sub(1));
    }
}

use super::*;
use crate::figures::Figures;
use crate::fixture;
use crate::lookup::{FUNCTIONS, NODE, PYTHON, SDK_DEFAULTS};

const LIMIT: Budget = Budget::at_most("size", 10.0, 5.0, Unit::Count, Footing::Stable);
const FLOOR: Budget = Budget::at_least("distance", 10.0, 20.0, Unit::Ratio, Footing::Quiet);

fn of<'a>(verdicts: &'a [Verdict], budget: &Budget, of: &str) -> &'a Verdict {
    let found = verdicts.iter().find(|verdict| verdict.budget.what == budget.what && verdict.of == of);
    found.unwrap_or_else(|| panic!("no verdict on {} of {of}", budget.what))
}

fn judged(change: impl FnOnce(&mut Figures)) -> Vec<Verdict> {
    let mut figures = fixture::figures();
    change(&mut figures);
    judge(&figures)
}

#[test]
fn a_limit_itself_is_within() {
    let outcomes = [5.0, 5.1, 10.0, 10.1].map(|value| LIMIT.judge("it", Some(value)).outcome);
    assert_eq!(outcomes, [Outcome::Stretch, Outcome::Held, Outcome::Held, Outcome::Missed]);
    let outcomes = [20.0, 19.9, 10.0, 9.9].map(|value| FLOOR.judge("it", Some(value)).outcome);
    assert_eq!(outcomes, [Outcome::Stretch, Outcome::Held, Outcome::Held, Outcome::Missed]);
    assert_eq!(LIMIT.judge("it", None).outcome, Outcome::NotMeasured);
}

#[test]
fn more_than_all_of_a_budget_is_a_miss() {
    let none = Budget { limit: 0.0, stretch: None, ..LIMIT };
    let used = |verdict: Verdict| (verdict.outcome == Outcome::Missed, verdict.used().map(|used| used > 1.0));
    assert_eq!(used(LIMIT.judge("it", Some(11.0))), (true, Some(true)));
    assert_eq!(used(FLOOR.judge("it", Some(9.0))), (true, Some(true)));
    assert_eq!(used(none.judge("it", Some(1.0))), (true, Some(true)));
    assert_eq!(used(none.judge("it", Some(0.0))), (false, Some(false)));
}

#[test]
fn peers_that_are_not_measured_are_no_failure() {
    let verdicts = judged(|figures| {
        figures.programs.retain(|program| ![NODE, PYTHON, SDK_DEFAULTS].contains(&program.name.as_str()));
    });
    for budget in [limits::INIT_BELOW_NODE, limits::INIT_BELOW_PYTHON] {
        assert!(FUNCTIONS.iter().all(|name| of(&verdicts, &budget, name).outcome == Outcome::NotMeasured));
    }
    for budget in [limits::FIRST_BELOW_NODE, limits::FIRST_BELOW_PYTHON, limits::FIRST_BELOW_SDK] {
        assert_eq!(of(&verdicts, &budget, "payments/checkStatus").outcome, Outcome::NotMeasured);
    }
}

#[test]
fn a_function_that_is_not_measured_is_named() {
    let verdicts = judged(|figures| figures.programs.retain(|program| program.name != "auth"));
    assert_eq!(of(&verdicts, &limits::BYTES, "auth").outcome, Outcome::NotMeasured);
}

#[test]
fn what_a_noisy_machine_judges_needs_no_clock_and_no_peer() {
    let verdicts = stable(&judged(|figures| {
        figures.programs.retain(|program| ![NODE, PYTHON, SDK_DEFAULTS].contains(&program.name.as_str()));
        for endpoint in &mut figures.endpoints {
            (endpoint.wall.min, endpoint.wall.median) = (u64::MAX, u64::MAX);
        }
        for cold in figures.programs.iter_mut().filter_map(|program| program.cold.as_mut()) {
            (cold.init_wall.median, cold.first_wall.median) = (u64::MAX / 4, u64::MAX / 4);
        }
    }));
    assert_eq!(verdicts, stable(&judged(|_| {})));
    assert!(verdicts.iter().all(|verdict| verdict.outcome != Outcome::NotMeasured));
}

#[test]
fn starts_and_memory_that_were_not_measured_are_no_failure() {
    let verdicts = judged(|figures| {
        for program in &mut figures.programs {
            (program.cold, program.peak_rss) = (None, None);
        }
    });
    for budget in [limits::INIT_CPU, limits::FIRST_CPU_RATIO, limits::RSS] {
        assert!(FUNCTIONS.iter().all(|name| of(&verdicts, &budget, name).outcome == Outcome::NotMeasured));
    }
}

#[test]
fn init_is_compared_without_the_connection() {
    let verdicts = judged(|_| {});
    // 1.45 ms over the hello world's 1.09 ms, and below Node's 80 ms.
    assert_eq!(of(&verdicts, &limits::INIT_CPU, "auth").value_text(), "1.33×");
    assert_eq!(of(&verdicts, &limits::INIT_BELOW_NODE, "auth").value_text(), "55.2×");
}

#[test]
fn a_round_trip_too_many_is_missed() {
    let verdicts = judged(|figures| {
        for endpoint in figures.endpoints.iter_mut().filter(|endpoint| endpoint.name == "settings/get") {
            endpoint.cost.round_trips = 1;
        }
    });
    assert_eq!(of(&verdicts, &limits::ROUND_TRIPS, "settings/get").outcome, Outcome::Missed);
    assert!(!held(&verdicts));
}

#[test]
fn an_outcome_has_its_own_round_trips() {
    let names = ["cart/get", "cart/get, with a code applied", "payments/checkStatus, first of a window"];
    assert_eq!(names.map(limits::round_trips), [Some(1), Some(2), Some(2)]);
    let names = ["categories/get/{url}, without a token", "categories/get/{url}, logged in", "orders/get"];
    assert_eq!(names.map(limits::round_trips), [Some(0), Some(1), None]);
}

#[test]
fn an_endpoint_without_a_row_is_not_measured() {
    let verdicts = judged(|figures| figures.endpoints.retain(|endpoint| endpoint.name != "user"));
    assert_eq!(of(&verdicts, &limits::ROUND_TRIPS, "user").outcome, Outcome::NotMeasured);
}

#[test]
fn calls_and_units_must_not_grow_with_the_store_or_with_orders() {
    let verdicts = judged(|figures| {
        for point in figures.scale.iter_mut().filter(|point| point.endpoint == "cart/get") {
            point.cost.read_units += if point.items == 100_000 { 0.5 } else { 0.0 };
            point.cost.calls += u32::from(point.orders > 0);
        }
    });
    assert_eq!(of(&verdicts, &limits::FLAT_UNITS, "cart/get, 10 lines, 0 orders").outcome, Outcome::Missed);
    assert_eq!(of(&verdicts, &limits::FLAT_CALLS, "cart/get, 10 lines, 0 orders").outcome, Outcome::Held);
    assert_eq!(of(&verdicts, &limits::FLAT_CALLS_ORDERS, "cart/get, 10 lines, 1,000 items").outcome, Outcome::Missed);
    assert_eq!(of(&verdicts, &limits::FLAT_UNITS_ORDERS, "cart/get, 10 lines, 10 items").outcome, Outcome::Held);
}

#[test]
fn a_ledger_may_grow_with_distinct_items() {
    let figures = fixture::figures();
    let units = |items: u64| {
        let of_cart = figures.scale.iter().filter(|point| point.endpoint == "cart/get" && point.lines == 10);
        of_cart.filter(|point| point.items == items).map(|point| point.cost.read_units).fold(0.0, f64::max)
    };
    assert!(units(1_000) > units(10));
    let judged = judge(&figures);
    let mut judged = judged.iter().filter(|verdict| verdict.of.starts_with("cart/get, 10 lines"));
    assert!(judged.all(|verdict| verdict.outcome != Outcome::Missed));
}

#[test]
fn a_longer_answer_may_take_longer() {
    let cpu = |answer_bytes: u64| {
        let verdicts = judged(|figures| {
            for point in figures.scale.iter_mut().filter(|point| point.endpoint == "payments/checkStatus") {
                if point.items > 10 {
                    (point.cpu, point.answer_bytes) = (point.cpu * 2, answer_bytes);
                }
            }
        });
        of(&verdicts, &limits::FLAT_CPU, "payments/checkStatus, 0 orders").outcome
    };
    assert_eq!((cpu(260), cpu(2_600)), (Outcome::Missed, Outcome::Held));
}

#[test]
fn more_lines_may_cost_more() {
    let verdicts = judged(|figures| {
        for point in figures.scale.iter_mut().filter(|point| point.endpoint == "cart/get" && point.lines == 50) {
            (point.cost.calls, point.cpu) = (9, point.cpu * 9);
        }
    });
    assert!(
        verdicts
            .iter()
            .filter(|verdict| verdict.of.starts_with("cart/get, "))
            .all(|verdict| { verdict.outcome != Outcome::Missed })
    );
}

#[test]
fn without_points_flatness_is_not_measured() {
    let verdicts = judged(|figures| figures.scale.clear());
    for budget in [limits::FLAT_CALLS, limits::FLAT_UNITS_ORDERS, limits::FLAT_CPU] {
        assert_eq!(of(&verdicts, &budget, "cart/get").outcome, Outcome::NotMeasured);
    }
    assert_eq!(of(&verdicts, &limits::FULL_CPU, "cart/get, 10 lines").outcome, Outcome::NotMeasured);
}

#[test]
fn a_summary_ends_with_what_was_missed() {
    let summary = summary(&judged(|figures| figures.programs.retain(|program| program.name != NODE)));
    insta::assert_snapshot!(summary);
    let lines: Vec<&str> = summary.lines().rev().collect();
    let missed = summary.lines().filter(|line| line.starts_with('✗') && line.ends_with("MISSED")).count();
    assert!(missed > 0 && lines[0].contains(&format!(" {missed} missed")), "{}", lines[0]);
    assert!(lines[1..=missed].iter().all(|line| line.starts_with('✗')));
    assert!(lines[missed + 1..].iter().all(|line| line.starts_with(' ')));
}

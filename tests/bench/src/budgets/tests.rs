use super::*;
use crate::document;
use crate::figures::FUNCTIONS;

const LIMIT: Budget = Budget { what: "size", limit: 10.0, unit: Unit::Count, stable: true };

fn of<'a>(verdicts: &'a [Verdict], budget: &Budget, of: &str) -> &'a Verdict {
    let found = verdicts.iter().find(|verdict| verdict.budget.what == budget.what && verdict.of == of);
    found.unwrap_or_else(|| panic!("no verdict on {} of {of}", budget.what))
}

/// The verdicts on the committed figures after a change.
fn judged(change: impl FnOnce(&mut Figures)) -> Vec<Verdict> {
    let mut figures = document::committed().unwrap().unwrap();
    change(&mut figures);
    judge(&figures, false)
}

#[test]
fn a_figure_at_the_limit_is_held() {
    let outcomes = [Some(10.0), Some(10.1), None].map(|value| LIMIT.judge("it", value).outcome());
    assert_eq!(outcomes, ["held", "MISSED", "not measured"]);
    let none = Budget { limit: 0.0, ..LIMIT };
    assert!(none.judge("it", Some(1.0)).used() > 1.0 && none.judge("it", Some(0.0)).used() <= 1.0);
}

#[test]
fn the_binding_budgets_are_these() {
    let limits = [limits::INIT_CPU, limits::FIRST_CPU, limits::CACHED_CPU, limits::FULL_CPU].map(|budget| budget.limit);
    assert_eq!(limits.map(|limit| format!("{limit}")), ["1.3", "2.778", "1.263", "10.526"]);
    assert_eq!([limits::BYTES, limits::ZIP].map(|budget| budget.limit_text()), ["≤ 6 MB", "≤ 3 MB"]);
}

#[test]
fn what_is_not_measured_is_not_missed() {
    let verdicts = judged(|figures| {
        figures.programs.retain(|program| program.name != "auth");
        figures.programs.iter_mut().for_each(|program| (program.cold, program.peak_rss) = (None, None));
        figures.endpoints.retain(|endpoint| endpoint.name != "user");
        figures.scale.clear();
    });
    assert_eq!(of(&verdicts, &limits::BYTES, "auth").outcome(), "not measured");
    assert!(FUNCTIONS.iter().all(|name| of(&verdicts, &limits::INIT_CPU, name).value.is_none()));
    assert_eq!(of(&verdicts, &limits::FLAT_CALLS, "cart/get").outcome(), "not measured");
    let missed = |verdicts: &[Verdict]| -> Vec<String> {
        verdicts.iter().filter(|one| one.is_missed()).map(|one| format!("{} of {}", one.budget.what, one.of)).collect()
    };
    let (before, after) = (missed(&judged(|_| ())), missed(&verdicts));
    assert!(after.iter().all(|one| before.contains(one)), "{after:?} and not only {before:?}");
}

#[test]
fn a_round_trip_too_many_is_missed() {
    let verdicts = judged(|figures| {
        let mut rows = figures.endpoints.iter_mut();
        rows.find(|row| row.name == "settings/get").unwrap().cost.round_trips = 1;
    });
    assert!(of(&verdicts, &limits::ROUND_TRIPS, "settings/get").is_missed() && !held(&verdicts));
    let names = ["cart/get", "cart/get, with a code applied", "payments/checkStatus, first of a window", "orders/get"];
    assert_eq!(names.map(limits::round_trips), [Some(2), Some(2), Some(2), None]);
}

#[test]
fn calls_and_units_must_not_grow_with_the_store_or_with_orders() {
    let verdicts = judged(|figures| {
        for point in figures.scale.iter_mut().filter(|point| point.endpoint == "cart/get") {
            point.cost.read_units += if point.items == 100_000 { 0.5 } else { 0.0 };
            point.cost.calls += u32::from(point.orders > 0);
        }
    });
    let missed = |budget, row| of(&verdicts, &budget, row).is_missed();
    assert!(missed(limits::FLAT_UNITS, "cart/get, 10 lines, 0 orders"));
    assert!(!missed(limits::FLAT_CALLS, "cart/get, 10 lines, 0 orders"));
    assert!(missed(limits::FLAT_CALLS_ORDERS, "cart/get, 10 lines, 1,000 items"));
    assert!(!missed(limits::FLAT_UNITS_ORDERS, "cart/get, 10 lines, 10 items"));
}

#[test]
fn a_longer_response_may_take_longer() {
    let cpu = |answer_bytes: u64| {
        let verdicts = judged(|figures| {
            for point in figures.scale.iter_mut().filter(|point| point.endpoint == "payments/checkStatus") {
                let larger = point.items > 10;
                point.cpu = if larger { 2_000 } else { 1_000 };
                point.answer_bytes = if larger { answer_bytes } else { 260 };
            }
        });
        of(&verdicts, &limits::FLAT_CPU, "payments/checkStatus, 0 orders").is_missed()
    };
    assert!(cpu(260) && !cpu(2_600));
}

#[test]
fn a_busy_machine_judges_what_does_not_need_the_clock() {
    let stable = judge(&document::committed().unwrap().unwrap(), true);
    assert!(stable.iter().all(|verdict| verdict.budget.stable && verdict.value.is_some()));
    let limit = of(&stable, &limits::INIT_CPU, "cart").budget.limit;
    assert!((limit - 1.95).abs() < 1e-9, "{limit}");
    assert!((of(&stable, &limits::BYTES, "cart").budget.limit - 6_000_000.0).abs() < 1e-9);
}

#[test]
fn only_what_is_missed_in_every_run_is_missed() {
    let run = |values: [f64; 2]| {
        Vec::from(["one", "other"])
            .into_iter()
            .zip(values)
            .map(|(of, value)| LIMIT.judge(of, Some(value)))
            .collect::<Vec<_>>()
    };
    let first = better(run([11.0, 9.0]), run([9.5, 20.0]));
    assert_eq!(first.iter().map(|verdict| verdict.value.unwrap()).collect::<Vec<_>>(), [9.5, 9.0]);
    assert!(held(&first) && !held(&better(run([11.0, 9.0]), run([12.0, 9.0]))));
}

#[test]
fn a_summary_ends_with_what_was_missed() {
    let summary =
        summary(&[LIMIT.judge("large", Some(11.0)), LIMIT.judge("small", Some(1.0)), LIMIT.judge("none", None)]);
    let lines: Vec<&str> = summary.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["size", "small", "1", "≤", "10", "held"]);
    assert!(lines[1].contains("none") && lines[2].starts_with("✗ size  large") && lines[2].ends_with("MISSED"));
    assert_eq!(lines[3], "1 budgets held, 1 missed, 1 not measured");
}

//! What a visit is, and its lines for the functions and for Node.

use super::{Line, MEMORY, duration, parts, start};
use crate::figures::{Endpoint, Figures, Spread};
use crate::lookup::{CHECK_STATUS, FUNCTIONS, NODE, endpoint_of};
use crate::text::real;

/// Requests of one kind within a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The part of the visit.
    pub part: &'static str,
    /// What is asked, as a warm row is named.
    pub endpoint: &'static str,
    /// How often.
    pub times: u32,
}

/// One visit: a buyer opens the store, a category and the cart, enters a coupon, pays, and waits for the order.
pub const VISIT: [Step; 8] = [
    Step { part: "home", endpoint: "settings/get", times: 1 },
    Step { part: "home", endpoint: "categories/get", times: 1 },
    Step { part: "home", endpoint: "items/getFeaturedDeals", times: 1 },
    Step { part: "category", endpoint: "categories/get/{url}", times: 1 },
    Step { part: "cart", endpoint: "cart/get", times: 1 },
    Step { part: "coupon", endpoint: "cart/acceptCoupon", times: 1 },
    Step { part: "status", endpoint: "payments/checkStatus, first of a window", times: 1 },
    Step { part: "status", endpoint: CHECK_STATUS, times: 4 },
];

/// Requests of a visit.
pub fn requests() -> u32 {
    VISIT.iter().map(|step| step.times).sum()
}

/// Five polls within a window: all that both the functions and Node are measured at.
pub const POLLS: [Step; 1] = [Step { part: "status", endpoint: CHECK_STATUS, times: 5 }];

/// A visit of the functions; `None` where an endpoint was not measured.
pub fn ours<'a>(figures: &Figures, steps: impl IntoIterator<Item = &'a Step>) -> Option<Vec<Line>> {
    steps.into_iter().map(|step| line(figures, &FUNCTIONS, step)).collect()
}

/// The polls of a visit answered by Node, all of it measured; `None` where Node was not.
pub fn node_polls(figures: &Figures) -> Option<Vec<Line>> {
    POLLS.iter().map(|step| line(figures, &[NODE], step)).collect()
}

/// A whole visit answered by Node. Only its checkStatus is measured; for the rest it is assumed to ask the database
/// what the functions ask, to wait as long as they do, and to need as many times their processor time as it needs for
/// checkStatus. `None` where either was not measured.
pub fn node_visit(figures: &Figures) -> Option<Vec<Line>> {
    let ours = figures.of_functions(CHECK_STATUS)?;
    let node = figures.endpoint(NODE, CHECK_STATUS)?;
    let program = figures.program(NODE)?;
    let times_the_cpu = real(node.cpu) / real(ours.cpu.max(1));
    let lines = VISIT.iter().map(|step| {
        if figures.endpoint(NODE, step.endpoint).is_some() {
            return line(figures, &[NODE], step);
        }
        let warm = row(figures, &FUNCTIONS, step.endpoint)?;
        let (waiting, computing) = parts(&warm, MEMORY);
        Some(Line {
            endpoint: warm.name,
            times: step.times,
            duration: waiting + computing * times_the_cpu,
            cost: warm.cost,
            start: start(program, node)?,
        })
    });
    lines.collect()
}

fn line(figures: &Figures, programs: &[&str], step: &Step) -> Option<Line> {
    let warm = row(figures, programs, step.endpoint)?;
    let program = figures.program(&warm.program)?;
    Some(Line {
        times: step.times,
        duration: duration(&warm, MEMORY),
        cost: warm.cost,
        start: start(program, &warm)?,
        endpoint: warm.name,
    })
}

/// The row of that name, else that of the endpoint's ordinary outcome, else that of any. A row that was counted and not
/// timed takes as long as the ordinary one, and as much longer as its further round trips wait.
fn row(figures: &Figures, programs: &[&str], name: &str) -> Option<Endpoint> {
    let endpoint = endpoint_of(name);
    let rows = || figures.endpoints.iter().filter(|row| programs.contains(&row.program.as_str()));
    let timed = |wanted: &str| rows().find(|row| row.name == wanted && row.is_timed());
    let any = || rows().find(|row| endpoint_of(&row.name) == endpoint && row.is_timed());
    let timed = timed(name).or_else(|| timed(endpoint)).or_else(any)?;
    match rows().find(|row| row.name == name) {
        Some(counted) if !counted.is_timed() => Some(as_long_as(timed, counted)),
        _ => Some(timed.clone()),
    }
}

fn as_long_as(timed: &Endpoint, counted: &Endpoint) -> Endpoint {
    let waiting = timed.wall_delayed.median.saturating_sub(timed.wall.median);
    let trip = waiting / u64::from(timed.cost.round_trips.max(1));
    let more = u64::from(counted.cost.round_trips.saturating_sub(timed.cost.round_trips)) * trip;
    let wall_delayed = Spread { median: timed.wall_delayed.median + more, ..timed.wall_delayed };
    Endpoint { name: counted.name.clone(), cost: counted.cost, wall_delayed, ..timed.clone() }
}

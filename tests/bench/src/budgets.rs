//! What a run is held against. It judges figures and knows neither how they were measured nor how they are shown.

mod judge;
pub mod limits;
#[cfg(test)]
mod tests;

pub use judge::judge;

use crate::text;
use std::fmt::Write as _;

/// One line of the table of budgets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// What is limited.
    pub what: &'static str,
    /// The limit, in the unit's base: nanoseconds, bytes, times, or pieces.
    pub limit: f64,
    /// The limit that one would like to reach.
    pub stretch: Option<f64>,
    /// On which side of the limit a figure has to be.
    pub bound: Bound,
    /// What the figure counts.
    pub unit: Unit,
    /// On which machines the figure says something.
    pub footing: Footing,
}

/// On which side of its limit a figure has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// At it or below.
    AtMost,
    /// At it or above.
    AtLeast,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// How many times another figure.
    Ratio,
    /// Bytes, shown in millions.
    Megabytes,
    /// Bytes, shown in units of 1,048,576.
    Mebibytes,
    /// Calls, round trips, request units.
    Count,
}

/// On which machines a figure says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footing {
    /// On any: counts, sizes, and processor time over another's of the same run.
    Stable,
    /// On a quiet one: the clock, absolute times, and peers whose figures may be another day's.
    Quiet,
}

/// What came of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Within the limit that one would like to reach.
    Stretch,
    /// Within the limit.
    Held,
    /// Beyond the limit.
    Missed,
    /// There is no figure.
    NotMeasured,
}

/// What came of a budget for one program or endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The budget, with the limit for this program or endpoint.
    pub budget: Budget,
    /// The program or endpoint.
    pub of: String,
    /// The figure, in the unit's base.
    pub value: Option<f64>,
    /// The same of the quickest runs, where the figure is of the middle ones: what other machines on the same host take
    /// away is least there.
    pub quickest: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Budget {
    const fn at_most(what: &'static str, limit: f64, stretch: f64, unit: Unit, footing: Footing) -> Self {
        Self { what, limit, stretch: Some(stretch), bound: Bound::AtMost, unit, footing }
    }

    const fn at_least(what: &'static str, limit: f64, stretch: f64, unit: Unit, footing: Footing) -> Self {
        Self { what, limit, stretch: Some(stretch), bound: Bound::AtLeast, unit, footing }
    }

    const fn plain(what: &'static str, limit: f64, unit: Unit, footing: Footing) -> Self {
        Self { what, limit, stretch: None, bound: Bound::AtMost, unit, footing }
    }

    /// What came of it for a program or an endpoint.
    pub fn judge(self, of: impl Into<String>, value: Option<f64>) -> Verdict {
        let outcome = match value {
            None => Outcome::NotMeasured,
            Some(value) if self.stretch.is_some_and(|stretch| self.bound.holds(value, stretch)) => Outcome::Stretch,
            Some(value) if self.bound.holds(value, self.limit) => Outcome::Held,
            Some(_) => Outcome::Missed,
        };
        Verdict { budget: self, of: of.into(), value, quickest: None, outcome }
    }

    /// The limit as it is shown.
    pub fn limit_text(&self) -> String {
        self.bounded(self.limit)
    }

    /// The limit that one would like to reach, as it is shown.
    pub fn stretch_text(&self) -> String {
        self.stretch.map_or_else(|| text::MISSING.to_owned(), |stretch| self.bounded(stretch))
    }

    fn bounded(&self, limit: f64) -> String {
        let sign = match self.bound {
            Bound::AtMost => "≤",
            Bound::AtLeast => "≥",
        };
        // A limit that was computed may need a digit more than a figure does.
        let shown = if self.unit == Unit::Ratio { format!("{limit:.3}×") } else { self.unit.show(limit) };
        format!("{sign} {}", text::short(&shown))
    }
}

impl Bound {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtMost => value <= limit,
            Self::AtLeast => value >= limit,
        }
    }
}

impl Unit {
    /// A figure with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            // A difference between two times can be below nothing.
            Self::Time if value < 0.0 => format!("−{}", text::time(-value)),
            Self::Time => text::time(value),
            Self::Ratio => text::ratio(value),
            Self::Megabytes => text::megabytes(value),
            Self::Mebibytes => text::mebibytes(value),
            Self::Count => text::amount(value),
        }
    }
}

impl Outcome {
    /// How it is said.
    pub fn text(self) -> &'static str {
        match self {
            Self::Stretch => "stretch reached",
            Self::Held => "held",
            Self::Missed => "MISSED",
            Self::NotMeasured => "not measured",
        }
    }
}

impl Verdict {
    /// The same with the figure of the quickest runs beside it.
    #[must_use]
    pub fn beside(self, quickest: Option<f64>) -> Self {
        Self { quickest, ..self }
    }

    /// The figure with its unit.
    pub fn value_text(&self) -> String {
        self.value.map_or_else(|| text::MISSING.to_owned(), |value| self.budget.unit.show(value))
    }

    /// The figure of the quickest runs with its unit, where there is one.
    pub fn quickest_text(&self) -> Option<String> {
        self.quickest.map(|quickest| self.budget.unit.show(quickest))
    }

    /// How much of the budget is used: above 1 it is missed. `None` where there is no figure.
    pub fn used(&self) -> Option<f64> {
        let (value, limit) = (self.value?, self.budget.limit);
        Some(match self.budget.bound {
            // Nothing was allowed: nothing is all of it, and anything is too much.
            Bound::AtMost if limit <= 0.0 => 1.0 + value,
            Bound::AtMost => value / limit,
            Bound::AtLeast => limit / value,
        })
    }
}

/// Whether nothing is missed. What was not measured is not missed.
pub fn held(verdicts: &[Verdict]) -> bool {
    verdicts.iter().all(|verdict| verdict.outcome != Outcome::Missed)
}

/// How far a ratio of processor times may lie beyond its limit on a busy machine: runs of one day, of builds that do
/// not differ in what was timed, lay more than a quarter apart.
pub const NOISE: f64 = 1.5;

/// Those that say something on any machine, ratios with an allowance for [`NOISE`]: they stop a change that makes
/// something slower, and say nothing of the last few percent.
pub fn stable(verdicts: &[Verdict]) -> Vec<Verdict> {
    let stable = verdicts.iter().filter(|verdict| verdict.budget.footing == Footing::Stable);
    let allowing = |verdict: &Verdict| match verdict.budget.unit {
        Unit::Ratio => {
            let limit = verdict.budget.limit * NOISE;
            Budget { limit, ..verdict.budget }.judge(verdict.of.clone(), verdict.value).beside(verdict.quickest)
        }
        _ => verdict.clone(),
    };
    stable.map(allowing).collect()
}

/// One aligned line for each verdict, the missed ones last, and how many there were of each.
pub fn summary(verdicts: &[Verdict]) -> String {
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    sorted.sort_by_key(|verdict| match verdict.outcome {
        Outcome::Stretch | Outcome::Held => 0,
        Outcome::NotMeasured => 1,
        Outcome::Missed => 2,
    });
    let rows: Vec<[String; 6]> = sorted.into_iter().map(cells).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut lines = String::new();
    for [what, of, value, limit, stretch, outcome] in &rows {
        let mark = if outcome == Outcome::Missed.text() { "✗" } else { " " };
        let [what_width, of_width, value_width, limit_width, stretch_width, _] = widths;
        let _ = writeln!(
            lines,
            "{mark} {what:what_width$}  {of:of_width$}  {value:>value_width$}  {limit:limit_width$}  \
             {stretch:stretch_width$}  {outcome}",
        );
    }
    let number = |wanted: &[Outcome]| verdicts.iter().filter(|verdict| wanted.contains(&verdict.outcome)).count();
    let (within, missed) = (number(&[Outcome::Stretch, Outcome::Held]), number(&[Outcome::Missed]));
    let _ = write!(lines, "{within} budgets held, {missed} missed, {} not measured", number(&[Outcome::NotMeasured]));
    lines
}

fn cells(verdict: &Verdict) -> [String; 6] {
    let stretch = match verdict.budget.stretch {
        Some(_) => format!("({})", verdict.budget.stretch_text()),
        None => String::new(),
    };
    [
        verdict.budget.what.to_owned(),
        verdict.of.clone(),
        verdict.value_text(),
        verdict.budget.limit_text(),
        stretch,
        verdict.outcome.text().to_owned(),
    ]
}

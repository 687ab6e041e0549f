//! What a run is compared with. It judges figures and knows neither how they were measured nor how they are shown.

mod judge;
pub mod limits;
#[cfg(test)]
mod tests;

use crate::figures::Figures;
use crate::text;
use std::fmt::Write as _;

/// A limit on a figure: at most this much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    pub what: &'static str,
    pub limit: f64,
    pub unit: Unit,
    /// Whether a busy machine measures it as well: counts, sizes, and processor time over another's of the same run.
    pub stable: bool,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// How many times another figure.
    Ratio,
    /// Bytes, shown in millions.
    Megabytes,
    /// Bytes, shown in units of 1,048,576.
    Mebibytes,
    /// Calls, round trips, request units.
    Count,
}

/// The result of a budget for one program or endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub budget: Budget,
    /// The program or endpoint.
    pub of: String,
    /// The figure; `None` if it was not measured.
    pub value: Option<f64>,
}

impl Budget {
    pub fn judge(self, of: impl Into<String>, value: Option<f64>) -> Verdict {
        Verdict { budget: self, of: of.into(), value }
    }

    pub fn limit_text(&self) -> String {
        let shown = if self.unit == Unit::Ratio { format!("{:.3}×", self.limit) } else { self.unit.show(self.limit) };
        format!("≤ {}", text::short(&shown))
    }
}

impl Unit {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Ratio => text::ratio(value),
            Self::Megabytes => text::megabytes(value),
            Self::Mebibytes => text::mebibytes(value),
            Self::Count => text::amount(value),
        }
    }
}

impl Verdict {
    pub fn is_missed(&self) -> bool {
        self.value.is_some_and(|value| value > self.budget.limit)
    }

    pub fn value_text(&self) -> String {
        self.value.map_or_else(|| text::MISSING.to_owned(), |value| self.budget.unit.show(value))
    }

    pub fn outcome(&self) -> &'static str {
        match self.value {
            None => "not measured",
            Some(_) if self.is_missed() => "MISSED",
            Some(_) => "held",
        }
    }

    /// How much of the budget is used: more than 1 if it is missed.
    pub fn used(&self) -> f64 {
        match (self.value, self.budget.limit) {
            (None, _) => 0.0,
            (Some(value), limit) if limit > 0.0 => value / limit,
            (Some(value), _) => 1.0 + value,
        }
    }
}

/// How far a ratio of processor times may exceed its limit on a busy machine: runs of one day, of builds that do not
/// differ in what was timed, were more than a quarter apart.
pub const NOISE: f64 = 1.5;

/// The verdicts on a run. If only what is stable is wanted, ratios have an allowance of [`NOISE`]: that finds a change
/// which makes something slower, and says nothing about the last few percent.
pub fn judge(figures: &Figures, only_stable: bool) -> Vec<Verdict> {
    let mut verdicts = judge::judge(figures);
    if only_stable {
        verdicts.retain(|verdict| verdict.budget.stable);
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.budget.unit == Unit::Ratio) {
            verdict.budget.limit *= NOISE;
        }
    }
    verdicts
}

/// The verdicts, with those that were missed replaced by those of a second run. What a busy machine disturbs is missed
/// in one run; what has become slower is missed in all of them.
pub fn better(verdicts: Vec<Verdict>, mut again: Vec<Verdict>) -> Vec<Verdict> {
    let replace = |verdict: Verdict| {
        let same = |other: &Verdict| other.budget.what == verdict.budget.what && other.of == verdict.of;
        match again.iter().position(same) {
            Some(place) if verdict.is_missed() => again.swap_remove(place),
            _ => verdict,
        }
    };
    verdicts.into_iter().map(replace).collect()
}

/// Whether no budget is missed. A budget that was not measured is not missed.
pub fn held(verdicts: &[Verdict]) -> bool {
    !verdicts.iter().any(Verdict::is_missed)
}

/// One aligned line for each verdict, the missed ones last, and how many there are of each.
pub fn summary(verdicts: &[Verdict]) -> String {
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    sorted.sort_by_key(|verdict| (verdict.is_missed(), verdict.value.is_none()));
    let width = |of: &dyn Fn(&Verdict) -> usize| verdicts.iter().map(of).max().unwrap_or_default();
    let what = width(&|verdict| verdict.budget.what.chars().count());
    let of = width(&|verdict| verdict.of.chars().count());
    let mut lines = String::new();
    for verdict in sorted {
        let mark = if verdict.is_missed() { "✗" } else { " " };
        let (value, limit) = (verdict.value_text(), verdict.budget.limit_text());
        _ = writeln!(
            lines,
            "{mark} {:what$}  {:of$}  {value:>9}  {limit:9}  {}",
            verdict.budget.what,
            verdict.of,
            verdict.outcome()
        );
    }
    let missed = verdicts.iter().filter(|verdict| verdict.is_missed()).count();
    let unmeasured = verdicts.iter().filter(|verdict| verdict.value.is_none()).count();
    let held = verdicts.len() - missed - unmeasured;
    _ = write!(lines, "{held} budgets held, {missed} missed, {unmeasured} not measured");
    lines
}

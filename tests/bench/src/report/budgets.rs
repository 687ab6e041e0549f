//! The table of budgets.

use super::page::Page;
use crate::budgets::{Footing, Outcome, Verdict, judge};
use crate::figures::Figures;
use crate::text::MISSING;

/// The table of budgets, and what was missed.
pub fn write(page: &mut Page, figures: &Figures) {
    let verdicts = judge(figures);
    page.heading("Budgets");
    page.say(
        "One line for each budget, with the figure that uses most of it. `CI` marks those that say something on a \
         noisy machine, and are held there: counts, sizes, and processor time over the hello world's of the same run.",
    );
    let rows: Vec<Vec<String>> = grouped(&verdicts).iter().map(|group| row(group)).collect();
    page.table(&["<budget", "figure", "<of", "budget", "stretch", "CI", "<outcome"], &rows);
    page.say(
        "Init is compared without the connection, for Node and Python too: they open theirs in the first invoke, so \
         that this is the same work. That no function contains aws-lc, openssl or native-tls is checked by `.ci/run`.",
    );
    let missed: Vec<String> = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Missed).map(line).collect();
    if !missed.is_empty() {
        page.say(
            "Missed. A figure is of the middle ones of its runs; that of the quickest, which had least to share with \
             other machines on the host, stands beside it where it is a budget of time:",
        );
        page.list(&missed);
    }
}

fn line(verdict: &Verdict) -> String {
    let (value, budget) = (verdict.value_text(), verdict.budget);
    let quickest = verdict.quickest_text().map(|quickest| format!("; {quickest} of the quickest"));
    let quickest = quickest.unwrap_or_default();
    format!("{}, {}: {value}, budget {}{quickest}", budget.what, verdict.of, budget.limit_text())
}

/// The verdicts of each budget, in the order in which they were judged.
fn grouped(verdicts: &[Verdict]) -> Vec<Vec<&Verdict>> {
    let mut groups: Vec<Vec<&Verdict>> = Vec::new();
    for verdict in verdicts {
        let of_the_same = |group: &&mut Vec<&Verdict>| group[0].budget.what == verdict.budget.what;
        match groups.iter_mut().find(of_the_same) {
            Some(group) => group.push(verdict),
            None => groups.push(vec![verdict]),
        }
    }
    groups
}

fn row(group: &[&Verdict]) -> Vec<String> {
    let used = |verdict: &&Verdict| verdict.used().unwrap_or(f64::MIN);
    let Some(worst) = group.iter().rev().copied().max_by(|one, other| used(one).total_cmp(&used(other))) else {
        return Vec::new();
    };
    let limit = if group.iter().all(|verdict| verdict.budget.limit.total_cmp(&worst.budget.limit).is_eq()) {
        worst.budget.limit_text()
    } else {
        format!("{} (varies)", worst.budget.limit_text())
    };
    vec![
        worst.budget.what.to_owned(),
        worst.value_text(),
        if worst.value.is_some() { worst.of.clone() } else { MISSING.to_owned() },
        limit,
        worst.budget.stretch_text(),
        if worst.budget.footing == Footing::Stable { "✓" } else { "" }.to_owned(),
        outcome(group),
    ]
}

fn outcome(group: &[&Verdict]) -> String {
    let number = |wanted: Outcome| group.iter().filter(|verdict| verdict.outcome == wanted).count();
    let said = match group.len() {
        all if number(Outcome::NotMeasured) == all => return Outcome::NotMeasured.text().to_owned(),
        _ if number(Outcome::Missed) > 0 => format!("**missed** by {} of {}", number(Outcome::Missed), group.len()),
        all if number(Outcome::Stretch) == all => "stretch reached".to_owned(),
        _ => "held".to_owned(),
    };
    match number(Outcome::NotMeasured) {
        0 => said,
        unmeasured => format!("{said}, {unmeasured} not measured"),
    }
}

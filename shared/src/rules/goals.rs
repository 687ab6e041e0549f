//! Goals: which orders count towards one, and when it is reached (rules.md, "Goals").

use crate::model::{Goal, GoalPart, Money, Order, OrderLine};
use std::collections::BTreeMap;

/// What orders count towards a goal, as the order stores it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// The goals that the whole order counts towards.
    pub whole: Vec<String>,
    /// Those that some of its lines count towards.
    pub parts: BTreeMap<String, GoalPart>,
}

/// The goals that an order counts towards, less what was refunded of it.
pub fn counted(goals: &[Goal], order: &Order) -> Counted {
    let mut counted = Counted::default();
    for goal in goals.iter().filter(|goal| goal.until.is_none_or(|until| order.created_at < until)) {
        let Some(items) = &goal.items else {
            counted.whole.push(goal.id.to_string());
            continue;
        };
        let is_of =
            |line: &OrderLine| items.contains(&line.item) || line.bundle.is_some_and(|of| items.contains(&of.item));
        let lines: Vec<u16> = (0..).zip(&order.lines).filter(|(_, line)| is_of(line)).map(|(place, _)| place).collect();
        if !lines.is_empty() {
            let part = GoalPart { lines, amount: Money::ZERO };
            counted.parts.insert(goal.id.to_string(), part_of(&part, order));
        }
    }
    counted
}

/// What the same lines count, less what was refunded of the order by now.
pub fn part_of(part: &GoalPart, order: &Order) -> GoalPart {
    let lines = part.lines.iter().filter_map(|line| order.lines.get(usize::from(*line)));
    GoalPart { amount: lines.map(|line| line.total).sum(), ..part.clone() }
}

/// Counts the parts of an order as they are `after` and no longer as they were `before`. A sum is never negative.
pub fn apply_parts(
    sums: &mut BTreeMap<String, Money>,
    before: &BTreeMap<String, GoalPart>,
    after: &BTreeMap<String, GoalPart>,
) {
    for (goal, part) in before {
        let sum = sums.entry(goal.clone()).or_default();
        *sum = sum.less(part.amount);
    }
    for (goal, part) in after {
        let sum = sums.entry(goal.clone()).or_default();
        *sum = *sum + part.amount;
    }
}

/// The sums of goals that orders add up to.
pub fn sums<'a>(goals: &[Goal], orders: impl Iterator<Item = &'a Order>) -> BTreeMap<String, Money> {
    let mut sums: BTreeMap<String, Money> = goals.iter().map(|goal| (goal.id.to_string(), Money::ZERO)).collect();
    for order in orders {
        let Counted { whole, parts } = counted(goals, order);
        for goal in whole {
            let sum = sums.entry(goal).or_default();
            *sum = *sum + order.total();
        }
        apply_parts(&mut sums, &BTreeMap::new(), &parts);
    }
    sums
}

/// The largest sum at which a goal is reached that `sum` is not below; zero if it is not reached.
pub fn reached(goal: &Goal, sum: Money) -> Money {
    let step = goal.goal_amount.minor();
    let times = sum.minor().checked_div(step).filter(|_| step > 0).unwrap_or_default();
    Money::from_minor(step.saturating_mul(if goal.repeat { times } else { times.min(1) }))
}

/// The sum up to which a goal counts as reported, after an order that is not reported has raised its sum. `told` is the one of before; what was
/// due before stays due.
pub fn told_after(goal: &Goal, (before, after): (Money, Money), told: Money) -> Money {
    let due = |sum| told.max(reached(goal, sum));
    told + (due(after) - due(before))
}

/// The next sum at which a goal is reached, and how often it is reached then, if `told` of it was reported (zero if never) and
/// `sum` is not below it.
pub fn next(goal: &Goal, sum: Money, told: Money) -> Option<(Money, u64)> {
    let step = goal.goal_amount.minor();
    let times = told.minor().checked_div(step).filter(|_| step > 0)?.saturating_add(1);
    let next = Money::from_minor(step.saturating_mul(times));
    (next <= reached(goal, sum)).then(|| (next, u64::try_from(times).unwrap_or_default()))
}

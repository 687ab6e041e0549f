//! What counts towards goals, and what runs when one is reached.

use super::catalog::Category;
use super::commands;
use super::sales::items_in;
use super::site::Site;
use crate::calendar;
use crate::fault::Report;
use crate::files::{GoalFile, StoreFile};
use shared::model::Money;

/// Completes the goals; the file being looked at is `store.yaml`.
pub(super) fn complete(file: &StoreFile, site: &mut Site, categories: &[Category], report: &mut Report) {
    let mut goals = std::mem::take(&mut site.settings.goals);
    for (written, goal) in file.goals.iter().zip(&mut goals) {
        let path = format!("goals[{}].", *written.id);
        let GoalFile { items, categories: of_categories, .. } = written;
        if !items.is_empty() || !of_categories.is_empty() {
            let counted = items_in((items, of_categories), categories, |line, field, problem| {
                report.fault(line, format!("{path}{field}"), problem);
            });
            goal.items = Some(counted);
        }
        goal.until = calendar::on_sale((None, written.until.as_ref()), &site.time_zone, &path, report).until;
        goal.repeat = written.repeat;
        goal.commands = commands::of_goal(written, site, report);
        let acts = goal.repeat || !goal.commands.is_empty();
        if acts && goal.goal_amount == Money::ZERO {
            let problem = "must be more than 0 for a goal that repeats or has commands";
            report.fault(written.amount.line(), format!("{path}amount"), problem);
        }
    }
    site.settings.goals = goals;
}

//! Goals: what counts towards them, and what runs when one is reached.

use super::catalog::Category;
use super::sales::items_in;
use super::site::Site;
use super::text::check_name;
use super::{check_id, commands, money};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{GoalFile, StoreFile};
use shared::model::{Goal, Money};

/// Reads the goals; the file being looked at is `store.yaml`.
pub(super) fn goals(file: &StoreFile, site: &Site, categories: &[Category], report: &mut Report) -> Vec<Goal> {
    let mut ids = Unique::new("goal id");
    let read = |written: &GoalFile| {
        check_id(*written.id, written.id.line, "goals.id", report);
        ids.take(report, *written.id, written.id.line, "goals.id");
        goal(written, site, categories, report)
    };
    file.goals.iter().map(read).collect()
}

fn goal(written: &GoalFile, site: &Site, categories: &[Category], report: &mut Report) -> Goal {
    let path = format!("goals[{}].", *written.id);
    check_name(&written.name, written.id.line, &format!("{path}name"), report);
    let commands = commands::of_goal(written, site, report);
    let faults = report.len();
    let goal_amount = money(&written.amount, site.config.digits, &format!("{path}amount"), report);
    if goal_amount == Money::ZERO && (written.repeat || !commands.is_empty()) {
        let problem = "must be more than 0 for a goal that repeats or has commands";
        report.fault(written.amount.line(), format!("{path}amount"), problem);
    } else if goal_amount == Money::ZERO && report.len() == faults {
        let problem = "is 0: the goal is reached before anything is given";
        report.warn(written.amount.line(), format!("{path}amount"), problem);
    }
    let GoalFile { items, categories: of_categories, .. } = written;
    let counted = (!items.is_empty() || !of_categories.is_empty()).then(|| {
        items_in((items, of_categories), categories, |line, field, problem| {
            report.fault(line, format!("{path}{field}"), problem);
        })
    });
    Goal {
        id: *written.id,
        name: written.name.clone(),
        goal_amount,
        items: counted,
        until: calendar::on_sale((None, written.until.as_ref()), &site.time_zone, &path, report).until,
        repeat: written.repeat,
        commands,
    }
}

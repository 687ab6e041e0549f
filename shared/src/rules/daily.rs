//! The day before in a few sentences, and whether everything agrees (rules.md, "What was earned").

use crate::model::{DayLine, Money};
use crate::money::CurrencyFormat;
use crate::rules::delivery_times::{DeliveryTimes, shown};
use crate::rules::report::Report;

/// What the commands for game servers did in a day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandsOfDay {
    /// Those that ran by themselves.
    pub own: DeliveryTimes,
    /// Those that ran after they had waited for their player, or for their delay.
    pub waited: DeliveryTimes,
    /// Those that are due now and were not run.
    pub waiting: usize,
    /// Those that were refused or may have run, about which the owner decides.
    pub undecided: usize,
}

/// Whether the provider's list of a day is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// There is none.
    None,
    Known,
    /// Its list does not reach to the end of the day.
    Late,
}

/// The sentences about a day such as `2027-05-01`, of which `report` is.
pub fn lines(
    day: &str,
    report: &Report,
    format: CurrencyFormat,
    provider: Provider,
    commands: Option<CommandsOfDay>,
) -> Vec<DayLine> {
    let right = |text: String| DayLine { text, look: None };
    let wrong = |text: String, look: String| DayLine { text, look: Some(look) };
    let look = || format!("storectl report --from {day} --to {day}");
    let (orders, received) = (report.total.orders, format.money(report.total.received));
    let mut lines = vec![right(format!("Yesterday {}, {received} {}.", counted(orders, "order"), report.currency))];
    let back = report.total.refunds + report.total.disputes;
    if back > Money::ZERO {
        lines.push(right(format!("{} {} went back.", format.money(back), report.currency)));
    }
    match (provider, report.differences_count) {
        (Provider::None, _) => {}
        (Provider::Late, _) => {
            lines.push(wrong("What the provider says is not known yet.".to_owned(), "storectl doctor".to_owned()));
        }
        (Provider::Known, 0) => lines.push(right("The provider says the same.".to_owned())),
        (Provider::Known, differences) => {
            lines.push(wrong(format!("The provider says otherwise about {}.", counted(differences, "order")), look()));
        }
    }
    let strays: u64 = report.balance.values().map(|balance| balance.without_order_count).sum();
    if strays > 0 {
        let entries = if strays == 1 {
            "1 entry of the provider has".to_owned()
        } else {
            format!("{strays} entries of the provider have")
        };
        lines.push(right(format!("{entries} no order here.")));
    }
    lines.extend(commands.map(|commands| of_commands(&commands)));
    lines
}

fn of_commands(commands: &CommandsOfDay) -> DayLine {
    let CommandsOfDay { own, waited, waiting, undecided } = commands;
    // How long a player was away says nothing of the server.
    let slowest = own.slowest().map(|took| format!(", slowest {}", shown(took))).unwrap_or_default();
    let ran = own.commands().saturating_add(waited.commands());
    let waits = |count: usize| format!("{count} {}", if count == 1 { "waits" } else { "wait" });
    let mut parts = vec![format!("{} ran{slowest}", counted(ran, "command")), waits(*waiting)];
    if *undecided > 0 {
        parts.push(format!("{} for you", waits(*undecided)));
    }
    let is_right = *waiting == 0 && *undecided == 0;
    DayLine { text: format!("{}.", parts.join("; ")), look: (!is_right).then(|| "storectl server list".to_owned()) }
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BalanceChange, Window};
    use crate::rules::report::{By, Names, Sums};

    #[test]
    fn a_day_is_said_in_sentences_and_what_is_not_right_names_the_command() {
        let mut report = Report::new(By::Day, 0..86_400, Window::default(), "EUR".to_owned(), Names::default());
        report.total = Sums { orders: 41, received: Money::from_minor(51_240), ..Sums::default() };
        let said = |report: &Report, provider, commands| {
            let lines = lines("2027-05-01", report, CurrencyFormat::new(2), provider, commands);
            let texts = lines
                .into_iter()
                .map(|line| line.text + &line.look.map(|look| format!(" [{look}]")).unwrap_or_default());
            texts.collect::<Vec<_>>().join(" ")
        };
        let mut ran = CommandsOfDay::default();
        ran.own.add(2_100, 90);
        ran.own.add(13_700, 1);
        ran.waited.add(7_000_000, 6);
        assert_eq!(
            said(&report, Provider::Known, Some(ran)),
            "Yesterday 41 orders, 512.40 EUR. The provider says the same. 97 commands ran, slowest 14 s; 0 wait."
        );
        assert_eq!(said(&report, Provider::None, None), "Yesterday 41 orders, 512.40 EUR.");
        report.total.orders = 1;
        report.differences_count = 2;
        let stuck = CommandsOfDay { waiting: 1, undecided: 3, ..CommandsOfDay::default() };
        assert_eq!(
            said(&report, Provider::Known, Some(stuck)),
            "Yesterday 1 order, 512.40 EUR. The provider says otherwise about 2 orders. [storectl report --from 2027-05-01 \
             --to 2027-05-01] 0 commands ran; 1 waits; 3 wait for you. [storectl server list]"
        );
        report.total.refunds = Money::from_minor(150);
        report.total.disputes = Money::from_minor(50);
        assert_eq!(said(&report, Provider::None, None), "Yesterday 1 order, 512.40 EUR. 2.00 EUR went back.");
        let none = Report::new(By::Day, 0..86_400, Window::default(), "JPY".to_owned(), Names::default());
        let yen = lines("2027-05-01", &none, CurrencyFormat::new(0), Provider::None, None);
        assert_eq!(yen[0].text, "Yesterday 0 orders, 0 JPY.");
        report.total.refunds = Money::ZERO - report.total.disputes;
        let fee = BalanceChange { category: "fee".to_owned(), ..BalanceChange::default() };
        report.listed(&fee, false);
        assert_eq!(
            said(&report, Provider::Late, None),
            "Yesterday 1 order, 512.40 EUR. What the provider says is not known yet. [storectl doctor] 1 entry of the \
             provider has no order here."
        );
    }
}

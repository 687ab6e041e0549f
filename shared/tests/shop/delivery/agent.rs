//! An agent for the tests: it writes down what it does before it does it, and says what the game server answered. What the
//! store owes to it is tested below; what it owes itself, in its own crate.

use super::game_server::{Run, Trouble};
use super::shop::{BUYER, Shop, bought, on, online};
use futures_util::future::join_all;
use shared::model::{AgentId, Command, CommandEvent, CommandId, CommandState, InternalId, OrderStatus};
use shared::shop::delivery::{
    OwnerOutcome, PollError, Report, ReportedOutcome, ServerKey, delivered, executed, poll, retry, validated,
};
use shared::telemetry::noted_servers;
use std::collections::{BTreeMap, BTreeSet};

/// For how many seconds a yes counts.
const FRESH: i64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waits,
    Begun,
    Over,
}

#[derive(Debug)]
struct Entry {
    command: Command,
    fate: Fate,
    /// When the store last said that it may run; `None` before a start, or if it is kept.
    allowed_at: Option<i64>,
    is_kept: bool,
}

pub struct Agent {
    pub key: ServerKey,
    id: AgentId,
    journal: BTreeMap<CommandId, Entry>,
    reports: Vec<Report>,
    is_online: bool,
    pub ran: Vec<Run>,
    told: BTreeSet<CommandId>,
    pub served_again: Vec<CommandId>,
    pub has_lost_journal: bool,
}

pub fn agent_id(number: u64) -> AgentId {
    AgentId::try_from(format!("{number:016x}")).unwrap()
}

impl Agent {
    pub fn new(key: ServerKey) -> Self {
        Self {
            key,
            id: agent_id(0),
            journal: BTreeMap::new(),
            reports: Vec::new(),
            is_online: false,
            ran: Vec::new(),
            told: BTreeSet::new(),
            served_again: Vec::new(),
            has_lost_journal: false,
        }
    }

    /// A round of its loop. `is_slow` is a game server that goes away after the poll, `crashes` one that goes away while it
    /// runs the first command, which has run if it `asks_first`.
    pub async fn round(&mut self, shop: &Shop, trouble: Trouble) {
        let ids: Vec<CommandId> = self.reports.iter().map(|report| report.id).collect();
        if !ids.is_empty() && executed(shop.db(), shop.clock(), &self.key, &self.reports).await.is_ok() {
            self.told.extend(ids);
            self.reports.clear();
        }
        let rows = poll(shop.db(), shop.clock(), &self.key, Some(&self.id)).await.unwrap_or_default();
        self.served_again.extend(rows.iter().map(|row| row.id).filter(|id| self.told.contains(id)));
        if trouble.lost {
            return;
        }
        let now = shop.clock().seconds();
        for command in rows {
            let is_kept = command.delivery.online && !self.is_online;
            let entry = Entry { command, fate: Fate::Waits, allowed_at: None, is_kept };
            self.journal.entry(entry.command.id).or_insert(entry).allowed_at = Some(now).filter(|_| !is_kept);
        }
        self.keep(shop).await;
        if !trouble.is_slow {
            self.work(shop, trouble).await;
        }
    }

    fn waiting(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<CommandId> {
        let waiting = self.journal.values().filter(|entry| entry.fate == Fate::Waits && is_wanted(entry));
        waiting.map(|entry| entry.command.id).collect()
    }

    async fn keep(&mut self, shop: &Shop) {
        let kept = self.waiting(|entry| entry.is_kept && !self.told.contains(&entry.command.id));
        if !kept.is_empty() && delivered(shop.db(), shop.clock(), &self.key, &kept).await.is_ok() {
            self.told.extend(kept);
        }
    }

    async fn work(&mut self, shop: &Shop, trouble: Trouble) {
        let now = shop.clock().seconds();
        let can_run = |entry: &Entry| self.is_online || !entry.command.delivery.online;
        let is_allowed = |entry: &Entry| entry.allowed_at.is_some_and(|allowed| now < allowed + FRESH);
        let asked = self.waiting(|entry| can_run(entry) && !is_allowed(entry));
        if !asked.is_empty() {
            let answers = validated(shop.db(), shop.clock(), &self.key, &asked).await.unwrap_or_default();
            for (id, may) in answers {
                self.told.insert(id);
                let entry = self.journal.get_mut(&id).unwrap();
                entry.allowed_at = Some(now);
                entry.fate = if may { Fate::Waits } else { Fate::Over };
            }
        }
        let can_run = |entry: &Entry| self.is_online || !entry.command.delivery.online;
        let is_allowed = |entry: &Entry| entry.allowed_at.is_some_and(|allowed| now < allowed + FRESH);
        for id in self.waiting(|entry| can_run(entry) && is_allowed(entry)) {
            let entry = self.journal.get_mut(&id).unwrap();
            entry.fate = Fate::Begun;
            if !trouble.crashes || trouble.asks_first {
                self.ran.push(Run { id, text: entry.command.text.clone() });
            }
            if trouble.crashes {
                return self.start();
            }
            entry.fate = Fate::Over;
            self.reports.push(Report { output: "ok".to_owned(), ..Report::done(id) });
        }
    }

    /// Commands that were begun without an answer are reported, the others are asked about.
    fn start(&mut self) {
        for entry in self.journal.values_mut() {
            entry.allowed_at = None;
            if entry.fate == Fate::Begun {
                entry.fate = Fate::Over;
                self.reports.push(Report { outcome: ReportedOutcome::Unknown, ..Report::done(entry.command.id) });
            }
        }
    }

    pub fn restart(&mut self, loses_journal: bool) {
        if loses_journal {
            self.has_lost_journal = true;
            self.id = agent_id(self.id.as_str().parse::<u64>().unwrap() + 1);
            (self.journal, self.reports) = (BTreeMap::new(), Vec::new());
        }
        self.start();
    }

    pub const fn join(&mut self) {
        self.is_online = true;
    }

    pub const fn leave(&mut self) {
        self.is_online = false;
    }
}

async fn open(shop: &Shop) -> Agent {
    Agent::new(shop.game_server(1).await.key)
}

const SLOW: Trouble = Trouble { is_slow: true, ..Trouble::NONE };

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixteen_agents_with_one_key_one_is_served() {
    let shop = Shop::open((0..20).map(|number| bought(&format!("give {number}"))).collect()).await;
    let key = shop.game_server(1).await.key;
    shop.buy("a").await;
    let poll = async |number: u64| poll(shop.db(), shop.clock(), &key, Some(&agent_id(number))).await;
    let polls = join_all((0..16).map(poll)).await;
    let winners: Vec<u64> = (0..16).zip(&polls).filter(|(_, poll)| poll.is_ok()).map(|(number, _)| number).collect();
    let [winner] = winners[..] else { panic!("{winners:?}") };
    assert!(polls.iter().all(|poll| matches!(poll, Ok(_) | Err(PollError::AnotherAgent))), "{polls:?}");
    assert_eq!(polls.iter().flatten().flatten().count(), 20);
    shop.buy("b").await;
    assert_eq!(poll(winner).await.unwrap().len(), 20, "its own lease does not keep it from polling for more");
    shop.wait(60);
    poll(winner).await.unwrap();
    shop.wait(119);
    assert!(matches!(poll(winner + 1).await, Err(PollError::AnotherAgent)));
    shop.wait(1);
    assert_eq!(poll(winner + 1).await.unwrap().len(), 40);
    assert!(matches!(poll(winner).await, Err(PollError::AnotherAgent)));
}

#[tokio::test]
async fn that_an_agent_was_seen_is_written_at_most_once_a_minute() {
    let shop = Shop::open(Vec::new()).await;
    let key = shop.game_server(1).await.key;
    for (seconds, writes) in [(0, 1), (59, 0), (1, 1)] {
        shop.wait(seconds);
        shop.store.calls.clear();
        poll(shop.db(), shop.clock(), &key, Some(&agent_id(1))).await.unwrap();
        assert_eq!(shop.store.calls.writes(), writes, "after {seconds} seconds");
    }
}

#[tokio::test]
async fn a_refund_while_the_game_server_is_away_recalls_what_has_not_begun() {
    let take = on(CommandEvent::Refunded, "take");
    let shop = Shop::open(vec![bought("give"), online(bought("give online")), take]).await;
    let mut agent = open(&shop).await;
    // One order is served, one kept and served, and one waits for a poll.
    let first = shop.buy("a").await;
    agent.round(&shop, SLOW).await;
    assert_eq!(shop.states(&first).await, ["served", "kept"]);
    let second = shop.buy("b").await;
    for order in [&first, &second] {
        shop.refund(order).await;
    }
    shop.wait(61);
    agent.join();
    agent.restart(false);
    agent.round(&shop, Trouble::default()).await;
    shop.sweep_for(8).await;
    agent.round(&shop, Trouble::default()).await;
    assert_eq!((shop.states(&first).await, agent.ran.len()), (vec!["recalled", "recalled"], 0));
    assert_eq!(shop.states(&second).await, ["recalled", "recalled"], "nothing is taken back either");
}

#[tokio::test]
async fn what_an_agent_says_is_kept_as_evidence_and_what_it_does_not_know_is_repeated_by_the_owner_alone() {
    let shop = Shop::open(vec![bought("give"), bought("give more")]).await;
    let mut agent = open(&shop).await;
    let order = shop.buy("a").await;
    agent.round(&shop, Trouble { crashes: true, ..Trouble::NONE }).await;
    for _ in 0..3 {
        agent.round(&shop, Trouble::default()).await;
        shop.sweep_for(6).await;
    }
    assert_eq!(shop.states(&order).await, ["unknown", "executed"]);
    let commands = shop.commands(&order).await;
    let (output, unknown) = (&commands[1].output, &commands[0]);
    assert_eq!((output.as_deref(), unknown.output.as_deref()), (Some("ok"), None));
    let key = agent.key.clone();
    let say = async |outcome, output: &str| {
        let report = Report { id: unknown.id, outcome, output: output.to_owned() };
        executed(shop.db(), shop.clock(), &key, &[report]).await.unwrap();
        shop.commands(&order).await.remove(0)
    };
    assert_eq!(say(ReportedOutcome::Unknown, "cut o").await.output.as_deref(), Some("cut o"));
    assert_eq!(say(ReportedOutcome::Unknown, "other").await.output.as_deref(), Some("cut o"), "the first stays");
    let OwnerOutcome::SentAgain(again) = retry(&shop.store.db, shop.clock(), unknown.id).await.unwrap() else {
        panic!()
    };
    assert_eq!((again.retry_of, again.output, again.delivery.unknown_at), (Some(unknown.id), None, None));
    agent.round(&shop, Trouble::default()).await;
    assert_eq!(agent.ran.len(), 2);
    let told = say(ReportedOutcome::Ran, "given").await;
    assert_eq!((told.delivery.state, told.output.as_deref()), (CommandState::Executed, Some("given")));
    assert_eq!(shop.stored(&order).await.order.status, OrderStatus::Paid);
    assert_eq!(again.player, BUYER.1);
}

#[tokio::test]
async fn what_the_console_refused_is_not_taken_back_is_counted_and_runs_again_if_the_owner_says_so() {
    let take_back = on(CommandEvent::Refunded, "take");
    let shop = Shop::open(vec![bought("give"), take_back]).await;
    let agent = open(&shop).await;
    let refuse = async |order: &InternalId| {
        poll(shop.db(), shop.clock(), &agent.key, Some(&agent_id(0))).await.unwrap();
        let id = shop.commands(order).await.last().unwrap().id;
        let output = "Unknown or incomplete command, see below for errorgive<--[HERE]".to_owned();
        let report = Report { id, outcome: ReportedOutcome::Refused, output };
        executed(shop.db(), shop.clock(), &agent.key, &[report]).await.unwrap();
        id
    };
    let order = shop.buy("a").await;
    let id = refuse(&order).await;
    assert_eq!(shop.states(&order).await, ["refused"]);
    let figures = Box::pin(noted_servers(shop.sweep())).await.1;
    assert_eq!(figures[0].undecided, 1, "the alarm goes off");
    let OwnerOutcome::SentAgain(again) = retry(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    assert_eq!(refuse(&order).await, again.id);
    shop.refund_and_sweep(&order, 8).await;
    assert_eq!(shop.states(&order).await, ["retried", "recalled"], "nothing ran, and nothing is taken back");
    // What the refund finds on its way is refused after it.
    let order = shop.buy("b").await;
    poll(shop.db(), shop.clock(), &agent.key, Some(&agent_id(0))).await.unwrap();
    shop.refund(&order).await;
    refuse(&order).await;
    shop.sweep_for(8).await;
    assert_eq!(shop.states(&order).await, ["recalled"]);
}

#[tokio::test]
async fn what_was_begun_in_vain_is_kept_again_and_a_refund_recalls_it() {
    let shop = Shop::open(vec![online(bought("give"))]).await;
    let agent = open(&shop).await;
    let order = shop.buy("a").await;
    poll(shop.db(), shop.clock(), &agent.key, Some(&agent_id(0))).await.unwrap();
    let id = shop.commands(&order).await[0].id;
    for _ in 0..2 {
        validated(shop.db(), shop.clock(), &agent.key, &[id]).await.unwrap();
        delivered(shop.db(), shop.clock(), &agent.key, &[id]).await.unwrap();
        assert_eq!(shop.states(&order).await, ["kept"]);
    }
    shop.sweep_for(8).await;
    assert_eq!(shop.states(&order).await, ["kept"], "silence is no word about it");
    shop.refund(&order).await;
    assert_eq!(shop.states(&order).await, ["recalled"]);
}

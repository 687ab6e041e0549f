//! Outages, and input that is wrong or too long.

use crate::store::State;
use crate::world::{MovedClock, World};
use crate::{times, until};
use agent::book::Row;
use agent::run::Agent;
use local::game_server::rcon::Switch;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::watch::Sender;

fn ran(world: &World) -> Vec<String> {
    world.game.console().ran().into_iter().map(|ran| ran.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_was_refunded_while_rcon_was_away_runs() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().join("Alex");
    let (mut agent, ending) = world.agent(&clock);
    for id in 1..=3 {
        world.store.sell(id, &format!("give Alex diamond {id}"), Some("Alex"));
    }
    world.game.turn(Switch::Refuse);
    let passed = || clock.seconds_passed() > 300;
    world.work(&clock, &mut agent, &ending, passed).await;
    assert_eq!(world.store.count(State::Ready), 3, "nothing is fetched while RCON is away");
    world.store.refund(1);
    // The game server ends when the second comes; the third was served, and not begun.
    world.game.turn(Switch::Crash);
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Unknown) == 1).await;
    assert_eq!(world.store.count(State::Served), 1);
    world.store.refund(3);
    world.game.turn(Switch::None);
    world.game.console().join("Alex");
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    let states: Vec<State> = world.store.inner().commands.values().map(|command| command.state).collect();
    assert_eq!(states, [State::Recalled, State::Unknown, State::Recalled]);
    assert_eq!(ran(&world), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_plugins_is_asked_for_its_players_in_its_own_words() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().lose_plugins();
    world.game.console().join("Alex");
    world.store.sell(1, "give Alex diamond 1", Some("Alex"));
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(ran(&world), ["give Alex diamond 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_other_commands_run_gets_theirs_later() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().join("Alex");
    world.store.sell(1, "kick Alex", None);
    world.store.sell(2, "give Alex diamond 2", Some("Alex"));
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 1).await;
    assert_eq!(ran(&world), ["kick Alex"]);
    world.game.console().join("Alex");
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(ran(&world), ["kick Alex", "give Alex diamond 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_without_the_store_or_the_game_server_loses_nothing_and_goes_on_within_a_minute() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    let (mut id, mut store, mut rcon) = (0, Vec::new(), Vec::new());
    let hours = times("OUTAGES", 3);
    for hour in 0..hours {
        let seconds = 3_600 + (60 * hour / hours) as u64;
        // Kept commands, and those that end while the store is away, are reported later.
        world.store.sell(id + 1, &format!("give Late diamond {id}"), Some("Late"));
        world.game.console().leave("Late");
        world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 1).await;
        let count = ran(&world).len();
        world.store.inner().away = Some((503, "7"));
        let back = || {
            assert_eq!(ran(&world).len(), count, "what is kept is asked about before it runs");
            world.store.sell(id + 2, &format!("say {id}"), None);
            world.store.inner().away = None;
        };
        store.push(goes_on(&world, &clock, (&mut agent, &ending), clock.seconds_passed() + seconds, &back).await);
        world.store.sell(id + 3, &format!("say again {id}"), None);
        world.game.turn(Switch::Refuse);
        world.game.hang_up();
        let polls = world.store.inner().calls.len();
        let back = || {
            assert!(world.store.inner().calls.len() <= polls + 1, "it polls only while RCON works");
            world.game.turn(Switch::None);
        };
        rcon.push(goes_on(&world, &clock, (&mut agent, &ending), clock.seconds_passed() + seconds, &back).await);
        id += 3;
    }
    world.check(&BTreeSet::new());
    let shown = |mut all: Vec<u64>| {
        all.sort_unstable();
        (all[0], all[all.len() / 2], all[all.len() - 1])
    };
    let (store, rcon) = (shown(store), shown(rcon));
    assert!(store.2 <= 60 && rcon.2 <= 60, "{store:?} {rcon:?}");
    println!(
        "figures: after {hours} hours without the store everything is done after {store:?} s (least, median, most), after as many \
         without RCON after {rcon:?} s"
    );
}

/// Works until all is done after something is back at a time. Returns the seconds that it took since then.
async fn goes_on(
    world: &World,
    clock: &Arc<MovedClock>,
    (agent, ending): (&mut Agent, &Sender<bool>),
    at: u64,
    back: &dyn Fn(),
) -> u64 {
    let is_back = Cell::new(false);
    let is_done = || {
        if !is_back.get() && clock.wakes_at() > at {
            back();
            is_back.set(true);
            return false;
        }
        is_back.get() && world.store.is_settled()
    };
    world.work(clock, agent, ending, is_done).await;
    clock.seconds_passed() - at
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_asks_for_a_pause_gets_it() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.inner().away = Some((429, "600"));
    world.work(&clock, &mut agent, &ending, || clock.seconds_passed() > 0).await;
    assert_eq!(clock.seconds_passed(), 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_goes_back_a_day_changes_nothing() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.sell_each();
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 1).await;
    clock.ahead.store(-24 * 60 * 60, Ordering::SeqCst);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    drop(agent);
    // Held over a restart, and again with another time.
    world.store.sell(20, "say 20", None);
    clock.ahead.store(40 * 24 * 60 * 60, Ordering::SeqCst);
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    world.check(&BTreeSet::new());
    let journal = std::fs::read_to_string(world.killer.journal()).unwrap();
    assert!(!journal.contains("\"begun\":11") && journal.contains("\"begun\":20"), "ids of 30 days ago are removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_a_late_response_is_unknown_one_that_cannot_be_sent_did_not_run_and_evidence_is_cut() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(1, &"x".repeat(1_414), None);
    world.store.sell(2, "say a\nstop", None);
    world.store.sell(3, "help", None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(ran(&world), ["help"]);
    assert_eq!(world.store.count(State::Refused), 2, "{:?}", world.store);
    let output = |id: u32| world.store.inner().commands[&id].output.clone();
    assert!(output(1).contains("it has 1414 bytes") && output(2).contains("one line"), "{} {}", output(1), output(2));
    assert!(output(3).len() > 1_000 && output(3).starts_with("/command1 "));
    for (id, switch) in [(4, Switch::Drop), (5, Switch::Late(2_500))] {
        world.store.sell(id, &format!("say {id}"), None);
        world.game.turn(switch);
        world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
        assert_eq!(world.store.inner().commands[&id].state, State::Unknown);
        world.game.turn(Switch::None);
    }
    world.store.sell(6, "say 6", None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(ran(&world), ["help", "say 4", "say 5", "say 6"], "nothing is repeated by itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_agent_and_a_journal_that_cannot_be_used_end_with_an_error() {
    let world = World::new(0).await;
    let first = Arc::new(MovedClock::default());
    let (mut agent, ending) = world.agent(&first);
    world.work(&first, &mut agent, &ending, || !world.store.inner().calls.is_empty()).await;
    let binary = env!("CARGO_BIN_EXE_agent");
    let run = |journal: &str| {
        let text = std::fs::read_to_string(world.config()).unwrap();
        let config = world.folder.path().join("other.yaml");
        std::fs::write(&config, text.replace("journal: journal", &format!("journal: {journal}"))).unwrap();
        let output = Command::new(binary).args(["run", "--config", config.to_str().unwrap()]).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = tokio::task::block_in_place(|| run("other"));
    assert!(code == 3 && text.contains("another agent runs for this server"), "{code} {text}");
    let (code, text) = run("journal");
    assert!(code == 1 && text.contains("in use by another agent"), "{code} {text}");
    let (code, text) = run("/proc/journal");
    assert!(code == 1 && text.contains("the journal /proc/journal cannot be used"), "{code} {text}");
    assert!(!text.contains("swordfish") && !text.contains(crate::store::KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_runs_nothing_shows_what_is_held_and_gives_back_what_it_was_served() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(7, "give Absent diamond 7", Some("Absent"));
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 1).await;
    let calls = world.store.inner().calls.len();
    world.sell_each();
    let shown: Vec<(u32, bool)> =
        agent.dry_run().await.unwrap().into_iter().map(|(Row { id, .. }, runs)| (id, runs)).collect();
    assert_eq!(shown, [(7, false), (11, true), (12, true), (13, true), (14, true)]);
    assert_eq!(world.store.inner().calls[calls..], ["queue", "paynow"]);
    assert_eq!(world.store.count(State::Ready), 4);
    assert_eq!(ran(&world), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_and_a_rehearsal_leave_the_journal_as_it_is_although_it_has_old_ids() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    // In 1995: the check has the machine's clock.
    clock.ahead.store(-1_000_000_000, Ordering::SeqCst);
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(8, "say 8", None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    drop(agent);
    let seen = || {
        let file = world.killer.journal();
        (std::fs::metadata(&file).unwrap().ino(), std::fs::read_to_string(&file).unwrap())
    };
    let before = seen();
    assert!(before.1.contains("\"begun\":8"), "{}", before.1);
    let check = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
        let output = command.arg("check").arg("--config").arg(world.config()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // A process that another test is starting has the lock for a moment.
    until(|| tokio::task::block_in_place(check).contains("the journal can be written")).await;
    assert_eq!(seen(), before);
    clock.ahead.store(0, Ordering::SeqCst);
    let (mut agent, ending) = world.agent(&clock);
    assert_eq!(agent.dry_run().await.unwrap(), []);
    assert_eq!(seen(), before);
    // An agent that works removes them.
    world.work(&clock, &mut agent, &ending, || !seen().1.contains("\"begun\":8")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_the_key_of_another_server_does_not_start() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(1, "say 1", None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    std::fs::write(world.folder.path().join("key.txt"), "2-abcdefghij").unwrap();
    let run = |command: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_agent"));
        let output = process.arg(command).arg("--config").arg(world.config()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let is_told = |text: &str| text.contains("has the commands of server 1 of http://localhost/");
    let (code, text) = tokio::task::block_in_place(|| run("check"));
    assert!(code == Some(1) && is_told(&text), "while an agent uses it: {text}");
    drop(agent);
    // A process that another test is starting has the lock for a moment.
    until(|| {
        let (code, text) = tokio::task::block_in_place(|| run("run"));
        code == Some(2) && is_told(&text)
    })
    .await;
    assert_eq!(ran(&world), ["say 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_shows_what_happened_to_an_order_and_the_status_what_is_left() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(7, "give Absent diamond 7", Some("Absent"));
    world.store.sell(8, "say 8", None);
    let is_done = || world.store.count(State::Kept) == 1 && world.store.count(State::Done) == 1;
    world.work(&clock, &mut agent, &ending, is_done).await;
    let print = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
        let output = command.args(words).arg("--config").arg(world.config()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let status: Value = serde_json::from_str(&print(&["status", "--json"])).unwrap();
    let counts = ["is_running", "waiting", "for_players", "to_report", "over"].map(|name| status[name].clone());
    assert_eq!(json!(counts), json!([true, 1, 1, 0, 1]), "{status}");
    let log = print(&["log", "--json"]);
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |id: u32| events.iter().filter(move |event| event["id"] == id).map(|event| event["event"].as_str().unwrap());
    assert!(of(7).eq(["served", "kept for the player"]), "{log}");
    assert!(of(8).eq(["served", "begun", "done", "reported to the store"]), "{log}");
    let of_order = print(&["log", "--order", "order8"]);
    assert!(
        of_order.lines().count() == 4 && of_order.contains("\torder order8\tNobody\tserved: say 8\n"),
        "{of_order}"
    );
    assert_eq!(print(&["log", "--order", "another"]), "");
}

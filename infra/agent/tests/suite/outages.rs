//! What is away, full, wrong or too much.

use crate::store::State;
use crate::world::{MovedClock, World};
use agent::book::Row;
use local::game_server::rcon::Switch;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
async fn an_hour_without_the_store_or_the_game_server_loses_nothing_and_goes_on_within_a_minute() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    // An hour later `back` is called once; returns whether that was, and all is settled since.
    let after_an_hour = |from: u64, at: &AtomicU64, back: &dyn Fn()| {
        if at.load(Ordering::SeqCst) == 0 && clock.seconds_passed() >= from + 3_600 {
            back();
            at.store(clock.seconds_passed(), Ordering::SeqCst);
        }
        at.load(Ordering::SeqCst) > 0 && world.store.is_settled()
    };
    // What is kept, and what ends while the store is away, is told later.
    world.store.sell(1, "give Late diamond 1", Some("Late"));
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 1).await;
    world.store.inner().away = Some((503, "7"));
    let (from, at) = (clock.seconds_passed(), AtomicU64::new(0));
    let back = || {
        assert_eq!(ran(&world), [""; 0], "what is kept is asked about before it runs");
        world.store.sell(2, "say 2", None);
        world.store.inner().away = None;
    };
    world.work(&clock, &mut agent, &ending, || after_an_hour(from, &at, &back)).await;
    let store = clock.seconds_passed() - at.load(Ordering::SeqCst);
    world.store.sell(3, "say 3", None);
    world.game.turn(Switch::Refuse);
    world.game.hang_up();
    let (from, at) = (clock.seconds_passed(), AtomicU64::new(0));
    let polls = world.store.inner().calls.len();
    let back = || {
        assert!(world.store.inner().calls.len() <= polls + 1, "it polls only while RCON works");
        world.game.turn(Switch::None);
    };
    world.work(&clock, &mut agent, &ending, || after_an_hour(from, &at, &back)).await;
    let rcon = clock.seconds_passed() - at.load(Ordering::SeqCst);
    world.check(&BTreeSet::new());
    assert!(store <= 67 && rcon <= 65, "{store} {rcon}");
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
    let journal = std::fs::read_to_string(world.journal()).unwrap();
    assert!(!journal.contains("\"begun\":11") && journal.contains("\"begun\":20"), "ids of 30 days ago are removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_game_server_answers_late_or_cannot_be_sent_is_unknown_and_evidence_is_cut() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, ending) = world.agent(&clock);
    world.store.sell(1, &"x".repeat(1_414), None);
    world.store.sell(2, "say a\nstop", None);
    world.store.sell(3, "help", None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(ran(&world), ["help"]);
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
async fn with_a_full_disk_nothing_runs_and_nothing_is_fetched_until_there_is_room() {
    let world = World::new(0).await;
    world.game.console().join("Alex");
    // The write of the rows fails, and the process does not end by it.
    world.store.sell(1, &format!("say {}", "a".repeat(1_000)), None);
    world.spawn(&["sh", "-c", "trap '' XFSZ; exec prlimit --fsize=500:unlimited \"$@\"", "sh"]);
    let polls = || world.store.inner().calls.iter().filter(|call| *call == "queue").count();
    while polls() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Its next round.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!((ran(&world), polls()), (Vec::new(), 1));
    world.store.inner().now += 61;
    let pid = world.killer.pid().to_string();
    assert!(Command::new("prlimit").args(["--fsize=unlimited:unlimited", "--pid", &pid]).status().unwrap().success());
    world.check(&world.settle().await);
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
async fn a_rehearsal_runs_nothing_and_gives_back_what_it_was_served() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let (mut agent, _ending) = world.agent(&clock);
    world.sell_each();
    let shown: Vec<(u32, bool)> =
        agent.rehearse().await.unwrap().into_iter().map(|(Row { id, .. }, runs)| (id, runs)).collect();
    assert_eq!(shown, [(11, true), (12, true), (13, false), (14, true)]);
    assert_eq!(world.store.inner().calls, ["queue", "paynow"]);
    assert_eq!(world.store.count(State::Ready), 4);
    assert_eq!(ran(&world), [""; 0]);
}

//! Kill -9: at every write of the journal, at every moment of every call, and at random. And many commands: processor
//! time and memory of the process.

use crate::store::State;
use crate::world::{Fault, World};
use crate::{times, until};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Runs all of these, many at once: they mostly wait.
async fn all(runs: impl Iterator<Item = impl Future<Output = ()> + Send + 'static>) {
    let mut running = JoinSet::new();
    for run in runs {
        running.spawn(run);
        if running.len() == 32 {
            running.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_of_any_call_each_command_runs_once_or_is_unknown() {
    // In the second, nothing is begun before the store is notified that a command is kept.
    for sell in [World::sell_each, |world: &World| world.store.sell(13, "give Late diamond 1", Some("Late"))] {
        let moments = moments(sell).await;
        let step = if times("KILLS", 0) > 0 { 1 } else { 3 };
        all((1..=moments).step_by(step).map(|moment| async move {
            let world = World::new(moment).await;
            sell(&world);
            world.spawn(&[]);
            let unknown = world.settle().await;
            assert!(unknown.len() <= 1);
            world.check(&unknown);
        }))
        .await;
        println!("figures: killed at {moments} moments of calls");
    }
}

/// The number of moments in a world in which nothing is killed.
async fn moments(sell: fn(&World)) -> i64 {
    let quiet = World::new(i64::MAX).await;
    sell(&quiet);
    quiet.spawn(&[]);
    quiet.check(&quiet.settle().await);
    let moments = i64::MAX - quiet.killer.left();
    assert!(moments > 10, "{moments}");
    moments
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_journal_cannot_be_written_nothing_runs_that_is_not_in_it_and_all_goes_on_when_it_can() {
    let moments = moments(World::sell_each).await;
    let step = if times("KILLS", 0) > 0 { 1 } else { 3 };
    let faults = [Fault::Full, Fault::Moved].into_iter().flat_map(|fault| (1..moments).map(move |at| (at, fault)));
    let count = faults.clone().step_by(step).count();
    all(faults.step_by(step).map(|(moment, fault)| async move {
        let world = World::with(moment, fault).await;
        world.sell_each();
        world.spawn(&["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
        let said = || world.killer.log().matches("trying again after a pause").count();
        let polls = || world.store.inner().calls.iter().filter(|call| *call == "queue").count();
        until(|| said() > 0 || world.store.is_settled()).await;
        let before = polls();
        until(|| said() > 1 || world.store.is_settled()).await;
        assert!(world.store.is_settled() || polls() == before, "it fetches what it cannot write down");
        world.killer.check_written();
        world.killer.mend();
        // What was served and could not be written down is served again.
        world.store.inner().now += 61;
        world.check(&world.settle().await);
    }))
    .await;
    println!("figures: a journal that could not be written from {count} moments on");
}

/// The kernel ends a process at the write that goes beyond the limit on a file's size; if the limit is inside what is written, a
/// part of it is in the file.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_write_of_the_journal_each_command_runs_once_or_is_unknown() {
    let quiet = World::new(0).await;
    quiet.sell_each();
    quiet.spawn(&[]);
    quiet.check(&quiet.settle().await);
    let journal = std::fs::read(quiet.killer.journal()).unwrap();
    let ends = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
    assert!(starts.len() > 12, "{starts:?}");
    let limits: BTreeSet<usize> = starts.windows(2).flat_map(|line| [line[0], line[0].midpoint(line[1])]).collect();
    let step = if times("KILLS", 0) > 0 { 1 } else { 3 };
    let count = limits.len();
    all(limits.into_iter().step_by(step).map(|limit| async move {
        let world = World::new(0).await;
        world.sell_each();
        world.spawn(&["prlimit", &format!("--fsize={limit}"), "--core=0"]);
        let unknown = world.settle().await;
        assert!(unknown.len() <= 1);
        world.check(&unknown);
    }))
    .await;
    println!("figures: killed at {count} places of {} writes", starts.len() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_each_command_runs_once_or_is_unknown() {
    let world = World::new(0).await;
    world.game.console().join("Alex");
    let (kills, mut unknown) = (times("KILLS", 10), BTreeSet::new());
    for round in 0..u32::try_from(kills).unwrap() {
        let id = 100 + 3 * round;
        world.store.sell(id, &format!("say {id}"), None);
        world.store.sell(id + 1, &format!("give Alex diamond {id}"), Some("Alex"));
        world.store.sell(id + 2, &format!("give Late diamond {id}"), Some("Late"));
        if round == 0 {
            world.spawn(&[]);
        } else {
            world.restart(&mut unknown);
        }
        let mut byte = [0];
        getrandom::fill(&mut byte).unwrap();
        tokio::time::sleep(Duration::from_millis(u64::from(byte[0]))).await;
        world.killer.kill();
    }
    unknown.extend(world.settle().await);
    world.check(&unknown);
    println!("figures: killed {kills} times at random: {} commands, {} unknown", 3 * kills, unknown.len());
}

/// Milliseconds of processor time of a process, in steps of ten.
fn processor(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
}

/// KiB of memory of a process.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Waits; returns the processor time and the memory of a process afterwards.
async fn idles(pid: u32, seconds: u64) -> (u64, u64) {
    let before = processor(pid);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    (processor(pid) - before, memory(pid))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_wait_for_many_players_and_all_run_when_they_come() {
    let (commands, world) = (times("MANY", 200), World::new(0).await);
    let (players, seconds) = (commands.div_ceil(5), times("IDLE", 2) as u64);
    world.spawn(&[]);
    let pid = world.killer.pid();
    until(|| !world.store.inner().calls.is_empty()).await;
    let (idle_time, idle) = idles(pid, seconds).await;
    let player = |at: usize| format!("Player{}", at % players);
    for at in 0..commands {
        let player = player(at);
        world.store.sell(u32::try_from(at + 1).unwrap(), &format!("give {player} diamond {at}"), Some(&player));
    }
    until(|| world.store.count(State::Kept) == commands).await;
    let (waiting_time, waiting) = idles(pid, seconds / 10).await;
    let (before, started) = (processor(pid), Instant::now());
    (0..players).for_each(|at| world.game.console().join(&player(at)));
    until(|| world.store.is_settled()).await;
    let (used, took) = (processor(pid) - before, started.elapsed().as_secs());
    world.check(&BTreeSet::new());
    assert!(idle <= 15 * 1024 && waiting <= 40 * 1024, "{idle} KiB idle, {waiting} KiB with {commands} waiting");
    // A thousandth of a core; a short time has too few hundredths of a second.
    assert!(seconds < 60 || idle_time <= seconds, "{idle_time} ms of {seconds} s");
    println!(
        "figures: idle for {seconds} s: {idle} KiB, {idle_time} ms of processor time; {commands} commands for {players} players: \
         {waiting} KiB with all waiting, {waiting_time} ms in {} s, {used} ms for running all in {took} s",
        seconds / 10
    );
}

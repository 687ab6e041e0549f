//! Many commands: processor time and memory of the process.

use crate::store::State;
use crate::world::World;
use crate::{times, until};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

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

//! Many commands: processor time and memory of the process.

use crate::store::State;
use crate::times;
use crate::world::World;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Hundredths of a second of processor time of a process.
fn processor(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// KiB of memory of a process.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn until(is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_mins(15));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_wait_for_many_players_and_all_run_when_they_come() {
    let (commands, world) = (times("MANY", 200), World::new(0).await);
    let players = commands.div_ceil(5);
    world.spawn(&[]);
    let pid = world.killer.pid();
    until(|| !world.store.inner().calls.is_empty()).await;
    let idle = memory(pid);
    let player = |at: usize| format!("Player{}", at % players);
    for at in 0..commands {
        let player = player(at);
        world.store.sell(u32::try_from(at + 1).unwrap(), &format!("give {player} diamond {at}"), Some(&player));
    }
    until(|| world.store.count(State::Kept) == commands).await;
    let (waiting, before) = (memory(pid), processor(pid));
    let pause = Duration::from_secs(times("IDLE", 2) as u64);
    tokio::time::sleep(pause).await;
    let idling = processor(pid) - before;
    let (before, started) = (processor(pid), Instant::now());
    (0..players).for_each(|at| world.game.console().join(&player(at)));
    until(|| world.store.is_settled()).await;
    let (used, took) = (processor(pid) - before, started.elapsed().as_secs());
    world.check(&BTreeSet::new());
    assert!(idle <= 15 * 1024 && waiting <= 40 * 1024, "{idle} KiB idle, {waiting} KiB with {commands} waiting");
    println!(
        "figures: {commands} commands for {players} players: {idle} KiB idle, {waiting} KiB with all waiting, {idling}0 ms of \
         processor time in {} s of waiting, {used}0 ms for running all in {took} s",
        pause.as_secs()
    );
}

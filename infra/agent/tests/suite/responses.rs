//! What a game server responds decides about a command.

use crate::store::State;
use crate::world::{MovedClock, World};
use agent::clock::Clock;
use agent::config::Config;
use agent::run::Agent;
use local::game_server::rcon::RconServer;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[tokio::test(flavor = "multi_thread")]
async fn what_the_console_does_not_know_is_refused_for_each_of_twenty_buyers_and_runs_once() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    for id in 1..=20 {
        world.store.sell(id, &format!("crtae key give Buyer{id} rare 5"), None);
    }
    world.store.sell(21, "say Unknown or incomplete command", None);
    world.store.sell(22, "echo Unknown or incomplete command, see below for error", None);
    world.store.sell(23, "clear Alex diamond", None);
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    let refused = |id: &u32| world.store.inner().commands[id].state == State::Refused;
    assert!((1..=23).filter(refused).eq((1..=20).chain([23])), "{:?}", world.store);
    let output = world.store.inner().commands[&1].output.clone();
    assert!(output.starts_with("Unknown or incomplete command, see below for error"), "{output}");
    assert_eq!(world.store.inner().commands[&23].output, "No player was found", "it does not wait for one");
    assert_eq!(world.game.console().ran().len(), 23);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_in_the_middle_of_a_batch_gets_the_rest_at_the_next_join() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().join("Alex");
    for id in (1..=10).chain(12..=21) {
        world.store.sell(id, &format!("give Alex diamond {id}"), Some("Alex"));
    }
    world.store.sell(11, "kick Alex", Some("Alex"));
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 10).await;
    assert_eq!(world.store.count(State::Done), 11);
    drop(agent);
    // A restart forgets nothing.
    let (mut agent, ending) = world.agent(&clock);
    world.game.console().join("Alex");
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(world.store.count(State::Done), 21);
    let given = |id: u32| {
        let gave = format!("Gave {id} [Diamond] to Alex");
        world.game.console().ran().iter().filter(|ran| ran.response == gave).count()
    };
    assert!((1..=10).chain(12..=21).all(|id| given(id) == 1), "{:?}", world.game.console().ran());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_whom_only_the_list_knows_is_waited_for_five_times() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().join("Alex");
    world.store.sell(1, "give Alexandra diamond", Some("Alex"));
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    let command = world.store.inner().commands[&1].clone();
    assert_eq!((command.state, command.output.as_str()), (State::Refused, "No player was found"));
    assert_eq!(world.game.console().ran().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_teaches_the_agent_the_words_of_a_plugin() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    let file = std::fs::read_to_string(world.config()).unwrap();
    let own = "responses: {refused: ['Crate .+ is unknown'], ran: ['No player was found']}\n";
    std::fs::write(world.config(), file + own).unwrap();
    world.store.sell(1, "clear Alex diamond", None);
    world.store.sell(2, "echo Crate a is unknown", None);
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(world.store.count(State::Done), 2, "{:?}", world.store);
}

/// The clock of a machine that sleeps for an hour when a command has run.
#[derive(Debug)]
struct Sleeps(Arc<RconServer>);

impl Clock for Sleeps {
    fn seconds(&self) -> i64 {
        1_795_500_000
    }

    fn elapsed(&self) -> Duration {
        if self.0.console().ran().is_empty() { Duration::ZERO } else { Duration::from_hours(1) }
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {})
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_allowed_before_the_machine_slept_runs_after_a_refund() {
    let world = World::new(0).await;
    world.store.sell(1, "say 1", None);
    world.store.sell(2, "say 2", None);
    let (_ending, stop) = watch::channel(false);
    let config = Config::read(&world.config(), |_| None).unwrap();
    let mut agent = Agent::new(config, Arc::new(Sleeps(Arc::clone(&world.game))), stop).unwrap();
    agent.round().await.unwrap();
    assert_eq!(world.store.count(State::Served), 1, "the second was served, and is not fresh any more");
    world.store.refund(2);
    agent.round().await.unwrap();
    let states: Vec<State> = world.store.inner().commands.values().map(|command| command.state).collect();
    assert_eq!((states.as_slice(), world.game.console().ran().len()), ([State::Done, State::Recalled].as_slice(), 1));
}

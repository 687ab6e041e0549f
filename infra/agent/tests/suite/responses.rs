//! What a game server responds decides about a command. And game servers that speak RCON unlike Minecraft: each dialect of the stand-in
//! has a store, an agent and players; and the crate `rcon` with the stand-in.

use crate::store::State;
use crate::until;
use crate::world::{MovedClock, World};
use agent::clock::Clock;
use agent::config::Config;
use agent::run::Agent;
use local::game_server::rcon::{Options, RconServer, Switch};
use rcon::{Connection, Protocol, RconError};
use std::pin::Pin;
use std::process::Command;
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
async fn the_list_is_asked_for_again_in_a_long_batch_because_plugins_also_give_to_who_has_left() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.console().join("Alex");
    world.store.sell(1, "kick Alex", Some("Alex"));
    for id in 2..=25 {
        world.store.sell(id, &format!("crate key give Alex ember {id}"), Some("Alex"));
    }
    let (mut agent, ending) = world.agent(&clock);
    world.work(&clock, &mut agent, &ending, || world.store.count(State::Kept) == 15).await;
    assert_eq!(world.game.console().ran().len(), 10);
    world.game.console().join("Alex");
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(world.game.console().ran().len(), 25);
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

const DIALECTS: [Switch; 5] =
    [Switch::ZeroIds, Switch::OnePacket, Switch::Split, Switch::Unmarked, Switch::EndsAtMarker];

fn names(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("Player{number:03}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_any_length_is_read_whole_in_every_dialect_and_the_next_response_is_that_of_the_next_command() {
    for dialect in DIALECTS {
        for protocol in [Protocol::Minecraft, Protocol::Source] {
            let server = RconServer::start(Options::new(0, "right")).await.unwrap();
            server.turn(dialect);
            let address = server.address.to_string();
            let open = async || Connection::open(protocol, &address, "right", Duration::from_secs(5)).await.unwrap();
            let mut console = open().await;
            for count in [11, 64, 64, 400] {
                names(count).for_each(|name| server.console().join(&name));
                let list = server.console().run("list uuids");
                assert!(count < 400 || list.len() > 12 * 1_024);
                assert_eq!(console.run_whole("list uuids").await.unwrap(), list, "{dialect:?}, {count} players");
                if console.is_closed() {
                    assert_eq!(dialect, Switch::EndsAtMarker);
                    console = open().await;
                }
                assert_eq!(console.run("give Nobody diamond").await.unwrap(), "No player was found", "{dialect:?}");
                let help = console.run("help").await.unwrap();
                assert!(help.len() >= 600 && server.console().run("help").starts_with(&help), "{dialect:?}");
                if console.is_closed() {
                    console = open().await;
                }
                assert_eq!(console.run("say hello").await.unwrap(), "", "{dialect:?}");
            }
            let seen = console.dialect();
            assert_eq!(seen.has_zero_ids, dialect == Switch::ZeroIds);
            assert_eq!(seen.ignores_markers, dialect == Switch::Unmarked);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_every_dialect_runs_each_command_once_for_the_last_of_its_players_too() {
    for dialect in DIALECTS {
        for players in [64, 400] {
            let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
            world.game.turn(dialect);
            names(players).for_each(|name| world.game.console().join(&name));
            let last = names(players).last().unwrap();
            world.store.sell(1, "say 1", None);
            for id in 2..=4 {
                world.store.sell(id, &format!("give {last} diamond {id}"), Some(&last));
            }
            let (mut agent, ending) = world.agent(&clock);
            world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
            assert_eq!(world.store.count(State::Done), 4, "{dialect:?}, {players} players");
            let ran: Vec<String> = world.game.console().ran().into_iter().map(|ran| ran.text).collect();
            let given = (2..=4).map(|id| format!("give {last} diamond {id}"));
            assert!(ran.iter().cloned().eq(["say 1".to_owned()].into_iter().chain(given)), "{dialect:?}: {ran:?}");
            let output = world.store.inner().commands[&4].output.clone();
            assert_eq!(output, format!("Gave 4 [Diamond] to {last}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_a_response_stops_only_the_commands_that_need_a_player() {
    let (world, clock) = (World::new(0).await, Arc::new(MovedClock::default()));
    world.game.turn(Switch::NoList);
    world.game.console().join("Alex");
    world.store.sell(1, "say 1", None);
    world.store.sell(2, "give Alex diamond 2", Some("Alex"));
    let (mut agent, ending) = world.agent(&clock);
    let is_waiting = || world.store.count(State::Done) == 1 && world.store.count(State::Kept) == 1;
    world.work(&clock, &mut agent, &ending, is_waiting).await;
    world.game.turn(Switch::None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(world.store.count(State::Done), 2);
    // A server that responds to nothing begins nothing.
    world.game.turn(Switch::Hang);
    world.store.sell(3, "say 3", None);
    world.work(&clock, &mut agent, &ending, || clock.seconds_passed() > 60).await;
    assert_eq!(world.store.count(State::Unknown), 0);
    world.game.turn(Switch::None);
    world.work(&clock, &mut agent, &ending, || world.store.is_settled()).await;
    assert_eq!(world.store.count(State::Done), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_sends_a_harmless_command_and_says_what_it_saw() {
    let world = World::new(0).await;
    let check = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
        let output = command.arg("check").arg("--config").arg(world.config()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    world.game.console().join("Alex");
    for (switch, is_good, said) in [
        (Switch::None, true, "it responds to `list`: There are 1 of a max of 5000 players online: Alex"),
        (Switch::None, true, "1 of them were understood"),
        (Switch::ZeroIds, true, "its responses have the id 0"),
        (Switch::Unmarked, true, "nothing says where a long response ends"),
        (Switch::NoList, false, "commands with `online: true` wait until the list has a response"),
        (Switch::Hang, false, "FAIL the game server did not respond within 2 s"),
    ] {
        world.game.turn(switch);
        let (is_success, text) = tokio::task::block_in_place(check);
        assert!(is_success == is_good && text.contains(said), "{switch:?}: {text}");
    }
    assert_eq!(world.game.console().ran(), [], "nothing ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_a_server_does_not_authenticate_are_warned_about_once_and_wait() {
    let world = World::new(0).await;
    world.game.console().go_offline();
    world.game.console().join("Alex");
    world.store.sell(1, "give Alex diamond 1", Some("Alex"));
    world.spawn(&[]);
    until(|| world.store.count(State::Kept) == 1).await;
    for id in 2..=3 {
        world.store.sell(id, &format!("say {id}"), None);
        until(|| world.store.count(State::Done) == usize::try_from(id - 1).unwrap()).await;
    }
    assert_eq!(world.store.count(State::Kept), 1);
    let log = world.killer.log();
    assert_eq!(log.matches("some names are not authenticated").count(), 1, "{log}");
}

const LIMIT: Duration = Duration::from_millis(500);

async fn open(server: &RconServer, password: &str) -> Result<Connection, RconError> {
    Connection::open(Protocol::Minecraft, &server.address.to_string(), password, LIMIT).await
}

#[tokio::test]
async fn responses_of_any_length_and_in_pieces_are_read_and_faults_are_named() {
    let server = RconServer::start(Options::new(0, "right")).await.unwrap();
    assert!(matches!(open(&server, "wrong").await, Err(RconError::Password)));
    let mut console = open(&server, "right").await.unwrap();
    let long = server.console().run("help");
    assert!(long.len() > 2 * 4_096 && long.contains('ä'));
    for switch in [Switch::None, Switch::Pieces] {
        server.turn(switch);
        assert_eq!(console.run("help").await.unwrap(), long);
        assert_eq!(console.run("say hello").await.unwrap(), "");
        assert_eq!(console.run("give Alex diamond").await.unwrap(), "No player was found");
    }
    // Exactly one full packet, and a request of the greatest length.
    for length in [4_095, 4_096, 4_097] {
        let name = "n".repeat(length - server.console().run("list").len());
        server.console().join(&name);
        assert_eq!(console.run("list").await.unwrap().len(), length);
        server.console().leave(&name);
    }
    let longest = "x".repeat(rcon::LONGEST_COMMAND);
    assert!(console.run(&longest).await.unwrap().contains(&longest));
    assert!(matches!(console.run(&format!("{longest}x")).await, Err(RconError::Refused(_))));
    server.turn(Switch::Drop);
    assert!(matches!(console.run("say 1").await, Err(RconError::Broken(_))));
    server.turn(Switch::Late(700));
    let mut console = open(&server, "right").await.unwrap();
    assert!(matches!(console.run("say 2").await, Err(RconError::Timeout(_))));
    for (switch, wanted) in [(Switch::Hang, false), (Switch::Crash, true)] {
        server.turn(switch);
        let mut console = open(&server, "right").await.unwrap();
        assert!(!console.is_closed());
        let error = console.run("say 3").await.unwrap_err();
        assert_eq!(matches!(error, RconError::Broken(_)), wanted, "{error}");
        assert_eq!(console.is_closed(), wanted);
    }
    assert!(open(&server, "right").await.is_err(), "a server that has ended accepts nothing");
}

//! The crate `rcon` and the stand-in.

use local::game_server::rcon::{Options, RconServer, Switch};
use rcon::{Connection, Protocol, RconError};
use std::time::Duration;

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
    let longest = "x".repeat(rcon::LONGEST);
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

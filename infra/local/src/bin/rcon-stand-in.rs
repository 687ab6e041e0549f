//! Runs only the stand-in for a game server with RCON.

use clap::Parser;
use local::game_server::rcon::{Options, RconServer};
use std::io::Write as _;
use std::process::ExitCode;

/// Runs a stand-in for a Minecraft server with RCON on this machine, and prints its address. The command `stand-in` at its
/// console lets players join and leave, and makes it misbehave. All is forgotten on exit.
#[derive(Debug, Parser)]
#[command(name = "rcon-stand-in")]
struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Password of RCON.
    #[arg(long, default_value = "stand-in")]
    password: String,
    /// A player who is on the server. May be repeated.
    #[arg(long, value_name = "NAME")]
    player: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let server = match RconServer::start(Options::new(arguments.port, &arguments.password)).await {
        Ok(server) => server,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: {error}");
            return ExitCode::FAILURE;
        }
    };
    arguments.player.iter().for_each(|player| server.console().join(player));
    // Standard output may be closed.
    let mut out = std::io::stdout();
    _ = writeln!(out, "{}", server.address).and_then(|()| out.flush());
    _ = tokio::signal::ctrl_c().await;
    ExitCode::SUCCESS
}

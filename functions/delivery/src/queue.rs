//! GET /plugin/api/servers/{key}/commands/queue: what a game server has to run, and the logins that players are asked to confirm.

use crate::State;
use crate::key::{KeyOnly, refused};
use crate::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::fault;
use shared::model::PendingLogin;
use shared::usecases::delivery::{self, Row};
use shared::usecases::game_login;

/// GET /plugin/api/servers/{key}/commands/queue.
pub struct Queue;

/// A row of the queue. The plugin takes a whole response as empty if one row has a field that it cannot read.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum QueueRow {
    /// A command.
    Command {
        /// The command's id.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        id: u32,
        /// The name of the player.
        username: String,
        /// The text for the console.
        command: String,
        /// Whether it runs only while the player is on the server.
        is_online_required: bool,
    },
    /// A login that the player is asked to confirm.
    Login {
        /// Always `auth`.
        #[serde(rename = "type")]
        kind: &'static str,
        /// The id that the plugin sends to confirm it.
        auth_id: String,
        /// The login's id, of the same numbers as those of commands.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        id: u32,
        /// The name of the player.
        username: String,
    },
}

impl From<Row> for QueueRow {
    fn from(Row { id, player, text, online }: Row) -> Self {
        Self::Command { id: id.get(), username: player, command: text, is_online_required: online }
    }
}

impl From<PendingLogin> for QueueRow {
    fn from(login: PendingLogin) -> Self {
        let (auth_id, username) = (login.auth_id.into(), login.player.into());
        Self::Login { kind: "auth", auth_id, id: login.id, username }
    }
}

impl Endpoint for Queue {
    type State = State;
    type Caller = ();
    type Input = KeyOnly;
    type Reply = AsciiJson<Vec<QueueRow>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/queue";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/servers/{key}/commands/queue"];
    const SUMMARY: &'static str = "returns what a game server has to run, and keeps it from other polls";
    const NUMBER: Option<u8> = None;
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 5, cold: 5 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), KeyOnly(key): KeyOnly) -> Result<Self::Reply, Error<UnknownKey>> {
        let (key, base) = (key.required()?, &state.base);
        let (db, clock, now) = (&base.db, base.clock.as_ref(), base.clock.seconds());
        base.published.may_write().await?;
        let (commands, logins) = tokio::join!(delivery::poll(db, clock, key), game_login::due(db, key.server(), now));
        let commands = commands.map_err(refused)?;
        // What the poll was served is not thrown away because of the logins.
        let logins = match logins {
            Ok(due) => game_login::take(db, key.server(), due, now).await,
            Err(error) => Err(error),
        };
        let logins = logins.unwrap_or_else(|error| {
            tracing::error!(error = %error, causes = fault::causes(&error), "logins could not be served");
            Vec::new()
        });
        let rows: Vec<QueueRow> =
            commands.into_iter().map(QueueRow::from).chain(logins.into_iter().map(QueueRow::from)).collect();
        Ok(AsciiJson::of(&rows))
    }
}

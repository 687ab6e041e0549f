//! The notices of commands that the owner has to decide about, and of servers that do not ask for theirs. The sweep writes them: the
//! function of game servers has no right to.

use super::{put, put_once, tells};
use crate::clock::Clock;
use crate::model::{About, Command, CommandState, NoticeEvent, Server, StoreConfig};
use crate::rules::notice::id;
use crate::shop::delivery::commands::{self, Queued};
use crate::shop::delivery::servers::Lease;
use crate::shop::delivery::trying::is_tried;
use crate::shop::delivery::{SILENT_TOO_LONG, in_transactions};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, keys};
use crate::telemetry::unreadable_row;
use futures_util::future::join_all;

/// How many commands of a state are reported in one sweep; the next one goes on.
const COMMANDS_AT_ONCE: usize = 300;
/// The most writes of one transaction.
const WRITES: usize = 90;
/// The most characters of a command and of its answer.
const SHOWN: usize = 200;

/// Tells of what is new at the servers of a store. One that cannot be looked at keeps no other from it.
pub(in crate::shop) async fn tell(db: &Db, clock: &dyn Clock, config: &StoreConfig) -> Result<(), StoreError> {
    let now = clock.seconds();
    let of_server = async |server: &Server| {
        let told = tell_of(db, now, config, server).await;
        told.inspect_err(|error| match error {
            StoreError::Unreadable { .. } => unreadable_row(error),
            _ => tracing::error!(server = %server.id, %error, "the owner was not notified of a game server"),
        })
    };
    join_all(config.delivery.servers.iter().map(of_server)).await.into_iter().collect()
}

async fn tell_of(db: &Db, now: i64, config: &StoreConfig, server: &Server) -> Result<(), StoreError> {
    for (event, state) in
        [(NoticeEvent::GaveUp, CommandState::Unknown), (NoticeEvent::RefusedCommand, CommandState::Refused)]
    {
        if tells(&config.notify, event) {
            tell_of_commands(db, now, server, (event, state)).await?;
        }
    }
    if tells(&config.notify, NoticeEvent::SilentServer) { tell_of_silence(db, now, server).await } else { Ok(()) }
}

async fn tell_of_commands(
    db: &Db,
    now: i64,
    server: &Server,
    (event, state): (NoticeEvent, CommandState),
) -> Result<(), StoreError> {
    let untold = commands::untold(db, server.id, state, now, COMMANDS_AT_ONCE).await?;
    let parts = untold
        .iter()
        .filter(|queued| !is_tried(&queued.command))
        .map(|queued| Ok(((), of_command(queued, event, server, now)?)));
    let parts: Vec<((), Vec<Write>)> = parts.collect::<Result<_, StoreError>>()?;
    for (_, writes) in in_transactions(parts, WRITES) {
        // If it conflicts, one of them was decided, or another sweep has told of it: the next sweep looks again.
        sent(db, writes).await?;
    }
    Ok(())
}

fn of_command(queued: &Queued, event: NoticeEvent, server: &Server, now: i64) -> Result<Vec<Write>, StoreError> {
    let Command { id: number, version, order, text, output, .. } = &queued.command;
    let word = if event == NoticeEvent::GaveUp { "gave_up" } else { "refused" };
    let shown = |text: &str| text.chars().take(SHOWN).collect();
    let about = About::Command {
        id: number.get().into(),
        order: order.clone(),
        server: server.id,
        server_name: server.name.clone(),
        text: shown(text),
        answer: output.as_deref().map(shown).unwrap_or_default(),
    };
    let id = id(&[word, &format!("{:012}", number.get()), &version.to_string()]);
    Ok(vec![commands::set_told(&queued.key), put(event, id, now, about)?])
}

/// A server that never polled is not silent: it is not connected yet.
async fn tell_of_silence(db: &Db, now: i64, server: &Server) -> Result<(), StoreError> {
    let lease = async {
        let mut rows = db.batch_get(vec![keys::lease(server.id)]).await?;
        Lease::take(&mut rows, server.id)
    };
    let (due, lease) = tokio::try_join!(commands::due(db, server.id, now, 1), lease)?;
    let Some(seen) = lease.seen.filter(|seen| !due.is_empty() && now.saturating_sub(*seen) > SILENT_TOO_LONG) else {
        return Ok(());
    };
    let id = id(&["silent_server", &server.id.to_string(), &seen.to_string()]);
    let about = About::Server { id: server.id, name: server.name.clone(), silent_since: seen };
    let what = format!("silent_server#{}", server.id);
    // A conflict says that it was told before.
    sent(db, put_once(&what, NoticeEvent::SilentServer, id, now, about)?).await.map(drop)
}

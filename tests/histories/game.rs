//! The game server of the histories: it runs what it is served, each command once, and at the end what ran is compared with
//! the orders.

use super::bench::Bench;
use super::shop::{ITEMS, MONTHLY, SERVERS};
use shared::model::{Command, CommandEvent, CommandId, OrderStatus, ServerId};
use shared::shop::delivery::{PollError, ServerKey, add_key, delivered, poll};
use shared::shop::orders::StoredOrder;
use shared::table::{bulk, keys};
use std::time::Duration;

/// A server of the sample store on which most commands run.
const SERVER: ServerId = ServerId::new(1);

#[derive(Debug)]
pub struct Game {
    key: ServerKey,
    /// The commands that ran, in their order.
    ran: Vec<CommandId>,
}

impl Game {
    pub async fn open(bench: &Bench) -> Self {
        let (_, key) = add_key(&bench.store.db, bench.store.clock.as_ref(), SERVER).await.unwrap();
        Self { key, ran: Vec::new() }
    }

    /// Polls once, and runs what is new. What the store was not told is served again.
    pub async fn poll(&mut self, bench: &Bench) -> Result<usize, PollError> {
        let (db, clock) = (&bench.store.db, bench.store.clock.as_ref());
        let ids: Vec<CommandId> = poll(db, clock, &self.key, None).await?.into_iter().map(|row| row.id).collect();
        for id in &ids {
            if !self.ran.contains(id) {
                self.ran.push(*id);
            }
        }
        if !ids.is_empty() {
            delivered(db, clock, &self.key, &ids).await?;
        }
        Ok(ids.len())
    }

    /// Runs what is left; the store takes back what it has to.
    pub async fn finish(&mut self, bench: &Bench) {
        for _ in 0..4 {
            while self.poll(bench).await.unwrap() > 0 {}
            bench.store.clock.advance(Duration::from_mins(11));
            bench.sweep().await;
        }
    }

    /// Compares what ran with the orders: what is paid ran once, what was never paid did not run, and what was taken back ran
    /// before its end. Items that last for a time are proven elsewhere.
    pub async fn check(&self, bench: &Bench, orders: &[StoredOrder]) -> Result<(), String> {
        let all = bulk::all::<Command>(&bench.store.db, keys::prefix::COMMAND).await.unwrap();
        let place = |command: &Command| self.ran.iter().position(|id| *id == command.id);
        let lasting = [SERVERS, MONTHLY].map(|item| ITEMS[usize::from(item)]);
        for stored in orders {
            let is_own = |command: &&Command| {
                command.order == stored.order.internal_id
                    && command.server == SERVER
                    && !lasting.contains(&command.item.get())
            };
            let own: Vec<&Command> = all.iter().map(|(_, command)| command).filter(is_own).collect();
            let of = |event: CommandEvent| own.iter().filter(move |command| command.event == event);
            let fault = match stored.order.status {
                OrderStatus::Paid => {
                    of(CommandEvent::Bought).any(|one| place(one).is_none())
                        || of(CommandEvent::Refunded).next().is_some()
                }
                OrderStatus::Refunded => {
                    of(CommandEvent::Refunded).any(|back| {
                        let line = of(CommandEvent::Bought).filter(|one| one.line == back.line);
                        line.filter_map(|one| place(one)).max() >= place(back)
                    }) || of(CommandEvent::Bought).any(|one| {
                        let is_taken_back = of(CommandEvent::Refunded).any(|back| back.line == one.line);
                        place(one).is_some() && !is_taken_back
                    })
                }
                _ => own.iter().any(|one| place(one).is_some()),
            };
            if fault {
                return Err(format!(
                    "of {stored:?} ran {:?}: {own:?}",
                    own.iter().map(|one| place(one)).collect::<Vec<_>>()
                ));
            }
        }
        Ok(())
    }
}

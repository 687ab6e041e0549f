//! Leases: which poll of a game server has what it was served, and which agent polls for it. One server has one reader at a
//! time.

use crate::model::{AgentId, CommandId, ServerId};
use crate::table::client::Rows;
use crate::table::codec::Item;
use crate::table::transaction::{Guard, Guarded, Write};
use crate::table::{StoreError, keys};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

/// How many seconds an agent that was seen keeps others from polling.
const AGENT_STAYS: i64 = 120;
/// After how many seconds it is noted again that it was seen.
const AGENT_SEEN_EVERY: i64 = 60;

/// The last lease of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Lease {
    /// Counts the server's leases; 0 before the first.
    #[serde(default)]
    pub number: u64,
    /// When it was taken, seconds since 1970 UTC.
    #[serde(default)]
    pub taken_at: i64,
    /// The commands that were served.
    #[serde(default)]
    pub ids: Vec<CommandId>,
    /// Whether it was given back, or all of its commands were delivered.
    #[serde(default)]
    pub over: bool,
    /// Whether another poll was refused because of it.
    #[serde(default)]
    pub refused: bool,
    /// The agent whose poll took it; `None` if that was the plugin's.
    #[serde(default)]
    pub taken_by: Option<AgentId>,
    /// When the server last polled, to five minutes.
    #[serde(default)]
    pub seen: Option<i64>,
    /// The agent that polls for the server, and when it last did, to a minute.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
    #[serde(default)]
    pub agent_seen: i64,
}

/// Another agent polled for the server a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnotherAgent;

/// The guard of the write that notes an agent.
#[derive(Debug, Clone, Copy)]
pub struct OneAgent;

impl Guard for OneAgent {
    type Refusal = AnotherAgent;

    fn refusal(&self, old: Option<&Item>) -> Option<AnotherAgent> {
        old.map(|_| AnotherAgent)
    }
}

impl Lease {
    /// Takes a server's lease out of the rows.
    pub fn take(rows: &mut Rows, server: ServerId) -> Result<Self, StoreError> {
        Ok(rows.take_live(&keys::lease(server))?.unwrap_or_default())
    }

    /// The write that takes the next lease, on the condition that no other poll has taken it since this one was read.
    /// An agent's is on the condition that no other agent has come meanwhile.
    pub fn next(&self, server: ServerId, agent: Option<&AgentId>, ids: &[CommandId], now: i64) -> Write {
        let ids = ids.iter().map(|id| AttributeValue::N(id.to_string())).collect();
        let set = "SET #number = :next, taken_at = :now, ids = :ids";
        let write = Write::update(keys::lease(server), set).name("#number", "number").name("#over", "over");
        let write = match self.number {
            0 => write.only_if("attribute_not_exists(#number)"),
            number => write.only_if("#number = :number").number(":number", number),
        };
        let write = match agent {
            None => write.also("REMOVE #over, refused, taken_by"),
            Some(agent) => {
                let write = write.and_if("agent_id = :agent").text(":agent", agent.as_str());
                write.also(", taken_by = :agent REMOVE #over, refused")
            }
        };
        write.number(":next", self.number + 1).number(":now", now).value(":ids", AttributeValue::L(ids))
    }

    pub fn end(&self, server: ServerId) -> Write {
        let write = Write::update(keys::lease(server), "SET #over = :yes").only_if("#number = :number");
        let write = write.name("#number", "number").name("#over", "over");
        write.number(":number", self.number).value(":yes", AttributeValue::Bool(true))
    }

    /// The write that ends this lease, on the condition that no poll was refused because of it.
    pub fn give_back(&self, server: ServerId) -> Write {
        self.end(server).only_if(Self::IS_UNTOUCHED)
    }

    /// The condition that this lease was neither ended nor asked for by another poll.
    pub fn is_untouched(&self, server: ServerId) -> Write {
        let write = Write::check(keys::lease(server)).only_if(Self::IS_UNTOUCHED);
        write.name("#number", "number").name("#over", "over").number(":number", self.number)
    }

    const IS_UNTOUCHED: &str = "#number = :number AND attribute_not_exists(#over) AND attribute_not_exists(refused)";

    /// The write that notes that another poll was refused because of this lease.
    pub fn refuse(&self, server: ServerId) -> Write {
        let write = Write::update(keys::lease(server), "SET refused = :yes").only_if("#number = :number");
        let write = write.name("#number", "number").number(":number", self.number);
        write.value(":yes", AttributeValue::Bool(true))
    }

    /// The write that notes when the server was last seen.
    pub fn see(server: ServerId, now: i64) -> Write {
        Write::update(keys::lease(server), "SET seen = :now").number(":now", now)
    }

    /// Whether another agent polled a moment ago.
    #[must_use]
    pub fn is_of_another(&self, agent: &AgentId, now: i64) -> bool {
        self.agent_id.as_ref().is_some_and(|known| known != agent) && now < self.agent_seen + AGENT_STAYS
    }

    /// Whether it is to be noted that an agent was seen.
    #[must_use]
    pub fn needs(&self, agent: &AgentId, now: i64) -> bool {
        self.agent_id.as_ref() != Some(agent) || self.agent_seen + AGENT_SEEN_EVERY <= now
    }

    /// The write that notes when an agent polled, on the condition that no other one did a moment ago.
    pub fn see_agent(server: ServerId, agent: &AgentId, now: i64) -> Guarded<OneAgent> {
        let write = Write::update(keys::lease(server), "SET seen = :now, agent_seen = :now, agent_id = :agent");
        let write = write.only_if("attribute_not_exists(agent_id) OR agent_id = :agent OR agent_seen <= :gone");
        let write = write.number(":now", now).number(":gone", now - AGENT_STAYS).text(":agent", agent.as_str());
        write.guarded_by(OneAgent)
    }

    /// The write after which the server counts as one that never polled.
    #[must_use]
    pub fn forget(server: ServerId) -> Write {
        Write::update(keys::lease(server), "REMOVE seen, agent_id, agent_seen")
    }
}

//! The game servers, as they are written.

use crate::compile::Compiled;
use crate::files::{NO_ID, ServerFile, ServerPlayersFile};
use shared::rules::command_text::Placeholder;
use std::collections::BTreeMap;

/// The servers by id. Versions that were published before commands have only those that items name.
pub(super) fn servers(store: &Compiled) -> Vec<ServerFile> {
    let named = store.items.iter().flat_map(|entry| &entry.item.servers).chain(&store.config.delivery.servers);
    let servers: BTreeMap<u64, &str> = named.map(|server| (server.id.get(), server.name.as_str())).collect();
    let free = |id| store.config.delivery.free_names.iter().find(|free| free.server.get() == id);
    let written = |variable: Option<u64>| {
        variable.map_or_else(|| NO_ID.to_owned(), |variable| Placeholder::Variable(variable).to_string())
    };
    let players = |id| ServerPlayersFile { id: free(id).map(|free| written(free.variable).into()) };
    let quotes = |id| store.config.delivery.quotes.iter().any(|server| server.get() == id);
    let server = |(id, name): (u64, &str)| ServerFile {
        id: id.into(),
        name: name.to_owned(),
        players: players(id),
        quotes: quotes(id),
    };
    servers.into_iter().map(server).collect()
}

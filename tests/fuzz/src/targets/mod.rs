//! The targets: parsers that call nothing, and the five functions with a real table.

mod address;
mod archive;
mod body;
mod events;
mod path;
mod provider;
mod store_files;
mod table;
mod texts;
pub(crate) mod token;
mod webhook;

pub use address::ForwardedFor;
pub use archive::Archive;
pub use body::RequestBody;
pub use events::{Auth, Cart, Catalog, Content, Payments};
pub use path::Path;
pub use provider::Provider;
pub use store_files::StoreFiles;
pub use table::Table;
pub use texts::Texts;
pub use token::Token;
pub use webhook::Webhook;

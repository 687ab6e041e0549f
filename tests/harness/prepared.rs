//! Contents of a database that are written once in a process. A test gets a copy, which takes milliseconds.

use local::engine::Engine;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::OnceCell;

/// The contents, as a file of the engine.
#[derive(Debug, Default)]
pub struct Prepared(OnceCell<Vec<u8>>);

impl Prepared {
    pub const fn new() -> Self {
        Self(OnceCell::const_new())
    }

    /// An engine with a copy of the contents. `fill` writes them for the first test that asks.
    pub async fn engine<F: Future<Output = ()>>(&self, fill: impl FnOnce(Engine) -> F) -> Engine {
        let write = || async {
            let engine = Engine::start(None).await.expect("an engine in memory");
            fill(engine.clone()).await;
            let copy = new_file();
            engine.copy_into(&copy).expect("a copy of the database");
            take(&copy)
        };
        let contents = self.0.get_or_init(write).await;
        let copy = new_file();
        std::fs::write(&copy, contents).expect("a file for the copy");
        let engine = Engine::start_from(&copy).await.expect("an engine with the copy");
        take(&copy);
        engine
    }
}

fn new_file() -> PathBuf {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::SeqCst));
    std::env::temp_dir().join(format!("storefront-test-{process}-{number}.sqlite"))
}

/// Reads a file and removes it.
fn take(file: &PathBuf) -> Vec<u8> {
    let contents = std::fs::read(file).expect("the file is there");
    std::fs::remove_file(file).expect("the file can be removed");
    contents
}

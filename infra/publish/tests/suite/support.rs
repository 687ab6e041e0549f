//! A table of its own for every test, and stores that are written on the spot.

use aws_sdk_dynamodb::config::{Intercept, SharedInterceptor};
use local::engine::{Engine, ensure_table};
use publish::Fault;
use shared::store::Db;
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

const TABLE: &str = "store";

/// An empty table in an engine of its own.
pub struct Table {
    pub db: Db,
    engine: Engine,
}

impl Table {
    /// The same table through a client that an interceptor looks into.
    pub fn through(&self, interceptor: impl Intercept + 'static) -> Db {
        let mut access = self.engine.access();
        access.interceptors.push(SharedInterceptor::new(interceptor));
        Db::new(access, TABLE)
    }
}

/// Makes an empty table, as template.yaml defines it.
pub async fn table() -> Table {
    let engine = Engine::start(None).await.unwrap();
    let db = Db::new(engine.access(), TABLE);
    ensure_table(db.client(), TABLE, &tests::template().table().unwrap()).await.unwrap();
    Table { db, engine }
}

pub fn store(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub const STORE: &str = "format: 1\nname: Test\ncurrency: {code: EUR}\n";

/// Faults, one per line.
pub fn lines(faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        writeln!(text, "{fault}").unwrap();
        text
    })
}

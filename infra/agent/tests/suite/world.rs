//! A store, a game server and an agent, which is a process that can be killed, or runs here with a clock that is moved.

use crate::store::{KEY, QueueStore, State};
use agent::book::Record;
use agent::clock::Clock;
use agent::config::Config;
use agent::journal::{self, JournalError};
use agent::run::Agent;
use local::game_server::rcon::{Moment, Options, RconServer};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;

const PASSWORD: &str = "swordfish";
/// The longest time that anything takes.
const LONGEST: Duration = Duration::from_mins(2);

/// Counts the moments at which the process can be killed, and kills it at one.
#[derive(Debug, Default)]
pub struct Killer {
    left: AtomicI64,
    child: Mutex<Option<Child>>,
}

impl Killer {
    fn tick(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.kill();
        }
    }

    pub fn kill(&self) {
        if let Some(child) = &mut *self.child.lock().unwrap() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// The number of moments that are left.
    pub fn left(&self) -> i64 {
        self.left.load(Ordering::SeqCst)
    }

    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().as_ref().unwrap().id()
    }

    fn has_ended(&self) -> bool {
        self.child.lock().unwrap().as_mut().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        self.kill();
    }
}

#[derive(Debug)]
pub struct World {
    pub folder: TempDir,
    pub store: Arc<QueueStore>,
    pub game: Arc<RconServer>,
    pub killer: Arc<Killer>,
}

impl World {
    /// A world in which the process is killed at the moment with this number; 0 for never.
    pub async fn new(moment: i64) -> Self {
        let killer = Arc::new(Killer { left: AtomicI64::new(moment), child: Mutex::default() });
        let (for_game, for_store) = (Arc::clone(&killer), Arc::clone(&killer));
        let watch = Arc::new(move |_: Moment, _: &str| for_game.tick());
        let game = Arc::new(RconServer::start(Options { watch, ..Options::new(0, PASSWORD) }).await.unwrap());
        let joining = Arc::clone(&game);
        // Who is away comes when the store knows that something waits.
        let on_delivered = Arc::new(move |_| joining.console().join("Late"));
        let store = QueueStore::start(Arc::new(move || for_store.tick()), on_delivered).await;
        let world = Self { folder: tempfile::tempdir().unwrap(), store, game, killer };
        let write = |name: &str, text: &str| std::fs::write(world.folder.path().join(name), text).unwrap();
        write("key.txt", KEY);
        write("rcon.txt", PASSWORD);
        let (store, rcon) = (&world.store.url, world.game.address);
        write(
            "agent.yaml",
            &format!(
                "store: {store}\nkey: {{file: key.txt}}\njournal: journal\nplayers: minecraft\n\
                 rcon: {{address: \"{rcon}\", password: {{file: rcon.txt}}, protocol: source, timeout: 2}}\n"
            ),
        );
        world
    }

    /// Sells one of each kind: without a player, for one who is there, for one who comes, and with a long response.
    pub fn sell_each(&self) {
        self.game.console().join("Alex");
        self.store.sell(11, "lp user Alex parent add vip", None);
        self.store.sell(12, "give Alex diamond 3", Some("Alex"));
        self.store.sell(13, "give Late diamond 1", Some("Late"));
        self.store.sell(14, "help", None);
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("agent.yaml")
    }

    pub fn journal(&self) -> PathBuf {
        journal::file_in(&self.folder.path().join("journal"))
    }

    /// Starts the process; `wrapper` are the words before its own.
    pub fn spawn(&self, wrapper: &[&str]) {
        let binary = std::env::var("AGENT_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_agent").to_owned());
        let config = self.config();
        let own = [binary.as_str(), "run", "--config", config.to_str().unwrap()];
        let mut words = wrapper.iter().copied().chain(own);
        let mut command = Command::new(words.next().unwrap());
        let log = if std::env::var_os("AGENT_LOG").is_some() { Stdio::inherit() } else { Stdio::null() };
        *self.killer.child.lock().unwrap() = Some(command.args(words).stderr(log).spawn().unwrap());
    }

    /// Restarts the process whenever it has ended, until the store knows of every command what became of it. Returns the ids that
    /// were begun and not ended when it ended.
    pub async fn settle(&self) -> BTreeSet<u32> {
        let (started, mut unknown) = (Instant::now(), BTreeSet::new());
        while !self.store.is_settled() {
            if self.killer.has_ended() {
                self.restart(&mut unknown);
            }
            assert!(started.elapsed() < LONGEST, "{:?}", self.store);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        unknown
    }

    /// Starts the process again after it has ended, a minute later for the store.
    pub fn restart(&self, unknown: &mut BTreeSet<u32>) {
        unknown.extend(self.begun());
        self.store.inner().now += 61;
        self.spawn(&[]);
    }

    /// What the journal has as begun and not as ended.
    fn begun(&self) -> BTreeSet<u32> {
        let mut begun = BTreeSet::new();
        let read = journal::read(&self.journal(), |record, _| match record {
            Record::Begun(id) => _ = begun.insert(id),
            Record::Ended { id, .. } => _ = begun.remove(&id),
            _ => {}
        });
        read.unwrap();
        begun
    }

    /// Each command ran once, or is unknown where it was begun and has no response.
    pub fn check(&self, unknown: &BTreeSet<u32>) {
        let ran = self.game.console().ran();
        for (id, command) in &self.store.inner().commands {
            let runs = ran.iter().filter(|ran| ran.text == command.text).count();
            match command.state {
                State::Done => assert_eq!((runs, unknown.contains(id)), (1, false), "{id} {command:?}"),
                State::Unknown => assert!(runs <= 1 && unknown.contains(id), "{id} ran {runs} times: {command:?}"),
                _ => panic!("{id} {command:?}"),
            }
        }
    }

    /// An agent in this process.
    pub fn agent(&self, clock: &Arc<MovedClock>) -> (Agent, watch::Sender<bool>) {
        let (ending, stop) = watch::channel(false);
        loop {
            let config = Config::read(&self.config(), |_| None).unwrap();
            match Agent::new(config, Arc::clone(clock) as Arc<dyn Clock>, stop.clone()) {
                // A process that another test is starting has the lock for a moment.
                Err(JournalError::Locked(_)) => std::thread::yield_now(),
                agent => return (agent.unwrap(), ending),
            }
        }
    }

    /// Lets an agent work, with a clock in which every pause takes no time, until something is true. Returns the seconds that
    /// passed.
    pub async fn work(
        &self,
        clock: &Arc<MovedClock>,
        agent: &mut Agent,
        ending: &watch::Sender<bool>,
        until: impl Fn() -> bool,
    ) -> u64 {
        let started = clock.elapsed().as_secs();
        let done = async {
            while !until() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // Ended between two commands: in this process it would otherwise have begun one and never known of it.
        ending.send_replace(false);
        let mut work = std::pin::pin!(agent.run());
        tokio::select! {
            ended = &mut work => panic!("{ended:?}"),
            () = done => {}
            () = tokio::time::sleep(LONGEST) => panic!("{:?}", self.store),
        }
        ending.send_replace(true);
        work.await.unwrap();
        clock.elapsed().as_secs() - started
    }
}

/// A clock whose pauses end at once, and move it.
#[derive(Debug, Default)]
pub struct MovedClock {
    elapsed: Mutex<Duration>,
    /// How many seconds what is written down is ahead.
    pub ahead: AtomicI64,
}

impl MovedClock {
    pub fn seconds_passed(&self) -> u64 {
        self.elapsed().as_secs()
    }
}

impl Clock for MovedClock {
    fn seconds(&self) -> i64 {
        let elapsed = i64::try_from(self.elapsed().as_secs()).unwrap();
        1_795_500_000 + elapsed + self.ahead.load(Ordering::SeqCst)
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap()
    }

    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            *self.elapsed.lock().unwrap() += pause;
            // Whoever waits for something to become true looks every millisecond.
            tokio::time::sleep(Duration::from_millis(3)).await;
        })
    }
}

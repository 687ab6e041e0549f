//! A store, a game server and an agent, which is a process that can be killed, or runs here with a clock that is moved.

use crate::store::{KEY, QueueStore, State};
use agent::book::{Record, Row};
use agent::clock::Clock;
use agent::config::Config;
use agent::journal::{self, JournalError};
use agent::run::Agent;
use local::game_server::rcon::{Moment, Options, RconServer};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};

const PASSWORD: &str = "swordfish";
/// The longest time that anything takes.
const LONGEST: Duration = Duration::from_mins(2);

/// A fault of the process or its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Kill,
    /// The next write of the journal writes ten bytes, and those after it none: a limit on the size of files holds for root too.
    Full,
    /// The journal's folder has another name.
    Moved,
}

/// Counts the moments at which something can happen, and lets it happen at one.
#[derive(Debug)]
pub struct Killer {
    left: AtomicI64,
    fault: Fault,
    folder: PathBuf,
    child: Mutex<Option<Child>>,
    /// The log of the process.
    log: Arc<Mutex<String>>,
    /// Commands that ran or were kept and are not in the journal.
    not_written: Mutex<Vec<String>>,
}

impl Killer {
    fn tick(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            match self.fault {
                Fault::Kill => self.kill(),
                Fault::Full => {
                    let length = std::fs::metadata(self.journal()).map_or(0, |file| file.len());
                    self.limit(&format!("{}", length + 10));
                }
                Fault::Moved => {
                    // What is written from now on is not in the copy.
                    std::fs::copy(self.journal(), self.folder.join("copy")).unwrap();
                    std::fs::rename(self.folder.join("journal"), self.folder.join("moved")).unwrap();
                }
            }
        }
    }

    /// Ends the fault of the journal.
    pub fn mend(&self) {
        match self.fault {
            Fault::Moved => std::fs::rename(self.folder.join("moved"), self.folder.join("journal")).unwrap(),
            _ => self.limit("unlimited"),
        }
    }

    fn limit(&self, bytes: &str) {
        let (pid, limit) = (self.pid().to_string(), format!("--fsize={bytes}:unlimited"));
        assert!(Command::new("prlimit").args([&limit, "--pid", &pid]).status().unwrap().success());
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn journal(&self) -> PathBuf {
        journal::file_in(&self.folder.join("journal"))
    }

    /// Sees that a command is in the journal: as begun if it has been received by the game server, else as served.
    fn see(&self, what: &str, is_it: impl Fn(&Row) -> bool, is_begun: bool) {
        let (mut id, mut is_written) = (None, false);
        let file = Some(self.journal()).filter(|file| file.exists()).unwrap_or_else(|| self.folder.join("copy"));
        let read = journal::read(&file, |record, _| match record {
            Record::Served(row) if is_it(&row) => (id, is_written) = (Some(row.id), !is_begun),
            Record::Begun(begun) if Some(begun) == id => is_written = true,
            _ => {}
        });
        if read.is_err() || !is_written {
            self.not_written.lock().unwrap().push(what.to_owned());
        }
    }

    /// Nothing has run or was kept that is not in the journal.
    pub fn check_written(&self) {
        assert_eq!(*self.not_written.lock().unwrap(), [""; 0]);
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
        Self::with(moment, Fault::Kill).await
    }

    /// A world with a fault at a moment. If there is one, whatever runs and is kept is looked for in the journal.
    pub async fn with(moment: i64, fault: Fault) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let killer = Arc::new(Killer {
            left: AtomicI64::new(moment),
            fault,
            folder: folder.path().to_owned(),
            child: Mutex::default(),
            log: Arc::default(),
            not_written: Mutex::default(),
        });
        let (for_game, for_store, for_kept) = (Arc::clone(&killer), Arc::clone(&killer), Arc::clone(&killer));
        let watch = Arc::new(move |at: Moment, text: &str| {
            if moment > 0 && at == Moment::Received && !text.starts_with("minecraft:list") {
                for_game.see(text, |row| row.text == text, true);
            }
            for_game.tick();
        });
        let game = Arc::new(RconServer::start(Options { watch, ..Options::new(0, PASSWORD) }).await.unwrap());
        let joining = Arc::clone(&game);
        // The player joins when the store knows that a command waits.
        let on_delivered = Arc::new(move |id| {
            if moment > 0 {
                for_kept.see("kept", |row| row.id == id, false);
            }
            joining.console().join("Late");
        });
        let store = QueueStore::start(Arc::new(move || for_store.tick()), on_delivered).await;
        let world = Self { folder, store, game, killer };
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

    /// Sells one of each kind: without a player, for one who is online, for one who joins later, and with a long response.
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

    /// Starts the process; `wrapper` are the words before its own.
    pub fn spawn(&self, wrapper: &[&str]) {
        let binary = std::env::var("AGENT_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_agent").to_owned());
        let config = self.config();
        let own = [binary.as_str(), "run", "--config", config.to_str().unwrap()];
        let mut words = wrapper.iter().copied().chain(own);
        let mut command = Command::new(words.next().unwrap());
        let mut child = command.args(words).stderr(Stdio::piped()).spawn().unwrap();
        let (lines, log) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&self.killer.log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if std::env::var_os("AGENT_LOG").is_some() {
                    println!("{line}");
                }
                log.lock().unwrap().push_str(&line);
            }
        });
        *self.killer.child.lock().unwrap() = Some(child);
    }

    /// Restarts the process whenever it has ended, until every outcome was reported to the store. Returns the ids that
    /// were begun and not ended when it ended.
    pub async fn settle(&self) -> BTreeSet<u32> {
        let (started, mut unknown) = (Instant::now(), BTreeSet::new());
        while !self.store.is_settled() {
            if self.killer.has_ended() {
                self.restart(&mut unknown);
            }
            self.killer.check_written();
            assert!(started.elapsed() < LONGEST, "{:?}", self.store);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.killer.check_written();
        let log = self.killer.log();
        assert!(![KEY, PASSWORD].iter().any(|secret| log.contains(secret)), "{log}");
        unknown
    }

    /// Starts the process again after it has ended, a minute later for the store.
    pub fn restart(&self, unknown: &mut BTreeSet<u32>) {
        unknown.extend(self.begun());
        self.store.inner().now += 61;
        self.spawn(&[]);
    }

    /// The commands that the journal has as begun and not as ended.
    fn begun(&self) -> BTreeSet<u32> {
        let mut begun = BTreeSet::new();
        let read = journal::read(&self.killer.journal(), |record, _| match record {
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
            loop {
                clock.asleep.notified().await;
                if until() {
                    return;
                }
                clock.wake.notify_one();
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

/// A clock whose pauses end at once, and move it; between a round and its pause [`World::work`] looks at what is true.
#[derive(Debug, Default)]
pub struct MovedClock {
    elapsed: Mutex<Duration>,
    pause: Mutex<Duration>,
    asleep: Notify,
    wake: Notify,
    /// How many seconds what is written down is ahead.
    pub ahead: AtomicI64,
}

impl MovedClock {
    pub fn seconds_passed(&self) -> u64 {
        self.elapsed().as_secs()
    }

    /// The second at which the pause ends.
    pub fn wakes_at(&self) -> u64 {
        (self.elapsed() + *self.pause.lock().unwrap()).as_secs()
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
            *self.pause.lock().unwrap() = pause;
            self.asleep.notify_one();
            self.wake.notified().await;
            *self.elapsed.lock().unwrap() += pause;
        })
    }
}

//! The server as a process of its own: its output, its HTTP, and its exit.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The timeout of every step of a test.
const DEADLINE: Duration = Duration::from_mins(1);

/// A process whose output lines are read as they arrive. It is killed when it is dropped.
pub struct Process {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

/// The exit of a process, with the lines that had not been read.
pub struct End {
    pub status: ExitStatus,
    pub out: Vec<String>,
    pub err: Vec<String>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_storefront"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Independent of the machine's environment: the embedded database, and backtraces on.
        command.env_remove("AWS_ENDPOINT_URL_DYNAMODB").env_remove("TABLE_NAME").env("RUST_BACKTRACE", "1");
        let mut child = command.spawn().unwrap();
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, out, err }
    }

    pub fn line(&self) -> String {
        self.out
            .recv_timeout(DEADLINE)
            .unwrap_or_else(|_| panic!("no line; on standard error: {:?}", self.all_errors()))
    }

    pub fn error_line(&self) -> String {
        self.err.recv_timeout(DEADLINE).unwrap()
    }

    fn all_errors(&self) -> Vec<String> {
        self.err.try_iter().collect()
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub fn end(mut self) -> End {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < DEADLINE, "it does not end: {:?}", self.all_errors());
            std::thread::sleep(Duration::from_millis(5));
        };
        // Both pipes end with the process, and the channels with them.
        End { status, out: self.out.iter().collect(), err: self.err.iter().collect() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if it has already ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    receiver
}

pub struct Server {
    pub process: Process,
    pub ready: Value,
    agent: ureq::Agent,
}

pub struct HttpReply {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub text: String,
}

impl HttpReply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

impl Server {
    /// Starts a server on a free port and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let process = Process::start(&[&["--port", "0", "--json"], arguments].concat());
        let ready = serde_json::from_str(&process.line()).unwrap();
        let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None);
        let agent = config.timeout_global(Some(DEADLINE)).build().into();
        Self { process, ready, agent }
    }

    /// A text of the ready line, by its JSON pointer.
    pub fn said(&self, pointer: &str) -> &str {
        self.ready.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}: {}", self.ready))
    }

    /// The token of a user of the store.
    pub fn token(&self, username: &str) -> &str {
        self.said(&format!("/tokens/{username}"))
    }

    pub fn get(&self, path: &str) -> HttpReply {
        reply(self.agent.get(format!("{}{path}", self.said("/base_url"))).call())
    }

    /// GET of a whole URL with a header.
    pub fn get_with(&self, url: &str, name: &str, value: &str) -> HttpReply {
        reply(self.agent.get(url).header(name, value).call())
    }

    /// POST of a form; a redirect is not followed.
    pub fn send_without_redirects(&self, url: &str, form: &str) -> HttpReply {
        let request = self.agent.post(url).config().max_redirects(0).build();
        reply(request.header("content-type", "application/x-www-form-urlencoded").send(form))
    }

    /// POST with these headers and a body.
    pub fn send(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpReply {
        let request = headers.iter().fold(self.agent.post(url), |request, (name, value)| request.header(*name, *value));
        reply(request.send(body))
    }

    /// POST with a user's token, if there is one, and a JSON body.
    pub fn post(&self, path: &str, user: Option<&str>, body: &Value) -> HttpReply {
        let authorization = user.map(|user| format!("Bearer {}", self.token(user))).unwrap_or_default();
        let url = format!("{}{path}", self.said("/base_url"));
        self.send(&url, &[("authorization", authorization.as_str())], body.to_string().as_bytes())
    }

    /// The response to bytes that no HTTP client would send.
    pub fn raw(&self, request: &str) -> String {
        Self::raw_at(self.said("/base_url"), request)
    }

    /// Sends the text of a request to the server at a URL, and returns the text of the response.
    pub fn raw_at(url: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(url.split('/').nth(2).unwrap()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// Ends the server like Ctrl-C.
    pub fn stop(self) -> End {
        self.process.signal("INT");
        self.process.end()
    }
}

fn reply(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> HttpReply {
    let (head, mut body) = response.unwrap().into_parts();
    HttpReply { status: head.status.as_u16(), headers: head.headers, text: body.read_to_string().unwrap() }
}

//! Lambda's Runtime API on loopback, for one process: its requests for work, its responses, and when they came.

use crate::error::BenchError;
use crate::process::{Process, Start};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

/// How long a process may take for anything.
const TIMEOUT: Duration = Duration::from_mins(2);
const NEXT: &str = "/2018-06-01/runtime/invocation/next";
const INVOCATION: &str = "/2018-06-01/runtime/invocation/";

/// A request of the process.
enum Said {
    Poll {
        at: Instant,
        work: oneshot::Sender<Bytes>,
    },
    /// With a response.
    Answer {
        at: Instant,
        body: Bytes,
    },
    /// With the report of an error.
    Error(String),
}

/// A process as Lambda runs it, waiting for work.
pub struct Sandbox {
    name: String,
    process: Process,
    said: mpsc::UnboundedReceiver<Said>,
    waiting: Option<oneshot::Sender<Bytes>>,
    handed_over: Arc<Mutex<Option<Instant>>>,
    /// How long it took to start.
    pub started: Times,
}

/// How long something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// By the clock.
    pub wall: Duration,
    /// The process's own processor time.
    pub cpu: Duration,
}

/// A response, and how long it took.
#[derive(Debug)]
pub struct Invocation {
    pub times: Times,
    pub answer: Bytes,
}

impl Sandbox {
    /// Starts a process and waits until it asks for work.
    pub async fn start(name: &str, start: &Start, environment: &[(String, String)]) -> Result<Self, BenchError> {
        let failed = BenchError::setup("the Runtime API");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let (sender, said) = mpsc::unbounded_channel();
        let handed_over = Arc::new(Mutex::new(None));
        tokio::spawn(listen(listener, sender, Arc::clone(&handed_over)));
        let mut environment = environment.to_vec();
        environment.push(("AWS_LAMBDA_RUNTIME_API".to_owned(), address.to_string()));
        let begun = Instant::now();
        let process = Process::spawn(start, &environment)?;
        let started = Times { wall: Duration::ZERO, cpu: Duration::ZERO };
        let mut sandbox = Self { name: name.to_owned(), process, said, waiting: None, handed_over, started };
        let at = sandbox.polled().await?;
        sandbox.started = Times { wall: at - begun, cpu: sandbox.process.cpu() };
        Ok(sandbox)
    }

    /// Hands over an event, and waits for the response and for the next request for work.
    pub async fn invoke(&mut self, event: Bytes) -> Result<Invocation, BenchError> {
        let cpu = self.process.cpu();
        let Some(work) = self.waiting.take() else { return Err(self.failed("does not wait for work")) };
        if work.send(event).is_err() {
            return Err(self.failed("has closed the connection"));
        }
        let (at, answer) = match self.next().await? {
            Said::Answer { at, body } => (at, body),
            Said::Error(text) => return Err(self.failed(&format!("failed: {text}"))),
            Said::Poll { .. } => return Err(self.failed("asked for more work before it responded")),
        };
        self.polled().await?;
        let handed_over = *self.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        let wall = handed_over.map_or(Duration::ZERO, |begun| at - begun);
        let times = Times { wall, cpu: self.process.cpu().saturating_sub(cpu) };
        Ok(Invocation { times, answer })
    }

    /// The most memory that the process has held, in bytes.
    pub fn peak_rss(&self) -> u64 {
        self.process.peak_rss()
    }

    async fn polled(&mut self) -> Result<Instant, BenchError> {
        match self.next().await? {
            Said::Poll { at, work } => {
                self.waiting = Some(work);
                Ok(at)
            }
            Said::Error(text) => Err(self.failed(&format!("failed: {text}"))),
            Said::Answer { .. } => Err(self.failed("sent a response without an event")),
        }
    }

    async fn next(&mut self) -> Result<Said, BenchError> {
        match tokio::time::timeout(TIMEOUT, self.said.recv()).await {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(self.failed("has ended")),
            Err(_) => Err(self.failed("did nothing for two minutes")),
        }
    }

    fn failed(&self, problem: &str) -> BenchError {
        let log = self.process.log_end();
        BenchError::Runtime { program: self.name.clone(), problem: problem.to_owned(), log }
    }
}

async fn listen(listener: TcpListener, said: mpsc::UnboundedSender<Said>, handed_over: Arc<Mutex<Option<Instant>>>) {
    let mut requests: u64 = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = said.closed() => return,
        };
        let Ok((stream, _)) = accepted else { return };
        _ = stream.set_nodelay(true);
        requests += 1;
        let (said, handed_over, connection) = (said.clone(), Arc::clone(&handed_over), requests);
        let service = service_fn(move |request| {
            let (said, handed_over) = (said.clone(), Arc::clone(&handed_over));
            async move { Ok::<_, Infallible>(respond(request, &said, &handed_over, connection).await) }
        });
        tokio::spawn(async move { _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}

async fn respond(
    request: Request<Incoming>,
    said: &mpsc::UnboundedSender<Said>,
    handed_over: &Mutex<Option<Instant>>,
    connection: u64,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if head.method == Method::GET && path == NEXT {
        let (work, event) = oneshot::channel();
        _ = said.send(Said::Poll { at: Instant::now(), work });
        // The process was killed while it waited.
        let Ok(event) = event.await else { return empty(StatusCode::GONE) };
        let response = hand_over(event, connection);
        *handed_over.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        return response;
    }
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let at = Instant::now();
    let is_answer = path.starts_with(INVOCATION) && path.ends_with("/response");
    let text = || String::from_utf8_lossy(&body).into_owned();
    _ = said.send(if is_answer { Said::Answer { at, body: body.clone() } } else { Said::Error(text()) });
    empty(StatusCode::ACCEPTED)
}

fn hand_over(event: Bytes, connection: u64) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", format!("8476a536-e9f4-11e8-9739-{connection:012x}"))
        // Year 2100: a function only uses it to give up.
        .header("lambda-runtime-deadline-ms", "4102444800000")
        .header("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:000000000000:function:bench")
        .header(
            "lambda-runtime-trace-id",
            "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0",
        );
    response.body(Full::new(event)).unwrap_or_default()
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).unwrap_or_default()
}

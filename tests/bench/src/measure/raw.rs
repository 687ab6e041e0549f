//! The raw calls: what a function sends, over bare TLS connections, without SDK, runtime or handler.

use super::{COUNTS, Failure, Visits, ask, progress};
use crate::cases::{PER_ADDRESS, address, check_status, other_address};
use crate::error::BenchError;
use crate::figures::{Raw, Spread};
use crate::front::{Call, Front};
use crate::programs::Program;
use crate::runtime::Sandbox;
use crate::stage::{Cast, Stage};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Rounds that are not counted.
const WARM_UP: u32 = 50;

/// Sends what payments sends: the calls of checkStatus, and one GetItem.
pub async fn measure(
    stage: &Stage,
    payments: &Program,
    rounds: u32,
    visits: &mut Visits,
) -> Result<Vec<Raw>, BenchError> {
    stage.front.count();
    let mut sandbox = stage.start(&Cast::new(payments)).await?;
    let mut active = stage.front.counted();
    active.retain(|call| call.headers.get("x-amz-target").is_some_and(|name| name.as_bytes().ends_with(b".GetItem")));
    ask(&mut sandbox, &check_status(), visits).await?;
    let Recorded { address, opening, calls } = record(stage, &mut sandbox, visits).await?;
    let mut rows = Vec::new();
    for (name, opening, calls) in [("GetItem", None, active), ("payments/checkStatus", opening, calls)] {
        let (front, address) = (stage.front.clone(), address.clone());
        let replay = move || replay(&front, opening.as_ref(), &calls, &address, rounds);
        let timed = tokio::task::spawn_blocking(replay).await;
        let failed = BenchError::setup("the raw requests");
        let (calls, wall) = timed.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        rows.push(Raw { name: name.to_owned(), calls, wall });
    }
    Ok(rows)
}

/// The calls of a checkStatus, and the one that opens its address's window before.
struct Recorded {
    address: String,
    opening: Option<Call>,
    calls: Vec<Call>,
}

/// Records the calls of two requests from a new address. A call that is late is sent again and makes further calls, which
/// cannot be replayed, so that the least of a few recordings is taken.
async fn record(stage: &Stage, sandbox: &mut Sandbox, visits: &mut Visits) -> Result<Recorded, BenchError> {
    let mut recordings = Vec::new();
    for _ in 0..COUNTS {
        visits.new_address();
        let first = visits.next();
        stage.front.count();
        sandbox.invoke(check_status().event(first)).await?;
        let mut opening = stage.front.counted();
        stage.front.count();
        sandbox.invoke(check_status().event(visits.next())).await?;
        let calls = stage.front.counted();
        let length = opening.len() + calls.len();
        recordings.push((length, Recorded { address: address(first), opening: opening.pop(), calls }));
    }
    let least = recordings.into_iter().min_by_key(|(length, _)| *length);
    least.map(|(_, recorded)| recorded).ok_or_else(|| BenchError::setup("the raw requests")(&"nothing was recorded"))
}

/// Sends calls concurrently, `rounds` times, each over a connection of its own. The window of a new address is opened
/// first, which is not counted.
fn replay(
    front: &Front,
    opening: Option<&Call>,
    calls: &[Call],
    address: &str,
    rounds: u32,
) -> Result<(u32, Spread), Failure> {
    let mut opener = connect(front)?;
    let mut connections = calls.iter().map(|_| connect(front)).collect::<Result<Vec<_>, _>>()?;
    let mut times = Vec::new();
    let bar = progress("raw", u64::from(rounds));
    for round in 0..rounds + WARM_UP {
        if let Some(opening) = opening.filter(|_| round.is_multiple_of(PER_ADDRESS)) {
            opener.write_all(&request(opening, address, round, !u64::from(round)))?;
            opener.flush()?;
            read_response(&mut opener)?;
        }
        let requests: Vec<Vec<u8>> = calls.iter().map(|call| request(call, address, round, u64::from(round))).collect();
        let begun = Instant::now();
        for (connection, request) in connections.iter_mut().zip(&requests) {
            connection.write_all(request)?;
            connection.flush()?;
        }
        for connection in &mut connections {
            read_response(connection)?;
        }
        if round >= WARM_UP {
            times.push(begun.elapsed());
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok((u32::try_from(calls.len())?, Spread::of(times)))
}

fn connect(front: &Front) -> Result<StreamOwned<ClientConnection, TcpStream>, Failure> {
    let (config, host) = front.client();
    let stream = TcpStream::connect(("127.0.0.1", front.port()))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let connection = ClientConnection::new(config, ServerName::try_from(host)?)?;
    Ok(StreamOwned::new(connection, stream))
}

/// The request as it was sent, but from another address of the same length, and with a number of its own: the limiter
/// counts a number once.
fn request(call: &Call, address: &str, round: u32, number: u64) -> Vec<u8> {
    let mut body = String::from_utf8_lossy(&call.body).replace(address, &other_address(round));
    if let Some(sent) = number_of(&body) {
        body = body.replace(&sent, &format!("{number:016x}"));
    }
    let mut request = b"POST / HTTP/1.1\r\n".to_vec();
    for (name, value) in &call.headers {
        request.extend_from_slice(name.as_str().as_bytes());
        request.extend_from_slice(b": ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body.as_bytes());
    request
}

/// The number under which a request is counted: 16 hexadecimal digits.
fn number_of(body: &str) -> Option<String> {
    let (_, rest) = body.split_once(r#"":number":{"SS":[""#)?;
    rest.split_once('"').map(|(number, _)| number.to_owned())
}

/// Reads one response, which has to be a 200.
fn read_response(connection: &mut impl std::io::Read) -> Result<(), Failure> {
    let mut response = Vec::with_capacity(4_096);
    let mut chunk = [0; 4_096];
    loop {
        let read = connection.read(&mut chunk)?;
        if read == 0 {
            return Err("the connection was closed".into());
        }
        response.extend_from_slice(&chunk[..read]);
        let Some(end) = response.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&response[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.ok_or("a response without a length")?.trim().parse()?;
        if response.len() >= end + 4 + length {
            let text = String::from_utf8_lossy(&response);
            return if head.starts_with("http/1.1 200") { Ok(()) } else { Err(text.into()) };
        }
    }
}

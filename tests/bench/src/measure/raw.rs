//! The raw call: what a function sends, over a bare TLS connection, without SDK, runtime or handler.

use super::{Visits, ask};
use crate::cases::user;
use crate::error::BenchError;
use crate::figures::Spread;
use crate::front::{Call, Front};
use crate::programs::Program;
use crate::stage::Stage;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A problem outside the programs.
type Failure = Box<dyn std::error::Error + Send + Sync>;
type Connection = StreamOwned<ClientConnection, TcpStream>;

/// Rounds that are not counted.
const WARM_UP: u32 = 50;

/// Records the call of POST /user, and sends it `rounds` times.
pub async fn measure(stage: &Stage, programs: &[Program], rounds: u32) -> Result<Spread, BenchError> {
    crate::say("measuring: the raw call");
    let failed = BenchError::setup("the raw call");
    let auth = programs.iter().find(|program| program.name == "auth").ok_or_else(|| failed(&"no function auth"))?;
    let mut sandbox = stage.start(auth, true).await?;
    let mut visits = Visits::default();
    ask(&mut sandbox, &user("auth"), &mut visits).await?;
    stage.front.count();
    ask(&mut sandbox, &user("auth"), &mut visits).await?;
    let call = stage.front.counted().into_iter().next().ok_or_else(|| failed(&"nothing was recorded"))?;
    let front = stage.front.clone();
    let replayed = tokio::task::spawn_blocking(move || replay(&front, &call, rounds)).await;
    replayed.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
}

fn replay(front: &Front, call: &Call, rounds: u32) -> Result<Spread, Failure> {
    let mut connection = connect(front)?;
    let request = request(call);
    let mut times = Vec::new();
    for round in 0..rounds + WARM_UP {
        let begun = Instant::now();
        connection.write_all(&request)?;
        connection.flush()?;
        read_response(&mut connection)?;
        if round >= WARM_UP {
            times.push(begun.elapsed());
        }
    }
    Ok(Spread::of(times))
}

fn connect(front: &Front) -> Result<Connection, Failure> {
    let (config, host, port) = front.client();
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(StreamOwned::new(ClientConnection::new(config, ServerName::try_from(host)?)?, stream))
}

/// The request as it was sent.
fn request(call: &Call) -> Vec<u8> {
    let mut request = b"POST / HTTP/1.1\r\n".to_vec();
    for (name, value) in &call.headers {
        request.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    request.extend([b"\r\n", call.body.as_ref()].concat());
    request
}

/// Reads one response, which has to be a 200.
fn read_response(connection: &mut Connection) -> Result<(), Failure> {
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

//! Requests that the database refuses for their signature: because of a wrong clock, or of credentials that expired.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use aws_sdk_dynamodb::config::Credentials;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use shared::clock::{Clock, SystemClock};
use shared::http::lambda::LastResponse;
use shared::store::{Access, Db, StoreError, connector, keys};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// How far the database's clock is ahead of this machine's, in seconds.
const AHEAD: i64 = 360;
/// How far a signature's time may be off, in seconds.
const TOLERATED: i64 = 300;

/// How a database judges a request, by the time in its signature and its own time, in seconds since 1970 UTC.
type Verdict = fn(i64, i64) -> Result<(), &'static str>;

/// A database whose clock is ahead; the receiver has an entry for every request.
fn database(verdict: Verdict) -> (Db, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            while let Some(signed_for) = read_request(&mut stream) {
                _ = sender.send(());
                let now = SystemClock.seconds() + AHEAD;
                let (status, body) = match verdict(signed_for, now) {
                    Ok(()) => (200, r#"{"Item":{"pk":{"S":"STORE"}}}"#.to_owned()),
                    Err(code) => (400, format!(r#"{{"__type":"com.amazon.coral.service#{code}"}}"#)),
                };
                let date = Timestamp::from_second(now).unwrap().strftime("%a, %d %b %Y %H:%M:%S GMT");
                let head = format!("HTTP/1.1 {status} -\r\ndate: {date}\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.get_mut().write_all((head + &body).as_bytes()).unwrap();
            }
        }
    });
    let credentials = Credentials::new("id", "secret", None, None, "test");
    let access = Access::new("eu-central-1", Some(url), Some(credentials), connector::plain_client());
    (Db::new(access, "t"), requests)
}

/// Reads a request and returns the time in its signature; `None` if the client is gone.
fn read_request(stream: &mut impl BufRead) -> Option<i64> {
    let (mut signed_for, mut length) = (None, 0);
    stream.read_line(&mut String::new()).ok()?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "x-amz-date" => signed_for = Some(DateTime::strptime("%Y%m%dT%H%M%SZ", value).unwrap()),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    Some(signed_for.unwrap().to_zoned(TimeZone::UTC).unwrap().timestamp().as_second())
}

#[tokio::test]
async fn a_clock_that_is_wrong_by_minutes_is_corrected_by_the_databases() {
    let (db, requests) = database(|signed_for, now| match signed_for.abs_diff(now) {
        off if off <= TOLERATED.unsigned_abs() => Ok(()),
        _ => Err("InvalidSignatureException"),
    });
    db.get(&keys::active_version(), true).await.unwrap().unwrap();
    assert_eq!(requests.try_iter().count(), 2, "the first is refused, and tried again");
    db.get(&keys::active_version(), true).await.unwrap().unwrap();
    assert_eq!(requests.try_iter().count(), 1, "the difference is remembered");
}

#[tokio::test]
async fn without_usable_credentials_a_response_is_the_processs_last() {
    let verdicts: [Verdict; 2] = [|_, _| Err("ExpiredTokenException"), |_, _| Err("UnrecognizedClientException")];
    for verdict in verdicts {
        let error = database(verdict).0.get(&keys::active_version(), true).await.unwrap_err();
        assert!(matches!(error, StoreError::Credentials { .. }), "{error:?}");
        let response = shared::endpoint::failed("r", &error);
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
        assert!(response.extensions().get::<LastResponse>().is_some());
    }
    let error = database(|_, _| Err("AccessDeniedException")).0.get(&keys::active_version(), true).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "another process would fare no better: {error:?}");
}

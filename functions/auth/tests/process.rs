//! The function's process, against a Runtime API in the test.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const EVENT: &str = include_str!("../../../events/auth/user.json");
const TOKEN_KEYS: &str = include_str!("../../../events/token-keys.json");

/// A server that responds to every request by `respond`, which takes the request line and the body and returns a status
/// and a body.
fn serve(respond: impl Fn(&str, String) -> (u16, String) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let respond = respond.clone();
            std::thread::spawn(move || serve_connection(BufReader::new(stream), respond));
        }
    });
    address
}

fn serve_connection(mut stream: BufReader<TcpStream>, respond: impl Fn(&str, String) -> (u16, String)) -> Option<()> {
    loop {
        let (mut first, mut length) = (String::new(), 0);
        stream.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let (status, body) = respond(&first, String::from_utf8(body).unwrap());
        let arn = "arn:aws:lambda:eu-central-1:123456789012:function:auth";
        let invocation = format!(
            "lambda-runtime-aws-request-id: r\r\nlambda-runtime-deadline-ms: 9999999999999\r\n\
             lambda-runtime-invoked-function-arn: {arn}\r\n"
        );
        let head = format!("HTTP/1.1 {status} -\r\n{invocation}content-length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all((head + &body).as_bytes()).ok()?;
    }
}

/// The function's process, run by another program if `runner` names one.
fn function(runner: &[&str], runtime: SocketAddr, database: &str) -> Command {
    let words = [runner, &[env!("CARGO_BIN_EXE_auth")]].concat();
    let mut function = Command::new(words[0]);
    function
        .args(&words[1..])
        .env_clear()
        .envs([("AWS_LAMBDA_RUNTIME_API", runtime.to_string()), ("TOKEN_KEYS", TOKEN_KEYS.to_owned())])
        .envs([("AWS_ENDPOINT_URL_DYNAMODB", database), ("TABLE_NAME", "t"), ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")])
        .envs([("AWS_REGION", "local"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")])
        .envs([("AWS_LAMBDA_FUNCTION_NAME", "auth"), ("AWS_LAMBDA_FUNCTION_VERSION", "1")])
        .envs([("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"), ("AWS_LAMBDA_LOG_GROUP_NAME", "g")])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    function
}

#[test]
fn expired_credentials_are_a_503_and_end_the_process() {
    let database = serve(|_, _| (400, r#"{"__type":"com.amazon.coral.service#ExpiredTokenException"}"#.to_owned()));
    let (sender, sent) = channel();
    let taken = Arc::new(AtomicBool::new(false));
    let runtime = serve(move |first, body| {
        if first.starts_with("GET ") && !taken.swap(true, Ordering::SeqCst) {
            return (200, EVENT.to_owned());
        }
        _ = sender.send((first.to_owned(), body));
        (202, String::new())
    });
    let mut function = function(&[], runtime, &format!("http://{database}")).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        match function.try_wait().unwrap() {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            ended => break ended,
        }
    };
    // Fails if the process has ended, as it should have.
    _ = function.kill();
    assert_eq!(status.and_then(|status| status.code()), Some(1));
    let (first, body) = sent.try_recv().unwrap();
    assert!(first.starts_with("POST /2018-06-01/runtime/invocation/r/response "), "{first}");
    assert!(body.contains(r#""statusCode":503"#), "{body}");
    assert!(sent.try_recv().is_err(), "no other request is asked for");
}

/// A mount namespace of its own gives the process a file of hosts that the test can change.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_moves_to_another_address_is_found_there() {
    const UNSHARE: [&str; 3] = ["unshare", "--mount", "--map-root-user"];
    if !Command::new(UNSHARE[0]).args(&UNSHARE[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        // Not `eprintln`, which is captured while a test passes.
        _ = writeln!(std::io::stderr(), "skipped: this system does not let a test have a mount namespace");
        return;
    }
    let hosts = concat!(env!("CARGO_TARGET_TMPDIR"), "/hosts");
    std::fs::write(hosts, "127.0.0.2 database.test\n").unwrap();
    let database = serve(|_, _| (200, "{}".to_owned()));
    let (sender, sent) = channel();
    let runtime = serve(move |first, body| {
        if first.starts_with("GET ") {
            return (200, EVENT.to_owned());
        }
        _ = sender.send(body);
        (202, String::new())
    });
    let bind = r#"mount --bind "$0" /etc/hosts && exec "$@""#;
    let runner = [&UNSHARE[..], &["sh", "-c", bind, hosts]].concat();
    let mut function =
        function(&runner, runtime, &format!("http://database.test:{}", database.port())).spawn().unwrap();
    let response = || sent.recv_timeout(Duration::from_secs(20)).unwrap();
    // Nothing listens at the first address.
    assert!(response().contains(r#""statusCode":503"#));
    std::fs::write(hosts, "127.0.0.1 database.test\n").unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut responses = std::iter::repeat_with(response).take_while(|_| Instant::now() < deadline);
    let found = responses.find(|body| !body.contains(r#""statusCode":503"#));
    _ = function.kill();
    _ = function.wait();
    // A table without the user.
    assert!(found.is_some_and(|body| body.contains(r#""statusCode":401"#)));
}

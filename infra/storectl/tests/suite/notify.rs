//! `chat connect`, as a process before a stack whose services are in the test. And `notify …`: targets are connected, tried and given
//! other keys; what waits is listed and sent again.

use crate::bench::Bench;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{About, Notice, NoticeEvent, NoticeTarget, PausedTarget, Sending, TargetKind};
use shared::shop::notices::listed;
use shared::table::keys;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Sender, channel};
use storectl::error::{Exit, Failure};
use tests::receiver::{Arrived, Receiver};

const SECRET: &str = "a-client-secret-that-nobody-may-see";

/// AWS as far as the command calls it. Sends on what Secrets Manager is asked to do.
fn services(
    outputs: &'static [(&'static str, &'static str)],
    refuses: bool,
) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            std::thread::spawn(move || serve(BufReader::new(stream), outputs, refuses, &sender));
        }
    });
    (url, asked)
}

fn serve(
    mut stream: BufReader<TcpStream>,
    outputs: &[(&str, &str)],
    refuses: bool,
    asked: &Sender<(String, Value)>,
) -> Option<()> {
    loop {
        let (mut target, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
            if line.trim_end().is_empty() {
                break;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { continue };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "x-amz-target" => value.clone_into(&mut target),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let (status, kind, reply) = if target.is_empty() {
            (200, "text/xml", described(outputs))
        } else {
            asked.send((target, serde_json::from_slice(&body).unwrap())).ok()?;
            let refusal = json!({ "__type": "AccessDeniedException", "message": "User: arn:u is not authorized" });
            let reply = if refuses { refusal } else { json!({ "ARN": "arn:chat", "Name": "chat" }) };
            (if refuses { 400 } else { 200 }, "application/x-amz-json-1.1", reply.to_string())
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", reply.len());
        stream.get_mut().write_all((head + &reply).as_bytes()).ok()?;
    }
}

fn described(outputs: &[(&str, &str)]) -> String {
    let member = |(key, value): &(&str, &str)| {
        format!("<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>")
    };
    let outputs: String = outputs.iter().map(member).collect();
    format!(
        "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\"><DescribeStacksResult>\
         <Stacks><member><StackName>storefront</StackName><StackStatus>CREATE_COMPLETE</StackStatus>\
         <CreationTime>2031-05-01T12:00:00Z</CreationTime><Outputs>{outputs}</Outputs><Parameters><member>\
         <ParameterKey>KeyRevision</ParameterKey><ParameterValue>4</ParameterValue></member></Parameters></member>\
         </Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )
}

const STACK: &[(&str, &str)] =
    &[("ApiUrl", "https://api.example"), ("TableName", "t"), ("TokenKeysArn", "arn:s"), ("ChatSecretArn", "arn:chat")];
const OLD_STACK: &[(&str, &str)] = &[("ApiUrl", "https://api.example"), ("TableName", "t"), ("TokenKeysArn", "arn:s")];

/// Runs the command with this standard input; its output never has the secret in it.
fn connect(url: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_storectl"));
    command.args(["chat", "connect", "--stack", "storefront"]).args(arguments).env_clear();
    command.envs([("AWS_ENDPOINT_URL", url), ("AWS_REGION", "eu-central-1")]);
    command.envs([("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_EC2_METADATA_DISABLED", "true")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Fails if the command did not read it.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!printed.contains(SECRET), "{printed}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_secret_goes_from_standard_input_or_a_file_to_the_stacks_secret() {
    let (url, asked) = services(STACK, false);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("secret.txt");
    std::fs::write(&file, format!("  {SECRET}\r\n")).unwrap();
    for (arguments, input) in
        [(vec![], format!("{SECRET}\n")), (vec!["--secret-file", file.to_str().unwrap()], String::new())]
    {
        let output = connect(&url, &arguments, &input);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        let deploy = "sam build && sam deploy --stack-name storefront --parameter-overrides KeyRevision=5";
        assert!(printed.contains(deploy), "{printed}");
        let (target, body) = asked.try_recv().unwrap();
        assert_eq!((target.as_str(), &body["SecretId"]), ("secretsmanager.PutSecretValue", &json!("arn:chat")));
        let content: Value = serde_json::from_str(body["SecretString"].as_str().unwrap()).unwrap();
        assert_eq!(content, json!({ "client_secret": SECRET }));
    }
    let output = connect(&url, &["--json"], SECRET);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["key_revision"], &printed["stack"]), (&json!("5"), &json!("storefront")));
}

#[test]
fn what_is_not_a_secret_is_refused_before_anything_is_written() {
    let (url, asked) = services(STACK, false);
    for input in ["", " \n", &format!("{SECRET} and more"), &"x".repeat(600), &format!("{SECRET}\n{SECRET}\n")] {
        let output = connect(&url, &[], input);
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("The client secret "), "{}", text(&output.stderr));
    }
    let output = connect(&url, &["--secret-file", "/no/such/file"], SECRET);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/no/such/file"), "{}", text(&output.stderr));
    assert!(asked.try_recv().is_err(), "nothing was written");
}

#[test]
fn a_stack_without_the_secret_and_a_refusal_say_what_to_do() {
    let (url, _asked) = services(OLD_STACK, false);
    let output = connect(&url, &[], SECRET);
    assert_eq!(output.status.code(), Some(7));
    assert!(text(&output.stderr).contains("ChatSecretArn"), "{}", text(&output.stderr));
    let (url, _asked) = services(STACK, true);
    let output = connect(&url, &[], SECRET);
    assert_eq!(output.status.code(), Some(7));
    assert!(text(&output.stderr).contains("may not do this"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn only_a_stack_has_such_a_secret() {
    let bench = crate::bench::Bench::empty().await;
    let failure = bench.run(&["chat", "connect", "--secret-file", "unused"]).await.unwrap_err();
    assert_eq!(failure.exit, storectl::error::Exit::Denied);
    assert!(failure.next.contains("--stack"), "{failure}");
}

/// A store with two targets, a receiver on this machine, and a file for the addresses.
struct Told {
    bench: Bench,
    receiver: Receiver,
}

impl Told {
    async fn open() -> Self {
        let bench = Bench::published().await;
        let target = |name, kind| NoticeTarget::new(name, kind, &[NoticeEvent::SoldOut]);
        let targets = vec![target("own", TargetKind::Webhook), target("sales", TargetKind::Discord)];
        tests::configure(&bench.db, |config| config.notify = targets).await;
        let gone = |one: &Arrived| (404, "", format!("no {}", one.path));
        let answer =
            move |one: &Arrived, _| Some(if one.path.contains("gone") { gone(one) } else { (204, "", String::new()) });
        Self { bench, receiver: Receiver::start(answer).await }
    }

    async fn run(&self, arguments: &[&str]) -> Result<serde_json::Value, Failure> {
        let keys = self.bench.path("notices.json").display().to_string();
        let arguments = [&["notify"], arguments, &["--notice-keys", &keys]].concat();
        self.bench.run(&arguments).await.map(|printed| printed.json().clone())
    }

    /// Connects a target to a path of the receiver, or to a whole address.
    async fn connect(&self, name: &str, address: &str) -> Result<serde_json::Value, Failure> {
        let whole = address.starts_with("http");
        let address = if whole { address.to_owned() } else { format!("{}{address}", self.receiver.url) };
        self.bench.write("url.txt", &format!("{address}\n"));
        let file = self.bench.path("url.txt").display().to_string();
        self.run(&["connect", name, "--url-file", &file]).await
    }

    fn stored(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.bench.path("notices.json")).unwrap()).unwrap()
    }
}

#[tokio::test]
async fn an_owner_connects_a_target_tries_it_and_changes_its_key() {
    let told = Told::open().await;
    for (name, address, said) in [
        ("own", "http://hooks.example/s3cret", "https://"),
        ("own", "https://10.0.0.1/s3cret", "not public"),
        ("own", "https://hooks.example/s3cret b", "one word"),
        ("own", "https://hooks.example:99999/s3cret", "port"),
        ("sales", "https://hooks.example/s3cret", "webhook of Discord"),
        ("mods", "/hook", "it has: own, sales"),
    ] {
        let failure = told.connect(name, address).await.unwrap_err();
        assert!(failure.exit == Exit::Refused && failure.what.contains(said), "{address}: {failure}");
        assert!(!failure.to_string().contains("s3cret"), "the address is a secret: {failure}");
    }
    assert!(told.run(&["test", "own"]).await.unwrap_err().what.contains("not connected"));
    let first = told.connect("own", "/hook").await.unwrap()["signing_key"].clone();
    assert!(first.as_str().unwrap().starts_with("whsec_"));
    told.run(&["test", "own"]).await.unwrap();
    let arrived = told.receiver.at("/hook").remove(0);
    assert!(arrived.header("webhook-id").starts_with("test-") && arrived.json()["type"] == "test");
    // Another address: the key stays, and is not shown again.
    assert_eq!(told.connect("own", "/gone").await.unwrap()["signing_key"], serde_json::Value::Null);
    assert_eq!(told.run(&["test", "own"]).await.unwrap_err().what, "own did not take the test: HTTP 404: no ….");
    told.connect("own", "/hook").await.unwrap();
    told.run(&["connect", "own", "--drop-old"]).await.unwrap_err();
    let second = told.run(&["connect", "own", "--rotate"]).await.unwrap()["signing_key"].clone();
    // It was killed before it had shown the key: the receiver knows the first one, which stays.
    assert_eq!(told.run(&["connect", "own", "--rotate"]).await.unwrap()["signing_key"], second);
    told.run(&["test", "own"]).await.unwrap();
    let arrived = told.receiver.at("/hook").remove(1);
    assert_eq!(arrived.header("webhook-signature").split(' ').count(), 2);
    assert_eq!(told.stored()["own"]["keys"], serde_json::json!([first, second]));
    told.run(&["connect", "own", "--drop-old"]).await.unwrap();
    assert_eq!(told.stored()["own"]["keys"], serde_json::json!([second]));
    assert_eq!(told.connect("sales", "/api/webhooks/1/a").await.unwrap()["signing_key"], serde_json::Value::Null);
    told.run(&["test", "sales"]).await.unwrap();
    assert_eq!(told.receiver.at("/api/webhooks/1/a?wait=true").len(), 1);
    told.run(&["connect", "sales", "--rotate"]).await.unwrap_err();
}

#[tokio::test]
async fn a_target_that_becomes_one_of_another_kind_is_not_connected_until_it_is_again() {
    let told = Told::open().await;
    told.connect("own", "/hook").await.unwrap();
    told.connect("sales", "/api/webhooks/1/a").await.unwrap();
    let connected = async || {
        let listed = told.run(&["list"]).await.unwrap();
        [0, 1].map(|place: usize| listed["targets"][place]["connected"].as_bool().unwrap())
    };
    assert_eq!(connected().await, [true, true]);
    let target = |name, kind| NoticeTarget::new(name, kind, &[NoticeEvent::SoldOut]);
    let swapped = vec![target("own", TargetKind::Discord), target("sales", TargetKind::Webhook)];
    tests::configure(&told.bench.db, |config| config.notify = swapped).await;
    assert_eq!(connected().await, [false, false]);
    for name in ["own", "sales"] {
        assert!(told.run(&["test", name]).await.unwrap_err().what.contains("not connected"), "{name}");
        assert!(told.run(&["connect", name, "--rotate"]).await.unwrap_err().what.contains("not connected"), "{name}");
    }
    assert_eq!(told.receiver.at("/hook").len() + told.receiver.at("/api/webhooks/1/a?wait=true").len(), 0);
    told.connect("own", "/api/webhooks/1/a").await.unwrap();
    told.connect("sales", "/hook").await.unwrap();
    assert_eq!(connected().await, [true, true]);
}

#[tokio::test]
async fn what_waits_is_listed_with_its_answer_and_sent_again() {
    let told = Told::open().await;
    let now = told.bench.clock.seconds();
    for id in ["sold_out-1", "sold_out-2"] {
        let failed = Sending { attempts: 27, tried_at: Some(now), answer: "HTTP 404".to_owned(), ..Sending::default() };
        let sent = Sending { attempts: 1, sent_at: Some(now), ..Sending::default() };
        let about = About::Item { id: 201, name: "A crate".to_owned() };
        let targets = BTreeMap::from([("own".to_owned(), failed), ("sales".to_owned(), sent)]);
        let notice = Notice { id: id.to_owned(), event: NoticeEvent::SoldOut, at: now, about, targets };
        told.bench.put(&keys::notice_in("WAITING", now, id), &notice).await;
    }
    let listed = told.run(&["list", "--waiting"]).await.unwrap();
    assert_eq!(listed["notices"][1]["targets"]["own"]["answer"], "HTTP 404");
    assert_eq!(listed["targets"][0]["connected"], false);
    told.run(&["resend", "sold_out-9"]).await.unwrap_err();
    assert_eq!(told.run(&["resend", "sold_out-1"]).await.unwrap()["resent"][0], "sold_out-1");
    assert_eq!(told.run(&["resend", "--all"]).await.unwrap()["resent"], serde_json::json!(["sold_out-2"]));
    assert_eq!(told.run(&["resend", "--all"]).await.unwrap()["resent"], serde_json::json!([]));
    let all = told.run(&["list"]).await.unwrap();
    assert_eq!(all["notices"].as_array().unwrap().len(), 2);
    assert_eq!(all["notices"][0]["targets"]["own"]["attempts"], 0);
}

#[tokio::test]
async fn what_is_sent_again_by_hand_is_due_at_once_whatever_its_target_has_asked_for() {
    let told = Told::open().await;
    let (now, id) = (told.bench.clock.seconds(), "sold_out-000000000201-1");
    let paused =
        Sending { attempts: 1, again_at: Some(now + 900), answer: "HTTP 429".to_owned(), ..Sending::default() };
    let about = About::Item { id: 201, name: "A crate".to_owned() };
    let targets = BTreeMap::from([("own".to_owned(), paused)]);
    let notice = Notice { id: id.to_owned(), event: NoticeEvent::SoldOut, at: now, about, targets };
    told.bench.put(&keys::notice_due(now + 900, id), &notice).await;
    let pause = async || {
        let until = PausedTarget { name: "own".to_owned(), until: now + 900 };
        told.bench.put(&keys::paused_target("own"), &until).await;
    };
    let is_paused = async || told.bench.rows().await.iter().any(|row| row.contains("TARGET#own"));
    // Twice: the first one is of the same second.
    for due in [now, now + 1] {
        pause().await;
        told.run(&["resend", id]).await.unwrap();
        let rows = listed(&told.bench.db).await.unwrap();
        assert_eq!(rows.iter().map(|row| keys::due_second(&row.key)).collect::<Vec<_>>(), [Some(due)]);
        assert!(!is_paused().await);
    }
    pause().await;
    told.connect("own", "/hook").await.unwrap();
    assert!(!is_paused().await, "another address may take what this one does not");
}

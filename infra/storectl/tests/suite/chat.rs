//! `chat connect`, as a process before a stack whose services are in the test.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

const SECRET: &str = "a-client-secret-that-nobody-may-see";

/// AWS as far as the command calls it. Sends on what Secrets Manager is asked to do.
fn services(outputs: &'static [(&'static str, &'static str)], refuses: bool) -> (String, Receiver<(String, Value)>) {
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

//! The refusals that the ready line lists to try.

use super::process::Server;
use serde_json::{Value, json};

/// Every refusal of the rules that a buyer of the sample store can meet is in the list, and each is what the server responds.
#[test]
fn every_refusal_to_try_is_what_it_promises() {
    // Behind a proxy, so that no address reaches a rate limit.
    let server = Server::start(&["--parameter", "TrustedProxies=127.0.0.0/8"]);
    let refusals = server.ready["try"]["refusals"].as_array().unwrap();
    let mut names: Vec<&str> = refusals.iter().map(|refusal| refusal["name"].as_str().unwrap()).collect();
    for (place, refusal) in refusals.iter().enumerate() {
        let address = format!("203.0.113.{place}");
        let send = |path: &str, authorization: &str, body: &Value| {
            let headers = [("x-forwarded-for", address.as_str()), ("authorization", authorization)];
            server.send(&format!("{}{path}", server.said("/base_url")), &headers, body.to_string().as_bytes())
        };
        let token = match (refusal["user"].as_str(), refusal["login"].as_str()) {
            (Some(user), _) => server.token(user).to_owned(),
            (None, Some(name)) => {
                send("/auth/username", "", &json!({"username": name})).json().as_str().unwrap().to_owned()
            }
            (None, None) => String::new(),
        };
        let authorization = if token.is_empty() { token } else { format!("Bearer {token}") };
        let (last, before) = refusal["calls"].as_array().unwrap().split_last().unwrap();
        for call in before {
            let reply = send(call["path"].as_str().unwrap(), &authorization, &call["body"]);
            assert_eq!(
                (reply.status, &reply.json()["success"]),
                (200, &json!(true)),
                "{refusal}: {call}: {}",
                reply.text
            );
        }
        let reply = send(last["path"].as_str().unwrap(), &authorization, &last["body"]);
        let body = reply.json();
        assert_eq!(
            (&json!(reply.status), &body["message"]),
            (&refusal["status"], &refusal["message"]),
            "{refusal}: {body}"
        );
        assert_ne!(body["success"], true, "{refusal}");
    }
    names.sort_unstable();
    let expected: Vec<&str> = include_str!("names.txt").lines().collect();
    assert_eq!(names, expected, "none disappears unseen");
}

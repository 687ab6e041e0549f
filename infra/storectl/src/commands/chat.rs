//! `chat connect` (rules.md, "Chat login").

use super::deploy::{command, next_revision, shown};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::ConnectChat;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

/// The most bytes of a client secret.
const LONGEST: u64 = 512;

/// Writes the client secret into the stack's secret. The functions have it after the next deploy.
pub(super) async fn connect(target: &Target, options: &ConnectChat) -> Result<Answer, Failure> {
    let next = "Add --stack NAME. The local server brings a stand-in for the chat platform, which needs no secret.";
    let stack = target
        .stack
        .as_ref()
        .ok_or_else(|| Failure::new(Exit::Denied, "Only a deployed stack has a client secret.", next))?;
    let secret = match &options.secret_file {
        Some(path) => from_file(path)?,
        None => from_standard_input()?,
    };
    target.write_chat_secret(&json!({ "client_secret": check(&secret)? }).to_string()).await?;
    let revision = next_revision(&stack.key_revision, target.clock.seconds());
    let deploy = command(&stack.name, &format!("KeyRevision={revision}"));
    let next = shown("The function has it after the next deploy", &deploy);
    let text = format!("{} The client secret is stored. {next}", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "stack": stack.name, "key_revision": revision, "deploy": deploy })))
}

fn from_file(path: &Path) -> Result<String, Failure> {
    let file = std::fs::File::open(path).map_err(|error| Failure::file(path, &error))?;
    let mut text = String::new();
    // One byte more than allowed shows that it is too long.
    file.take(LONGEST + 2).read_to_string(&mut text).map_err(|error| Failure::file(path, &error))?;
    Ok(text)
}

fn from_standard_input() -> Result<String, Failure> {
    let input = std::io::stdin();
    if input.is_terminal() {
        let next = "Add --secret-file FILE, or pipe the secret: `storectl chat connect --stack NAME < FILE`.";
        return Err(Failure::new(Exit::Usage, "The client secret is missing.", next));
    }
    let mut text = String::new();
    let read = input.lock().take(LONGEST + 2).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::new(Exit::Local, format!("Standard input cannot be read: {error}."), "Use --secret-file FILE.")
    })?;
    Ok(text)
}

/// The secret without the spaces and line ends around it.
fn check(text: &str) -> Result<&str, Failure> {
    let secret = text.trim();
    let problem = match secret {
        "" => "is empty",
        secret if secret.len() as u64 > LONGEST => "is longer than 512 bytes",
        secret if !secret.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "has a space, a line end or a character that is not ASCII in it"
        }
        secret => return Ok(secret),
    };
    let next = "Copy only the secret from the chat platform's page for developers.";
    Err(Failure::refused(format!("The client secret {problem}."), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_word() {
        assert_eq!(check(" s3cret-x_Y.z~\r\n").unwrap(), "s3cret-x_Y.z~");
        let long = "x".repeat(513);
        for text in ["", " \n", "a b", "a\nb", "sécret", "a\0b", &long] {
            let failure = check(text).unwrap_err();
            assert_eq!(failure.exit, Exit::Refused);
            assert!(failure.what.starts_with("The client secret "), "{failure}");
        }
        assert!(!check("s3cret s3cret").unwrap_err().to_string().contains("s3cret s3cret"));
    }
}

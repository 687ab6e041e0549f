//! `chat connect` (rules.md, "Chat login"), and the deploy that hands a new secret to the functions: the tool prints it, and the
//! owner runs it.

use crate::arguments::secret;
use crate::prelude::*;
use std::io::IsTerminal as _;
use std::path::PathBuf;

#[derive(Debug, Clone, Subcommand)]
pub enum ChatCommand {
    /// Store the client secret of the chat platform in the stack, and print the deploy that takes it over.
    #[command(after_help = "Examples:\n  storectl chat connect --stack storefront --secret-file client-secret.txt\n  \
                            storectl chat connect --stack storefront < client-secret.txt\n\n\
                            The secret is never an argument and is never shown. Remove the file afterwards.")]
    Connect(ConnectChat),
}

#[derive(Debug, Clone, Args)]
pub struct ConnectChat {
    /// File with the client secret and nothing else; by default standard input.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

/// The most bytes of a client secret.
const LONGEST_SECRET: u64 = 512;

/// Writes the client secret into the stack's secret. The functions have it after the next deploy.
pub async fn connect(at: &Deployment, options: &ConnectChat) -> Outcome {
    let next = "Add --stack NAME. The local server brings a stand-in for the chat platform, which needs no secret.";
    let without = || Failure::new(Exit::Denied, "Only a deployed stack has a client secret.", next);
    let stack = at.stack.as_ref().ok_or_else(without)?;
    if options.secret_file.is_none() && std::io::stdin().is_terminal() {
        let next = "Add --secret-file FILE, or pipe the secret: `storectl chat connect --stack NAME < FILE`.";
        return Err(Failure::new(Exit::Usage, "The client secret is missing.", next));
    }
    // More than is allowed shows that it is too long.
    let secret = secret(options.secret_file.as_deref(), LONGEST_SECRET + 2, "--secret-file")?;
    at.write_chat_secret(&value(&facts! { client_secret: check(&secret)? }).to_string()).await?;
    let key_revision = next_revision(&stack.key_revision, at.clock.seconds());
    let deploy = deploy(&stack.name, &format!("KeyRevision={key_revision}"));
    let text = ok!("The client secret is stored. {}", shown("The function has it after the next deploy", &deploy));
    Ok(Printed::new(text, &facts! { stack: &stack.name, key_revision, deploy }))
}

/// The secret without the spaces and line ends around it.
fn check(text: &str) -> Result<&str> {
    let secret = text.trim();
    let problem = match secret {
        "" => "is empty",
        secret if secret.len() as u64 > LONGEST_SECRET => "is longer than 512 bytes",
        secret if !secret.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "has a space, a line end or a character that is not ASCII in it"
        }
        secret => return Ok(secret),
    };
    let next = "Copy only the secret from the chat platform's page for developers.";
    Err(Failure::refused(format!("The client secret {problem}."), next))
}

/// A value of KeyRevision that differs from the present one.
pub fn next_revision(present: &str, now: i64) -> String {
    present
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_add(1))
        .map_or_else(|| now.to_string(), |next| next.to_string())
}

/// The deploy of a stack with other parameters. Without the build it would upload the sources.
pub fn deploy(stack: &str, parameters: &str) -> String {
    format!("sam build && sam deploy --stack-name {stack} --parameter-overrides {parameters}")
}

/// A sentence with the deploy on a line of its own. The name of its environment is not known here.
pub fn shown(sentence: &str, command: &str) -> String {
    format!("{sentence}, from the version that is deployed and with its --config-env:\n  {}", paint(STRONG, command))
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

    #[test]
    fn the_next_revision_differs() {
        assert_eq!(next_revision("1", 7), "2");
        assert_eq!(next_revision("2026-06-01_b", 1_781_524_800), "1781524800");
    }
}

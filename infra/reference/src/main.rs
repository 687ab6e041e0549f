//! Rewrites the generated parts of `README.md`, `Cargo.toml` and the pages of `infra/docs`, and `infra/openapi.json`.

use reference::page::{Page, PageError};
use reference::{Reference, openapi, samples};
use std::io::Write;
use std::process::ExitCode;

/// The OpenAPI document's path in the repository.
const DOCUMENT: &str = "infra/openapi.json";

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{page}: {error}")]
    File { page: &'static str, error: std::io::Error },
    #[error("{page}: {error}")]
    Page { page: &'static str, error: PageError },
}

fn main() -> ExitCode {
    match rewrite() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Without a terminal the message is lost.
            _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn rewrite() -> Result<(), Failure> {
    let reference = Reference::of_all_functions();
    let samples = samples::run();
    for page in Page::ALL {
        let file = |error| Failure::File { page: page.name(), error };
        let text = std::fs::read_to_string(page.path()).map_err(file)?;
        let rendered = page.rendered(&text, &reference, &samples);
        let rendered = rendered.map_err(|error| Failure::Page { page: page.name(), error })?;
        if rendered != text {
            std::fs::write(page.path(), rendered).map_err(file)?;
            writeln!(std::io::stdout(), "{} rewritten", page.name()).map_err(file)?;
        }
    }
    let file = |error| Failure::File { page: DOCUMENT, error };
    let rendered = openapi::rendered(&reference, &samples);
    if std::fs::read_to_string(openapi::path()).ok().as_ref() != Some(&rendered) {
        std::fs::write(openapi::path(), rendered).map_err(file)?;
        writeln!(std::io::stdout(), "{DOCUMENT} rewritten").map_err(file)?;
    }
    Ok(())
}

//! The generated parts of a file. They are between markers, which are comments in Markdown: `<!-- fields: POST /user -->`
//! to `<!-- /fields -->`, and `<!-- endpoints -->` to `<!-- /endpoints -->`. In Cargo.toml, it is a section.

use crate::endpoints::Reference;
use crate::render;
use std::fmt::Write;
use std::path::PathBuf;

/// A page with generated parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// `infra/docs/api.md`.
    Api,
    /// `README.md`.
    Readme,
    /// `infra/docs/rules.md`.
    Rules,
    /// `Cargo.toml`.
    Manifest,
}

/// A page whose markers cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// A marker without its end.
    #[error("{marker} has no end")]
    NoEnd { marker: String },
    /// A marker that should be on the page.
    #[error("there is no {marker}")]
    NoMarker { marker: &'static str },
    /// A marker of an endpoint that is not declared.
    #[error("{heading} is not declared by any function; remove its section")]
    Unknown {
        /// The method and path in the marker.
        heading: String,
    },
}

const FIELDS: &str = "<!-- fields: ";
const FIELDS_END: &str = "<!-- /fields -->";
const ENDPOINTS: &str = "<!-- endpoints -->";
const ENDPOINTS_END: &str = "<!-- /endpoints -->";
const ROUTER: &str = "[workspace.metadata.lambda.watch.router]\n";

impl Page {
    /// Every page with generated parts.
    pub const ALL: [Self; 4] = [Self::Api, Self::Readme, Self::Rules, Self::Manifest];

    /// The page's path in the repository.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "infra/docs/api.md",
            Self::Readme => "README.md",
            Self::Rules => "infra/docs/rules.md",
            Self::Manifest => "Cargo.toml",
        }
    }

    /// The page's path on this machine.
    #[must_use]
    pub fn path(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(self.name())
    }

    /// The page with its generated parts as they should be. An endpoint without a section gets one at the page's end.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn rendered(self, text: &str, reference: &Reference) -> Result<String, PageError> {
        match self {
            Self::Readme => with_table(text, &render::overview(reference)),
            Self::Rules => with_table(text, &render::round_trips(reference)),
            Self::Manifest => {
                let (before, rest) = text.split_once(ROUTER).ok_or(PageError::NoMarker { marker: ROUTER })?;
                let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
                Ok(format!("{before}{ROUTER}{}{after}", render::router(reference)))
            }
            Self::Api => with_sections(&with_table(text, &render::interface(reference))?, reference),
        }
    }
}

fn with_table(text: &str, table: &str) -> Result<String, PageError> {
    let (before, rest) = text.split_once(ENDPOINTS).ok_or(PageError::NoMarker { marker: ENDPOINTS })?;
    let no_end = || PageError::NoEnd { marker: ENDPOINTS.to_owned() };
    let (_, after) = rest.split_once(ENDPOINTS_END).ok_or_else(no_end)?;
    Ok(format!("{before}{ENDPOINTS}\n{table}{ENDPOINTS_END}{after}"))
}

fn with_sections(text: &str, reference: &Reference) -> Result<String, PageError> {
    let mut parts = text.split(FIELDS);
    let mut page = parts.next().unwrap_or_default().to_owned();
    let mut missing: Vec<_> = reference.endpoints.iter().collect();
    for part in parts {
        let heading = part.split_once(" -->").map_or(part, |(heading, _)| heading).to_owned();
        let no_end = || PageError::NoEnd { marker: format!("{FIELDS}{heading} -->") };
        let (_, after) = part.split_once(FIELDS_END).ok_or_else(no_end)?;
        let place = missing.iter().position(|endpoint| endpoint.heading() == heading);
        let endpoint = missing.remove(place.ok_or_else(|| PageError::Unknown { heading: heading.clone() })?);
        page.push_str(&section(&heading, &render::endpoint(reference, endpoint)));
        page.push_str(after);
    }
    for endpoint in missing {
        let (heading, summary) = (endpoint.heading(), endpoint.declaration.summary);
        let section = section(&heading, &render::endpoint(reference, endpoint));
        _ = write!(page, "\n### {heading}\n\n{}.\n\n{section}\n", render::sentence(summary));
    }
    Ok(page)
}

fn section(heading: &str, text: &str) -> String {
    format!("{FIELDS}{heading} -->\n\n{text}\n{FIELDS_END}")
}

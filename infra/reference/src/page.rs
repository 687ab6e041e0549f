//! The generated parts of a file. In api.md, one is below the text of each endpoint's section, from the marker
//! `<!-- generated -->` to the next heading; in Markdown, a table is between `<!-- generated table -->` and
//! `<!-- /generated table -->`; in Cargo.toml, it is a section.

use crate::endpoints::Reference;
use crate::render;
use crate::samples::Sample;
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
    /// `infra/docs/migration.md`.
    Migration,
    /// `infra/docs/operations.md`.
    Operations,
    /// `Cargo.toml`.
    Manifest,
}

/// A page whose markers cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("there is no {marker}")]
    NoMarker { marker: &'static str },
    #[error("{heading} is not declared by any function; remove its section")]
    Unknown {
        /// The heading: a method and a path.
        heading: String,
    },
}

const HEADING: &str = "\n### ";
const GENERATED: &str = "<!-- generated -->\n";
const TABLE: &str = "<!-- generated table -->";
const TABLE_END: &str = "<!-- /generated table -->";
const ROUTER: &str = "[workspace.metadata.lambda.watch.router]\n";

impl Page {
    /// Every page with generated parts.
    pub const ALL: [Self; 6] =
        [Self::Api, Self::Readme, Self::Rules, Self::Migration, Self::Operations, Self::Manifest];

    /// The page's path in the repository.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "infra/docs/api.md",
            Self::Readme => "README.md",
            Self::Rules => "infra/docs/rules.md",
            Self::Migration => "infra/docs/migration.md",
            Self::Operations => "infra/docs/operations.md",
            Self::Manifest => "Cargo.toml",
        }
    }

    /// The page's path on this machine.
    pub fn path(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(self.name())
    }

    /// The page with its generated parts as they should be. An endpoint without a section gets one at the page's end.
    pub fn rendered(self, text: &str, reference: &Reference, samples: &[Sample]) -> Result<String, PageError> {
        match self {
            Self::Readme => with_table(text, &render::overview(reference)),
            Self::Rules => with_table(text, &render::round_trips(reference)),
            Self::Migration => with_table(text, &render::additions(reference)),
            Self::Operations => with_table(text, &render::payment_methods()),
            Self::Manifest => {
                let (before, rest) = text.split_once(ROUTER).ok_or(PageError::NoMarker { marker: ROUTER })?;
                let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
                Ok(format!("{before}{ROUTER}{}{after}", render::router(reference)))
            }
            Self::Api => with_sections(&with_table(text, &render::shared(reference))?, reference, samples),
        }
    }
}

fn with_table(text: &str, table: &str) -> Result<String, PageError> {
    let (before, rest) = text.split_once(TABLE).ok_or(PageError::NoMarker { marker: TABLE })?;
    let (_, after) = rest.split_once(TABLE_END).ok_or(PageError::NoMarker { marker: TABLE_END })?;
    Ok(format!("{before}{TABLE}\n{table}{TABLE_END}{after}"))
}

fn with_sections(text: &str, reference: &Reference, samples: &[Sample]) -> Result<String, PageError> {
    let mut parts = text.split(HEADING);
    let mut page = parts.next().unwrap_or_default().to_owned();
    let mut missing: Vec<_> = reference.endpoints.iter().collect();
    for part in parts {
        let heading = part.lines().next().unwrap_or_default();
        let place = missing.iter().position(|endpoint| endpoint.heading() == heading);
        let endpoint = missing.remove(place.ok_or_else(|| PageError::Unknown { heading: heading.to_owned() })?);
        let (before, after) = part.split_once(GENERATED).ok_or(PageError::NoMarker { marker: GENERATED })?;
        let rest = after.find("\n## ").map_or("", |start| &after[start..]);
        _ = write!(page, "{HEADING}{before}{GENERATED}{}{rest}", render::endpoint(reference, endpoint, samples));
    }
    for endpoint in missing {
        let (heading, summary) = (endpoint.heading(), render::sentence(&endpoint.summary()));
        let generated = render::endpoint(reference, endpoint, samples);
        _ = write!(page, "{HEADING}{heading}\n\n{summary}.\n\n{GENERATED}{generated}");
    }
    Ok(page)
}

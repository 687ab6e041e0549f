//! The HTTP API of a template and its CORS settings.

use crate::Template;
use crate::document::{Content, Node};
use crate::error::{Fault, TemplateError};
use crate::evaluate::Value;

/// How the API answers browsers of other origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cors {
    /// Origins that may call, or `*` alone for every one.
    pub allow_origins: Vec<String>,
    /// Methods that a preflight allows.
    pub allow_methods: Vec<String>,
    /// Request headers that a preflight allows, as in the template.
    pub allow_headers: Vec<String>,
    /// Response headers that a page may read.
    pub expose_headers: Vec<String>,
    /// Whether cookies and authorization may be sent along. Never together with the origin `*`.
    pub allow_credentials: bool,
    /// Seconds for which a browser may remember a preflight.
    pub max_age: Option<u32>,
}

impl Template {
    /// The CORS settings of the HTTP API, or none when it has none and preflights are answered 404.
    ///
    /// # Errors
    /// When there is no HTTP API or more than one, and when the settings are not what API Gateway takes.
    pub fn cors(&self) -> Result<Option<Cors>, TemplateError> {
        let Some((id, api)) = self.api()? else {
            return Err(TemplateError::Absent { problem: "no HTTP API".to_owned() });
        };
        // SAM would merge these, and then both places would have to be read.
        let common = ["Globals", "HttpApi", "CorsConfiguration"];
        if let Some(node) = self.document.find(&common) {
            let problem = "is not read: CORS belongs to the API itself";
            return Err(Fault::new(node.line, problem).at(common.join(".")));
        }
        let Some(node) = api.find(&["Properties", "CorsConfiguration"]) else {
            return Ok(None);
        };
        self.cors_settings(node).map_err(|fault| fault.at(format!("{id}.CorsConfiguration")))
    }

    /// Logical id and definition of the HTTP API, of which there is at most one.
    pub(crate) fn api(&self) -> Result<Option<(&str, &Node)>, TemplateError> {
        match self.resources("AWS::Serverless::HttpApi")?.as_slice() {
            [] => Ok(None),
            [api] => Ok(Some(*api)),
            [_, (second, node), ..] => {
                Err(Fault::new(node.line, "is a second HTTP API, and one is expected").at(*second))
            }
        }
    }

    fn cors_settings(&self, node: &Node) -> Result<Option<Cors>, Fault> {
        let node = self.scope.chosen(node)?;
        let settings = match &node.content {
            // `CorsConfiguration: true` is SAM's short form for every origin.
            Content::Text(text) if text == "true" => {
                return Ok(Some(Cors { allow_origins: vec!["*".to_owned()], ..Cors::default() }));
            }
            Content::Text(text) if text == "false" => return Ok(None),
            Content::Call(..) if self.scope.evaluate(node)? == Value::Absent => return Ok(None),
            _ => node.entries()?,
        };
        let mut cors = Cors::default();
        for (key, value) in settings {
            match key.as_str() {
                "AllowOrigins" => cors.allow_origins = self.scope.texts(value)?,
                "AllowMethods" => cors.allow_methods = self.scope.texts(value)?,
                "AllowHeaders" => cors.allow_headers = self.scope.texts(value)?,
                "ExposeHeaders" => cors.expose_headers = self.scope.texts(value)?,
                "AllowCredentials" => cors.allow_credentials = literal_flag(value)?,
                "MaxAge" => cors.max_age = Some(self.seconds(value)?),
                _ => return Err(Fault::new(value.line, format!("has the unknown key {key}"))),
            }
        }
        let is_any = cors.allow_origins.iter().any(|origin| origin == "*");
        if is_any && cors.allow_credentials {
            let problem = "allows credentials for the origin *, which browsers refuse";
            return Err(Fault::new(node.line, problem));
        }
        Ok(Some(cors))
    }

    fn seconds(&self, node: &Node) -> Result<u32, Fault> {
        let text = self.scope.text(node)?;
        text.parse().map_err(|_| Fault::new(node.line, "has a MaxAge that is no number of seconds"))
    }
}

/// SAM copies `AllowCredentials` only where it is literally `true`, and drops an expression without a word. Here that
/// is an error: locally the expression would work.
fn literal_flag(node: &Node) -> Result<bool, Fault> {
    match &node.content {
        Content::Text(text) if text == "true" => Ok(true),
        Content::Text(text) if text == "false" => Ok(false),
        _ => Err(Fault::new(node.line, "has an AllowCredentials that is not literally true or false, which SAM drops")),
    }
}

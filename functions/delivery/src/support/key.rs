//! The key of a game server, as the path of a call has it.

use crate::support::path;
use crate::support::reply::UnknownKey;
use shared::endpoint::RequestSchemas;
use shared::endpoint::{Error, Input, InputKind, Received};
use shared::http::body::BodyFault;
use shared::usecases::delivery::{CallError, ServerKey};
use std::collections::BTreeMap;

/// The key in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentKey {
    Absent,
    /// The text is not a key.
    Malformed,
    Key(ServerKey),
}

impl SentKey {
    /// The key among the parameters of a path.
    pub fn of(parameters: &BTreeMap<&'static str, String>) -> Self {
        match parameters.get("key").map(|text| ServerKey::parse(text)) {
            None => Self::Absent,
            Some(None) => Self::Malformed,
            Some(Some(key)) => Self::Key(key),
        }
    }

    /// The key of a call that needs one.
    pub fn required(&self) -> Result<&ServerKey, Error<UnknownKey>> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Absent | Self::Malformed => Err(Error::Refused(UnknownKey)),
        }
    }
}

/// The error of a call of a game server, as a response.
pub fn refused(error: CallError) -> Error<UnknownKey> {
    match error {
        CallError::UnknownKey => Error::Refused(UnknownKey),
        CallError::Store(error) => Error::Store(error),
    }
}

/// The server's key.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
pub struct ServerKeyText(String);

/// The input of a call that has only a key.
#[derive(Debug)]
pub struct KeyOnly(pub SentKey);

impl Input for KeyOnly {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self(SentKey::of(&path::parameters(received.request))))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters = vec![generator.subschema_for::<ServerKeyText>()];
        RequestSchemas { path_parameters, ..RequestSchemas::default() }
    }
}

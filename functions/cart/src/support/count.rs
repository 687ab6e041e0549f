//! The number of units that a request asks for.

use serde::Deserialize;
use shared::model::Line;

/// A number of units, 1 to [`Line::MAX_COUNT`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
pub struct Count(u32);

impl Count {
    pub const ONE: Self = Self(1);

    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A number that is not a number of units.
#[derive(Debug, thiserror::Error)]
#[error("must be between 1 and {}", Line::MAX_COUNT)]
pub struct OutOfRange;

impl TryFrom<u64> for Count {
    type Error = OutOfRange;

    fn try_from(number: u64) -> Result<Self, OutOfRange> {
        let count = u32::try_from(number).ok().filter(|count| (1..=Line::MAX_COUNT).contains(count));
        count.map(Self).ok_or(OutOfRange)
    }
}

impl schemars::JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": Line::MAX_COUNT })
    }
}

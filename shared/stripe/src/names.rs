//! Words of the API that may become more.

/// An enum of words. A word that is not in the list is kept as `Other`.
macro_rules! names {
    ($(#[$about:meta])* $type:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(from = "String")]
        pub enum $type {
            $($(#[$note])* $variant,)+
            /// A word that this crate does not know.
            Other(String),
        }

        impl $type {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $type {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }
    };
}

pub(crate) use names;

//! Random values from the system.

/// A random UUID of version 4 (RFC 9562); `None` if the system gives no random numbers.
pub fn uuid() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

/// Whether a text is a UUID with its hyphens.
pub fn is_uuid(text: &str) -> bool {
    text.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(text).is_ok()
}

/// 128 random bits; `None` if the system gives no random numbers.
pub fn bits() -> Option<[u8; 16]> {
    let mut bits = [0_u8; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(bits)
}

/// A random id of 64 bits as 16 hex digits; `None` if the system gives no random numbers.
pub fn id() -> Option<String> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_id_has_sixteen_hex_digits() {
        let id = super::id().unwrap();
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_ne!(super::id(), super::id());
    }

    #[test]
    fn a_uuid_says_its_version() {
        let uuid = super::uuid().unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        assert_ne!(super::uuid(), super::uuid());
        assert!(super::is_uuid(&uuid));
        assert!(!super::is_uuid("abc") && !super::is_uuid(&uuid.replace('-', "")));
    }
}

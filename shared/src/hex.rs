//! Bytes as hex digits in lower case.

use std::fmt::Write as _;

/// The hex digits of some bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push(&mut text, bytes);
    text
}

/// Appends the hex digits of some bytes.
pub fn push(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        _ = write!(text, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(super::encode(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(super::encode(&[]), "");
    }
}

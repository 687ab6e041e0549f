//! The accounts of the stand-in, and the parameters that its page passes on.

pub(super) const ACCOUNTS: [(&str, &str); 3] = [
    ("418203377561042101", "thornwick"),
    ("418203377561042102", "quillfeather"),
    ("418203377561042103", "Pebble <& Sons>"),
];
pub(super) const CARRIED: [&str; 7] =
    ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"];

//! Whether the storefronts' origins are let in.

use super::finding::Finding;
use crate::target::Target;

const CHECK: &str = "origins";

/// Compares the deployed stack's origins with those that must be let in.
pub(super) fn clients(target: &Target, wanted: &[String]) -> Finding {
    let Some(stack) = &target.stack else {
        return Finding::note(
            CHECK,
            "not known without the deployed stack",
            "name it with --stack to have them checked",
        );
    };
    let fix = "deploy with AllowedOrigins=https://your.shop (comma-separated, no trailing slash)";
    if let Some(wrong) = wanted.iter().chain(&stack.origins).find(|origin| !is_origin(origin)) {
        return Finding::bad(CHECK, format!("{wrong:?} is not an origin: write only scheme, host and port"), fix);
    }
    let any = stack.origins.iter().any(|origin| origin == "*");
    match wanted.iter().find(|origin| !any && !stack.origins.contains(origin)) {
        Some(missing) => Finding::bad(CHECK, format!("{missing} is not let in"), fix),
        None if any => Finding::note(CHECK, format!("any page may call {}", stack.api_url), fix),
        None => Finding::ok(CHECK, format!("{} is open to {}", stack.api_url, stack.origins.join(", "))),
    }
}

/// `*`, or what a browser sends as `Origin`: no path, no trailing slash.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']))
}

#[cfg(test)]
mod tests {
    use super::is_origin;

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for text in ["*", "https://shop.example", "http://localhost:3000"] {
            assert!(is_origin(text), "{text}");
        }
        for text in ["", "shop.example", "https://shop.example/", "https://", "https://a@b"] {
            assert!(!is_origin(text), "{text}");
        }
    }
}

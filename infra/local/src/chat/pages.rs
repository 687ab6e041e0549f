//! The stand-in's pages: the authorize page, and what is wrong with a request for it.

use std::fmt::Write as _;
use stripe_stand_in::fields::{Parameters, in_html};

pub(super) const ACCOUNTS: [(&str, &str); 3] = [
    ("418203377561042101", "thornwick"),
    ("418203377561042102", "quillfeather"),
    ("418203377561042103", "Pebble <& Sons>"),
];
const CARRIED: [&str; 7] =
    ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"];

fn page(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body {{ font: 16px sans-serif; margin: 3em auto; max-width: 36em }} button {{ margin: 0.25em 0; \
         padding: 0.5em 1em }}</style></head>\n<body>\n<h1>{title}</h1>\n{content}</body>\n</html>\n"
    )
}

/// The page on which the buyer chooses an account, or refuses.
pub(super) fn authorize(query: &Parameters) -> String {
    let mut form = String::from("<form method=\"post\" action=\"/authorize\">\n");
    for name in CARRIED {
        _ = writeln!(form, "<input type=\"hidden\" name=\"{name}\" value=\"{}\">", in_html(query.get(name)));
    }
    for (id, name) in ACCOUNTS {
        _ = writeln!(form, "<p><button name=\"account\" value=\"{id}\">Log in as {}</button></p>", in_html(name));
    }
    form.push_str("<p><button name=\"account\" value=\"\">Refuse</button></p>\n</form>\n");
    let scope = in_html(query.get("scope"));
    let content = format!("<p>A store asks who you are ({scope}). This is a stand-in for a chat platform.</p>\n{form}");
    page("Chat platform", &content)
}

/// The page for an authorize request that is refused. The browser is not sent back: the redirect URL may be wrong too.
pub(super) fn problem(text: &str) -> String {
    page("Chat platform", &format!("<p>{}</p>\n", in_html(text)))
}

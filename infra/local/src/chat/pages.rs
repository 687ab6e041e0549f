//! The stand-in's pages: the authorize page, and a page that logs in as a storefront does.

use super::form::{Parameters, in_html};
use super::platform::{ACCOUNTS, CARRIED};
use std::fmt::Write as _;

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

/// What is wrong with an authorize request. The browser is not sent back: the redirect URL may be wrong too.
pub(super) fn problem(text: &str) -> String {
    page("Chat platform", &format!("<p>{}</p>\n", in_html(text)))
}

/// A page that does what a storefront does: it asks the API at `api` for the URL, opens it, and waits for the result.
pub(super) fn storefront(api: &str) -> String {
    let script = r#"
const api = document.body.querySelector("main").dataset.api;
const shown = document.getElementById("result");
const show = (data) => { shown.textContent = typeof data === "string" ? data : JSON.stringify(data, null, 2); };
addEventListener("message", (event) => {
  if (event.origin === new URL(api).origin) show(event.data);
});
document.getElementById("login").addEventListener("click", async () => {
  // Opened at once: after a pause, browsers take it for an advertisement.
  const popup = open("about:blank", "chat", "width=560,height=640");
  try {
    const reply = await (await fetch(`${api}/auth/chat`, { credentials: "include" })).json();
    show(reply);
    if (reply.success) popup.location = reply.url; else popup.close();
  } catch (error) {
    popup.close();
    show(`${error}: is this page's origin among AllowedOrigins?`);
  }
});
"#;
    let content = format!(
        "<main data-api=\"{}\">\n<p>This page logs in as a storefront does.</p>\n<p><button id=\"login\">Log in with \
         chat</button></p>\n<pre id=\"result\">Nothing yet.</pre>\n</main>\n<script>{script}</script>\n",
        in_html(api)
    );
    page("A storefront", &content)
}

//! Parts of the pages, their responses, and the parameters of their forms.

use super::objects::Line;
use super::state::State;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem;color:#222}\
    h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
    td,th{text-align:left;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #ddd;vertical-align:top}\
    td.n,th.n{text-align:right}form{display:inline-block;margin:.2rem .4rem .2rem 0}\
    button{font:inherit;padding:.3rem .9rem}button.pay{background:#2457d6;color:#fff;border:0;border-radius:.3rem}\
    input[type=number]{font:inherit;width:7rem}.note{background:#fff3cd;padding:.5rem .8rem}small{color:#666}";

pub(super) fn lines(page: &mut String, lines: &[Line], total: i64, currency: &str) {
    page.push_str("<table><tr><th>Item<th class=n>Amount");
    for line in lines {
        let amount = money(line.unit_amount * line.quantity, currency);
        _ = write!(page, "<tr><td>{}<td class=n>{amount}", in_html(&line.name));
    }
    _ = write!(page, "<tr><th>Total<th class=n>{}</table>", money(total, currency));
}

pub(super) fn buttons_to_give_back(page: &mut String, state: &State, id: &str) {
    let charge = state.charge_of(id).ok().and_then(|charge| state.charges.get(&charge));
    let Some(charge) = charge else { return };
    let left = charge.amount - charge.refunded;
    _ = write!(page, "Refunded: {}. ", money(charge.refunded, &charge.currency));
    if charge.refunded > 0 {
        button(page, "fail_refund", "Let the last refund fail");
    }
    if charge.disputed {
        let open = state.disputes.values().find(|dispute| dispute.charge == charge.id);
        _ = write!(page, "Dispute: {}. ", open.map_or("none", |dispute| dispute.status));
        if open.is_some_and(|dispute| dispute.needs_response() && dispute.evidence.is_empty()) {
            button(page, "stage_evidence", "Write evidence, and do not submit it");
        }
        match open.filter(|dispute| dispute.is_open()) {
            Some(inquiry) if inquiry.is_inquiry() => {
                button(page, "escalate", "Make the inquiry a dispute");
                button(page, "dispute_won", "Close the inquiry");
            }
            Some(_) => {
                button(page, "dispute_won", "Close the dispute: won");
                button(page, "dispute_lost", "Close the dispute: lost");
            }
            None => {}
        }
    } else if left > 0 {
        button(page, "refund", "Refund in full");
        _ = write!(
            page,
            "<form method=post><input type=hidden name=action value=refund_part>\
             <input type=number name=amount min=1 max={left} value=1 aria-label=\"Minor units\"> \
             <button>Refund in part (minor units)</button></form>"
        );
        button(page, "dispute", "Dispute");
        button(page, "inquire", "Inquiry");
        button(page, "warn_of_fraud", "Warn of fraud");
    }
}

pub(super) fn button(page: &mut String, action: &str, label: &str) {
    _ = write!(page, "<form method=post><input type=hidden name=action value={action}><button>{label}</button></form>");
}

pub(super) fn money(minor: i64, currency: &str) -> String {
    let code = in_html(&currency.to_ascii_uppercase());
    match currency {
        "bif" | "clp" | "djf" | "gnf" | "jpy" | "kmf" | "krw" | "mga" | "pyg" | "rwf" | "ugx" | "vnd" | "vuv"
        | "xaf" | "xof" | "xpf" => format!("{minor} {code}"),
        _ => format!("{}.{:02} {code}", minor / 100, minor % 100),
    }
}

pub(super) fn html(status: StatusCode, content: &str) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Stand-in for Stripe</title><style>{STYLE}</style><body>{content}</body></html>"
    );
    let mut response = text(status, &page);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

pub(super) fn text(status: StatusCode, content: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(content.to_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn redirect(to: &str) -> Response<Bytes> {
    let Ok(location) = HeaderValue::from_str(to) else {
        return text(StatusCode::BAD_REQUEST, "The address of the store is not valid.");
    };
    let mut response = text(StatusCode::SEE_OTHER, "");
    response.headers_mut().insert(LOCATION, location);
    response
}

/// Parameters by name; of two with the same name the first counts.
#[derive(Debug, Clone, Default)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub fn parse(text: &[u8]) -> Self {
        let mut found = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            found.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(found)
    }

    /// A parameter; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// A text that is safe within an element and within a quoted attribute.
pub fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let parameters = Parameters::parse(b"a=1+%3D&a=2&b=");
        assert_eq!((parameters.get("a"), parameters.get("b"), parameters.get("c")), ("1 =", "", ""));
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(in_html(r#"<a href="'&">"#), "&lt;a href=&quot;&#39;&amp;&quot;&gt;");
    }
}

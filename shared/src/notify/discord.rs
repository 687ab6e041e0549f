//! Messages to a channel of Discord, within its limits: a few notices are an embed each, many are lines of few embeds, and none is
//! left out (rules.md, "Notices").

use super::{Message, millis};
use crate::fault::capital;
use crate::model::{Notice, NoticeTarget};
use crate::money::iso_8601;
use crate::rules::notice::{default_text, fill, word};
use lambda_http::http::HeaderMap;
use serde_json::{Value, json};
use std::time::Duration;

/// The most embeds of a message.
const EMBEDS: usize = 10;
/// The most characters of an embed's description.
const DESCRIPTION: usize = 4_096;
/// The most characters of all embeds of a message together.
const MESSAGE: usize = 6_000;
/// The most characters of a notice that shares an embed with others.
const LINE: usize = 400;

/// Characters that format a text or begin a mention, a link or an emoji.
const SPECIAL: &str = "\\*_~|>#-[]()`:@<";

/// A value as a text that is shown as it is: nothing in it formats, links or mentions, and it has one line.
pub fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            _ if character.is_control() => text.push(' '),
            // Breaks `@everyone` also where a backslash does not count.
            '@' => text.push_str("\\@\u{200b}"),
            _ if SPECIAL.contains(character) => text.extend(['\\', character]),
            _ => text.push(character),
        }
    }
    text
}

/// How Discord counts: what is two units in UTF-16 may be two characters.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The beginning of a text, in at most `most` characters.
fn clip(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let mut size = 1;
    let fits = |character: &char| {
        size += character.len_utf16();
        size <= most
    };
    let clipped: String = text.chars().take_while(fits).collect();
    // A backslash at the end would escape what follows.
    clipped.trim_end_matches('\\').to_owned() + "…"
}

fn text(target: &NoticeTarget, notice: &Notice) -> String {
    let text = target.texts.get(&notice.event).map_or_else(|| default_text(notice.event), String::as_str);
    fill(text, notice, escape)
}

/// The title of an event: `Free order`.
fn title(notice: &Notice) -> String {
    capital(&word(notice.event).replace('_', " "))
}

fn body(embeds: &[Value]) -> String {
    json!({ "embeds": embeds, "allowed_mentions": { "parse": [] } }).to_string()
}

/// A message with the first of these notices.
pub(super) fn message(target: &NoticeTarget, notices: &[&Notice]) -> Message {
    let (embeds, count) = if notices.len() <= EMBEDS { each(target, notices) } else { joined(target, notices) };
    let id = notices.first().map_or_else(String::new, |notice| notice.id.clone());
    Message { count, id, body: body(&embeds) }
}

pub(super) fn test() -> String {
    body(&[json!({ "title": "Test", "description": "The store's notices arrive here." })])
}

/// An embed for each notice.
fn each(target: &NoticeTarget, notices: &[&Notice]) -> (Vec<Value>, usize) {
    let (mut embeds, mut size) = (Vec::new(), 0);
    for notice in notices {
        let (title, description) = (title(notice), clip(&text(target, notice), DESCRIPTION));
        size += length(&title) + length(&description) + length(&notice.id);
        if size > MESSAGE && !embeds.is_empty() {
            break;
        }
        embeds.push(json!({
            "title": title, "description": description, "timestamp": iso_8601(notice.at), "footer": { "text": notice.id },
        }));
    }
    let count = embeds.len();
    (embeds, count)
}

/// A line for each notice.
fn joined(target: &NoticeTarget, notices: &[&Notice]) -> (Vec<Value>, usize) {
    let (mut texts, mut size, mut count) = (vec![String::new()], 0, 0);
    for notice in notices {
        let line = text(target, notice).split_whitespace().collect::<Vec<_>>().join(" ");
        let line = clip(&format!("**{}** {line}", title(notice)), LINE);
        let added = length(&line) + 1;
        if size + added > MESSAGE {
            break;
        }
        let is_full = texts.last().is_none_or(|text| length(text) + added > DESCRIPTION);
        if is_full {
            texts.push(String::new());
        }
        if let Some(text) = texts.last_mut() {
            text.extend([line.as_str(), "\n"]);
        }
        (size, count) = (size + added, count + 1);
    }
    (texts.into_iter().map(|text| json!({ "description": text.trim_end() })).collect(), count)
}

/// How long no message may be sent, by the limits that an answer tells.
pub(super) fn pause(headers: &HeaderMap) -> Duration {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_used_up = text("x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    let reset = text("x-ratelimit-reset-after").and_then(millis);
    reset.filter(|_| is_used_up).map_or(Duration::ZERO, Duration::from_millis)
}

/// The address with which Discord confirms that a message is in the channel.
pub(super) fn confirmed(url: &str) -> String {
    format!("{url}{}wait=true", if url.contains('?') { '&' } else { '?' })
}

/// Whether host and path are those of a webhook.
pub(super) fn is_webhook(host: &str, path: &str, allows_here: bool) -> bool {
    let name = host.strip_prefix("ptb.").or_else(|| host.strip_prefix("canary.")).unwrap_or(host);
    let is_known_host = ["discord.com", "discordapp.com"].contains(&name) || allows_here && outgoing::is_here(host);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (id, token) = match path.split('/').collect::<Vec<_>>()[..] {
        ["", "api", "webhooks", id, token] => (id, token),
        ["", "api", version, "webhooks", id, token] if version.strip_prefix('v').is_some_and(is_number) => (id, token),
        _ => return false,
    };
    is_known_host && is_number(id) && !token.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{About, NoticeEvent, TargetKind};
    use proptest::prelude::*;

    fn target(template: Option<&str>) -> NoticeTarget {
        let texts = template.map(|text| (NoticeEvent::SoldOut, text.to_owned())).into_iter().collect();
        NoticeTarget { texts, ..NoticeTarget::new("sales", TargetKind::Discord, &[NoticeEvent::SoldOut]) }
    }

    fn notices(names: &[String]) -> Vec<Notice> {
        let notice = |(place, name): (usize, &String)| {
            let about = About::Item { id: 1, name: format!("{name} n{place}.") };
            Notice::new(NoticeEvent::SoldOut, format!("sold_out-{place}"), 1_800_000_000, about)
        };
        names.iter().enumerate().map(notice).collect()
    }

    /// All messages with these notices, each within Discord's limits.
    fn messages(target: &NoticeTarget, notices: &[Notice]) -> Vec<Value> {
        let (mut rest, mut sent): (Vec<&Notice>, _) = (notices.iter().collect(), Vec::new());
        while !rest.is_empty() {
            let message = message(target, &rest);
            assert!(message.count >= 1);
            rest.drain(..message.count);
            let body: Value = serde_json::from_str(&message.body).unwrap();
            let embeds = body["embeds"].as_array().unwrap();
            assert!((1..=EMBEDS).contains(&embeds.len()));
            let size = |text: &Value| text.as_str().map_or(0, length);
            let all =
                embeds.iter().map(|one| size(&one["title"]) + size(&one["description"]) + size(&one["footer"]["text"]));
            assert!(all.sum::<usize>() <= MESSAGE, "{body}");
            assert!(embeds.iter().all(|one| (1..=DESCRIPTION).contains(&size(&one["description"]))), "{body}");
            assert_eq!(body["allowed_mentions"]["parse"], json!([]));
            sent.push(body);
        }
        sent
    }

    proptest! {
        #[test]
        fn every_message_is_within_the_limits_and_has_all_its_notices(
            names in prop::collection::vec("\\PC{0,300}", 1..40), long in prop::option::of(0_usize..3_000),
        ) {
            let all = notices(&names);
            let template = long.map(|count| format!("{{item}}{}", "*".repeat(count)));
            messages(&target(template.as_deref()), &all);
        }

        #[test]
        fn an_escaped_value_has_nothing_special_that_is_not_escaped(value in "\\PC{0,80}") {
            let escaped = escape(&value);
            let mut characters = escaped.chars();
            while let Some(character) = characters.next() {
                match character {
                    '\\' => prop_assert!(characters.next().is_some_and(|next| SPECIAL.contains(next))),
                    other => prop_assert!(!SPECIAL.contains(other), "{escaped}"),
                }
            }
        }
    }

    #[test]
    fn names_can_neither_ping_nor_format_nor_link() {
        for (value, shown) in [
            ("@everyone", "\\@\u{200b}everyone"),
            ("<@1>", "\\<\\@\u{200b}1\\>"),
            ("a\n# b", "a \\# b"),
            ("[a](https://b.example)", "\\[a\\]\\(https\\://b.example\\)"),
            ("||a|| ~~b~~ __c__ **d** `e`", "\\|\\|a\\|\\| \\~\\~b\\~\\~ \\_\\_c\\_\\_ \\*\\*d\\*\\* \\`e\\`"),
        ] {
            assert_eq!(escape(value), shown, "{value}");
        }
    }
}

//! Words that owners know from other shops, and that a store's files cannot say yet: the fault says what to do meanwhile.

/// A word, and what to do meanwhile.
type Word = (&'static str, &'static str);

/// Words at any place that does not know them.
const ANYWHERE: [Word; 7] = [
    ("gift_card", GIFT_CARD),
    ("role", ROLES),
    ("roles", ROLES),
    ("share", SHARE),
    ("creators", SHARE),
    ("languages", LANGUAGES),
    ("translations", LANGUAGES),
];

const GIFT_CARD: &str = "an item cannot be a gift card; meanwhile make the cards with `storectl gift add`, and send a code to who asks for one";
const ROLES: &str = "a purchase gives no role of the chat platform; meanwhile let a bot on a game server give it, by a command \
                     with {chat_id} of an item with needs_chat: true";
const SHARE: &str = "nobody is paid a share; meanwhile make a coupon for the buyers and a referral code for the creator, and pay \
                     what `storectl referral report` shows";
const LANGUAGES: &str = "a text is in one language; meanwhile write both into it, one after the other";

/// What to say of an unknown word, if it is one of these.
pub fn problem(word: &str) -> Option<String> {
    let (_, meanwhile) = ANYWHERE.iter().find(|(known, _)| *known == word)?;
    Some(format!("not yet: {meanwhile}"))
}

/// What to say of a text that is written once for each language, such as `{en: Knight, de: Ritter}`; its names are these.
pub fn of_text<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_language = |name: &&str| name.len() == 2 && name.bytes().all(|letter| letter.is_ascii_lowercase());
    let (languages, others): (Vec<&str>, Vec<&str>) = names.partition(is_language);
    (others.is_empty() && !languages.is_empty()).then(|| format!("not yet: {LANGUAGES}"))
}

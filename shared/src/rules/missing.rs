//! The choices that a line of a cart lacks before it can be paid (rules.md, "Incomplete lines").

use super::variable;
use crate::model::{Bundle, Item, Line, LineVariable, PaymentType, ServerId, Variable};

/// Something that a line lacks. The text is a sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("The player who receives the gift is missing.")]
    Recipient,
    #[error("\"{name}\" is missing.")]
    Variable { id: u64, name: String },
    #[error("\"{name}\" must be another than the choice before it.")]
    Different { id: u64, name: String },
    #[error("A server must be selected for this item.")]
    Server,
}

/// Everything that a line lacks; empty if the line is complete.
pub fn missing(line: &Line, item: &Item) -> Vec<Missing> {
    let recipient = line.payment_type == PaymentType::Gift && line.gift_to.is_none();
    let unset = item.variables.iter().filter(|variable| value_of(line, variable).is_none());
    let variables = unset.map(|variable| Missing::Variable { id: variable.id, name: variable.name.clone() });
    let alike = item.bundle.iter().flat_map(Bundle::variables).filter_map(|id| {
        let variable = item.variables.iter().find(|variable| variable.id == id)?;
        let value = value_of(line, variable)?;
        let before = |other: &&Variable| (Bundle::FIRST_CHOICE..id).contains(&other.id);
        let mut before = item.variables.iter().filter(before).filter_map(|other| value_of(line, other));
        before.any(|other| other == value).then(|| Missing::Different { id, name: variable.name.clone() })
    });
    let server = item.allow_select_server && server_of(line, item).is_none();
    let missing = recipient.then_some(Missing::Recipient).into_iter().chain(variables).chain(alike);
    missing.chain(server.then_some(Missing::Server)).collect()
}

/// The value that a line has for a variable, if it is still right.
pub fn value_of<'a>(line: &'a Line, variable: &Variable) -> Option<&'a str> {
    let chosen = line.variables.iter().find(|chosen| chosen.id == variable.id)?;
    is_stored(variable, &chosen.value).then_some(chosen.value.as_str())
}

/// Whether a value could be stored like this now. Under an earlier kind of the variable another form of it may have been.
fn is_stored(variable: &Variable, value: &str) -> bool {
    variable::parse(variable, value).is_ok_and(|stored| stored == value)
}

/// The server that is selected, if the item still has it.
pub fn server_of(line: &Line, item: &Item) -> Option<ServerId> {
    line.server.filter(|id| item.allow_select_server && item.servers.iter().any(|server| server.id == *id))
}

/// Whether a line costs the promoted price: it was added from a promotion that is still published (rules.md,
/// "Promotions").
pub const fn is_promoted(line: &Line, item: &Item) -> bool {
    line.promoted && item.promotion.is_some()
}

/// The line without the choices that its item no longer has, which are shown as unset. They must not keep the buyer
/// from making the other choices.
pub fn with_valid_choices(line: &Line, item: &Item) -> Line {
    let is_valid = |chosen: &&LineVariable| {
        let mut variables = item.variables.iter().filter(|variable| variable.id == chosen.id);
        variables.any(|variable| is_stored(variable, &chosen.value))
    };
    let variables = line.variables.iter().filter(is_valid).cloned().collect();
    let can_choose = item.any_price && !is_promoted(line, item);
    let price = line.price.filter(|_| can_choose).map(|price| price.max(item.min_price));
    Line { variables, server: server_of(line, item), price, ..line.clone() }
}

//! `live/users.yaml`.

use super::Desk;
use crate::fault::Unique;
use crate::files::UserFile;
use crate::lower::{check_id, money};
use shared::model::{Money, User, UserId, UserName};

/// Reads every user.
pub(super) fn users(files: &[UserFile], desk: &mut Desk<'_>) -> Vec<User> {
    let (mut ids, mut names) = (Unique::new("user id"), Unique::new("user name"));
    let mut users = Vec::with_capacity(files.len());
    for file in files {
        check_id(*file.id, file.id.line, "id", desk.report);
        ids.take(desk.report, *file.id, file.id.line, "id");
        match UserName::parse(&file.username) {
            Ok(name) => names.take(desk.report, name, file.username.line, "username"),
            Err(error) => desk.report.fault(file.username.line, "username", error.to_string()),
        }
        users.push(user(file, desk));
    }
    users
}

fn user(file: &UserFile, desk: &mut Desk<'_>) -> User {
    let field = |name: &str| format!("[{}].{name}", *file.id);
    let created_at = desk.time(&file.created_at, &field("created_at"));
    let updated_at = match &file.updated_at {
        None => created_at,
        Some(written) => {
            let updated_at = desk.time(written, &field("updated_at"));
            if updated_at < created_at {
                desk.report.fault(written.line, field("updated_at"), "must not be before created_at");
            }
            updated_at
        }
    };
    let balance = file.virtual_currency.as_ref();
    let digits = desk.digits;
    User {
        id: UserId::new(*file.id),
        username: file.username.value.clone(),
        avatar: file.avatar.clone(),
        system: file.system.clone(),
        identificator: file.identificator.clone(),
        uuid: file.uuid.clone(),
        created_at,
        updated_at,
        virtual_currency: balance
            .map_or(Money::ZERO, |balance| money(balance, digits, &field("virtual_currency"), desk.report)),
        tokens_valid_after: file.tokens_valid_after.as_ref().map(|at| desk.time(at, &field("tokens_valid_after"))),
        banned: false,
    }
}

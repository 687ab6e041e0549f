//! `live/users.yaml`.

use super::context::Context;
use super::files::UserFile;
use publish::fault::Unique;
use publish::lower::{check_id, money};
use shared::model::{Money, User, UserId, UserName};
use shared::random::is_uuid;

pub(super) fn users(files: &[UserFile], context: &mut Context<'_>) -> Vec<User> {
    let (mut ids, mut names) = (Unique::new("user id"), Unique::new("user name"));
    let mut users = Vec::with_capacity(files.len());
    for file in files {
        check_id(*file.id, file.id.line, "id", context.report);
        ids.take(context.report, *file.id, file.id.line, "id");
        match UserName::parse(&file.username) {
            Ok(name) => names.take(context.report, name, file.username.line, "username"),
            Err(error) => context.report.fault(file.username.line, "username", error.to_string()),
        }
        if !is_uuid(&file.uuid) {
            let problem = "must be a UUID such as 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90";
            context.report.fault(file.id.line, format!("[{}].uuid", *file.id), problem);
        }
        users.push(user(file, context));
    }
    users
}

fn user(file: &UserFile, context: &mut Context<'_>) -> User {
    let field = |name: &str| format!("[{}].{name}", *file.id);
    let created_at = context.time(&file.created_at, &field("created_at"));
    let updated_at = match &file.updated_at {
        None => created_at,
        Some(written) => {
            let updated_at = context.time(written, &field("updated_at"));
            if updated_at < created_at {
                context.report.fault(written.line, field("updated_at"), "must not be before created_at");
            }
            updated_at
        }
    };
    let balance = file.virtual_currency.as_ref();
    let digits = context.digits;
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
            .map_or(Money::ZERO, |balance| money(balance, digits, &field("virtual_currency"), context.report)),
        tokens_valid_after: file.tokens_valid_after.as_ref().map(|at| context.time(at, &field("tokens_valid_after"))),
        banned: file.banned,
        subscriptions: Vec::new(),
        customer: None,
    }
}

//! The commands, one module each.

mod accounts;
mod backup;
mod bans;
mod carts;
mod chat;
mod check;
mod codes;
mod common;
mod coupon_doubts;
mod coupons;
mod currency;
mod delivery;
mod deploy;
mod doctor;
mod edit;
mod erase;
mod export;
mod find_user;
mod gifts;
mod id_changes;
mod items;
mod maintenance;
mod openapi;
mod orders;
mod payments;
mod publishing;
mod queues;
mod referrals;
mod restore;
mod runs;
mod season;
mod servers;
mod shop;
mod status;
mod subscriptions;
mod tokens;
mod upgrade;
mod users;
mod versions;

pub(crate) use check::failure as faults;

use crate::answer::Answer;
use crate::cli::{
    BanCommand, CartCommand, ChatCommand, Cli, Command, CouponCommand, DeliveryCommand, GiftCommand, OrderCommand,
    PaymentsCommand, ReferralCommand, ServerCommand, ShopCommand, SubscriptionCommand, UserCommand,
};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use delivery::Decision;
use shared::clock::Clock;
use shared::model::CodeKind;
use std::sync::Arc;

pub async fn run(cli: &Cli, console: &Console, clock: &Arc<dyn Clock>) -> Result<Answer, Failure> {
    if let Command::Check(options) = &cli.command {
        return check::run(options, console);
    }
    if matches!(cli.command, Command::Openapi) {
        return openapi::run();
    }
    // Faults of the files are reported before a table is looked for.
    let files = match &cli.command {
        Command::Publish(options) => Some(publishing::read(&options.dir)?),
        _ => None,
    };
    let creates = match &cli.command {
        Command::Publish(options) => !options.dry_run,
        Command::Restore(_) => true,
        _ => false,
    };
    let target = Target::resolve(&cli.target, clock, creates).await?;
    match (&cli.command, files) {
        (Command::Publish(options), Some(files)) => {
            maintenance::must_be_ready(&target, &cli.command).await?;
            publishing::run(&target, console, options, files).await
        }
        (command, _) => on_table(command, &target, console).await,
    }
}

/// Runs a command that works on a table which was found already.
pub async fn on_table(command: &Command, target: &Target, console: &Console) -> Result<Answer, Failure> {
    maintenance::must_be_ready(target, command).await?;
    match command {
        Command::Versions => versions::list(target).await,
        Command::Rollback(options) => versions::rollback(target, console, options).await,
        Command::Export(options) => export::run(target, options).await,
        Command::Backup(options) => backup::run(target, console, options).await,
        Command::Restore(options) => restore::run(target, console, options).await,
        Command::Upgrade(options) => upgrade::run(target, console, options).await,
        Command::Token(options) => tokens::token(target, options).await,
        Command::Revoke(options) => bans::revoke(target, options).await,
        Command::Ban(options) => match (&options.command, &options.name) {
            (None, Some(name)) => bans::ban(target, name, options.reason.as_ref()).await,
            (Some(BanCommand::List), _) | (None, None) => bans::list(target).await,
        },
        Command::Unban(options) => bans::unban(target, options).await,
        Command::Maintenance(options) => maintenance::set(target, options).await,
        Command::Shop(ShopCommand::Upload) => shop::upload(target, console).await,
        Command::Chat(ChatCommand::Connect(options)) => chat::connect(target, options).await,
        Command::User(command) => user(command, target, console).await,
        Command::Coupon(command) => coupon(command, target, console).await,
        Command::Gift(command) => gift(command, target, console).await,
        Command::Referral(command) => referral(command, target).await,
        Command::Order(command) => order(command, target, console).await,
        Command::Subscription(command) => subscription(command, target, console).await,
        Command::Payments(command) => pay(command, target, console).await,
        Command::Server(command) => server(command, target, console).await,
        Command::Delivery(command) => deliver(command, target, console).await,
        Command::Cart(command) => cart(command, target).await,
        Command::Doctor(options) => doctor::run(target, options).await,
        Command::Status => status::run(target).await,
        Command::Publish(options) => publishing::run(target, console, options, publishing::read(&options.dir)?).await,
        Command::Check(_) | Command::Openapi => Err(Failure::refused("This needs no table.", "Report this.")),
    }
}

async fn user(command: &UserCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        UserCommand::Add(options) => users::add(target, options).await,
        UserCommand::Show(options) => users::show(target, &options.user).await,
        UserCommand::List => users::list(target).await,
        UserCommand::Credit(options) => accounts::credit(target, options).await,
        UserCommand::Rename(options) => accounts::rename(target, options).await,
        UserCommand::Erase(options) => erase::erase(target, console, options).await,
    }
}

async fn coupon(command: &CouponCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        CouponCommand::Add(options) => coupons::add(target, options).await,
        CouponCommand::Show(options) => codes::show(target, CodeKind::Coupon, &options.code).await,
        CouponCommand::List => codes::list(target, CodeKind::Coupon).await,
        CouponCommand::Edit(options) => edit::coupon(target, options).await,
        CouponCommand::Delete(options) => coupons::delete(target, console, options).await,
        CouponCommand::Disable(options) => codes::switch(target, CodeKind::Coupon, &options.code, false).await,
        CouponCommand::Enable(options) => codes::switch(target, CodeKind::Coupon, &options.code, true).await,
    }
}

async fn gift(command: &GiftCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        GiftCommand::Add(options) => gifts::add(target, console, options).await,
        GiftCommand::Show(options) => codes::show(target, CodeKind::Gift, &options.code).await,
        GiftCommand::List => codes::list(target, CodeKind::Gift).await,
        GiftCommand::Disable(options) => codes::switch(target, CodeKind::Gift, &options.code, false).await,
        GiftCommand::Enable(options) => codes::switch(target, CodeKind::Gift, &options.code, true).await,
        GiftCommand::Edit(options) => edit::gift(target, options).await,
        GiftCommand::TopUp(options) => edit::top_up(target, options).await,
    }
}

async fn referral(command: &ReferralCommand, target: &Target) -> Result<Answer, Failure> {
    match command {
        ReferralCommand::Add(options) => referrals::add(target, options).await,
        ReferralCommand::List => referrals::list(target).await,
        ReferralCommand::Disable(options) => referrals::switch(target, &options.code, false).await,
        ReferralCommand::Enable(options) => referrals::switch(target, &options.code, true).await,
        ReferralCommand::Report(options) => referrals::report(target, options).await,
    }
}

async fn order(command: &OrderCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        OrderCommand::Record(options) => orders::record(target, console, options).await,
        OrderCommand::SetStatus(options) => orders::set_status(target, console, options).await,
        OrderCommand::Show(options) => orders::show(target, &options.id).await,
        OrderCommand::Redeliver(options) => orders::redeliver(target, &options.id).await,
        OrderCommand::Move(options) => orders::move_order(target, console, options).await,
        OrderCommand::Evidence(options) => orders::evidence(target, &options.id).await,
        OrderCommand::List(options) => orders::list(target, options).await,
        OrderCommand::Settle(options) => orders::settle(target, &options.id).await,
        OrderCommand::Refund(options) => orders::refund(target, console, options).await,
        OrderCommand::Accept(options) => orders::accept(target, console, options).await,
        OrderCommand::Cancel(options) => orders::cancel(target, console, options).await,
    }
}

async fn subscription(command: &SubscriptionCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        SubscriptionCommand::List(options) => subscriptions::list(target, options).await,
        SubscriptionCommand::Show(options) => subscriptions::show(target, &options.id).await,
        SubscriptionCommand::Settle(options) => subscriptions::settle(target, &options.id).await,
        SubscriptionCommand::Cancel(options) => subscriptions::cancel(target, console, options).await,
        SubscriptionCommand::Extend(options) => subscriptions::extend(target, console, options).await,
    }
}

async fn pay(command: &PaymentsCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        PaymentsCommand::Connect(options) => payments::connect(target, console, options).await,
        PaymentsCommand::Show => payments::show(target).await,
        PaymentsCommand::Reconcile(options) => payments::reconcile(target, console, options).await,
    }
}

async fn server(command: &ServerCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        ServerCommand::Add(options) => servers::add(target, console, options).await,
        ServerCommand::List => servers::list(target).await,
        ServerCommand::Revoke(options) => servers::revoke(target, console, options).await,
        ServerCommand::Rotate(options) => servers::rotate(target, console, options).await,
    }
}

async fn deliver(command: &DeliveryCommand, target: &Target, console: &Console) -> Result<Answer, Failure> {
    match command {
        DeliveryCommand::List(options) => delivery::list(target, options).await,
        DeliveryCommand::Retry(options) => runs::retry(target, console, options).await,
        DeliveryCommand::Cancel(options) => delivery::decide(target, console, options, Decision::Cancel).await,
        DeliveryCommand::Restored(options) => maintenance::run(target, console, options.yes).await,
        DeliveryCommand::Done(options) => delivery::decide(target, console, options, Decision::Done).await,
    }
}

async fn cart(command: &CartCommand, target: &Target) -> Result<Answer, Failure> {
    match command {
        CartCommand::Show(options) => carts::show(target, &options.user).await,
        CartCommand::Clear(options) => carts::clear(target, &options.user).await,
    }
}

//! Items: prices, limits and what they refer to. The fields of one item are read by [`ItemReader`], which notes faults under its
//! name.

use super::prices::{self, prices, virtual_price};
use super::site::Site;
use super::text::{check_image, check_long_text, check_name, check_plain_text};
use super::{amount, check_id, commands, limits, payments};
use crate::calendar;
use crate::fault::{Report, Unique};
use crate::files::{At, Decimal, ItemFile, VariableFile};
use shared::model::{
    Comparison, ComparisonValue, Conditions, Item, ItemDelivery, ItemId, ItemType, Money, OnSale, Server, ServerId,
    Variable, VariableKind,
};
use shared::rules::variable::LARGEST_INTEGER;
use std::collections::BTreeMap;

pub(super) struct CategoryContext<'a> {
    /// The path of the category's fields in its file.
    pub(super) prefix: &'a str,
    pub(super) rows: &'a [Comparison],
    /// Whether its items are steps of which a buyer pays the difference.
    pub(super) cumulative: bool,
    /// The time in which the category is on sale.
    pub(super) on_sale: OnSale,
    pub(super) site: &'a Site,
}

/// Notes faults of one item under its own name.
pub(super) struct ItemReader<'a> {
    pub(super) file: &'a ItemFile,
    pub(super) category: &'a CategoryContext<'a>,
    pub(super) report: &'a mut Report,
}

impl ItemReader<'_> {
    pub(super) fn field(&self, name: &str) -> String {
        format!("{}items[{}].{name}", self.category.prefix, *self.file.id)
    }

    /// Notes a fault of one of its fields; without a line that of the item's id.
    pub(super) fn fault(&mut self, line: Option<u64>, name: &str, problem: &str) {
        let field = self.field(name);
        self.report.fault(line.or(self.file.id.line), field, problem);
    }

    pub(super) fn warn(&mut self, line: Option<u64>, name: &str, problem: &str) {
        let field = self.field(name);
        self.report.warn(line.or(self.file.id.line), field, problem);
    }

    /// An amount, 0 if it is left out; one that cannot be read is noted and is `None`.
    pub(super) fn money(&mut self, written: Option<&Decimal>, name: &str) -> Option<Money> {
        let (field, digits) = (self.field(name), self.category.site.config.digits);
        written.map_or(Some(Money::ZERO), |written| amount(written, digits, &field, self.report))
    }

    pub(super) fn limit(&mut self, limit: Option<&At<u32>>, name: &str) -> Option<u32> {
        if let Some(limit) = limit.filter(|limit| ***limit == 0) {
            self.fault(limit.line, name, "must be at least 1; leave it out for no limit");
        }
        limit.map(|limit| **limit)
    }
}

/// The most characters of an item's name. Payment pages take 250, with the player of a gift and the number of units.
const LONGEST_NAME: usize = 180;

pub(super) fn item(file: &ItemFile, category: &CategoryContext<'_>, report: &mut Report) -> (Item, ItemDelivery) {
    let mut reader = ItemReader { file, category, report };
    let (name_field, image_field) = (reader.field("name"), reader.field("image"));
    check_name(&file.name, file.id.line, &name_field, reader.report);
    if file.name.chars().count() > LONGEST_NAME {
        reader.report.fault(file.id.line, &name_field, format!("must have at most {LONGEST_NAME} characters"));
    }
    check_image(&file.image, &category.site.images, file.id.line, &image_field, reader.report);
    let description_field = reader.field("description");
    let description = file.description.as_deref().unwrap_or_default();
    check_long_text(description, file.id.line, &description_field, reader.report);
    check_plain_text(description, file.id.line, &description_field, reader.report);
    warn_of_holds(&mut reader);
    warn_of_contradictions(&mut reader);
    let prices = prices(&mut reader);
    let virtual_price = virtual_price(&mut reader);
    let delivery = commands::of_item(&mut reader);
    let servers = servers(&mut reader);
    let (limits, [global_limit, user_limit]) = limits::all(&mut reader, &servers);
    let item = Item {
        id: ItemId::new(*file.id),
        name: file.name.clone(),
        description: file.description.clone(),
        image: file.image.clone(),
        price: prices.price,
        price_from: prices.price_from,
        discount: prices.discount,
        discount_percentage: prices.discount_percentage,
        sales: Vec::new(),
        active: file.active,
        // One word decides both: the item is delivered to the server that the buyer selects.
        kind: if file.select_server { ItemType::CmdServer } else { file.kind },
        is_subscription: file.subscription.is_some(),
        plan: prices::plan(&mut reader),
        any_price: file.any_price,
        min_price: prices.min_price,
        global_limit,
        user_limit,
        limits,
        most: reader.limit(file.most.as_ref(), "most"),
        allow_select_server: file.selects_server(),
        servers,
        virtual_price,
        virtual_only: file.virtual_only,
        featured: file.featured,
        gifting: file.gifting,
        needs_chat: needs_chat(&mut reader),
        comparison: cells(&mut reader),
        variables: variables(&mut reader),
        tax_code: payments::code_of(&mut reader),
        promotion: prices.promotion,
        on_sale: on_sale(&mut reader),
        hidden: file.hidden,
        lowest_prices: Vec::new(),
        conditions: Conditions::default(),
        bundle: None,
    };
    (item, delivery)
}

/// Warns of an item that one buyer could keep from all others by open checkouts that are never paid.
fn warn_of_holds(reader: &mut ItemReader<'_>) {
    let (file, payments) = (reader.file, &reader.category.site.config.payments);
    let holds = !payments.methods.is_empty() && payments.hold_minutes > 0;
    if let (Some(limit), None, true, true) = (&file.global_limit, &file.user_limit, file.active, holds) {
        let problem = format!(
            "without a user_limit, one buyer's open checkout can hold up to {} units until it ends",
            payments.hold_units.min(**limit)
        );
        reader.warn(limit.line, "global_limit", &problem);
    }
}

/// Warns of switches that contradict each other or the store.
fn warn_of_contradictions(reader: &mut ItemReader<'_>) {
    let (file, config) = (reader.file, &reader.category.site.config);
    if file.featured && !file.active {
        reader.warn(None, "featured", "is not shown among the deals: the item is not active");
    }
    if file.featured && file.hidden {
        reader.warn(None, "featured", "is not shown among the deals: the item is hidden");
    }
    if file.virtual_price.is_some() && !file.virtual_only && !config.is_virtual_currency {
        reader.warn(None, "virtual_price", "is not used without virtual_currency.enabled: true in store.yaml");
    }
}

/// The time in which it can be bought: its own, while its category is on sale.
fn on_sale(reader: &mut ItemReader<'_>) -> OnSale {
    let (file, category, prefix) = (reader.file, reader.category, reader.field(""));
    let own =
        calendar::on_sale((file.from.as_ref(), file.until.as_ref()), &category.site.time_zone, &prefix, reader.report);
    let both = own.within(category.on_sale);
    let is_never = both.from.zip(both.until).is_some_and(|(from, until)| from >= until);
    if is_never && own.from.zip(own.until).is_none_or(|(from, until)| from < until) {
        reader.warn(
            file.from.as_ref().or(file.until.as_ref()).and_then(|at| at.line),
            "from",
            "can never be bought: its category is on sale at another time",
        );
    }
    both
}

/// Without the chat platform no buyer can link an account.
fn needs_chat(reader: &mut ItemReader<'_>) -> bool {
    let file = reader.file;
    if file.needs_chat && !reader.category.site.config.chat_sync {
        reader.warn(None, "needs_chat", "no buyer can link a chat account without chat.sync: true in store.yaml");
    }
    file.needs_chat
}

fn servers(reader: &mut ItemReader<'_>) -> Vec<Server> {
    let file = reader.file;
    if file.selects_server() && file.servers.is_empty() {
        reader.fault(None, "select_server", "needs servers to select from, such as servers: [1, 2]");
    }
    let mut servers = Vec::with_capacity(file.servers.len());
    for id in &file.servers {
        match reader.category.site.servers.get(&id.value) {
            None => reader.fault(id.line, "servers", &format!("there is no server {} in store.yaml", **id)),
            Some(_) if servers.iter().any(|known: &Server| known.id == ServerId::new(**id)) => {
                reader.fault(id.line, "servers", &format!("server {} is named twice", **id));
            }
            Some(server) => servers.push(server.clone()),
        }
    }
    servers
}

/// The item's cells in the order of the table's rows.
fn cells(reader: &mut ItemReader<'_>) -> Vec<ComparisonValue> {
    let file = reader.file;
    for (row, cell) in &file.comparison {
        if !reader.category.rows.iter().any(|known| known.id == *row) {
            reader.fault(cell.line, "comparison", &format!("the category has no comparison row {row}"));
        }
    }
    let cell = |row: &Comparison| {
        let value = file.comparison.get(&row.id)?.value.clone();
        Some(ComparisonValue { comparison_id: row.id, value })
    };
    reader.category.rows.iter().filter_map(cell).collect()
}

fn variables(reader: &mut ItemReader<'_>) -> Vec<Variable> {
    let file = reader.file;
    let mut ids = Unique::new("variable");
    let field = reader.field("variables.id");
    for variable in &file.variables {
        check_options(variable, reader);
        check_limits(variable, reader);
        check_id(*variable.id, variable.id.line, &field, reader.report);
        ids.take(reader.report, *variable.id, variable.id.line, &field);
    }
    let mut variable = |variable: &VariableFile| Variable {
        id: *variable.id,
        name: variable.name.clone(),
        options: variable.options.iter().flatten().map(|option| option.value.clone()).collect(),
        surcharges: surcharges(variable, reader),
        kind: variable.kind,
        min: variable.min.as_ref().map(|limit| **limit),
        max: variable.max.as_ref().map(|limit| **limit),
    };
    file.variables.iter().map(&mut variable).collect()
}

/// What options cost more. Only what has a price of its own, and is paid once, can cost more.
fn surcharges(variable: &VariableFile, reader: &mut ItemReader<'_>) -> BTreeMap<String, Money> {
    let (file, field) = (reader.file, format!("variables[{}].options", *variable.id));
    let mut found = BTreeMap::new();
    for option in variable.options.iter().flatten() {
        let Some(add) = &option.add else { continue };
        if file.subscription.is_some() || file.any_price || file.virtual_only {
            let problem = "add is not for a subscription, nor with any_price or virtual_only; leave it out";
            reader.fault(add.line(), &field, problem);
        }
        match reader.money(Some(add), &field) {
            Some(Money::ZERO) => reader.fault(add.line(), &field, "add must be more than 0; leave it out for none"),
            Some(add) => {
                found.insert(option.value.clone(), add);
            }
            None => {}
        }
    }
    found
}

/// Refuses limits that are not an integer's, or that no number is between.
fn check_limits(variable: &VariableFile, reader: &mut ItemReader<'_>) {
    for (name, limit) in [("min", &variable.min), ("max", &variable.max)] {
        let Some(limit) = limit else { continue };
        let field = format!("variables[{}].{name}", *variable.id);
        if variable.kind != VariableKind::Integer {
            reader.fault(limit.line, &field, "is for kind: integer");
        } else if limit.unsigned_abs() > LARGEST_INTEGER.unsigned_abs() {
            reader.fault(limit.line, &field, &format!("must be from -{LARGEST_INTEGER} to {LARGEST_INTEGER}"));
        }
    }
    if let (Some(min), Some(max)) = (&variable.min, &variable.max)
        && **min > **max
    {
        reader.fault(max.line, &format!("variables[{}].max", *variable.id), "must not be below min");
    }
}

fn check_options(variable: &VariableFile, reader: &mut ItemReader<'_>) {
    let name = |name: &str| format!("variables[{}].{name}", *variable.id);
    let name_field = reader.field(&name("name"));
    check_name(&variable.name, variable.id.line, &name_field, reader.report);
    let Some(options) = &variable.options else { return };
    if options.is_empty() {
        reader.fault(variable.id.line, &name("options"), "needs an option; leave it out if the buyer enters the value");
    }
    if variable.kind != VariableKind::default() {
        reader.fault(
            variable.id.line,
            &name("kind"),
            "is for a value that the buyer enters; leave it out with options",
        );
    }
    let field = reader.field(&name("options"));
    let mut known = Unique::new("option");
    for option in options {
        check_name(&option.value, variable.id.line, &field, reader.report);
        known.take(reader.report, option.value.as_str(), variable.id.line, &field);
    }
}

//! The six functions in one process, each with its own state.

use crate::auth_by_host::AuthByHost;
use crate::error::StartError;
use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::clock::Clock;
use shared::config::Config;
use shared::endpoint::Declaration;
use shared::model::LocalAddresses;
use shared::table::Db;
use std::collections::BTreeMap;
use std::sync::Arc;
use template::Template;

/// The values that a deployment reads from Secrets Manager, and what only a server on one machine has.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    pub token_keys: &'a str,
    pub chat: &'a str,
    pub payments: &'a str,
    /// `ORIGIN_KEYS`, of a template with a shop.
    pub origin: &'a str,
    /// `STRIPE_API_BASE`: the stand-in for Stripe. No deployment has it.
    pub stripe: Option<&'a str>,
    /// Addresses on this machine, in place of those of the published store.
    pub addresses: Option<&'a LocalAddresses>,
}

impl<'a> Secrets<'a> {
    /// Secrets as a new stack has them: token keys, and neither a chat client nor a payment provider.
    pub const fn new(token_keys: &'a str) -> Self {
        Self { token_keys, chat: "{}", payments: "{}", origin: "", stripe: None, addresses: None }
    }
}

#[derive(Debug)]
pub struct Functions {
    catalog: catalog::State,
    cart: cart::State,
    payments: payments::State,
    content: content::State,
    auth: auth::State,
    delivery: delivery::State,
    auth_by_host: Option<AuthByHost>,
}

impl Functions {
    /// Creates the functions for a table, as in a new stack, see [`Functions::with_secrets`].
    pub fn new(template: &Template, db: &Db, token_keys: &str, clock: &Arc<dyn Clock>) -> Result<Self, StartError> {
        Self::with_secrets(template, db, Secrets::new(token_keys), clock)
    }

    /// Creates the functions for a table, with the environment that the template gives each. Only the table's name and
    /// the secrets are passed, because the template does not have them before a deploy.
    pub fn with_secrets(
        template: &Template,
        db: &Db,
        secrets: Secrets<'_>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let config = |function: &str| {
            config(function, &template.environment(function)?, db.table(), secrets)
                .map_err(|source| StartError::Function { function: function.to_owned(), source })
        };
        let addresses = secrets.addresses.cloned().unwrap_or_default();
        let base = |function: &str| {
            let base = Base::new(db.clone(), config(function)?, Arc::clone(clock));
            Ok::<_, StartError>(base.with_addresses(addresses.clone()))
        };
        let chat = chat_settings(&template.environment("auth")?, secrets.chat);
        let config = config("auth")?;
        let by_host = |here: &LocalAddresses| {
            AuthByHost::new(db.clone(), config.clone(), Arc::clone(clock), chat.clone(), here.clone())
        };
        Ok(Self {
            catalog: catalog::State::new(base("catalog")?),
            cart: cart::State::new(base("cart")?),
            payments: payments::State::new(base("payments")?),
            content: content::State::new(base("content")?),
            auth_by_host: secrets.addresses.map(by_host),
            auth: auth::State::new(base("auth")?, chat),
            delivery: delivery::State::new(base("delivery")?),
        })
    }

    /// The same functions with another client for calls to other services.
    #[must_use]
    pub fn with_outgoing(self, client: outgoing::Client) -> Self {
        Self { auth: self.auth.with_outgoing(client), ..self }
    }

    /// Passes a request to the function with this name; `None` if there is none.
    pub async fn call(&self, function: &str, mut request: Request) -> Option<Response<Body>> {
        if let (Some(by_host), "auth") = (&self.auth_by_host, function) {
            match by_host.call(request).await {
                Ok(response) => return Some(response),
                Err(unchanged) => request = unchanged,
            }
        }
        self.dispatch(function, request).await
    }

    /// The declared route of a request that came by the gateway's `route`: each call of game servers has one of its own. `None`
    /// if it is not such a call.
    pub fn declared_route(route: &str, path: &str) -> Option<String> {
        let (method, _) = route.split_once(' ')?;
        if delivery::ROUTES.contains(&route) {
            return delivery::declared(method, path).map(str::to_owned);
        }
        Some(route.to_owned())
    }

    /// The gateway's route of a declared one.
    pub fn gateway_route(declared: &'static str) -> &'static str {
        delivery::of_gateway(declared)
    }
}

/// The methods that call every function. Their names are listed below, and nowhere else in Rust but for the states above.
macro_rules! each_function {
    ($($name:ident)*) => {
        impl Functions {
            /// The names of the functions, for [`Functions::call`].
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Runs what each function's process runs before its first request.
            pub async fn warm_up(&self) {
                $(Box::pin($name::warm_up(&self.$name)).await;)*
            }

            // Boxed, because the futures of all together are too large for the compiler.
            async fn dispatch(&self, function: &str, request: Request) -> Option<Response<Body>> {
                $(if function == stringify!($name) {
                    return Some(Box::pin($name::handle(&self.$name, request)).await);
                })*
                None
            }

            /// The declaration of every endpoint, with the name of its function.
            pub fn declarations() -> Vec<(&'static str, &'static Declaration)> {
                let mut all = Vec::new();
                $(all.extend($name::ENDPOINTS.iter().map(|route| (stringify!($name), &route.declaration)));)*
                all
            }
        }
    };
}

each_function!(catalog cart payments content auth delivery);

fn chat_settings(environment: &BTreeMap<String, String>, secret: &str) -> auth::ChatSettings {
    auth::ChatSettings::from_vars(|name| match name {
        "CHAT_SECRET" => Some(secret.to_owned()),
        name => environment.get(name).cloned(),
    })
}

fn config(
    function: &str,
    environment: &BTreeMap<String, String>,
    table: &str,
    secrets: Secrets<'_>,
) -> Result<Config, shared::config::ConfigError> {
    Config::from_vars(|name| match name {
        "TABLE_NAME" => Some(table.to_owned()),
        "TOKEN_KEYS" => Some(secrets.token_keys.to_owned()),
        "PAYMENT_KEYS" if function == "payments" => Some(secrets.payments.to_owned()),
        "ORIGIN_KEYS" => environment.get(name).map(|_| secrets.origin.to_owned()),
        "STRIPE_API_BASE" if function == "payments" => secrets.stripe.map(str::to_owned),
        name => environment.get(name).cloned(),
    })
}

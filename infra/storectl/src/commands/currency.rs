//! The effect of a publish or a rollback on the store's currency: other digits are refused while live amounts depend on
//! them, another code is asked for by name.

use crate::answer::{STRONG, paint};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::{PublishError, check_digits};
use shared::model::Settings;
use shared::table::{keys, read_published};

/// The version that is to be published, as far as its currency goes.
pub(super) struct To<'a> {
    pub(super) digits: u8,
    pub(super) code: &'a str,
}

/// Checks a change from the published version `from`. Returns what is shown to people: `shown`, and a change of the
/// currency's code in bold. `allowed` is the code that `--allow-currency` names. With `asks` a change that is not
/// allowed has to be confirmed by typing the code; `--yes` (`yes`) is not enough for it. Fails with [`Exit::Refused`]
/// for other digits, [`Exit::Declined`] if the code is not confirmed.
pub(super) async fn guard(
    target: &Target,
    from: Option<&str>,
    to: &To<'_>,
    shown: String,
    confirm: Confirm<'_>,
) -> Result<String, Failure> {
    match check_digits(&target.db, to.digits).await {
        Ok(()) => {}
        Err(PublishError::Digits { published, wanted }) => return Err(digits(published, wanted)),
        Err(PublishError::Store(error)) => return Err(error.into()),
        Err(other) => return Err(Failure::refused(format!("{other}."), "Look at `storectl versions`.")),
    }
    let Some(from) = from else { return Ok(shown) };
    let Some(old) = code_of(target, from).await?.filter(|old| old != to.code) else { return Ok(shown) };
    let line = format!("The store's currency changes from {old} to {}: amounts keep their numbers.", to.code);
    let shown = format!("{shown}\n{}", paint(STRONG, &line));
    match confirm {
        Confirm::No => {}
        Confirm::Asked { allowed: Some(allowed), .. } if allowed == to.code => {}
        Confirm::Asked { console, yes, .. } => {
            console.confirm_word(&shown, &line, to.code, &format!("--allow-currency {}", to.code), yes)?;
        }
    }
    Ok(shown)
}

/// Whether a change of the currency's code has to be confirmed.
pub(super) enum Confirm<'a> {
    No,
    /// By the option, or by typing it.
    Asked {
        console: &'a Console,
        yes: bool,
        allowed: Option<&'a str>,
    },
}

/// The refusal of other digits, with the way to get them.
pub(super) fn digits(published: u8, wanted: u8) -> Failure {
    let what = format!(
        "The currency has {wanted} digits in these files and {published} in the published store, and the table has \
         live rows: every balance, order and sum would be read as another amount."
    );
    let next = "Do not change `currency.digits`. For other digits publish into a new, empty table (another stack, or \
                --table), where users, codes and orders start from the beginning.";
    Failure::new(Exit::Refused, what, next).done("Nothing was published.")
}

/// The currency code of a version; `None` if its settings are gone.
pub(super) async fn code_of(target: &Target, version: &str) -> Result<Option<String>, Failure> {
    let settings: Option<Settings> = read_published(&target.db, &keys::settings(version)).await?;
    Ok(settings.map(|settings| settings.system_currency.name))
}

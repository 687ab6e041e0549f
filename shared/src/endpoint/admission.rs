//! Whether a request is within the limit of its address, for handlers that write.

use crate::store::StoreError;
use tokio::sync::watch;

/// The request's place in the window of its address, as it becomes known while the handler reads.
#[derive(Debug, Clone)]
pub struct Admission(watch::Receiver<Stage>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing is known yet.
    Counting,
    /// The window of the address is not full, but the request is not counted yet.
    NotFull,
    /// The request is counted.
    Admitted,
    /// The window is full, or the request could not be counted.
    Refused,
}

/// The other end of an [`Admission`].
#[derive(Debug)]
pub(super) struct Verdict(watch::Sender<Stage>);

impl Admission {
    /// The admission of a request that is not counted.
    pub(super) fn free() -> Self {
        Self(watch::channel(Stage::Admitted).1)
    }

    /// An admission that is decided later.
    pub(super) fn pending() -> (Verdict, Self) {
        let (sender, receiver) = watch::channel(Stage::Counting);
        (Verdict(sender), Self(receiver))
    }

    /// Waits until it is known that the window of the address is not full. The request may still be refused in a race
    /// for the last place, so nothing that matters may be written before [`Admission::granted`].
    ///
    /// # Errors
    /// [`StoreError`] if the request is refused; the caller then receives the refusal, not this error.
    pub async fn likely(&mut self) -> Result<(), StoreError> {
        self.wait(|stage| *stage != Stage::Counting).await
    }

    /// Waits until the request is counted.
    ///
    /// # Errors
    /// As [`Admission::likely`].
    pub async fn granted(&mut self) -> Result<(), StoreError> {
        self.wait(|stage| matches!(stage, Stage::Admitted | Stage::Refused)).await
    }

    async fn wait(&mut self, is_known: impl Fn(&Stage) -> bool) -> Result<(), StoreError> {
        match self.0.wait_for(|stage| is_known(stage)).await {
            Ok(stage) if *stage != Stage::Refused => Ok(()),
            _ => Err(StoreError::unavailable("UpdateItem")),
        }
    }
}

impl Verdict {
    /// The window of the address is not full.
    pub(super) fn not_full(&self) {
        self.0.send_replace(Stage::NotFull);
    }

    /// Whether the request is counted and within the limit.
    pub(super) fn is(&self, admitted: bool) {
        self.0.send_replace(if admitted { Stage::Admitted } else { Stage::Refused });
    }
}

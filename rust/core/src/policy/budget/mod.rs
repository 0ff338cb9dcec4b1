//! How much the whole machine may draw: the public role `power`.

pub mod ledger;
pub mod prices;
pub mod system_budget;

use dyn_clone::DynClone;

use crate::error::Result;
use crate::platform::Platform;
use crate::units::Watts;

/// Says how much the machine may draw.
pub trait Budget: DynClone + Send + Sync {
    /// The ceiling of the system's predicted draw on this platform.
    ///
    /// # Errors
    /// If nothing could ever start under it.
    fn ceiling(&self, platform: &Platform) -> Result<Watts>;
}

dyn_clone::clone_trait_object!(Budget);

//! Meters of the machine's draw, where the reading is not the draw itself.

use dyn_clone::DynClone;

use crate::error::Result;
use crate::policy::View;
use crate::units::Watts;

/// Reads the machine's draw.
pub trait Monitor: DynClone + Send + Sync {
    /// Returns the reading when the machine draws `draw`.
    ///
    /// # Errors
    /// If it fails.
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts>;
}

dyn_clone::clone_trait_object!(Monitor);

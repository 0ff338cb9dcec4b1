//! No allotted caps: every job keeps its own (`static`).

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::View;
use crate::policy::allocator::Allocator;
use crate::policy::budget::least::LeastCaps;
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Sets no caps.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl Allocator for Fixed {
    fn least(&self) -> LeastCaps {
        LeastCaps::None
    }

    fn allot(&mut self, _view: &View<'_>, _room: Watts, _out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()> {
        Ok(())
    }

    fn is_active(&self) -> bool {
        false
    }
}

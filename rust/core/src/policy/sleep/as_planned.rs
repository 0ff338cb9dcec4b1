//! The rule without foresight: every idle node goes to sleep that the rules let sleep and no plan needs soon
//! (operations page on machines, rule 16).

use crate::error::Result;
use crate::policy::sleep::Leave;
use crate::policy::sleep::rest::{Rest, RestChoice, Scene};

/// The parts `timeout`, `nqsv` and `planned`, which differ in their numbers only.
#[derive(Clone, Copy, Debug)]
pub struct AsPlanned;

impl Rest for AsPlanned {
    fn foresees(&self) -> bool {
        false
    }

    fn rest(&mut self, scene: &Scene<'_>, choice: &mut RestChoice) -> Result<()> {
        let mut most = None;
        for node in scene.ready() {
            let asleep = u32::try_from(choice.sleep.len()).unwrap_or(u32::MAX);
            if asleep >= *most.get_or_insert_with(|| scene.most()) {
                break;
            }
            match scene.leave(node, asleep) {
                Leave::Given => choice.sleep.push(node),
                Leave::DeniedToAllAlike if scene.has_one_rule() => break,
                Leave::Denied | Leave::DeniedToAllAlike => {}
            }
        }
        Ok(())
    }
}

//! The rule without foresight: every idle node goes to sleep that the rules let sleep and no plan needs soon
//! (operations page on machines, rule 16).

use crate::error::Result;
use crate::policy::sleep::answers::{Leave, RestChoice};
use crate::policy::sleep::rest::{Rest, Scene};

/// The parts `timeout`, `nqsv` and `planned`, which differ in their numbers only.
#[derive(Clone, Copy, Debug)]
pub struct AsPlanned;

impl Rest for AsPlanned {
    fn foresees(&self) -> bool {
        false
    }

    fn rest(&mut self, scene: &Scene<'_>, choice: &mut RestChoice) -> Result<()> {
        if !scene.has_ripe() {
            return Ok(());
        }
        if let Some(spared) = scene.spared_alike() {
            choice.sleep.extend(spared.take(scene.most() as usize));
            return Ok(());
        }
        let mut most = None;
        // Number of nodes of each cell that go to sleep; none once no more may.
        let mut asleep = vec![Some(0); scene.cells()];
        let mut open = asleep.len();
        for node in scene.ready() {
            if choice.sleep.len() >= *most.get_or_insert_with(|| scene.most()) as usize {
                break;
            }
            let own = &mut asleep[scene.cell(node)];
            let Some(count) = own else { continue };
            match scene.leave(node, *count) {
                Leave::Given => {
                    *count += 1;
                    choice.sleep.push(node);
                }
                Leave::DeniedToAllAlike if scene.has_one_rule() => {
                    *own = None;
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                Leave::Denied | Leave::DeniedToAllAlike => {}
            }
        }
        Ok(())
    }
}

//! Python monitors: they return the measured watts, given the true draw of the machine.

use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::emergency::monitor::Monitor;
use hetsched_core::units::Watts;
use pyo3::prelude::*;

use crate::roles::Part;
use crate::roles::scheduler::named;

/// Upper limit of a reading, W.
const MOST_W: f64 = 1e12;

/// An object that reads the machine's draw.
#[derive(Clone)]
pub(crate) struct OwnMonitor(pub(crate) Part);

impl Monitor for OwnMonitor {
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts> {
        let part = &self.0;
        Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                let asked = || format!(", of {} W,", draw.watts());
                let answer = part.call(py, view, (draw.watts(), lent), asked)?;
                let watts = answer.extract::<f64>().ok().filter(|watts| (0.0..=MOST_W).contains(watts));
                let wrong = || part.wrong(view, &format!("gave {} where watts from 0 were asked for", named(&answer)));
                watts.map(Watts::of_system).ok_or_else(wrong)
            })
        })
    }
}

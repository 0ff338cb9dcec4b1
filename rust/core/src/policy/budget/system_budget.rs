//! One ceiling for the whole machine, as a share of its TDP or in watts.

use crate::error::{Result, config};
use crate::platform::Platform;
use crate::policy::budget::Budget;
use crate::units::Watts;

/// The power constraint of VAHRM (section III-A): the system's predicted draw stays at or below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SystemBudget {
    /// A share of the machine's TDP: the paper's power constraint ratio.
    Pcr(f64),
    /// Watts.
    Watts(f64),
}

impl Budget for SystemBudget {
    fn ceiling(&self, platform: &Platform) -> Result<Watts> {
        let (tdp, idle) = (platform.tdp(), platform.idle());
        let (parameter, value, ceiling) = match *self {
            Self::Pcr(share) => ("policy.power.pcr", share, tdp.scaled(share)),
            Self::Watts(watts) => ("policy.power.budget_w", watts, Watts::of_system(watts)),
        };
        if ceiling >= idle {
            return Ok(ceiling);
        }
        let least = match self {
            Self::Pcr(_) => format!("{:.4}", (idle.watts() / tdp.watts() * 1e4).ceil() / 1e4),
            Self::Watts(_) => format!("{} W", idle.watts()),
        };
        let why = format!(
            "at least {least}: the idle machine draws {} W, and nothing could start under {} W",
            idle.watts(),
            ceiling.watts()
        );
        Err(config(parameter, value.to_string(), why))
    }
}

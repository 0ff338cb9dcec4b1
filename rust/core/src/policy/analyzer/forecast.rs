//! How long jobs are believed to run and what they are believed to draw, by what others did: in place of what they asked
//! for and bring along.
//!
//! A forecast decides only what is planned. Jobs run as long as they do, are killed at their walltimes, and draw what they
//! draw.

use dyn_clone::DynClone;

use crate::error::{Result, config};
use crate::policy::View;
use crate::power::caps::CapsKind;
use crate::power::known::{Belief, KnownDraws};
use crate::power::pvt::Predicted;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Says how long jobs will run, and perhaps what they will draw (the power analyzer, and its `estimate_job_time`). What a cap
/// makes of both follows from what it says and the platform's cap model or tables by cap.
pub trait Forecast: DynClone + Send + Sync {
    /// How long jobs that join the queue will run at nominal speed, as many to the end of `lengths` and in their order.
    ///
    /// # Errors
    /// If they cannot be told.
    fn lengths(&mut self, view: &View<'_>, jobs: &[JobId], lengths: &mut Vec<SimDuration>) -> Result<()>;

    /// Whether it says what jobs draw.
    fn tells_draws(&self) -> bool {
        false
    }

    /// Whether it says how caps slow each of them.
    fn tells_bounds(&self) -> bool {
        false
    }

    /// What it says of the same jobs' draws, as many to the end of `draws` and in their order: none where it says nothing.
    ///
    /// # Errors
    /// If they cannot be told.
    fn draws(&mut self, view: &View<'_>, jobs: &[JobId], draws: &mut Vec<Option<Belief>>) -> Result<()> {
        let _ = view;
        draws.resize(draws.len() + jobs.len(), None);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Forecast);

impl Predicted {
    /// The same tables, with this known of jobs' own draws beside what `forecast` will say.
    ///
    /// # Errors
    /// If it says what nothing can be done with.
    pub fn told_by(self, forecast: &dyn Forecast, known: KnownDraws) -> Result<Self> {
        let wrong = |value: &str, expected: &str| Err(config("policy.analyzer", value, expected));
        if forecast.tells_bounds() && !forecast.tells_draws() {
            let expected = "`draws` with it: how a cap slows a job follows from what it draws without one";
            return wrong("an object with a method `bound_ratios`", expected);
        }
        if forecast.tells_bounds() && self.caps_kind() != Some(CapsKind::Model) {
            let expected = "a platform with a cap model (with_cap_model), or an object without it";
            return wrong("a method `bound_ratios` where no cap model uses it", expected);
        }
        Ok(self.knowing(if forecast.tells_draws() { known.analyzed() } else { known }))
    }
}

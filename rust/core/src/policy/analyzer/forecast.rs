//! Forecasts of run times and draws, made from what other jobs did: they stand in for what jobs ask for and bring
//! along.
//!
//! A forecast affects plans only: jobs still run for their true time, are killed at their walltimes, and draw their
//! true watts.

use dyn_clone::DynClone;

use crate::error::{Result, config};
use crate::policy::View;
use crate::power::caps::CapsKind;
use crate::power::known::{Belief, KnownDraws};
use crate::power::pvt::Predicted;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Predicts how long jobs run, and perhaps what they draw (the power analyzer, and its `estimate_job_time`). The effect
/// of a cap on both follows from these predictions and the platform's cap model or tables by cap.
pub trait Forecast: DynClone + Send + Sync {
    /// Appends the predicted run times, at nominal speed, of jobs that join the queue, in their order.
    ///
    /// # Errors
    /// If it fails.
    fn lengths(&mut self, view: &View<'_>, jobs: &[JobId], lengths: &mut Vec<SimDuration>) -> Result<()>;

    /// True if it predicts draws.
    fn tells_draws(&self) -> bool {
        false
    }

    /// True if it predicts how caps slow each job.
    fn tells_bounds(&self) -> bool {
        false
    }

    /// Appends the predicted draws of the same jobs, in their order; none where it predicts nothing.
    ///
    /// # Errors
    /// If it fails.
    fn draws(&mut self, view: &View<'_>, jobs: &[JobId], draws: &mut Vec<Option<Belief>>) -> Result<()> {
        let _ = view;
        draws.resize(draws.len() + jobs.len(), None);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Forecast);

impl Predicted {
    /// The same tables with these known draws of jobs, in addition to those that `forecast` will predict.
    ///
    /// # Errors
    /// If it predicts something that cannot be used.
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

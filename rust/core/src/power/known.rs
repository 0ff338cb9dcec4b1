//! Knowledge that decisions have of a job's own draw before it runs. The charge of the run is not this module's
//! business.

use crate::error::{Result, config};
use crate::units::MAX_NODE_WATTS;
use crate::workload::{JobId, Workload};

/// Known draw of a job, where it brings one along; it counts where no table gives watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnownDraw {
    /// Unknown: the node's busy draw is used for it.
    Unknown,
    /// Watts per node.
    Watts(f64),
    /// Unknown: the node's TDP is used for it.
    Tdp,
    /// An analyzer's belief.
    Believed(Belief),
}

/// An analyzer's belief about a job: its draw, and how caps slow it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Watts per node without a cap.
    pub watts: f64,
    /// Share of its run time that stretches with the clock; none: that of the platform's cap model.
    pub bound_ratio: Option<f64>,
}

/// Treatment of a measurement before the job has run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Taken as it is: decisions know it in advance.
    #[default]
    Measured,
    /// Ignored: jobs count as they would without it.
    Table,
    /// Replaced by the node's TDP, which is on the safe side.
    Tdp,
}

/// Knowledge of every job's own draw. A job without a measurement is charged the busy draw, and that is known.
#[derive(Clone, Debug, Default)]
pub struct KnownDraws {
    rule: Rule,
    /// Watts per node by job, NaN where nothing is forecast; empty = there is no forecast.
    forecast: Vec<f64>,
}

impl KnownDraw {
    /// Draw as a column of measurements gives it: unknown unless it is above 0.
    #[must_use]
    pub fn measured(watts: f64) -> Self {
        if watts > 0.0 { Self::Watts(watts) } else { Self::Unknown }
    }

    /// The watts, if they are known.
    #[must_use]
    pub fn stated(self) -> Option<f64> {
        match self {
            Self::Watts(watts) | Self::Believed(Belief { watts, .. }) => Some(watts),
            Self::Unknown | Self::Tdp => None,
        }
    }

    /// The watts; 0 if they are not known.
    #[must_use]
    pub fn watts(self) -> f64 {
        self.stated().unwrap_or(0.0)
    }

    /// Share of the run time that stretches with the clock, if it is specific to the job.
    #[must_use]
    pub fn bound_ratio(self) -> Option<f64> {
        match self {
            Self::Believed(belief) => belief.bound_ratio,
            Self::Unknown | Self::Watts(_) | Self::Tdp => None,
        }
    }

    /// The same with other watts, where watts are known: the common key of jobs that differ in nothing else.
    #[must_use]
    pub fn at(self, watts: f64) -> Self {
        match self {
            Self::Watts(_) => Self::Watts(watts),
            Self::Believed(belief) => Self::Believed(Belief { watts, ..belief }),
            Self::Unknown | Self::Tdp => self,
        }
    }
}

impl Rule {
    /// Rule by the option's name.
    ///
    /// # Errors
    /// If there is no such rule.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "measured" => Ok(Self::Measured),
            "table" => Ok(Self::Table),
            "tdp" => Ok(Self::Tdp),
            other => Err(config("known_draws", format!("`{other}`"), "one of measured, table, tdp")),
        }
    }
}

impl KnownDraws {
    /// Knowledge by one rule for all jobs.
    #[must_use]
    pub fn by(rule: Rule) -> Self {
        Self { rule, forecast: Vec::new() }
    }

    /// The same under an analyzer that states draws: a measurement that it is silent about counts as the TDP where it
    /// would count as itself.
    #[must_use]
    pub fn analyzed(self) -> Self {
        let rule = if self.rule == Rule::Measured { Rule::Tdp } else { self.rule };
        Self { rule, ..self }
    }

    /// Forecasts in watts per node, one number per job. A measured job without a forecast (NaN) counts by `rule`, and
    /// with the nodes' TDP where that would be its own measurement: a forecast that fell back on the truth would be
    /// none.
    ///
    /// # Errors
    /// If there is not one number per job, or one is neither NaN nor watts from 0 to 1e6.
    pub fn forecast(watts: Vec<f64>, rule: Rule, workload: &Workload) -> Result<Self> {
        if watts.len() != workload.len() {
            let expected = format!("one number for each of {} jobs", workload.len());
            return Err(config("known_w", format!("{} numbers", watts.len()), expected));
        }
        let wrong =
            watts.iter().zip(workload.jobs()).find(|(w, _)| !w.is_nan() && !(0.0..=MAX_NODE_WATTS).contains(*w));
        if let Some((watts, job)) = wrong {
            let parameter = format!("known_w of job {}", workload.job_id(job));
            return Err(config(parameter, watts.to_string(), "watts from 0 to 1e6, or NaN: not known"));
        }
        Ok(Self { rule, forecast: watts }.analyzed())
    }

    /// Known draw of a job.
    #[must_use]
    pub fn of(&self, workload: &Workload, job: JobId) -> KnownDraw {
        let measured = KnownDraw::measured(workload.power_w(job));
        if measured == KnownDraw::Unknown {
            return measured;
        }
        match (self.forecast.get(job.0 as usize), self.rule) {
            (Some(&watts), _) if !watts.is_nan() => KnownDraw::Watts(watts),
            (_, Rule::Measured) => measured,
            (_, Rule::Table) => KnownDraw::Unknown,
            (_, Rule::Tdp) => KnownDraw::Tdp,
        }
    }

    /// True if some job may count with its nodes' TDP.
    #[must_use]
    pub fn may_be_tdp(&self) -> bool {
        self.rule == Rule::Tdp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::JobColumns;

    fn jobs() -> Workload {
        let columns = JobColumns {
            job_id: vec![7, 8, 9],
            submit_s: vec![0.0; 3],
            runtime_s: vec![1.0; 3],
            node_count: vec![1; 3],
            power_w: vec![200.0, f64::NAN, 300.0],
            ..JobColumns::default()
        };
        columns.into_workload().unwrap()
    }

    fn all(known: &KnownDraws) -> Vec<KnownDraw> {
        let jobs = jobs();
        jobs.jobs().map(|job| known.of(&jobs, job)).collect()
    }

    #[test]
    fn a_rule_says_what_measurements_count_as_and_no_more() {
        use KnownDraw::{Tdp, Unknown, Watts};
        assert_eq!(all(&KnownDraws::default()), [Watts(200.0), Unknown, Watts(300.0)]);
        assert_eq!(all(&KnownDraws::by(Rule::Table)), [Unknown; 3]);
        assert_eq!(all(&KnownDraws::by(Rule::Tdp)), [Tdp, Unknown, Tdp]);
    }

    #[test]
    fn a_forecast_serves_measured_jobs_and_never_falls_back_on_the_truth() {
        use KnownDraw::{Tdp, Unknown, Watts};
        let forecast = |rule| KnownDraws::forecast(vec![0.0, 150.0, f64::NAN], rule, &jobs()).unwrap();
        assert_eq!(all(&forecast(Rule::Measured)), [Watts(0.0), Unknown, Tdp]);
        assert_eq!(all(&forecast(Rule::Table)), [Watts(0.0), Unknown, Unknown]);
        assert!(forecast(Rule::Measured).may_be_tdp());
        assert!(!forecast(Rule::Table).may_be_tdp());
    }

    #[test]
    fn forecasts_that_cannot_be_are_refused() {
        let refused = |watts: Vec<f64>| KnownDraws::forecast(watts, Rule::Tdp, &jobs()).unwrap_err().to_string();
        assert_eq!(refused(vec![1.0]), "known_w: found 1 numbers, expected one number for each of 3 jobs");
        let of_one = "known_w of job 8: found -1, expected watts from 0 to 1e6, or NaN: not known";
        assert_eq!(refused(vec![1.0, -1.0, 1.0]), of_one);
        assert!(Rule::from_name("mesured").is_err());
    }
}

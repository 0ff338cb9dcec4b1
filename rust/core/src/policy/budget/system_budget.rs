//! One ceiling for the whole machine, as a share of its TDP or in watts, and the means to keep under it.

use crate::error::{Result, config};
use crate::platform::Platform;
use crate::policy::allocator::Allocator;
use crate::policy::allocator::equal_slowdown::EqualSlowdown;
use crate::policy::allocator::fixed::Fixed;
use crate::policy::allocator::uniform::Uniform;
use crate::policy::emergency::relief::Relief;
use crate::policy::emergency::{Emergencies, Step};
use crate::policy::governing::Governance;
use crate::power::budgets::Foresight;
use crate::power::caps::CapsKind;
use crate::power::pvt::Predicted;
use crate::units::{SimDuration, Watts};

/// The power constraint of VAHRM (section III-A): the system's predicted draw stays at or below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A share of the machine's TDP: the paper's power constraint ratio.
    Pcr(f64),
    /// Watts.
    Watts(f64),
}

/// Allocator that splits the watts between running jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Split {
    /// Each job keeps its own cap.
    #[default]
    Static,
    /// One cap for all.
    Uniform,
    /// All slow down alike, by at most this factor.
    EqualSlowdown(f64),
}

/// A ceiling, and how it is kept.
#[derive(Clone, Debug, Default)]
pub struct SystemBudget {
    /// The ceiling itself; none: a share of 1.
    pub limit: Option<Limit>,
    /// Span for which budgets from outside are known ahead.
    pub foresight: Foresight,
    /// Allocator that splits the watts.
    pub split: Split,
    /// Interval between runs of the allocator; zero: whenever a pass is made.
    pub allocator_interval: SimDuration,
    /// Caps that may be set, W a node, ascending; none: the finite caps of the tables.
    pub caps_w: Option<Vec<f64>>,
    /// Steps taken in emergencies; their levels are `caps_w`.
    pub emergencies: Emergencies,
}

impl SystemBudget {
    /// This ceiling, kept only by not starting jobs.
    #[must_use]
    pub fn of(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    fn limit(&self) -> Limit {
        self.limit.unwrap_or(Limit::Pcr(1.0))
    }

    /// True if a cap may be set at one of the levels.
    fn sets_levels(&self) -> bool {
        self.split != Split::Static || self.emergencies.steps.contains(&Step::LowerCaps)
    }

    /// The ceiling of the system's predicted draw on this platform.
    ///
    /// # Errors
    /// If nothing could ever start under it.
    pub fn ceiling(&self, platform: &Platform) -> Result<Watts> {
        let (tdp, idle) = (platform.tdp(), platform.idle());
        let (parameter, value, ceiling) = match self.limit() {
            Limit::Pcr(share) => ("policy.power.pcr", share, tdp.scaled(share)),
            Limit::Watts(watts) => ("policy.power.budget_w", watts, Watts::of_system(watts)),
        };
        if ceiling >= idle {
            return Ok(ceiling);
        }
        let least = match self.limit() {
            Limit::Pcr(_) => format!("{:.4}", (idle.watts() / tdp.watts() * 1e4).ceil() / 1e4),
            Limit::Watts(_) => format!("{} W", idle.watts()),
        };
        let why = format!(
            "at least {least}: the idle machine draws {} W, and nothing could start under {} W",
            idle.watts(),
            ceiling.watts()
        );
        Err(config(parameter, value.to_string(), why))
    }

    /// Caps that it may set, W a node, ascending; none if it sets none.
    #[must_use]
    pub fn levels(&self) -> &[f64] {
        self.caps_w.as_deref().filter(|_| self.sets_levels()).unwrap_or_default()
    }

    /// Takes, once before the run, the predicted draw of nodes under caps.
    ///
    /// # Errors
    /// If a cap that may be set is invalid there, or if nothing is known of caps and some are needed.
    pub fn learn(&mut self, predicted: &Predicted) -> Result<()> {
        if self.sets_levels() && self.caps_w.is_none() {
            self.caps_w = Some(predicted.levels().to_vec());
        }
        if self.split == Split::Uniform && self.levels().is_empty() {
            let expected = "caps_w, or a platform with tables by cap, which say what caps there are";
            return Err(config("policy.power.allocator", "`uniform` without levels", expected));
        }
        if self.split != Split::Static && predicted.caps_kind().is_none() {
            let expected = "a platform with tables by cap or a cap model, which say what a cap does";
            return Err(config("policy.power.allocator", "an allocator on a platform without caps", expected));
        }
        if self.split != Split::Static && predicted.caps_kind() == Some(CapsKind::Tables) && self.levels().is_empty() {
            return Err(config("policy.power.caps_w", "no level", "a cap of the tables"));
        }
        self.emergencies.levels = self.levels().to_vec();
        Ok(())
    }

    /// Control of power other than by the starts of jobs.
    #[must_use]
    pub fn governance(&self) -> Governance {
        let allocator: Box<dyn Allocator> = match self.split {
            Split::Static => Box::new(Fixed),
            Split::Uniform => Box::new(Uniform::new(self.levels())),
            Split::EqualSlowdown(limit) => Box::new(EqualSlowdown::new(limit, self.levels().to_vec())),
        };
        Governance {
            allocator,
            allocator_interval: self.allocator_interval,
            emergencies: self.emergencies.clone(),
            gauge: None,
            relief: Relief::default(),
            allotted: Vec::new(),
        }
    }
}

//! States of a node, and the transitions that are possible between them.

use crate::error::SimulationError;
use crate::units::SimTime;

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Switched off.
    Off,
    /// Switching on.
    Booting {
        /// Instant at which it will be ready.
        until: SimTime,
    },
    /// Switched on, without a job.
    Idle,
    /// Serving jobs; others may be suspended on it.
    Busy {
        /// Number of running jobs: 1 where jobs get whole nodes.
        jobs: u32,
    },
    /// Reserved for suspended jobs; it draws and counts as idle.
    Kept,
    /// Switching off.
    ShuttingDown {
        /// Instant at which it will be off.
        until: SimTime,
    },
    /// Broken, or taken out of service.
    Down,
}

/// Class of states that energies and times are accounted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Serving a job.
    Busy,
    /// Switched on, without a job.
    Idle,
    /// Off.
    Off,
    /// Booting or shutting down.
    Transition,
    /// Down.
    Down,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 5;
}

impl NodeState {
    /// Class that the state is accounted under.
    #[must_use]
    pub fn class(self) -> Class {
        match self {
            Self::Busy { .. } => Class::Busy,
            Self::Idle | Self::Kept => Class::Idle,
            Self::Off => Class::Off,
            Self::Booting { .. } | Self::ShuttingDown { .. } => Class::Transition,
            Self::Down => Class::Down,
        }
    }

    /// True if the node is on, or will be without being woken.
    #[must_use]
    pub fn is_on(self) -> bool {
        match self {
            Self::Idle | Self::Busy { .. } | Self::Kept | Self::Booting { .. } => true,
            Self::Off | Self::ShuttingDown { .. } | Self::Down => false,
        }
    }

    /// State after one more job starts on the node.
    ///
    /// # Errors
    /// If the node is not on.
    pub fn start_job(self) -> Result<Self, SimulationError> {
        match self {
            Self::Idle | Self::Kept => Ok(Self::Busy { jobs: 1 }),
            Self::Busy { jobs } => Ok(Self::Busy { jobs: jobs + 1 }),
            Self::Off | Self::Booting { .. } | Self::ShuttingDown { .. } | Self::Down => self.refuse("start a job"),
        }
    }

    /// State after a running job on the node ends; `keeps`: others are suspended there.
    ///
    /// # Errors
    /// If the node serves no job.
    pub fn end_job(self, keeps: bool) -> Result<Self, SimulationError> {
        match self {
            Self::Busy { jobs: 1 } => Ok(if keeps { Self::Kept } else { Self::Idle }),
            Self::Busy { jobs } => Ok(Self::Busy { jobs: jobs - 1 }),
            Self::Idle | Self::Kept | Self::Off | Self::Booting { .. } | Self::ShuttingDown { .. } | Self::Down => {
                self.refuse("end a job")
            }
        }
    }

    /// State after a suspended job on the node ends; `keeps`: others are suspended there.
    ///
    /// # Errors
    /// If the node holds no job.
    pub fn end_suspended_job(self, keeps: bool) -> Result<Self, SimulationError> {
        match self {
            Self::Kept => Ok(if keeps { Self::Kept } else { Self::Idle }),
            Self::Busy { .. } => Ok(self),
            Self::Idle | Self::Off | Self::Booting { .. } | Self::ShuttingDown { .. } | Self::Down => {
                self.refuse("end a job")
            }
        }
    }

    /// State after a running job on the node is suspended.
    ///
    /// # Errors
    /// If the node serves no job.
    pub fn suspend_job(self) -> Result<Self, SimulationError> {
        match self {
            Self::Busy { jobs: 1 } => Ok(Self::Kept),
            Self::Busy { jobs } => Ok(Self::Busy { jobs: jobs - 1 }),
            Self::Idle | Self::Kept | Self::Off | Self::Booting { .. } | Self::ShuttingDown { .. } | Self::Down => {
                self.refuse("suspend a job")
            }
        }
    }

    /// State after a suspended job on the node is resumed.
    ///
    /// # Errors
    /// If the node holds no job.
    pub fn resume_job(self) -> Result<Self, SimulationError> {
        match self {
            Self::Kept => Ok(Self::Busy { jobs: 1 }),
            Self::Busy { jobs } => Ok(Self::Busy { jobs: jobs + 1 }),
            Self::Idle | Self::Off | Self::Booting { .. } | Self::ShuttingDown { .. } | Self::Down => {
                self.refuse("resume a job")
            }
        }
    }

    /// State after the node is switched on, to be ready at `until`.
    ///
    /// # Errors
    /// If it is not off.
    pub fn wake(self, until: SimTime) -> Result<Self, SimulationError> {
        match self {
            Self::Off => Ok(Self::Booting { until }),
            Self::Idle
            | Self::Busy { .. }
            | Self::Kept
            | Self::Booting { .. }
            | Self::ShuttingDown { .. }
            | Self::Down => self.refuse("wake"),
        }
    }

    /// State after the node has booted.
    ///
    /// # Errors
    /// If it is not booting.
    pub fn ready(self) -> Result<Self, SimulationError> {
        match self {
            Self::Booting { .. } => Ok(Self::Idle),
            Self::Idle | Self::Busy { .. } | Self::Kept | Self::Off | Self::ShuttingDown { .. } | Self::Down => {
                self.refuse("be ready")
            }
        }
    }

    /// State after the node is switched off, to be off at `until`.
    ///
    /// # Errors
    /// If it is not idle.
    pub fn sleep(self, until: SimTime) -> Result<Self, SimulationError> {
        match self {
            Self::Idle => Ok(Self::ShuttingDown { until }),
            Self::Busy { .. }
            | Self::Kept
            | Self::Off
            | Self::Booting { .. }
            | Self::ShuttingDown { .. }
            | Self::Down => self.refuse("sleep"),
        }
    }

    /// State after the node has shut down.
    ///
    /// # Errors
    /// If it is not shutting down.
    pub fn powered_off(self) -> Result<Self, SimulationError> {
        match self {
            Self::ShuttingDown { .. } => Ok(Self::Off),
            Self::Idle | Self::Busy { .. } | Self::Kept | Self::Off | Self::Booting { .. } | Self::Down => {
                self.refuse("be off")
            }
        }
    }

    /// State after the node comes back into service, idle.
    ///
    /// # Errors
    /// If it is not down.
    pub fn repaired(self) -> Result<Self, SimulationError> {
        match self {
            Self::Down => Ok(Self::Idle),
            Self::Idle
            | Self::Busy { .. }
            | Self::Kept
            | Self::Off
            | Self::Booting { .. }
            | Self::ShuttingDown { .. } => self.refuse("be repaired"),
        }
    }

    fn refuse(self, what: &str) -> Result<Self, SimulationError> {
        Err(SimulationError(format!("a node that is {} cannot {what}", self.name())))
    }

    /// The state's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Booting { .. } => "booting",
            Self::Idle => "idle",
            Self::Busy { .. } => "busy",
            Self::Kept => "kept for a suspended job",
            Self::ShuttingDown { .. } => "shutting_down",
            Self::Down => "down",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_goes_round_through_every_state() {
        let until = SimTime::from_micros(1);
        let busy = NodeState::Idle.start_job().unwrap();
        assert_eq!(busy, NodeState::Busy { jobs: 1 });
        let off = busy.end_job(false).unwrap().sleep(until).unwrap().powered_off().unwrap();
        assert_eq!(off, NodeState::Off);
        assert_eq!(off.wake(until).unwrap().ready().unwrap(), NodeState::Idle);
        assert_eq!(NodeState::Down.repaired().unwrap(), NodeState::Idle);
        let kept = busy.suspend_job().unwrap();
        assert_eq!(
            (kept.class(), kept.resume_job().unwrap(), kept.end_suspended_job(false).unwrap()),
            (Class::Idle, busy, NodeState::Idle)
        );
        assert!(kept.end_job(false).is_err() && NodeState::Idle.suspend_job().is_err());
    }

    #[test]
    fn an_urgent_job_runs_where_another_is_suspended() {
        let kept = NodeState::Busy { jobs: 1 }.suspend_job().unwrap();
        let busy = kept.start_job().unwrap();
        assert_eq!((busy, busy.end_suspended_job(false).unwrap()), (NodeState::Busy { jobs: 1 }, busy));
        assert_eq!([true, false].map(|keeps| busy.end_job(keeps).unwrap()), [kept, NodeState::Idle]);
        assert_eq!(kept.end_suspended_job(true).unwrap(), kept);
        let two = busy.resume_job().unwrap();
        assert_eq!((two, two.suspend_job().unwrap()), (NodeState::Busy { jobs: 2 }, busy));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let message = NodeState::Off.start_job().unwrap_err().to_string();
        assert_eq!(message, "a node that is off cannot start a job");
        assert!(NodeState::Busy { jobs: 1 }.sleep(SimTime::NEVER).is_err());
        assert!(NodeState::Idle.end_job(false).is_err());
        assert!(NodeState::Idle.wake(SimTime::NEVER).is_err());
        assert!(NodeState::Off.ready().is_err());
        assert!(NodeState::Idle.powered_off().is_err());
        assert!(NodeState::Idle.repaired().is_err());
    }
}

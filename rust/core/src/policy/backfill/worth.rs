//! Record of how long kept plans last.

/// Number of passes for which a plan has to last to be worth its time: it covers all jobs, where one that is not kept
/// goes only as far as needed.
const WORTH: usize = 4;
/// Most passes between two plans that are to be kept.
const SELDOM: usize = 32;

/// Record of how long plans last, so that none are kept in vain. After each that did not last, twice as many passes go by
/// before the next that is to be kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Worth {
    /// Number of passes for which the present plan has lasted.
    lasted: usize,
    /// Number of passes that the last pause had.
    pause: usize,
    /// Number of them that are left.
    left: usize,
}

impl Worth {
    /// Notes that a plan has lasted for one more pass.
    pub(super) fn lasts(&mut self) {
        self.lasted += 1;
        if self.lasted >= WORTH {
            self.pause = 0;
        }
    }

    /// Notes a pass that needs a new plan; `was_kept`: the last one was to be kept.
    pub(super) fn pass(&mut self, was_kept: bool) {
        self.left = self.left.saturating_sub(1);
        if was_kept && self.lasted < WORTH {
            self.pause = (2 * self.pause).clamp(1, SELDOM);
            self.left = self.pause;
        }
        self.lasted = 0;
    }

    /// True if a plan that is to be kept would probably be made in vain.
    pub(super) fn pauses(&self) -> bool {
        self.left > 0
    }
}

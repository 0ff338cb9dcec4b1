//! Jobs that run before the policy decides: it counts them like those that another policy has started.

use crate::control::{Controller, Host};
use crate::error::Result;
use crate::policy::Notice;
use crate::units::Watts;
use crate::workload::JobId;

impl Controller {
    /// Starts a held job now; false, and nothing has changed, if it does not fit.
    ///
    /// # Errors
    /// If the policy fails, or the host cannot follow.
    pub fn take_up(&mut self, job: JobId, host: &mut Host<'_>) -> Result<bool> {
        let Some(nodes) = self.cluster.nodes_under_way(job) else { return Ok(false) };
        if self.policy.forecast().is_some() {
            self.foretold.joined.push(job);
            self.foretell(&|| false)?;
        }
        self.cluster.admit(job);
        let (watts, basis) = self.policy.appraise(&self.cluster.view(Watts::ZERO, &|| false), job, &nodes);
        self.tell(Notice::Inherited(job));
        self.decisions.clear();
        self.decisions.start_with(job, |list| list.extend(&nodes));
        self.decisions.revise(|start, _| (start.claim, start.basis) = (watts, basis.clone()));
        // It runs, whatever the budget: nothing is granted to it.
        self.carry_out_under(None, host)?;
        Ok(true)
    }
}

//! Chronicle of a simulation: the reports that a live machine would have given, and the orders that it would have got.

use crate::algo::span::Span;
use crate::cluster::runs::Run;
use crate::control::live::report::Report;
use crate::control::orders::{HostOrder, Which};
use crate::platform::node_state::Class;
use crate::power::budgets::BudgetRow;
use crate::sim::job_state::JobState;
use crate::units::{SimTime, Watts};

/// One instant.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The instant.
    pub at: SimTime,
    /// Its reports, and the states in which runs have ended.
    pub reports: Vec<(Report, Option<JobState>)>,
    /// Its orders.
    pub orders: Vec<HostOrder>,
}

/// Pages so far, if they are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Chronicle(Option<Box<Book>>);

#[derive(Clone, Debug, Default)]
struct Book {
    pages: Vec<Page>,
    page: Page,
    /// Budgets that are not reported yet.
    budgets: Vec<BudgetRow>,
    /// True if the policy goes by the measured draw.
    reads: bool,
}

impl Chronicle {
    /// A chronicle that is kept; `reads`: the policy goes by the measured draw.
    pub(super) fn kept(reads: bool) -> Self {
        Self(Some(Box::new(Book { reads, ..Book::default() })))
    }

    /// Reports the measured draw each time that the policy is shown it.
    pub(super) fn reading(&mut self, draw: Watts) {
        if let Some(book) = self.0.as_mut().filter(|book| book.reads) {
            book.page.reports.push((Report::Power(draw), None));
        }
    }

    /// Expects budgets, which are reported in the next instant.
    pub(super) fn expect_budgets(&mut self, rows: &[BudgetRow]) {
        if let Some(book) = &mut self.0 {
            book.budgets.extend_from_slice(rows);
        }
    }

    pub(super) fn report(&mut self, report: impl FnOnce() -> Report) {
        if let Some(book) = &mut self.0 {
            book.page.reports.push((report(), None));
        }
    }

    pub(super) fn end(&mut self, run: &Run, how: JobState) {
        if let Some(book) = &mut self.0 {
            let which = Which { job: run.job, attempt: run.attempt };
            book.page.reports.push((Report::Ended(which, how == JobState::Completed), Some(how)));
        }
    }

    /// Reports nodes that have arrived in a state: idle or off.
    pub(super) fn nodes(&mut self, nodes: Span, class: Class) {
        if let Some(book) = &mut self.0 {
            let report = if class == Class::Off { Report::NodeOff } else { Report::NodeUp };
            book.page.reports.extend(nodes.nodes().map(|node| (report(node), None)));
        }
    }

    pub(super) fn order(&mut self, order: impl FnOnce() -> Option<HostOrder>) {
        if let Some(book) = &mut self.0 {
            book.page.orders.extend(order());
        }
    }

    /// Closes the page of an instant.
    pub(super) fn close(&mut self, at: SimTime) {
        if let Some(book) = &mut self.0 {
            let mut page = std::mem::take(&mut book.page);
            let budgets = book.budgets.drain(..);
            page.reports.extend(budgets.map(|row| (Report::Budget(row.watts, Some(row.from), row.until), None)));
            book.pages.push(Page { at, ..page });
        }
    }

    /// Takes the pages so far.
    pub(super) fn take(&mut self) -> Vec<Page> {
        self.0.as_mut().map_or(Vec::new(), |book| std::mem::take(&mut book.pages))
    }
}

//! Jobs, platforms and tables, from numpy columns to the core's.

use std::sync::Arc;

use hetsched_core::platform::{Platform, PlatformColumns};
use hetsched_core::power::known::Rule;
use hetsched_core::power::pvt::{Kind, VariationTable};
use hetsched_core::workload::{self, Workload};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::to_py;

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Ints<'py> = PyReadonlyArray1<'py, i64>;

fn copied<T: numpy::Element + Clone>(column: Option<PyReadonlyArray1<'_, T>>) -> Vec<T> {
    column.map(|column| column.as_array().to_vec()).unwrap_or_default()
}

/// A workload's columns as the engine holds them.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct JobColumns(pub(crate) Arc<Workload>);

#[pymethods]
impl JobColumns {
    #[new]
    #[pyo3(signature = (*, job_id, submit_s, runtime_s, node_count, walltime_s = None, comm_s = None, slots = None,
        power_w = None, app = None, app_names = None, on_gpu = None, first_run = None, observed_start_s = None,
        observed_end_s = None, observed_node_offsets = None, observed_nodes = None, source = "workload"))]
    #[expect(clippy::too_many_arguments, reason = "one a column")]
    fn new(
        py: Python<'_>,
        job_id: Ints<'_>,
        submit_s: Floats<'_>,
        runtime_s: Floats<'_>,
        node_count: Ints<'_>,
        walltime_s: Option<Floats<'_>>,
        comm_s: Option<Floats<'_>>,
        slots: Option<Ints<'_>>,
        power_w: Option<Floats<'_>>,
        app: Option<Ints<'_>>,
        app_names: Option<Vec<String>>,
        on_gpu: Option<Ints<'_>>,
        first_run: Option<Ints<'_>>,
        observed_start_s: Option<Floats<'_>>,
        observed_end_s: Option<Floats<'_>>,
        observed_node_offsets: Option<Ints<'_>>,
        observed_nodes: Option<Ints<'_>>,
        source: &str,
    ) -> PyResult<Self> {
        let columns = workload::JobColumns {
            job_id: copied(Some(job_id)),
            submit_s: copied(Some(submit_s)),
            runtime_s: copied(Some(runtime_s)),
            node_count: copied(Some(node_count)),
            walltime_s: copied(walltime_s),
            comm_s: copied(comm_s),
            slots: copied(slots),
            power_w: copied(power_w),
            app: copied(app),
            app_names: app_names.unwrap_or_default(),
            on_gpu: copied(on_gpu),
            first_run: copied(first_run),
            observed: workload::ObservedColumns {
                start_s: copied(observed_start_s),
                end_s: copied(observed_end_s),
                node_offsets: copied(observed_node_offsets),
                nodes: copied(observed_nodes),
            },
            source: source.to_owned(),
        };
        columns.into_workload().map(|jobs| Self(Arc::new(jobs))).map_err(|error| to_py(py, error))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Busy watts (or factors on the nominal draw) and time factors by application and node.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct PowerTable(VariationTable);

#[pymethods]
impl PowerTable {
    #[new]
    #[pyo3(signature = (*, apps, power_w = None, power_ratio = None, time_ratio = None, name = "table"))]
    fn new(
        apps: Vec<String>,
        power_w: Option<PyReadonlyArray2<'_, f64>>,
        power_ratio: Option<PyReadonlyArray2<'_, f64>>,
        time_ratio: Option<PyReadonlyArray2<'_, f64>>,
        name: &str,
    ) -> Self {
        let rows = |table: PyReadonlyArray2<'_, f64>| table.as_array().iter().copied().collect::<Vec<_>>();
        let kind = if power_w.is_some() { Kind::Watts } else { Kind::Ratio };
        Self(VariationTable {
            apps,
            kind,
            power: power_w.or(power_ratio).map(rows).unwrap_or_default(),
            time_ratio: time_ratio.map(rows).unwrap_or_default(),
            name: name.to_owned(),
        })
    }
}

/// A platform's columns, one value a node, as the engine holds them.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct Machine {
    pub(crate) platform: Platform,
    pub(crate) actual: Option<VariationTable>,
    pub(crate) predicted: Option<VariationTable>,
    pub(crate) known_draws: Rule,
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (*, idle_w, busy_w, tdp_w, off_w, down_w, boot_w, boot_s, shutdown_w, shutdown_s, slots,
        exclusive = true, actual = None, predicted = None, known_draws = "measured"))]
    #[expect(clippy::too_many_arguments, reason = "one a column")]
    fn new(
        py: Python<'_>,
        idle_w: Floats<'_>,
        busy_w: Floats<'_>,
        tdp_w: Floats<'_>,
        off_w: Floats<'_>,
        down_w: Floats<'_>,
        boot_w: Floats<'_>,
        boot_s: Floats<'_>,
        shutdown_w: Floats<'_>,
        shutdown_s: Floats<'_>,
        slots: Ints<'_>,
        exclusive: bool,
        actual: Option<PyRef<'_, PowerTable>>,
        predicted: Option<PyRef<'_, PowerTable>>,
        known_draws: &str,
    ) -> PyResult<Self> {
        let columns = PlatformColumns {
            idle_w: copied(Some(idle_w)),
            busy_w: copied(Some(busy_w)),
            tdp_w: copied(Some(tdp_w)),
            off_w: copied(Some(off_w)),
            down_w: copied(Some(down_w)),
            boot_w: copied(Some(boot_w)),
            boot_s: copied(Some(boot_s)),
            shutdown_w: copied(Some(shutdown_w)),
            shutdown_s: copied(Some(shutdown_s)),
            slots: copied(Some(slots)),
            exclusive,
        };
        let platform = columns.into_platform().map_err(|error| to_py(py, error))?;
        let known_draws = Rule::from_name(known_draws).map_err(|error| to_py(py, error))?;
        let table = |table: Option<PyRef<'_, PowerTable>>| table.map(|table| table.0.clone());
        Ok(Self { platform, actual: table(actual), predicted: table(predicted), known_draws })
    }

    fn __len__(&self) -> usize {
        self.platform.nodes().len()
    }
}

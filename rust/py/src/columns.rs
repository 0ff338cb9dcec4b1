//! Jobs, platforms, tables, budgets and windows of maintenance, from numpy columns to the core's.

use std::sync::Arc;

use hetsched_core::error::{Result, config};
use hetsched_core::platform::outages::Maintenance;
use hetsched_core::platform::{Platform, PlatformColumns};
use hetsched_core::power::budgets::BudgetRow;
use hetsched_core::power::caps::{BoundRatio, CapModel, CapTable, CapsSpec, StaticDraw};
use hetsched_core::power::known::Rule;
use hetsched_core::power::pvt::{ANY_APP, TableKind, VariationTable};
use hetsched_core::units::{SimTime, Watts};
use hetsched_core::workload::{self, Workload};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_py;

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Ints<'py> = PyReadonlyArray1<'py, i64>;
type Counts<'py> = PyReadonlyArray1<'py, i32>;

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
        power_w = None, power_profile = None, power_profile_offsets = None, power_profile_s = None, cap_w = None,
        app = None, app_names = None, on_gpu = None, first_run = None,
        observed_start_s = None, observed_end_s = None, observed_node_offsets = None, observed_nodes = None,
        min_nodes = None, size_offsets = None, time_ratios = None, malleable = None, resize_s = None,
        start_at_s = None, depends_on = None, depends_how = None, think_s = None, cancel_s = None, array = None,
        array_limits = None, source = "workload"))]
    #[expect(clippy::too_many_arguments, reason = "one a column")]
    fn new(
        py: Python<'_>,
        job_id: Ints<'_>,
        submit_s: Floats<'_>,
        runtime_s: Floats<'_>,
        node_count: Counts<'_>,
        walltime_s: Option<Floats<'_>>,
        comm_s: Option<Floats<'_>>,
        slots: Option<Ints<'_>>,
        power_w: Option<Floats<'_>>,
        power_profile: Option<Floats<'_>>,
        power_profile_offsets: Option<Ints<'_>>,
        power_profile_s: Option<Floats<'_>>,
        cap_w: Option<Floats<'_>>,
        app: Option<Counts<'_>>,
        app_names: Option<Vec<String>>,
        on_gpu: Option<Ints<'_>>,
        first_run: Option<Ints<'_>>,
        observed_start_s: Option<Floats<'_>>,
        observed_end_s: Option<Floats<'_>>,
        observed_node_offsets: Option<Ints<'_>>,
        observed_nodes: Option<Ints<'_>>,
        min_nodes: Option<Ints<'_>>,
        size_offsets: Option<Ints<'_>>,
        time_ratios: Option<Floats<'_>>,
        malleable: Option<Ints<'_>>,
        resize_s: Option<Floats<'_>>,
        start_at_s: Option<Floats<'_>>,
        depends_on: Option<Ints<'_>>,
        depends_how: Option<Ints<'_>>,
        think_s: Option<Floats<'_>>,
        cancel_s: Option<Floats<'_>>,
        array: Option<Ints<'_>>,
        array_limits: Option<Ints<'_>>,
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
            cap_w: copied(cap_w),
            app: copied(app),
            app_names: app_names.unwrap_or_default(),
            on_gpu: copied(on_gpu),
            first_run: copied(first_run),
            profiles: workload::ProfileColumns {
                offsets: copied(power_profile_offsets),
                watts: copied(power_profile),
                interval_s: copied(power_profile_s),
            },
            observed: workload::ObservedColumns {
                start_s: copied(observed_start_s),
                end_s: copied(observed_end_s),
                node_offsets: copied(observed_node_offsets),
                nodes: copied(observed_nodes),
            },
            sizes: workload::SizeColumns {
                min_nodes: copied(min_nodes),
                offsets: copied(size_offsets),
                time_ratios: copied(time_ratios),
                malleable: copied(malleable),
                resize_s: copied(resize_s),
            },
            waits: workload::WaitColumns {
                start_s: copied(start_at_s),
                depends_on: copied(depends_on),
                depends_how: copied(depends_how),
                think_s: copied(think_s),
                cancel_s: copied(cancel_s),
                array: copied(array),
                array_limits: copied(array_limits),
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
        let kind = if power_w.is_some() { TableKind::Watts } else { TableKind::Ratio };
        Self(VariationTable {
            apps,
            kind,
            power: power_w.or(power_ratio).map(rows).unwrap_or_default(),
            time_ratio: time_ratio.map(rows).unwrap_or_default(),
            name: name.to_owned(),
        })
    }
}

/// A cap, the actual table under it and the predicted one.
type CapTableArgument<'py> = (f64, PyRef<'py, PowerTable>, Option<PyRef<'py, PowerTable>>);

fn cap_table((cap_w, actual, predicted): CapTableArgument<'_>) -> CapTable {
    CapTable { cap_w, actual: actual.0.clone(), predicted: predicted.map(|table| table.0.clone()) }
}

/// A cap model from a dictionary; `watts` are the nodes' busy draws and TDP.
fn read_cap_model(model: &Bound<'_, PyDict>, (busy_w, tdp_w): (Vec<f64>, Vec<f64>)) -> PyResult<CapModel> {
    let py = model.py();
    let known = ["static_w", "static_ratio", "exponent", "bound_ratio", "least_speed_ratio"];
    for key in model.keys() {
        let key: String = key.extract()?;
        if !known.contains(&key.as_str()) {
            return Err(to_py(py, config(format!("cap_model.{key}"), "given", format!("one of {}", known.join(", ")))));
        }
    }
    let given = |key: &str| Ok::<_, PyErr>(model.get_item(key)?.filter(|value| !value.is_none()));
    let number = |key: &str, default: f64| given(key)?.map_or(Ok(default), |value| value.extract::<f64>());
    let static_draw = match (given("static_w")?, given("static_ratio")?) {
        (Some(watts), None) => StaticDraw::Watts(watts.extract::<Floats<'_>>()?.as_array().to_vec()),
        (None, Some(ratio)) => StaticDraw::Ratio(ratio.extract()?),
        (watts, _) => {
            let found = if watts.is_some() { "both" } else { "neither" };
            let expected = "exactly one of the two: what does not fall with the speed";
            return Err(to_py(py, config("cap_model.static_w, static_ratio", found, expected)));
        }
    };
    Ok(CapModel {
        static_draw,
        exponent: number("exponent", 1.0)?,
        bound_ratio: bound_ratio(given("bound_ratio")?.as_ref())?,
        least_speed_ratio: number("least_speed_ratio", 0.2)?,
        busy_w,
        tdp_w,
    })
}

/// One share for all, or one for each application, with `*` for the others.
fn bound_ratio(value: Option<&Bound<'_, PyAny>>) -> PyResult<BoundRatio> {
    let Some(value) = value else { return Ok(BoundRatio { default: Some(1.0), by_app: Vec::new() }) };
    let Ok(shares) = value.cast::<PyDict>() else {
        return Ok(BoundRatio { default: Some(value.extract()?), by_app: Vec::new() });
    };
    let mut by_app: Vec<(String, f64)> =
        shares.iter().map(|(app, share)| Ok((app.extract()?, share.extract()?))).collect::<PyResult<_>>()?;
    let default = by_app.iter().position(|(app, _)| app == ANY_APP).map(|place| by_app.remove(place).1);
    Ok(BoundRatio { default, by_app })
}

/// A platform's columns, one value per node, as the engine holds them.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct Machine {
    pub(crate) platform: Platform,
    pub(crate) actual: Option<VariationTable>,
    pub(crate) predicted: Option<VariationTable>,
    pub(crate) caps: CapsSpec,
    pub(crate) known_draws: Rule,
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (*, idle_w, busy_w, tdp_w, off_w, down_w, boot_w, boot_s, shutdown_w, shutdown_s, slots,
        exclusive = true, actual = None, predicted = None, known_draws = "measured", cap_tables = None,
        cap_model = None))]
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
        cap_tables: Option<Vec<CapTableArgument<'_>>>,
        cap_model: Option<&Bound<'_, PyDict>>,
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
        let busy_and_tdp = cap_model.map(|_| (columns.busy_w.clone(), columns.tdp_w.clone()));
        let platform = columns.into_platform().map_err(|error| to_py(py, error))?;
        let caps = match (cap_tables, cap_model.zip(busy_and_tdp)) {
            (None, None) => CapsSpec::None,
            (Some(tables), None) => CapsSpec::Tables(tables.into_iter().map(cap_table).collect()),
            (None, Some((model, watts))) => CapsSpec::Model(read_cap_model(model, watts)?),
            (Some(_), Some(_)) => {
                return Err(to_py(py, config("cap_model", "a model with tables by cap", "one of the two")));
            }
        };
        caps.check(platform.nodes().len()).map_err(|error| to_py(py, error))?;
        let known_draws = Rule::from_name(known_draws).map_err(|error| to_py(py, error))?;
        let table = |table: Option<PyRef<'_, PowerTable>>| table.map(|table| table.0.clone());
        Ok(Self { platform, actual: table(actual), predicted: table(predicted), caps, known_draws })
    }

    fn __len__(&self) -> usize {
        self.platform.nodes().len()
    }
}

/// Budgets: begins, ends (infinite: never), instants from which they are known (infinite: always), and watts.
pub(crate) type BudgetColumns<'py> = (Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>);
/// Windows of maintenance: begins, nodes, ends, and instants from which they are known (infinite: always).
pub(crate) type MaintenanceColumns<'py> = (Floats<'py>, Ints<'py>, Floats<'py>, Floats<'py>);

/// An instant on the log's clock, s.
pub(crate) fn instant(name: &str, seconds: f64) -> Result<SimTime> {
    SimTime::from_seconds(seconds).ok_or_else(|| config(name, seconds.to_string(), "seconds up to 1e12"))
}

/// The budgets of some columns.
pub(crate) fn budget_rows(
    py: Python<'_>,
    (from, until, announced, watts): &BudgetColumns<'_>,
) -> PyResult<Vec<BudgetRow>> {
    let [from, until, announced, watts] = [from, until, announced, watts].map(|column| column.as_array());
    let rows = from.iter().zip(until).zip(announced).zip(watts).map(|(((&from, &until), &announced), &watts)| {
        Ok(BudgetRow {
            from: instant("budgets.time_s", from)?,
            until: if until == f64::INFINITY { SimTime::NEVER } else { instant("budgets.until_s", until)? },
            announced: known_from(announced)?,
            watts: Watts::of_system(watts),
        })
    });
    rows.collect::<Result<_>>().map_err(|error| to_py(py, error))
}

/// The windows of some columns.
pub(crate) fn maintenance_rows(
    py: Python<'_>,
    (from, node, until, announced): &MaintenanceColumns<'_>,
) -> PyResult<Vec<Maintenance>> {
    let [from, until, announced] = [from, until, announced].map(|column| column.as_array());
    let rows = from.iter().zip(node.as_array()).zip(until).zip(announced);
    let rows = rows.map(|(((&from, &node), &until), &announced)| {
        Ok(Maintenance {
            node: number("node", node)?,
            from: instant("time_s", from)?,
            until: instant("until_s", until)?,
            announced: known_from(announced)?,
        })
    });
    rows.collect::<Result<_>>().map_err(|error| to_py(py, error))
}

/// Instant from which something is known; minus infinity: always.
fn known_from(seconds: f64) -> Result<SimTime> {
    if seconds == f64::NEG_INFINITY {
        return Ok(SimTime::from_micros(i64::MIN));
    }
    instant("announced_s", seconds)
}

/// A number from 0.
pub(crate) fn number(name: &str, value: i64) -> Result<u32> {
    u32::try_from(value).map_err(|_| config(name, value.to_string(), "a number from 0"))
}

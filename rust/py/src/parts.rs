//! Policies, from dictionaries to the core's specs; the registry, to dictionaries.

use std::collections::BTreeMap;

use hetsched_core::error::config;
use hetsched_core::params::{Parameter, Value};
use hetsched_core::policy::agent::choices::Choices;
use hetsched_core::policy::registry::refused::{REFUSED, RefusedPair};
use hetsched_core::policy::registry::{
    BACKFILLS, BUDGETS, ORDERS, PLACEMENTS, PartSpec, PolicySpec, Row, SLEEPS, added,
};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::errors::to_py;

/// Reads a policy: a dictionary of roles, each a dictionary of `name` and parameters.
pub(crate) fn policy_spec(policy: &Bound<'_, PyDict>) -> PyResult<PolicySpec> {
    let name = policy.get_item("name")?.map_or(Ok("composed".to_owned()), |name| name.extract())?;
    let part = |role: &str| match policy.get_item(role)? {
        Some(part) => match part.cast_into::<PyDict>() {
            Ok(part) => part_spec(role, &part),
            Err(_) => Ok(standing_in(role)),
        },
        None => Err(to_py(policy.py(), config(format!("policy.{role}"), "nothing", "a part"))),
    };
    let optional = |role: &str| match policy.get_item(role)? {
        Some(part) if !part.is_none() => match part.cast_into::<PyDict>() {
            Ok(part) => part_spec(role, &part).map(Some),
            Err(_) => Ok(Some(standing_in(role))),
        },
        _ => Ok(None),
    };
    let (power, sleep) = (optional("power")?, optional("sleep")?);
    let (order, backfill, placement) = (part("order")?, part("backfill")?, part("placement")?);
    Ok(PolicySpec { name, order, backfill, placement, power, sleep })
}

/// Placeholder part for an object, which replaces it once it is made.
fn standing_in(role: &str) -> PartSpec {
    let name = match role {
        "order" => "fcfs",
        "backfill" => "none",
        "sleep" => "planned",
        _ => "lowest-id",
    };
    PartSpec { name: name.to_owned(), ..PartSpec::default() }
}

pub(crate) fn part_spec(role: &str, part: &Bound<'_, PyDict>) -> PyResult<PartSpec> {
    let mut spec = PartSpec::default();
    for (key, value) in part {
        let key: String = key.extract()?;
        if key == "name" {
            spec.name = value.extract()?;
        } else {
            let path = format!("policy.{role}.{key}");
            spec.params.insert(key, to_value(&path, &value)?);
        }
    }
    Ok(spec)
}

/// Choices of an agent, from a dictionary of `rows`, `placements` and `caps`.
pub(crate) fn choices(agent: &Bound<'_, PyDict>) -> PyResult<Choices> {
    let given = |key: &str| agent.as_any().get_item(key);
    let placements = given("placements")?.cast_into::<PyList>()?;
    let parts = placements.iter().map(|part| part_spec("placement", &part.cast_into::<PyDict>()?));
    Ok(Choices {
        rows: given("rows")?.extract()?,
        placements: parts.collect::<PyResult<_>>()?,
        sets_caps: given("caps")?.extract()?,
    })
}

fn to_value(path: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(list) = value.cast::<PyList>() {
        list.iter().map(|item| to_value(path, &item)).collect::<PyResult<_>>().map(Value::List)
    } else if value.is_instance_of::<PyBool>() {
        Ok(Value::Bool(value.extract()?))
    } else if let Ok(number) = value.extract::<i64>() {
        Ok(Value::Int(number))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Value::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Value::Text(value.extract()?))
    } else {
        let found = value.repr()?.to_string();
        Err(to_py(value.py(), config(path, found, "a number, a word, true or false, or a list of these")))
    }
}

fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Int(number) => PyInt::new(py, *number).into_any(),
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Text(word) => PyString::new(py, word).into_any(),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::List(values) => {
            let values = values.iter().map(|value| from_value(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
    })
}

/// The same policy with all defaults filled in.
#[pyfunction]
pub(crate) fn check_policy<'py>(policy: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let py = policy.py();
    let (_, full) = policy_spec(policy)?.build(0).map_err(|error| to_py(py, error))?;
    let filled = policy.copy()?;
    for (role, part) in [("order", &full.order), ("backfill", &full.backfill), ("placement", &full.placement)] {
        filled.set_item(role, part_dict(py, &part.name, &part.params)?)?;
    }
    for (role, part) in [("power", &full.power), ("sleep", &full.sleep)] {
        if let Some(part) = part {
            filled.set_item(role, part_dict(py, &part.name, &part.params)?)?;
        }
    }
    Ok(filled)
}

fn part_dict<'py>(py: Python<'py>, name: &str, params: &BTreeMap<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let part = PyDict::new(py);
    part.set_item("name", name)?;
    for (key, value) in params {
        part.set_item(key, from_value(py, value)?)?;
    }
    Ok(part)
}

/// Every part of the registry: role, name, what it does, parameters.
#[pyfunction]
pub(crate) fn parts(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    announce(&list, "order", ORDERS, added().orders)?;
    announce(&list, "backfill", BACKFILLS, added().backfills)?;
    announce(&list, "placement", PLACEMENTS, added().placements)?;
    announce(&list, "power", BUDGETS, added().budgets)?;
    announce(&list, "sleep", SLEEPS, &[])?;
    Ok(list)
}

fn announce<T: ?Sized>(list: &Bound<'_, PyList>, role: &str, own: &[Row<T>], added: &[Row<T>]) -> PyResult<()> {
    for (place, row) in own.iter().chain(added).enumerate() {
        let part = PyDict::new(list.py());
        part.set_item("role", role)?;
        part.set_item("name", row.name)?;
        part.set_item("doc", row.doc)?;
        part.set_item("is_added", place >= own.len())?;
        part.set_item("uses_chance", row.uses_chance)?;
        part.set_item("chooses_nodes", role == "placement" || row.chooses_nodes)?;
        part.set_item("knows_cells", row.knows_cells)?;
        part.set_item("reads_draws", row.reads_draws.name())?;
        part.set_item("needs", row.needs.iter().map(|need| need.name()).into_py_dict(list.py())?)?;
        let parameters = row.parameters().into_iter().map(|parameter| parameter_dict(list.py(), &parameter));
        part.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
        list.append(part)?;
    }
    Ok(())
}

/// Every pair of features that refuse each other: both in words, the parameter that an error names, and its sentence.
#[pyfunction]
pub(crate) fn refused_pairs() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let row = |pair: &RefusedPair| {
        let sentence = format!("found {}, expected {}", pair.found, pair.expected);
        (pair.one.text(), pair.other.text(), pair.parameter, sentence)
    };
    REFUSED.iter().map(row).collect()
}

fn parameter_dict<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", parameter.name)?;
    fields.set_item("unit", parameter.unit)?;
    fields.set_item("default", &parameter.default)?;
    fields.set_item("range", &parameter.range)?;
    fields.set_item("doc", parameter.doc)?;
    Ok(fields)
}

//! The placement `spread-racks`, and the engine extended by it.

use hetsched_core::prelude::*;
use pyo3::prelude::*;

/// The free nodes of as many racks as possible: one of each rack, then a second of each, lowest ids first.
#[derive(Clone)]
struct SpreadRacks {
    /// Number of nodes per rack; ids are assigned rack by rack.
    rack_nodes: u32,
}

impl Placement for SpreadRacks {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let (mut rack, mut place) = (0, 0);
        let mut ranked: Vec<(u32, u32)> = Vec::new();
        for node in free.iter() {
            place = if node / self.rack_nodes == rack { place } else { 0 };
            rack = node / self.rack_nodes;
            ranked.push((place, node));
            place += 1;
        }
        ranked.sort_unstable();
        let count = ask.view.jobs.node_count(job) as usize;
        let chosen = ranked[..count].iter().map(|&(_, node)| node);
        nodes.extend(chosen.filter(|&node| free.remove(node)));
        Ok(Choice::Chosen)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

const RACK_NODES: Param<u32> =
    Param::count("rack_nodes", "nodes", 16, 1, "nodes of a rack, numbered one rack after the other");

const PLACEMENTS: &[Row<dyn Placement>] =
    &[Row::<dyn Placement>::new("spread-racks", "the free nodes of as many racks as possible", |params, _seed| {
        Box::new(SpreadRacks { rack_nodes: params.take(&RACK_NODES) })
    })];

/// hetsched's engine, with this placement added to the built-in ones.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    hetsched_py::engine(module, Rows { placements: PLACEMENTS, ..Rows::default() })
}

//! Lanes: the distinct sets of nodes that queues have. Cells are split such that each part is in the same lanes with all
//! its nodes; a job wants the parts of its lane.

use std::collections::BTreeMap;

use crate::error::{Result, config};
use crate::platform::cells::{CellColumns, Cells, Want};
use crate::platform::queues::Queues;
use crate::workload::JobId;

/// Nodes of a cell that are in the same lanes.
struct Part {
    cell: u16,
    lanes: Vec<usize>,
}

/// Splits cells by the lanes of queues. Of the parts of a cell a job takes those first that the fewest lanes have, then
/// those with the lowest nodes.
///
/// # Errors
/// If there are more parts than can be numbered.
pub fn split(cells: &Cells, queues: &Queues) -> Result<Cells> {
    let CellColumns { of_node, wants, of_job, licences, stock } = cells.columns();
    let (parts, part_of) = parts(&of_node, &queues.lane_sets());
    // Each want of each lane, whether a job has it or not: jobs that come later may.
    let lanes = u32::try_from(queues.lanes()).unwrap_or(u32::MAX);
    let within = |(whole, lane): (&Want, u32)| {
        let cells = whole.cells.iter().flat_map(|&cell| in_turn(&parts, cell, lane as usize));
        Want { cells: cells.collect(), ..whole.clone() }
    };
    let number = |(job, want): (JobId, &u32)| want * lanes + u32::try_from(queues.lane(job)).unwrap_or(u32::MAX);
    let kind_of: Vec<_> = (0..).map(JobId).zip(&of_job).map(number).collect();
    if u16::try_from(parts.len()).is_err() {
        let found = format!("nodes in {} combinations of queues, features and resources", parts.len());
        return Err(config("queues", found, format!("at most {}", u16::MAX)));
    }
    let wants = wants.iter().flat_map(|want| (0..lanes).map(move |lane| (want, lane))).map(within).collect();
    let (jobs, nodes) = (kind_of.len(), u32::try_from(part_of.len()).unwrap_or(u32::MAX));
    CellColumns { of_node: part_of, wants, of_job: kind_of, licences, stock }.into_cells(jobs, nodes)
}

/// Parts in the order of their lowest nodes, and the part of each node.
fn parts(of_node: &[u16], sets: &[&[u32]]) -> (Vec<Part>, Vec<u16>) {
    let mut lanes = vec![Vec::new(); of_node.len()];
    for (lane, set) in sets.iter().enumerate() {
        set.iter().for_each(|&node| lanes[node as usize].push(lane));
    }
    let (mut known, mut parts) = (BTreeMap::new(), Vec::new());
    let number = |(&cell, lanes): (&u16, Vec<usize>)| {
        *known.entry((cell, lanes)).or_insert_with_key(|(cell, lanes)| {
            parts.push(Part { cell: *cell, lanes: lanes.clone() });
            u16::try_from(parts.len() - 1).unwrap_or(u16::MAX)
        })
    };
    let part_of = of_node.iter().zip(lanes).map(number).collect();
    (parts, part_of)
}

/// Parts of a cell that are in a lane, as its jobs take them.
fn in_turn(parts: &[Part], cell: u16, lane: usize) -> Vec<u16> {
    let own = (0..).zip(parts).filter(|(_, part)| part.cell == cell && part.lanes.contains(&lane));
    let mut own: Vec<(usize, u16)> = own.map(|(number, part)| (part.lanes.len(), number)).collect();
    own.sort_unstable();
    own.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::cells::Lack;
    use crate::platform::queues::{Queue, QueueColumns};

    fn lanes(sets: &[&[u32]], of_job: &[u16]) -> Queues {
        let queues = sets.iter().map(|nodes| Queue { nodes: nodes.to_vec(), ..Queue::default() }).collect();
        let (users, bars) = (vec![None; of_job.len()], vec![None; of_job.len()]);
        let columns = QueueColumns { queues, of_job: of_job.to_vec(), users, bars };
        columns.into_queues(of_job.len(), 4).unwrap().in_lanes()
    }

    fn wanted(cells: &Cells, row: u32) -> &[u16] {
        &cells.want(JobId(row)).cells
    }

    fn parts_of(cells: &Cells) -> Vec<Option<u16>> {
        (0..4).map(|node| cells.cell_of(node)).collect()
    }

    #[test]
    fn a_job_wants_the_parts_of_its_lane() {
        let want = |cells: &[u16], licences: &[(u16, i64)]| Want {
            cells: cells.to_vec(),
            licences: licences.to_vec(),
            ..Want::default()
        };
        let columns = CellColumns {
            of_node: vec![0, 0, 1, 1],
            wants: vec![want(&[1, 0], &[]), want(&[1], &[(0, 2)])],
            of_job: vec![0, 1, 0],
            licences: vec![3],
            stock: Vec::new(),
        };
        // Node 0 is alone in its queue, nodes 1 and 2 differ, and node 3 is in no queue.
        let queues = lanes(&[&[1, 2], &[0]], &[0, 0, 1]);
        let cells = split(&columns.into_cells(3, 4).unwrap(), &queues).unwrap();
        assert_eq!(parts_of(&cells), [0, 1, 2, 3].map(Some));
        assert_eq!([0, 1, 2].map(|row| wanted(&cells, row)), [&[2, 1][..], &[2], &[0]]);
        assert_eq!(cells.want(JobId(1)).licences, [(4, 2)]);
        assert_eq!([cells.lack(JobId(0), 2), cells.lack(JobId(0), 3)], [None, Some(Lack::Nodes)]);
    }

    #[test]
    fn nodes_that_fewer_lanes_have_are_taken_first() {
        let queues = lanes(&[&[0, 1, 2, 3], &[0, 1], &[1, 2]], &[0, 1, 2]);
        let cells = split(&Cells::alike(3, 4), &queues).unwrap();
        assert_eq!(parts_of(&cells), [0, 1, 2, 3].map(Some));
        assert_eq!([0, 1, 2].map(|row| wanted(&cells, row)), [&[3, 0, 2, 1][..], &[0, 1], &[2, 1]]);
    }
}

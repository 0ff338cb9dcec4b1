//! Measured draws over time: what each node of a job drew, interval by interval of its run.

use crate::error::Result;
use crate::units::{MAX_NODE_WATTS, SimDuration};
use crate::workload::checks::CheckedTable;

/// Columns as a caller has them; all are empty where no job has a profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileColumns {
    /// Offsets of each job's watts in `watts`, one more than there are jobs; a job without watts has no profile.
    pub offsets: Vec<i64>,
    /// Mean watts per node in each interval, job after job.
    pub watts: Vec<f64>,
    /// Length of a job's intervals at nominal speed, s; NaN for jobs without a profile.
    pub interval_s: Vec<f64>,
}

/// Consecutive intervals of a profile with the same draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// End of these intervals, as time into a run at nominal speed; the last part goes on for ever.
    pub until: SimDuration,
    /// Watts per node.
    pub watts: f64,
}

/// All profiles, checked.
#[derive(Clone, Debug)]
pub(super) struct Profiles {
    first: Vec<usize>,
    parts: Vec<Part>,
}

impl Profiles {
    /// Checks every value; none if no job has a profile.
    ///
    /// # Errors
    /// With the row, the column and the value of the first fault.
    pub(super) fn new(table: CheckedTable<'_>, columns: &ProfileColumns) -> Result<Option<Self>> {
        let ProfileColumns { offsets, watts, interval_s } = columns;
        if watts.is_empty() {
            return Ok(None);
        }
        let places = i64::try_from(watts.len()).unwrap_or(i64::MAX);
        let mut last = 0;
        let offsets = table.column("power_profile_offsets", offsets, "places in the list, ascending", |place| {
            let rises = (last..=places).contains(&place);
            last = place;
            usize::try_from(place).ok().filter(|_| rises)
        })?;
        let expected = "watts above 0, up to 1e6";
        table.column("power_profile", watts, expected, |w| (w > 0.0 && w <= MAX_NODE_WATTS).then_some(()))?;
        let mut profiles = Self { first: Vec::with_capacity(offsets.len()), parts: Vec::new() };
        let mut row = 0;
        let expected = "seconds from 1e-6, so that the profile is no longer than 1e12 s";
        table.column("power_profile_s", interval_s, expected, |interval_s| {
            let own = &watts[offsets[row]..offsets[row + 1]];
            row += 1;
            profiles.add(own, interval_s)
        })?;
        profiles.first.push(profiles.parts.len());
        Ok(Some(profiles))
    }

    /// Adds the next job's profile; none if its interval is invalid.
    fn add(&mut self, watts: &[f64], interval_s: f64) -> Option<()> {
        self.first.push(self.parts.len());
        let last = watts.len().checked_sub(1);
        if last.is_some() && (interval_s.is_nan() || interval_s < 1e-6) {
            return None;
        }
        for (interval, &here) in watts.iter().enumerate() {
            let is_last = Some(interval) == last;
            let until = SimDuration::from_seconds((interval + 1) as f64 * interval_s)?;
            if is_last || watts[interval + 1].to_bits() != here.to_bits() {
                let until = if is_last { SimDuration::FOREVER } else { until };
                self.parts.push(Part { until, watts: here });
            }
        }
        Some(())
    }

    pub(super) fn of(&self, row: usize) -> Option<&[Part]> {
        let own = &self.parts[*self.first.get(row)?..*self.first.get(row + 1)?];
        (!own.is_empty()).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use crate::units::SimDuration;
    use crate::workload::{JobColumns, JobId, ProfileColumns};

    fn jobs(profiles: ProfileColumns) -> JobColumns {
        JobColumns {
            job_id: vec![1, 2, 3],
            submit_s: vec![0.0; 3],
            runtime_s: vec![10.0; 3],
            node_count: vec![1; 3],
            profiles,
            source: "log".into(),
            ..JobColumns::default()
        }
    }

    fn known() -> ProfileColumns {
        ProfileColumns {
            offsets: vec![0, 4, 4, 5],
            watts: vec![100.0, 100.0, 250.0, 100.0, 90.0],
            interval_s: vec![2.5, f64::NAN, 60.0],
        }
    }

    #[test]
    fn intervals_of_one_draw_are_one_part_and_the_last_goes_on() {
        let workload = jobs(known()).into_workload().unwrap();
        let parts = |job| {
            let part = |part: &super::Part| (part.until.micros(), part.watts);
            workload.profile(JobId(job)).map(|parts| parts.iter().map(part).collect::<Vec<_>>())
        };
        let forever = SimDuration::FOREVER.micros();
        assert_eq!(parts(0).unwrap(), [(5_000_000, 100.0), (7_500_000, 250.0), (forever, 100.0)]);
        assert_eq!([parts(1), parts(2)], [None, Some(vec![(forever, 90.0)])]);
        assert!(!jobs(ProfileColumns::default()).into_workload().unwrap().has_profiles());
    }

    #[test]
    fn faults_name_column_and_value() {
        let wrong = [
            (ProfileColumns { offsets: vec![0, 4, 3, 5], ..known() }, "power_profile_offsets: found `3`"),
            (ProfileColumns { watts: vec![1.0, 0.0, 1.0, 1.0, 1.0], ..known() }, "power_profile: found `0`"),
            (ProfileColumns { interval_s: vec![0.0, f64::NAN, 1.0], ..known() }, "line 0, power_profile_s: found `0`"),
            (
                ProfileColumns { interval_s: vec![1.0, 1.0, f64::NAN], ..known() },
                "line 2, power_profile_s: found `NaN`",
            ),
            (ProfileColumns { interval_s: vec![1e12, 1.0, 1.0], ..known() }, "line 0, power_profile_s: found"),
            (ProfileColumns { interval_s: vec![1.0], ..known() }, "power_profile_s: found 1,"),
        ];
        for (columns, expected) in wrong {
            let error = jobs(columns).into_workload().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

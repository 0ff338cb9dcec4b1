//! Trackable resources: `billing=4,cpu=4,gres/gpu:a100=2,mem=4G,node=1`.

use super::value::{count, is_null, joules, megabytes};

/// Resources of a list: nodes, processors, memory, GPUs, energy and licences.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tres {
    pub(super) nodes: i64,
    pub(super) cpus: i64,
    pub(super) memory_mb: f64,
    gpus: Option<i64>,
    gpus_by_type: Option<i64>,
    pub(super) energy_j: f64,
    /// Text such as `a:2,b:1`.
    pub(super) licences: Vec<u8>,
    pub(super) is_empty: bool,
}

impl Default for Tres {
    fn default() -> Self {
        Self {
            nodes: 0,
            cpus: 0,
            memory_mb: f64::NAN,
            gpus: None,
            gpus_by_type: None,
            energy_j: f64::NAN,
            licences: Vec::new(),
            is_empty: true,
        }
    }
}

impl Tres {
    /// Adds a list; None if it cannot be parsed.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<()> {
        self.is_empty = false;
        for item in text.split(|byte| *byte == b',') {
            let at = item.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (&item[..at], &item[at + 1..]);
            if !is_null(value) {
                self.take(name, value)?;
            }
        }
        Some(())
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        match name {
            b"node" => self.nodes = count(value)?,
            b"cpu" => self.cpus = count(value)?,
            b"mem" => self.memory_mb = megabytes(value)?,
            b"energy" => self.energy_j = joules(value)?,
            b"gres/gpu" => self.gpus = Some(count(value)?),
            _ if name.starts_with(b"gres/gpu:") => {
                self.gpus_by_type = Some(self.gpus_by_type.unwrap_or(0) + count(value)?);
            }
            _ if name.starts_with(b"license/") => self.hold(&name[8..], count(value)?),
            _ => {}
        }
        Some(())
    }

    /// Adds one resource of a JSON dump: `type`, `name` and `count`.
    pub(super) fn add(&mut self, kind: &str, name: &str, number: i64) {
        self.is_empty = false;
        match (kind, name) {
            ("node", _) => self.nodes = number,
            ("cpu", _) => self.cpus = number,
            ("mem", _) => self.memory_mb = number as f64,
            ("energy", _) => self.energy_j = number as f64,
            ("gres", "gpu") => self.gpus = Some(number),
            ("gres", _) if name.starts_with("gpu:") => {
                self.gpus_by_type = Some(self.gpus_by_type.unwrap_or(0) + number);
            }
            ("license", _) => self.hold(name.as_bytes(), number),
            _ => {}
        }
    }

    fn hold(&mut self, name: &[u8], number: i64) {
        if number > 0 {
            if !self.licences.is_empty() {
                self.licences.push(b',');
            }
            self.licences.extend_from_slice(name);
            self.licences.extend_from_slice(format!(":{number}").as_bytes());
        }
    }

    /// GPUs: of all types, else summed by type; None if there are none in the list.
    pub(super) fn gpus(&self) -> Option<i64> {
        self.gpus.or(self.gpus_by_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read() {
        let mut tres = Tres::default();
        tres.read(b"billing=4,cpu=8,energy=12,gres/gpu:a100=2,gres/gpu:v100=1,license/x=2,mem=1.5G,node=2").unwrap();
        assert_eq!((tres.nodes, tres.cpus, tres.memory_mb, tres.gpus()), (2, 8, 1536.0, Some(3)));
        assert_eq!((tres.energy_j, &*tres.licences), (12.0, &b"x:2"[..]));
        tres.read(b"gres/gpu=4").unwrap();
        assert_eq!(tres.gpus(), Some(4));
        assert!(Tres::default().read(b"cpu").is_none() && Tres::default().read(b"cpu=x").is_none());
    }
}

//! Scope: the nodes of a machine about which a policy decides.

use crate::platform::{NodeDraw, Platform};

/// A machine, and those of its nodes that serve jobs of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    platform: &'a Platform,
    /// These nodes, ascending; none: all.
    own: Option<&'a [u32]>,
}

impl<'a> Scope<'a> {
    /// All nodes of a machine.
    #[must_use]
    pub fn all(platform: &'a Platform) -> Self {
        Self { platform, own: None }
    }

    /// These nodes of a machine, ascending.
    #[must_use]
    pub fn of(platform: &'a Platform, nodes: &'a [u32]) -> Self {
        Self { platform, own: Some(nodes) }
    }

    /// The machine.
    #[must_use]
    pub fn platform(self) -> &'a Platform {
        self.platform
    }

    /// The nodes in scope, ascending, each with its draws and transition times.
    pub fn draws(self) -> impl Iterator<Item = (u32, &'a NodeDraw)> {
        let all = self.platform.len();
        let nodes = (0..self.own.map_or(all, |own| u32::try_from(own.len()).unwrap_or(all)))
            .map(move |place| self.own.map_or(place, |own| own[place as usize]));
        nodes.map(move |node| (node, self.platform.node(node)))
    }

    /// True if the node is in scope.
    #[must_use]
    pub fn contains(self, node: u32) -> bool {
        self.own.is_none_or(|own| own.binary_search(&node).is_ok())
    }
}

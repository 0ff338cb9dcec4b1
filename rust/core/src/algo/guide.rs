//! What stands in the blocks of a long list, block by block and by groups of blocks.
//!
//! A list of a million elements has thousands of blocks, and a search that looks at each is long. So a list that has grown
//! keeps a wider summary a block and one for as many blocks as a block has elements. A short list needs none of it.

use crate::algo::sorted_blocks::Summary;

/// Wider summaries of blocks and of groups of `GROUP` blocks; none where the list is short.
#[derive(Clone, Debug)]
pub struct Guide<W, const GROUP: usize> {
    blocks: Vec<W>,
    groups: Vec<W>,
}

impl<W, const GROUP: usize> Default for Guide<W, GROUP> {
    fn default() -> Self {
        Self { blocks: Vec::new(), groups: Vec::new() }
    }
}

/// The wider summary of some elements.
fn of<T, S: Summary<T>>(items: &[T]) -> S::Wide {
    items.iter().fold(S::NOTHING, S::widen)
}

impl<W: Copy, const GROUP: usize> Guide<W, GROUP> {
    /// Whether there are summaries.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether a list of so many blocks is to begin with them, or to give them up.
    #[must_use]
    pub fn is_out_of_step(&self, blocks: usize) -> bool {
        if self.is_kept() { blocks <= GROUP } else { blocks > 2 * GROUP }
    }

    /// Begins anew with these blocks; without summaries, if they are few.
    pub fn rebuild<'a, T: 'a, S: Summary<T, Wide = W>>(&mut self, blocks: impl ExactSizeIterator<Item = &'a [T]>) {
        let are_few = blocks.len() <= GROUP;
        self.blocks.clear();
        self.blocks.extend(blocks.filter(|_| !are_few).map(of::<T, S>));
        self.regroup::<T, S>(0);
    }

    /// An element was added to a block.
    pub fn add<T, S: Summary<T, Wide = W>>(&mut self, index: usize, item: &T) {
        if self.is_kept() {
            self.blocks[index] = S::widen(self.blocks[index], item);
            self.groups[index / GROUP] = S::widen(self.groups[index / GROUP], item);
        }
    }

    /// A block has changed.
    pub fn change<T, S: Summary<T, Wide = W>>(&mut self, index: usize, items: &[T]) {
        if self.is_kept() {
            self.blocks[index] = of::<T, S>(items);
            self.groups[index / GROUP] = self.group::<T, S>(index / GROUP);
        }
    }

    /// There is a new block.
    pub fn insert<T, S: Summary<T, Wide = W>>(&mut self, index: usize, items: &[T]) {
        if self.is_kept() {
            self.blocks.insert(index, of::<T, S>(items));
            self.regroup::<T, S>(index / GROUP);
        }
    }

    /// A block is gone.
    pub fn remove<T, S: Summary<T, Wide = W>>(&mut self, index: usize) {
        if self.is_kept() {
            self.blocks.remove(index);
            self.regroup::<T, S>(index / GROUP);
        }
    }

    /// The first block from one on that passes `may_hold`; one past all if there is none. Without summaries it is the first.
    pub fn next(&self, from: usize, may_hold: impl Fn(&W) -> bool) -> usize {
        if !self.is_kept() {
            return from;
        }
        let mut index = from;
        while index < self.blocks.len() {
            let end = self.blocks.len().min((index / GROUP + 1) * GROUP);
            if may_hold(&self.groups[index / GROUP])
                && let Some(found) = self.blocks[index..end].iter().position(&may_hold)
            {
                return index + found;
            }
            index = end;
        }
        index
    }

    fn group<T, S: Summary<T, Wide = W>>(&self, group: usize) -> W {
        let end = self.blocks.len().min((group + 1) * GROUP);
        self.blocks[group * GROUP..end].iter().fold(S::NOTHING, |wide, &block| S::join(wide, block))
    }

    fn regroup<T, S: Summary<T, Wide = W>>(&mut self, from: usize) {
        self.groups.truncate(from);
        for group in from..self.blocks.len().div_ceil(GROUP) {
            let wide = self.group::<T, S>(group);
            self.groups.push(wide);
        }
    }
}

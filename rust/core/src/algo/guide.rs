//! Summaries of the blocks of a list, which guide a search: of each block, and of groups of blocks.
//!
//! A list of a million elements has thousands of blocks, and a search that looks at the summary of each is long. A list
//! that has grown therefore keeps a wider summary per block, and one per group of about as many blocks as a block has
//! elements. A short list needs neither.

/// Summary of a block's elements.
pub trait Summary<T>: Copy {
    /// Summary of no element.
    const EMPTY: Self;
    /// Summary with one more element.
    #[must_use]
    fn with(self, item: &T) -> Self;
    /// Summary without an element that has left, so that `rest` is left.
    #[must_use]
    fn without(self, item: &T, rest: &[T]) -> Self {
        let _ = item;
        rest.iter().fold(Self::EMPTY, Self::with)
    }

    /// Wider summary of a block of a long list, see [`Guide`].
    type Wide: Copy;
    /// Wider summary of no element.
    const NOTHING: Self::Wide;
    /// Wider summary with one more element.
    #[must_use]
    fn widen(wide: Self::Wide, item: &T) -> Self::Wide;
    /// Wider summary without an element that has left, so that `rest` is left; none if it is the same.
    fn narrow(wide: &Self::Wide, item: &T, rest: &[T]) -> Option<Self::Wide> {
        let _ = (wide, item);
        Some(rest.iter().fold(Self::NOTHING, Self::widen))
    }
    /// Wider summary of the elements of both.
    #[must_use]
    fn join(one: Self::Wide, other: Self::Wide) -> Self::Wide;
}

/// Wider summaries of blocks and of groups of about `GROUP` blocks; none where the list is short.
#[derive(Clone, Debug)]
pub struct Guide<W, const GROUP: usize> {
    groups: Vec<Group<W>>,
}

/// Blocks that follow one another.
#[derive(Clone, Debug)]
struct Group<W> {
    blocks: Vec<W>,
    /// Summary of all elements, and of some that have left since.
    wide: W,
    /// Number of elements that have left since it was made.
    left: usize,
}

impl<W, const GROUP: usize> Default for Guide<W, GROUP> {
    fn default() -> Self {
        Self { groups: Vec::new() }
    }
}

/// The wider summary of some elements.
fn of<T, S: Summary<T>>(items: &[T]) -> S::Wide {
    items.iter().fold(S::NOTHING, S::widen)
}

impl<W: Copy> Group<W> {
    fn new<T, S: Summary<T, Wide = W>>(blocks: Vec<W>) -> Self {
        let mut group = Self { blocks, wide: S::NOTHING, left: 0 };
        group.sum_up::<T, S>();
        group
    }

    fn sum_up<T, S: Summary<T, Wide = W>>(&mut self) {
        self.wide = self.blocks.iter().fold(S::NOTHING, |wide, &block| S::join(wide, block));
        self.left = 0;
    }

    /// Notes that elements have left. For a while the summary may say more than there is: a search then looks in vain.
    fn note_left<T, S: Summary<T, Wide = W>>(&mut self) {
        self.left += 1;
        if 4 * self.left > self.blocks.len() {
            self.sum_up::<T, S>();
        }
    }
}

impl<W: Copy, const GROUP: usize> Guide<W, GROUP> {
    /// True if summaries are kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.groups.is_empty()
    }

    /// True if a list of so many blocks should start to keep summaries, or give them up.
    #[must_use]
    pub fn is_out_of_step(&self, blocks: usize) -> bool {
        if self.is_kept() { blocks <= GROUP } else { blocks > 2 * GROUP }
    }

    /// Rebuilds the summaries from these blocks; none if they are few.
    pub fn rebuild<'a, T: 'a, S: Summary<T, Wide = W>>(&mut self, blocks: impl ExactSizeIterator<Item = &'a [T]>) {
        let are_few = blocks.len() <= GROUP;
        let all: Vec<W> = blocks.filter(|_| !are_few).map(of::<T, S>).collect();
        self.groups.clear();
        self.groups.extend(all.chunks(GROUP).map(|some| Group::new::<T, S>(some.to_vec())));
    }

    /// Notes that an element was added to a block.
    pub fn add<T, S: Summary<T, Wide = W>>(&mut self, index: usize, item: &T) {
        let Some((group, block)) = self.place_of(index) else { return };
        let group = &mut self.groups[group];
        group.blocks[block] = S::widen(group.blocks[block], item);
        group.wide = S::widen(group.wide, item);
    }

    /// Notes that an element has left a block, in which `rest` is left.
    pub fn take<T, S: Summary<T, Wide = W>>(&mut self, index: usize, item: &T, rest: &[T]) {
        let Some((group, block)) = self.place_of(index) else { return };
        let group = &mut self.groups[group];
        if let Some(wide) = S::narrow(&group.blocks[block], item, rest) {
            group.blocks[block] = wide;
            group.note_left::<T, S>();
        }
    }

    /// Notes that elements have left a block.
    pub fn change<T, S: Summary<T, Wide = W>>(&mut self, index: usize, items: &[T]) {
        let Some((group, block)) = self.place_of(index) else { return };
        self.groups[group].blocks[block] = of::<T, S>(items);
        self.groups[group].note_left::<T, S>();
    }

    /// Notes a new block.
    pub fn insert<T, S: Summary<T, Wide = W>>(&mut self, index: usize, items: &[T]) {
        let Some((place, block)) = self.place_of(index) else { return };
        let (group, new) = (&mut self.groups[place], of::<T, S>(items));
        group.blocks.insert(block, new);
        group.wide = S::join(group.wide, new);
        if group.blocks.len() > 2 * GROUP {
            let upper = group.blocks.split_off(GROUP);
            group.sum_up::<T, S>();
            self.groups.insert(place + 1, Group::new::<T, S>(upper));
        }
    }

    /// Notes that a block is gone.
    pub fn remove<T, S: Summary<T, Wide = W>>(&mut self, index: usize) {
        let Some((place, block)) = self.place_of(index) else { return };
        let group = &mut self.groups[place];
        group.blocks.remove(block);
        if group.blocks.is_empty() {
            self.groups.remove(place);
        } else {
            group.note_left::<T, S>();
        }
    }

    /// The first block from `from` on that passes `may_hold`; one past all if there is none. Without summaries it is
    /// the first.
    pub fn next(&self, from: usize, may_hold: impl Fn(&W) -> bool) -> usize {
        let mut first = 0;
        for group in &self.groups {
            let end = first + group.blocks.len();
            if from < end && may_hold(&group.wide) {
                let skipped = from.saturating_sub(first);
                if let Some(found) = group.blocks[skipped..].iter().position(&may_hold) {
                    return first + skipped + found;
                }
            }
            first = end;
        }
        from.max(first)
    }

    /// The group of a block, and its place there; one past the last block belongs to the last group.
    fn place_of(&self, index: usize) -> Option<(usize, usize)> {
        let (last, mut block) = (self.groups.len().checked_sub(1)?, index);
        for (place, group) in self.groups.iter().enumerate() {
            if block < group.blocks.len() || place == last {
                return Some((place, block));
            }
            block -= group.blocks.len();
        }
        None
    }
}

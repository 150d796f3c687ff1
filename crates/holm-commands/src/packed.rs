//! Elements one after the other in one byte string: the length of each in two bytes, and its bytes.
//!
//! A small list is one such string, and so is each row of a large one. A length of 65,535 stands for an element that
//! lies elsewhere.

use std::ops::Range;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The longest element that lies here.
pub(crate) const LONGEST: usize = ELSEWHERE as usize - 1;

const ELSEWHERE: u16 = u16::MAX;

/// An element of a packed string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element<'b> {
    /// Its bytes, at most [`LONGEST`].
    Here(&'b [u8]),
    /// Its bytes lie in another place.
    Elsewhere,
}

/// The bytes of some elements, and how many these are.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    count: usize,
}

/// Returns the element that begins at a place, and where it ends; `None` at the end, or if the rest is no element.
fn at(bytes: &[u8], from: usize) -> Option<(Element<'_>, usize)> {
    let length = u16::from_be_bytes(*bytes.get(from..)?.first_chunk()?);
    if length == ELSEWHERE {
        return Some((Element::Elsewhere, from + 2));
    }
    let end = from + 2 + usize::from(length);
    Some((Element::Here(bytes.get(from + 2..end)?), end))
}

/// Iterates over the elements of a packed string.
pub(crate) fn elements(bytes: &[u8]) -> impl Iterator<Item = Element<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (element, end) = at(bytes, from)?;
        from = end;
        Some(element)
    })
}

impl Packed {
    /// Reads elements.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let count = elements(bytes).count();
        // With room for one more element of the same length.
        let mut own = Vec::with_capacity(bytes.len() + bytes.len() / count.max(1) + 2);
        own.extend_from_slice(bytes);
        Packed { bytes: own, count }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn elements(&self) -> impl Iterator<Item = Element<'_>> {
        elements(&self.bytes)
    }

    pub(crate) fn get(&self, index: usize) -> Option<Element<'_>> {
        self.elements().nth(index)
    }

    /// Returns where the bytes of an element lie, its length among them; behind the last element, where one would lie.
    fn range(&self, index: usize) -> Range<usize> {
        let mut range = 0..0;
        for _ in 0..=index {
            let end = at(&self.bytes, range.end).map_or(range.end, |(_, end)| end);
            range = range.end..end;
        }
        range
    }

    fn splice(&mut self, range: Range<usize>, element: Element<'_>) {
        let (length, bytes) = match element {
            Element::Here(bytes) => (bytes.len() as u16, bytes),
            Element::Elsewhere => (ELSEWHERE, &[][..]),
        };
        let (from, added, removed) = (range.start, 2 + bytes.len(), range.len());
        let (before, rest) = (self.bytes.len(), range.end);
        if added > removed {
            self.bytes.resize(before + added - removed, 0);
        }
        self.bytes.copy_within(rest..before, from + added);
        self.bytes.truncate(before + added - removed);
        self.bytes[from..from + 2].copy_from_slice(&length.to_be_bytes());
        self.bytes[from + 2..from + added].copy_from_slice(bytes);
    }

    /// Takes memory for as many elements like this one as are missing to a count, unless there is some for this one.
    pub(crate) fn make_room(&mut self, count: usize, element: Element<'_>) {
        let Element::Here(bytes) = element else { return };
        let bytes = 2 + bytes.len();
        if self.bytes.capacity() - self.bytes.len() < bytes {
            self.bytes.reserve_exact(bytes * count.saturating_sub(self.count).max(1));
        }
    }

    /// Replaces an element that is there.
    pub(crate) fn set(&mut self, index: usize, element: Element<'_>) {
        self.splice(self.range(index), element);
    }

    pub(crate) fn push(&mut self, side: Side, element: Element<'_>) {
        let place = if side == Side::Left { 0 } else { self.bytes.len() };
        self.splice(place..place, element);
        self.count += 1;
    }

    /// Removes the element at an end, and returns its bytes if they lie here; `None` if there is no element.
    pub(crate) fn pop(&mut self, side: Side) -> Option<Option<Vec<u8>>> {
        let last = self.count.checked_sub(1)?;
        let range = self.range(if side == Side::Left { 0 } else { last });
        let popped = match at(&self.bytes, range.start)?.0 {
            Element::Here(bytes) => Some(bytes.to_vec()),
            Element::Elsewhere => None,
        };
        self.bytes.drain(range);
        self.count = last;
        Some(popped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn element(text: &Option<Vec<u8>>) -> Element<'_> {
        text.as_deref().map_or(Element::Elsewhere, Element::Here)
    }

    fn texts() -> impl Strategy<Value = Option<Vec<u8>>> {
        proptest::option::weighted(0.9, proptest::collection::vec(any::<u8>(), 0..20))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn packed_elements_are_those_of_a_deque(
            steps in proptest::collection::vec((0..6, any::<u8>(), texts()), 0..40),
        ) {
            let (mut packed, mut model) = (Packed::default(), VecDeque::new());
            for (kind, index, text) in steps {
                match kind {
                    0 | 1 => {
                        packed.push(Side::Left, element(&text));
                        model.push_front(text);
                    }
                    2 | 3 => {
                        packed.push(Side::Right, element(&text));
                        model.push_back(text);
                    }
                    4 if !model.is_empty() => {
                        let index = usize::from(index) % model.len();
                        packed.set(index, element(&text));
                        model[index] = text;
                    }
                    _ if !model.is_empty() => {
                        let is_left = index % 2 == 0;
                        let popped = packed.pop(if is_left { Side::Left } else { Side::Right });
                        prop_assert_eq!(popped, if is_left { model.pop_front() } else { model.pop_back() });
                    }
                    _ => {}
                }
                packed = if index % 3 == 0 { Packed::new(packed.bytes()) } else { packed };
                prop_assert_eq!(packed.len(), model.len());
                prop_assert!(packed.elements().eq(model.iter().map(element)));
            }
            for index in 0..=model.len() {
                prop_assert_eq!(packed.get(index), model.get(index).map(element));
            }
        }

        #[test]
        fn any_bytes_are_some_elements(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut packed = Packed::new(&bytes);
            prop_assert_eq!(packed.elements().count(), packed.len());
            packed.push(Side::Left, Element::Here(b"a"));
            prop_assert_eq!(packed.get(0), Some(Element::Here(b"a")));
        }
    }
}

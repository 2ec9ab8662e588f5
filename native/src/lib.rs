//! Loops over whole tables, for `cubinspec/format/bulk.py`, which says what each function does.
//!
//! A function gives up, which is `None`, on whatever is not as it should be; Python then does the
//! work, and finds out what is wrong. No number of the format stands here: layouts are arguments,
//! as `struct` has them.

#[cfg(target_os = "linux")]
mod memory;
mod untracked;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a loop found, or nothing: neither errors nor panics leave this module.
fn calm<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}

/// The sizes of the fields of a layout like `<BBH`: unsigned integers, little-endian.
fn sizes(layout: &str) -> Option<Vec<usize>> {
    let size_of = |letter| match letter {
        'B' => Some(1),
        'H' => Some(2),
        'I' => Some(4),
        'Q' => Some(8),
        _ => None,
    };
    layout.strip_prefix('<')?.chars().map(size_of).collect()
}

/// The number that these bytes are.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |high, byte| high << 8 | u64::from(*byte))
}

#[pyfunction]
fn texts<'py>(
    table: &Bound<'py, PyBytes>,
    places: &Bound<'py, PyList>,
    longest: usize,
) -> Option<Bound<'py, PyList>> {
    calm(|| {
        let py = table.py();
        let bytes = table.as_bytes();
        let mut found = Vec::with_capacity(places.len());
        for place in places.iter() {
            let rest = bytes.get(place.extract::<usize>().ok()?..)?;
            let text = CStr::from_bytes_until_nul(rest).ok()?.to_str().ok()?;
            if text.len() > longest {
                return None;
            }
            found.push(PyString::new(py, text));
        }
        PyList::new(py, found).ok()
    })
}

/// A field of a table: how many bytes it has, and whether it can be negative.
type Field = (usize, bool);

/// The fields of a layout like `<IQq`, which is little-endian.
fn fields(layout: &str) -> Option<Vec<Field>> {
    let field = |letter: char| match letter {
        'i' => Some((4, true)),
        'q' => Some((8, true)),
        _ => Some((*sizes(&format!("<{letter}"))?.first()?, false)),
    };
    layout.strip_prefix('<')?.chars().map(field).collect()
}

/// The number in a field, in 64 bits.
fn value(bytes: &[u8], is_signed: bool) -> Option<u64> {
    Some(match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] if is_signed => i64::from(i32::from_le_bytes([a, b, c, d])).cast_unsigned(),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

/// The rows of a table. A field that is as in the row before is the same object.
#[pyfunction]
fn rows<'py>(table: &Bound<'py, PyBytes>, layout: &str) -> Option<Bound<'py, PyList>> {
    calm(|| {
        let py = table.py();
        let fields = fields(layout)?;
        let width: usize = fields.iter().map(|(size, _)| size).sum();
        let bytes = table.as_bytes();
        if bytes.len().checked_rem(width)? != 0 {
            return None;
        }
        let mut before: Vec<Option<(u64, Bound<'py, PyAny>)>> = vec![None; fields.len()];
        let mut values = Vec::with_capacity(fields.len());
        let mut found = Vec::with_capacity(bytes.len().checked_div(width)?);
        for record in bytes.chunks_exact(width) {
            let mut rest = record;
            for ((size, is_signed), before) in fields.iter().zip(&mut before) {
                let (field, behind) = rest.split_at_checked(*size)?;
                rest = behind;
                let value = value(field, *is_signed)?;
                let object = match before {
                    Some((old, object)) if *old == value => object.clone(),
                    _ => {
                        let object = if *is_signed {
                            value.cast_signed().into_pyobject(py).ok()?.into_any()
                        } else {
                            value.into_pyobject(py).ok()?.into_any()
                        };
                        *before = Some((value, object.clone()));
                        object
                    }
                };
                values.push(object);
            }
            found.push(untracked::tuple(py, values.drain(..))?);
        }
        PyList::new(py, found).ok()
    })
}

/// The bytes of a name; nothing where it is no text, has no form in UTF-8, or has a NUL in it.
fn utf8<'a>(name: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    let name = name.cast::<PyString>().ok()?.to_str().ok()?.as_bytes();
    (!name.contains(&0)).then_some(name)
}

/// A string table that is made, and where its names stand.
///
/// A slot holds the place of a name, so that they take a third of the memory of a map; the bytes
/// to compare with are in the table. 0 is a free slot, as the empty name is in none.
struct Names {
    table: Vec<u8>,
    slots: Vec<u32>,
    seed: u64,
}

impl Names {
    fn new(count: usize) -> Option<Self> {
        let slots = vec![0; count.checked_mul(2)?.checked_next_power_of_two()?];
        // nobody knows the seed, so that no names can be made that have equal hashes
        let seed = RandomState::new().hash_one(0);
        Some(Self {
            table: vec![0],
            slots,
            seed,
        })
    }

    /// Where a search for a name starts.
    fn hash(&self, name: &[u8]) -> usize {
        let mut mixed = self.seed ^ name.len() as u64;
        for part in name.chunks(8) {
            let part = part
                .first_chunk::<8>()
                .map_or_else(|| number(part), |p| u64::from_le_bytes(*p));
            let product = u128::from(mixed ^ part).wrapping_mul(0xa076_1d64_78bd_642f_e703_7ed1);
            mixed = (product ^ product >> 64) as u64;
        }
        mixed as usize
    }

    /// The slot of a name, or the free one where it would be; and what is there.
    fn find(&self, name: &[u8]) -> Option<(usize, usize)> {
        let last = self.slots.len().checked_sub(1)?;
        let mut slot = self.hash(name) & last;
        loop {
            let place = *self.slots.get(slot)? as usize;
            let known = self.table.get(place..)?;
            if place == 0 || (known.starts_with(name) && known.get(name.len()) == Some(&0)) {
                return Some((slot, place));
            }
            slot = slot.wrapping_add(1) & last;
        }
    }

    /// Enter a name, if it is not there yet.
    fn add(&mut self, name: &[u8]) -> Option<()> {
        let (slot, place) = self.find(name)?;
        if place == 0 {
            *self.slots.get_mut(slot)? = u32::try_from(self.table.len()).ok()?;
            self.table.extend_from_slice(name);
            self.table.push(0);
        }
        Some(())
    }
}

#[pyfunction]
fn string_table<'py>(
    names: &Bound<'py, PyList>,
    wanted: &Bound<'py, PyList>,
) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyList>)> {
    calm(|| {
        let py = names.py();
        let mut made = Names::new(names.len())?;
        for name in names.iter() {
            let name = utf8(&name)?;
            made.add(name)?;
        }
        let mut places = Vec::with_capacity(wanted.len());
        for name in wanted.iter() {
            let name = utf8(&name)?;
            if name.is_empty() {
                places.push(0);
                continue;
            }
            match made.find(name)? {
                (_, 0) => return None,
                (_, place) => places.push(place),
            }
        }
        Some((PyBytes::new(py, &made.table), PyList::new(py, places).ok()?))
    })
}

/// The last rows of records, by their place and their bytes. Kernels have the same records at the
/// same places, so that most rows are made once. There is one for each hash, so that a file made to
/// have equal hashes costs rows, not time.
type Made<'a, 'py> = Vec<Option<(usize, &'a [u8], Bound<'py, PyTuple>)>>;
const MADE_BITS: u32 = 12;

/// Where the row of a record stands among those that were made.
fn hash(at: usize, record: &[u8]) -> usize {
    let start = record
        .first_chunk::<8>()
        .map_or_else(|| number(record), |part| u64::from_le_bytes(*part));
    let end = record
        .last_chunk::<8>()
        .map_or(0, |part| u64::from_le_bytes(*part));
    let mixed =
        (start ^ end.rotate_left(29) ^ (at as u64) << 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - MADE_BITS)) as usize
}

/// The row of the record at a place of a stream: where it stands, its fields, and what follows its
/// head; and where it ends.
fn row<'py>(
    py: Python<'py>,
    head: &[usize],
    at: usize,
    record: &[u8],
) -> Option<Bound<'py, PyTuple>> {
    let mut values = Vec::with_capacity(8);
    values.push(at.into_pyobject(py).ok()?.into_any());
    let mut rest = record;
    for size in head {
        let (field, behind) = rest.split_at_checked(*size)?;
        values.push(number(field).into_pyobject(py).ok()?.into_any());
        rest = behind;
    }
    values.push(PyBytes::new(py, rest).into_any());
    untracked::tuple(py, values.into_iter())
}

/// The first record of the bytes: its size is in the last field of its head, if the first one says
/// so.
fn first_record<'a>(head: &[usize], sized: u64, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let mut size: usize = head.iter().sum();
    let whole = bytes.get(..size)?;
    if number(whole.get(..*head.first()?)?) == sized {
        let last = size.checked_sub(*head.last()?)?;
        size = size.checked_add(usize::try_from(number(whole.get(last..)?)).ok()?)?;
    }
    bytes.get(..size)
}

#[pyfunction]
fn streams<'py>(
    bodies: &Bound<'py, PyList>,
    layout: &str,
    sized: u64,
) -> Option<Bound<'py, PyList>> {
    calm(|| {
        let py = bodies.py();
        let head = sizes(layout)?;
        let bodies: Vec<_> = bodies
            .iter()
            .map(|body| body.cast_into::<PyBytes>().ok())
            .collect();
        let mut made: Made = vec![None; 1 << MADE_BITS];
        let mut found = Vec::with_capacity(bodies.len());
        for body in &bodies {
            let mut rest = body.as_ref()?.as_bytes();
            let all = rest.len();
            let mut rows = Vec::new();
            while !rest.is_empty() {
                let at = all.checked_sub(rest.len())?;
                let record = first_record(&head, sized, rest)?;
                rest = rest.get(record.len()..)?;
                let place = made.get_mut(hash(at, record))?;
                match place {
                    Some((old, bytes, row)) if *old == at && *bytes == record => {
                        rows.push(row.clone())
                    }
                    _ => {
                        let row = row(py, &head, at, record)?;
                        rows.push(row.clone());
                        *place = Some((at, record, row));
                    }
                }
            }
            found.push(PyList::new(py, rows).ok()?);
        }
        PyList::new(py, found).ok()
    })
}

#[pyfunction]
fn expect(bytes: usize) {
    #[cfg(target_os = "linux")]
    memory::expect(bytes);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{expect, rows, streams, string_table, texts};
}

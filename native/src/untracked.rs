//! Tuples that Python's search for reference cycles passes over.
//!
//! It looks through every new tuple once, and then leaves those of numbers and bytes alone. A table
//! has tens of thousands of them, and that first look takes longer than making them.
#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A tuple of numbers and bytes.
pub fn tuple<'py>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> Option<Bound<'py, PyTuple>> {
    let made = PyTuple::new(py, values).ok()?;
    // SAFETY: it is a whole tuple that nobody else has seen. Nothing in it refers to anything, so it
    // is in no cycle; this is what the search itself does with such a tuple.
    unsafe { ffi::PyObject_GC_UnTrack(made.as_ptr().cast()) };
    Some(made)
}

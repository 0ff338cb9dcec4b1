//! Results on their way to Python, through the Arrow C stream interface.

use std::sync::Arc;

use arrow_array::builder::{StringViewBuilder, make_view};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, LargeListArray, RecordBatch, RecordBatchIterator,
    StringViewArray, UInt32Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule};

/// Columns on their way to Python: any reader of the Arrow C stream interface takes them without a copy.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct Frame {
    batch: RecordBatch,
    /// Columns that the batch leaves out, with their places in the whole frame, in ascending order.
    left_out: Vec<(usize, &'static str, Same)>,
}

/// Column that holds the same in every row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Same {
    /// No numbers.
    NoFloats,
    /// No whole numbers.
    NoLongs,
    /// No words.
    NoWords,
    /// Zeros.
    ZeroInts,
}

/// Number of rows from which on a column that holds the same in every row is left out: with fewer, its memory costs
/// less than putting it in on the other side.
const LEFT_OUT_FROM: usize = 1 << 15;

/// A column with its name.
pub(crate) type Column = (&'static str, ArrayRef);

/// Values of a column.
pub(crate) enum Values {
    /// One a row.
    Each(ArrayRef),
    /// The same in every row.
    All(Same),
}

impl Values {
    /// These values; `same` if there are none.
    pub(crate) fn known(values: Option<ArrayRef>, same: Same) -> Self {
        values.map_or(Self::All(same), Self::Each)
    }
}

impl From<ArrayRef> for Values {
    fn from(values: ArrayRef) -> Self {
        Self::Each(values)
    }
}

#[pymethods]
impl Frame {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the wish for another schema.
        drop(requested_schema);
        let schema = self.batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(self.batch.clone())], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Columns that hold the same in every row and are left out of the stream: place, name, type and value, by place.
    #[getter]
    fn left_out(&self) -> Vec<(usize, &'static str, &'static str, Option<i32>)> {
        self.left_out.iter().map(|&(place, name, same)| (place, name, same.dtype(), same.value())).collect()
    }
}

impl Same {
    /// Name of its type in polars.
    fn dtype(self) -> &'static str {
        match self {
            Self::NoFloats => "Float64",
            Self::NoLongs => "Int64",
            Self::NoWords => "String",
            Self::ZeroInts => "Int32",
        }
    }

    fn value(self) -> Option<i32> {
        matches!(self, Self::ZeroInts).then_some(0)
    }

    fn filled(self, rows: usize) -> ArrayRef {
        match self {
            Self::NoFloats => new_null_array(&DataType::Float64, rows),
            Self::NoLongs => new_null_array(&DataType::Int64, rows),
            Self::NoWords => new_null_array(&DataType::Utf8View, rows),
            Self::ZeroInts => ints(vec![0; rows]),
        }
    }
}

impl Frame {
    /// A frame of these columns.
    pub(crate) fn new(columns: Vec<Column>) -> PyResult<Self> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)));
        let batch = batch.map_err(|error| arrow(&error))?;
        Ok(Self { batch, left_out: Vec::new() })
    }

    /// A frame of so many rows with columns some of which may hold the same in every row.
    pub(crate) fn with_same(rows: usize, columns: Vec<(&'static str, Values)>) -> PyResult<Self> {
        let (mut whole, mut left_out) = (Vec::with_capacity(columns.len()), Vec::new());
        for (place, (name, column)) in columns.into_iter().enumerate() {
            match column {
                Values::Each(column) => whole.push((name, column)),
                Values::All(same) if rows < LEFT_OUT_FROM => whole.push((name, same.filled(rows))),
                Values::All(same) => left_out.push((place, name, same)),
            }
        }
        Ok(Self { left_out, ..Self::new(whole)? })
    }
}

fn arrow(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Numbers, all of them valid.
pub(crate) fn floats(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

/// Numbers, null where NaN.
pub(crate) fn nullable(values: Vec<f64>) -> ArrayRef {
    let valid = values.iter().map(|value| !value.is_nan()).collect::<Vec<_>>();
    floats_where(values, valid)
}

/// Numbers, null where not valid.
pub(crate) fn floats_where(values: Vec<f64>, valid: Vec<bool>) -> ArrayRef {
    Arc::new(Float64Array::new(values.into(), Some(NullBuffer::from(valid))))
}

/// Booleans.
pub(crate) fn bools(values: Vec<bool>) -> ArrayRef {
    Arc::new(BooleanArray::from(values))
}

/// Whole numbers.
pub(crate) fn ints(values: Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

/// Whole numbers.
pub(crate) fn longs(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// Whole numbers, null where not valid.
pub(crate) fn longs_where(values: Vec<i64>, valid: Vec<bool>) -> ArrayRef {
    Arc::new(Int64Array::new(values.into(), Some(NullBuffer::from(valid))))
}

/// Whole numbers, -1 = null.
pub(crate) fn longs_or_null(values: Vec<i64>) -> ArrayRef {
    let valid = NullBuffer::from(values.iter().map(|&value| value != -1).collect::<Vec<_>>());
    Arc::new(Int64Array::new(values.into(), Some(valid)))
}

/// Whole numbers, -1 = null.
pub(crate) fn ints_or_null(values: Vec<i32>) -> ArrayRef {
    let valid = NullBuffer::from(values.iter().map(|&value| value != -1).collect::<Vec<_>>());
    Arc::new(Int32Array::new(values.into(), Some(valid)))
}

/// Numbers from 0 as words, -1 = null.
pub(crate) fn names(values: &[i64]) -> PyResult<ArrayRef> {
    if values.iter().any(|&value| value >= SHORT_BELOW) {
        return Ok(texts(values.iter().map(|&value| (value != -1).then(|| value.to_string()))));
    }
    let views: Vec<u128> = values.iter().map(|&value| if value == -1 { 0 } else { digits(value) }).collect();
    let valid = values.contains(&-1).then(|| values.iter().map(|&value| value != -1).collect::<Vec<_>>());
    let column = StringViewArray::try_new(ScalarBuffer::from(views), Arc::default(), valid.map(NullBuffer::from));
    Ok(Arc::new(column.map_err(|error| arrow(&error))?))
}

/// A number from which on its digits do not fit into a view.
const SHORT_BELOW: i64 = 1_000_000_000_000;

/// View of the digits of a number from 0 and below [`SHORT_BELOW`].
fn digits(mut value: i64) -> u128 {
    let (mut bytes, mut first) = ([0_u8; 12], 12);
    loop {
        first -= 1;
        bytes[first] = b'0' + u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
        if value == 0 {
            return make_view(&bytes[first..], 0, 0);
        }
    }
}

/// One word per row, out of a few of at most 12 bytes, each made once.
pub(crate) fn words<T: Copy>(
    values: &[T],
    valid: Option<Vec<bool>>,
    word: impl Fn(T) -> &'static str,
) -> PyResult<ArrayRef> {
    let views: Vec<u128> = values.iter().map(|&value| make_view(word(value).as_bytes(), 0, 0)).collect();
    let column = StringViewArray::try_new(ScalarBuffer::from(views), Arc::default(), valid.map(NullBuffer::from));
    Ok(Arc::new(column.map_err(|error| arrow(&error))?))
}

/// A sentence or null per row.
pub(crate) fn sentences<T: Copy>(values: &[T], sentence: impl Fn(T) -> Option<&'static str>) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(values.len()).with_deduplicate_strings();
    for &value in values {
        builder.append_option(sentence(value));
    }
    Arc::new(builder.finish())
}

/// A list of nodes per row, null where not valid.
pub(crate) fn node_lists(offsets: Vec<i64>, nodes: Vec<u32>, valid: Vec<bool>) -> PyResult<ArrayRef> {
    let item = Arc::new(Field::new("item", DataType::UInt32, true));
    let offsets = OffsetBuffer::new(offsets.into());
    let nodes = Arc::new(UInt32Array::from(nodes));
    let lists = LargeListArray::try_new(item, offsets, nodes, Some(NullBuffer::from(valid)));
    Ok(Arc::new(lists.map_err(|error| arrow(&error))?))
}

/// A text or null per row.
pub(crate) fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    for value in values {
        builder.append_option(value);
    }
    Arc::new(builder.finish())
}

/// Texts by their numbers, each made once.
pub(crate) fn named<'a>(codes: &[u32], text: impl Fn(u32) -> Option<&'a str>) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(codes.len()).with_deduplicate_strings();
    for &code in codes {
        builder.append_option(text(code));
    }
    Arc::new(builder.finish())
}

/// Numbers of texts, 0 = null.
pub(crate) fn codes(values: Vec<u32>) -> ArrayRef {
    let valid = NullBuffer::from(values.iter().map(|&value| value != 0).collect::<Vec<_>>());
    Arc::new(UInt32Array::new(values.into(), Some(valid)))
}

/// A list of numbers per row, null where not valid; NaN = null within.
pub(crate) fn number_lists(offsets: Vec<i64>, values: Vec<f64>, valid: Vec<bool>) -> PyResult<ArrayRef> {
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let offsets = OffsetBuffer::new(offsets.into());
    let lists = LargeListArray::try_new(item, offsets, nullable(values), Some(NullBuffer::from(valid)));
    Ok(Arc::new(lists.map_err(|error| arrow(&error))?))
}

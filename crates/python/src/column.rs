//! Columns of numbers that show their memory to Python.
#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The numbers of a column.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// Nanoseconds, counts.
    Int64(Vec<i64>),
    /// Seeds.
    UInt64(Vec<u64>),
    /// Everything that was computed.
    Float64(Vec<f64>),
    /// Numbers of categories.
    Int8(Vec<i8>),
}

impl Numbers {
    /// Where they are, their number, the bytes of each, and its format as in Python's `struct`.
    fn parts(&self) -> (*const c_void, usize, usize, &'static CStr) {
        match self {
            Numbers::Int64(numbers) => (numbers.as_ptr().cast(), numbers.len(), 8, c"q"),
            Numbers::UInt64(numbers) => (numbers.as_ptr().cast(), numbers.len(), 8, c"Q"),
            Numbers::Float64(numbers) => (numbers.as_ptr().cast(), numbers.len(), 8, c"d"),
            Numbers::Int8(numbers) => (numbers.as_ptr().cast(), numbers.len(), 1, c"b"),
        }
    }
}

/// A column of numbers, which never changes. It has the buffer protocol: `memoryview(column)` and
/// `numpy.asarray(column)` look at the same memory.
#[pyclass(frozen, module = "slotcast._slotcast")]
#[derive(Debug)]
pub(crate) struct Column {
    numbers: Numbers,
    /// What the numbers count in, if they are categories.
    categories: Option<&'static [&'static str]>,
    /// The length and the width, where a buffer's shape and strides can point to.
    shape: [ffi::Py_ssize_t; 1],
    strides: [ffi::Py_ssize_t; 1],
}

impl Column {
    pub(crate) fn new(numbers: Numbers) -> Column {
        let (_, length, width, _) = numbers.parts();
        // A vector has at most `isize::MAX` bytes.
        let (shape, strides) = ([length.cast_signed()], [width.cast_signed()]);
        Column { numbers, categories: None, shape, strides }
    }

    /// Of the numbers of `categories`.
    pub(crate) fn of_categories(numbers: Vec<i8>, categories: &'static [&'static str]) -> Column {
        Column { categories: Some(categories), ..Column::new(Numbers::Int8(numbers)) }
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.numbers.parts().1
    }

    /// The format of a number, as in the module `struct`: `q`, `Q`, `d` or `b`.
    #[getter]
    fn format(&self) -> String {
        self.numbers.parts().3.to_string_lossy().into_owned()
    }

    /// The names that the numbers stand for, if they stand for names.
    #[getter]
    fn categories(&self) -> Option<Vec<&'static str>> {
        self.categories.map(<[_]>::to_vec)
    }

    /// # Safety
    /// `view` must be null or point to a `Py_buffer` that may be written, as the protocol says.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no buffer to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            // SAFETY: `view` is not null, and the protocol wants no object in it if there is an error.
            unsafe { (*view).obj = ptr::null_mut() };
            return Err(PyBufferError::new_err("a column never changes"));
        }
        let column = slf.get();
        let (start, length, width, format) = column.numbers.parts();
        let is_wanted = |flag: c_int| flags & flag == flag;
        let filled = ffi::Py_buffer {
            buf: start.cast_mut(),
            len: (length * width).cast_signed(),
            readonly: 1,
            itemsize: width.cast_signed(),
            format: match is_wanted(ffi::PyBUF_FORMAT) {
                true => format.as_ptr().cast_mut(),
                false => ptr::null_mut(),
            },
            ndim: 1,
            // Nobody writes through these: the protocol has them without `const`.
            shape: if is_wanted(ffi::PyBUF_ND) {
                column.shape.as_ptr().cast_mut()
            } else {
                ptr::null_mut()
            },
            strides: match is_wanted(ffi::PyBUF_STRIDES) {
                true => column.strides.as_ptr().cast_mut(),
                false => ptr::null_mut(),
            },
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
            // The view owns the column, so the memory lives as long as the view; a frozen class has no
            // other owner that could change it.
            obj: slf.into_any().into_ptr(),
        };
        // SAFETY: `view` is not null, and may be written.
        unsafe { view.write(filled) };
        Ok(())
    }
}

//! Functions of the caller that take or give the bytes of a backup, and such functions for file descriptors.
//!
//! A function of the caller ends the stream with a code other than HOLM_OK. It is not called again then, and the call
//! that runs it returns its code.

use crate::code::{HOLM_IO, HOLM_NO_SPACE, HOLM_OK, Refusal};
use crate::door::door;
use crate::raw::{self, Out};
use std::ffi::{c_int, c_void};
use std::io::{self, ErrorKind, Read, Write};

/// The type `holm_stream_write` of the header.
pub type StreamWrite = Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const c_void, size: usize) -> c_int>;

/// The type `holm_stream_read` of the header.
pub type StreamRead =
    Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut c_void, capacity: usize, size: *mut usize) -> c_int>;

/// Why a stream ends early, and the caller's function is not called again.
enum Early {
    /// The caller's function returned this.
    ByCaller(c_int),
    /// The caller's function claims more bytes than it was given room for.
    Overrun { found: usize, capacity: usize },
}

/// A function of the caller, with what it is called with.
struct Lent<F> {
    function: F,
    context: *mut c_void,
    early: Option<Early>,
}

impl<F> Lent<F> {
    fn new(function: Option<F>, context: *mut c_void) -> Result<Self, Refusal> {
        let function = function.ok_or_else(|| Refusal::invalid("the function is NULL"))?;
        Ok(Lent { function, context, early: None })
    }

    /// Ends the stream. Of a kind that nobody retries.
    fn end(&mut self, early: Early) -> io::Error {
        self.early = Some(early);
        io::Error::other("the caller's function has ended the stream")
    }

    /// Returns the code and the result of a call that had the stream.
    fn concluded<T>(self, done: holm::Result<T>) -> Result<(c_int, Option<T>), Refusal> {
        match (done, self.early) {
            (Ok(done), _) => Ok((HOLM_OK, Some(done))),
            (Err(_), Some(Early::ByCaller(code))) => Ok((code, None)),
            (Err(_), Some(Early::Overrun { found, capacity })) => {
                Err(Refusal::invalid(format!("the function has given {found} bytes, and had room for {capacity}")))
            }
            (Err(error), None) => Err(error.into()),
        }
    }
}

type WriteFunction = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;

impl Write for Lent<WriteFunction> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.early.is_some() {
            return Err(ErrorKind::Other.into());
        }
        // SAFETY: by the header's contract a function for these arguments, which returns, and only reads the bytes.
        match unsafe { (self.function)(self.context, bytes.as_ptr().cast(), bytes.len()) } {
            HOLM_OK => Ok(bytes.len()),
            code => Err(self.end(Early::ByCaller(code))),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type ReadFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut usize) -> c_int;

impl Read for Lent<ReadFunction> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.early.is_some() {
            return Err(ErrorKind::Other.into());
        }
        let (capacity, mut size) = (buffer.len(), 0);
        // SAFETY: by the header's contract a function for these arguments, which returns, and writes at most `capacity`
        // bytes to the buffer.
        match unsafe { (self.function)(self.context, buffer.as_mut_ptr().cast(), capacity, &raw mut size) } {
            HOLM_OK if size <= capacity => Ok(size),
            HOLM_OK => Err(self.end(Early::Overrun { found: size, capacity })),
            code => Err(self.end(Early::ByCaller(code))),
        }
    }
}

/// Runs `work` with a stream that the caller's function takes. Returns the function's code if it has ended the stream.
pub(crate) fn written<T>(
    function: StreamWrite,
    context: *mut c_void,
    work: impl FnOnce(&mut dyn Write) -> holm::Result<T>,
) -> Result<(c_int, Option<T>), Refusal> {
    let mut lent = Lent::<WriteFunction>::new(function, context)?;
    let done = work(&mut lent);
    lent.concluded(done)
}

/// Runs `work` with a stream that the caller's function gives. Returns the function's code if it has ended the stream.
pub(crate) fn read<T>(
    function: StreamRead,
    context: *mut c_void,
    work: impl FnOnce(&mut dyn Read) -> holm::Result<T>,
) -> Result<(c_int, Option<T>), Refusal> {
    let mut lent = Lent::<ReadFunction>::new(function, context)?;
    let done = work(&mut lent);
    lent.concluded(done)
}

/// Calls the system until a signal does not interrupt it. Returns the bytes that it has transferred.
fn transferred(what: &str, fd: c_int, mut call: impl FnMut() -> isize) -> Result<usize, Refusal> {
    loop {
        if let Ok(size) = usize::try_from(call()) {
            return Ok(size);
        }
        let error = io::Error::last_os_error();
        let code = match error.kind() {
            ErrorKind::Interrupted => continue,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => HOLM_NO_SPACE,
            _ => HOLM_IO,
        };
        return Err(Refusal::new(code, format!("{what} file descriptor {fd}: {error}")));
    }
}

/// Reads the file descriptor behind a context.
///
/// # Safety
/// A pointer that is not NULL points to an `int`.
unsafe fn descriptor(context: *mut c_void) -> Result<c_int, Refusal> {
    // SAFETY: by the caller's contract.
    unsafe { raw::handle(context.cast::<c_int>(), "the file descriptor's place") }.copied()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_write_fd(context: *mut c_void, bytes: *const c_void, size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place with a number, and bytes of their stated size.
        let (fd, mut bytes) = unsafe { (descriptor(context)?, raw::bytes(bytes, size, "what is written")?) };
        while !bytes.is_empty() {
            // SAFETY: the bytes belong to the call. The system checks the descriptor.
            let written =
                transferred("writing to", fd, || unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })?;
            if written == 0 {
                return Err(Refusal::new(HOLM_IO, format!("file descriptor {fd} takes nothing more")));
            }
            bytes = &bytes[written..];
        }
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_read_fd(
    context: *mut c_void,
    buffer: *mut c_void,
    capacity: usize,
    size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a size, and a place with a number.
        let (mut out, fd) = unsafe { (Out::at(size, 0, "the size")?, descriptor(context)?) };
        if buffer.is_null() && capacity != 0 {
            return Err(Refusal::invalid(format!("the buffer is NULL and {capacity} bytes long")));
        }
        // SAFETY: by the header's contract the buffer has `capacity` bytes. The system checks the descriptor.
        out.set(transferred("reading from", fd, || unsafe { libc::read(fd, buffer, capacity) })?);
        Ok(HOLM_OK)
    })
}

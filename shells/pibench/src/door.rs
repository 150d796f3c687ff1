//! The functions that `tree.cpp` calls, and `create_tree`. Panics and errors end here: PiBench knows only true and
//! false. So an error is printed on standard error and the process exits, because measurements after an error mean
//! nothing.

use crate::settings::Settings;
use crate::tree::{self, Tree};
use anyhow::{Result, ensure};
use std::cell::RefCell;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// An open tree, and the sizes that all of its operations check.
pub struct Handle {
    tree: Box<dyn Tree>,
    sizes: [usize; 2],
    stats: bool,
}

thread_local! {
    /// The pairs of this thread's last scan.
    static PAIRS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" {
    /// Defined in `tree.cpp`.
    fn holm_pibench_create(options: *const c_void) -> *mut c_void;
}

/// Returns the result of the work. If the work fails or panics, the process exits.
fn door<T>(work: impl FnOnce() -> Result<T>) -> T {
    let why = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return done,
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => "a bug in Holm".into(),
    };
    eprintln!("holm: {why}");
    std::process::abort()
}

/// Returns bytes that PiBench lends.
///
/// # Safety
/// The pointer points to `size` bytes, which stay valid while they are borrowed.
unsafe fn lent<'a>(pointer: *const c_char, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: by the caller's contract; bytes need no alignment.
    unsafe { std::slice::from_raw_parts(pointer.cast(), size) }
}

impl Handle {
    /// Returns the tree, for a key of the size that it was created for.
    fn of(&self, key: &[u8]) -> Result<&dyn Tree> {
        let [expected, _] = self.sizes;
        ensure!(key.len() == expected, "a key of {} bytes in a tree of keys of {expected}", key.len());
        Ok(&*self.tree)
    }
}

/// The function that PiBench looks up. If a tree cannot be created, it prints the reason on standard error and returns
/// NULL.
///
/// # Safety
/// The options are a `tree_options_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn create_tree(options: *const c_void) -> *mut c_void {
    // SAFETY: by the caller's contract, which is that of the class as well.
    unsafe { holm_pibench_create(options) }
}

/// # Safety
/// The path has as many bytes as its size says.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_open(
    key_size: usize,
    value_size: usize,
    pool_path: *const c_char,
    pool_path_size: usize,
) -> *mut Handle {
    // SAFETY: by the caller's contract.
    let path = Path::new(OsStr::from_bytes(unsafe { lent(pool_path, pool_path_size) }));
    let sizes = [key_size, value_size];
    let opened = catch_unwind(|| {
        let settings = Settings::from_environment()?;
        let stats = settings.stats;
        anyhow::Ok(Handle { tree: tree::open(sizes, path, settings)?, sizes, stats })
    });
    match opened {
        Ok(Ok(handle)) => return Box::into_raw(Box::new(handle)),
        Ok(Err(error)) => eprintln!("holm: {error:#}"),
        Err(_) => eprintln!("holm: a bug in Holm"),
    }
    std::ptr::null_mut()
}

/// # Safety
/// The tree was opened, no thread uses it, and it will not be used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_close(tree: *mut Handle) {
    // SAFETY: it came from `holm_pibench_open`, and no thread uses it, by the caller's contract.
    let handle = unsafe { Box::from_raw(tree) };
    door(|| {
        if handle.stats {
            eprintln!("holm: {}", handle.tree.counts()?);
        }
        drop(handle);
        Ok(())
    });
}

/// # Safety
/// The tree is open, the key has as many bytes as its size says, and there is room for a value.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_find(
    tree: *const Handle,
    key: *const c_char,
    key_size: usize,
    value_out: *mut c_char,
) -> bool {
    // SAFETY: by the caller's contract. The room is written before it is read, and PiBench passes initialized memory.
    let (handle, key, value) = unsafe {
        let handle = &*tree;
        let value: &mut [u8] = match handle.sizes[1] {
            0 => &mut [],
            size => std::slice::from_raw_parts_mut(value_out.cast(), size),
        };
        (handle, lent(key, key_size), value)
    };
    door(|| handle.of(key)?.find(key, value))
}

/// # Safety
/// The tree is open, and key and value have as many bytes as their sizes say.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_insert(
    tree: *const Handle,
    key: *const c_char,
    key_size: usize,
    value: *const c_char,
    value_size: usize,
) -> bool {
    // SAFETY: by the caller's contract.
    let (handle, key, value) = unsafe { (&*tree, lent(key, key_size), lent(value, value_size)) };
    door(|| handle.of(key)?.put(key, value, false))
}

/// # Safety
/// As for [`holm_pibench_insert`].
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_update(
    tree: *const Handle,
    key: *const c_char,
    key_size: usize,
    value: *const c_char,
    value_size: usize,
) -> bool {
    // SAFETY: by the caller's contract.
    let (handle, key, value) = unsafe { (&*tree, lent(key, key_size), lent(value, value_size)) };
    door(|| handle.of(key)?.put(key, value, true))
}

/// # Safety
/// The tree is open, and the key has as many bytes as its size says.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_remove(tree: *const Handle, key: *const c_char, key_size: usize) -> bool {
    // SAFETY: by the caller's contract.
    let (handle, key) = unsafe { (&*tree, lent(key, key_size)) };
    door(|| handle.of(key)?.remove(key))
}

/// # Safety
/// The tree is open, the key has as many bytes as its size says, and there is a place for a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn holm_pibench_scan(
    tree: *const Handle,
    key: *const c_char,
    key_size: usize,
    count: c_int,
    values_out: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the caller's contract.
    let (handle, key) = unsafe { (&*tree, lent(key, key_size)) };
    let (found, pairs) = door(|| {
        PAIRS.with_borrow_mut(|pairs| {
            pairs.clear();
            let found = handle.of(key)?.scan(key, usize::try_from(count).unwrap_or(0), pairs)?;
            Ok((found as c_int, pairs.as_mut_ptr()))
        })
    });
    // SAFETY: by the caller's contract. The pairs belong to this thread, and stay until its next scan.
    unsafe { values_out.write(pairs.cast()) };
    found
}

//! Memory of a process that makes millions of small objects, in huge pages.
//!
//! The system hands out memory in pages of 4 KiB, one fault each. A large link has 12,000 of them,
//! which take a fifth of its time. Here Python's allocator gets its arenas out of large blocks of
//! which the kernel is asked to make huge pages, and so does the allocator of C.
//!
//! Only the first 32 MiB of each are asked for so: where a virtual machine has given free memory back
//! to its host, a huge page takes milliseconds to come again, more than it saves. Arenas behind them
//! come with all their small pages at once, which takes less time than a fault for each.
//!
//! `unsafe` is here for functions of C that have no safe form. Pages and bytes are those of the
//! system, not of a file format.
#![allow(unsafe_code)]

use std::ffi::c_void;
#[cfg(target_env = "gnu")]
use std::hint::black_box;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A huge page of the usual size; where it is another, the kernel does without.
const PAGE: usize = 2 << 20;
/// Bytes that are reserved at once; only what is used counts.
const BLOCK: usize = 32 << 20;

/// Python's `PyObjectArenaAllocator`.
#[repr(C)]
struct ArenaAllocator {
    context: *mut c_void,
    alloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

unsafe extern "C" {
    fn PyObject_SetArenaAllocator(allocator: *mut ArenaAllocator);
}

/// Bytes for which the kernel may still be asked for huge pages.
static ADVISED: AtomicUsize = AtomicUsize::new(BLOCK);
/// Addresses of arenas that nobody uses, and the size that all arenas have.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static SIZE: AtomicUsize = AtomicUsize::new(0);

fn free_arenas() -> MutexGuard<'static, Vec<usize>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ask for huge pages in memory of this process.
fn advise(start: usize, size: usize) {
    let place = ptr::with_exposed_provenance_mut(start);
    // SAFETY: it is a wish, which leaves the contents as they are.
    unsafe { libc::madvise(place, size, libc::MADV_HUGEPAGE) };
}

/// Let an arena have its pages, whatever their size. Kernels before 5.14 do not know this.
fn populate(arena: *mut c_void, size: usize) {
    // SAFETY: it makes pages that an access would make, and leaves the contents as they are.
    unsafe { libc::madvise(arena, size, libc::MADV_POPULATE_WRITE) };
}

/// New memory, in huge pages if there may still be some; 0: there is none.
fn block(size: usize) -> usize {
    let (rights, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: asks for memory at any address, and touches none.
    let start = unsafe { libc::mmap(null_mut(), size.saturating_add(PAGE), rights, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return 0;
    }
    let start = (start as usize).next_multiple_of(PAGE);
    let take = |left: usize| left.checked_sub(size);
    if ADVISED.fetch_update(Relaxed, Relaxed, take).is_ok() {
        advise(start, size);
    }
    start
}

unsafe extern "C" fn alloc(_context: *mut c_void, size: usize) -> *mut c_void {
    let mut free = free_arenas();
    if SIZE
        .compare_exchange(0, size, Relaxed, Relaxed)
        .is_err_and(|other| other != size)
    {
        return null_mut(); // Python has arenas of one size
    }
    if free.is_empty() && size != 0 {
        // The first of a block is used first. Where there is no room for many, one will do.
        let many = block(BLOCK);
        let (start, end) = if many == 0 {
            (block(size), size)
        } else {
            (many, BLOCK)
        };
        if start != 0 {
            free.extend(
                (0..end)
                    .step_by(size)
                    .map(|at| start.saturating_add(at))
                    .rev(),
            );
        }
    }
    let arena: *mut c_void = ptr::with_exposed_provenance_mut(free.pop().unwrap_or(0));
    if !arena.is_null() {
        populate(arena, size);
    }
    arena
}

/// Keep an arena for the next one that is asked for: the process ends soon.
unsafe extern "C" fn keep(_context: *mut c_void, arena: *mut c_void, _size: usize) {
    free_arenas().push(arena.expose_provenance());
}

/// From now on Python's objects live in huge pages.
fn advise_python() {
    let mut allocator = ArenaAllocator {
        context: null_mut(),
        alloc,
        free: keep,
    };
    // SAFETY: the functions do what Python expects of them, and Python copies the table.
    unsafe { PyObject_SetArenaAllocator(&raw mut allocator) };
}

/// Reserve room at the end of the heap of C, in huge pages, and keep what is freed.
#[cfg(target_env = "gnu")]
fn advise_c(expected: usize) {
    let Ok(size) = i32::try_from(expected) else {
        return;
    };
    // SAFETY: sets three numbers, and asks where the heap ends and to extend it, as a malloc does.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, size);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, size.min(16 << 20));
        let before = libc::sbrk(0) as usize;
        libc::free(black_box(libc::malloc(1 << 18)));
        let start = before.next_multiple_of(PAGE);
        let end = libc::sbrk(0) as usize;
        advise(start, end.saturating_sub(start).min(BLOCK));
    }
}

#[cfg(not(target_env = "gnu"))]
fn advise_c(_expected: usize) {}

/// Expect so many bytes of small objects, and as many of others, in a process that ends soon.
pub fn expect(bytes: usize) {
    advise_python();
    advise_c(bytes);
}

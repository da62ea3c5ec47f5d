// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of source files: those of calls in this program, and those that the PTX of a kernel names.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::{LazyLock, Mutex};

/// A line of a source file. It is as large as a pointer, because histories of memories have one for each access.
#[derive(Clone, Copy)]
pub struct SourceLine(*const ());

/// What a [`SourceLine`] leads to.
#[derive(Clone, Copy)]
enum SourcePlace {
    /// A call in this program.
    Call(&'static Location<'static>),
    /// What PTX names: the lowest bit of the address is set.
    Named(&'static Named),
}

const _: () = assert!(align_of::<Location<'_>>() > 1 && align_of::<Named>() > 1, "the bit is free");

// SAFETY: it leads to what nobody changes, and what lives until the process ends.
unsafe impl Send for SourceLine {}

// SAFETY: as above.
unsafe impl Sync for SourceLine {}

#[derive(PartialEq, Eq, Hash)]
struct Named {
    file: String,
    line: u32,
    column: u32,
}

/// All that PTX has named: few, and known until the process ends.
static NAMED: LazyLock<Mutex<HashSet<&'static Named>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The line of the PTX instruction that is being executed.
    static PRESENT: Cell<Option<SourceLine>> = const { Cell::new(None) };
}

impl SourceLine {
    /// The line of the call of the function that calls this one; of a kernel that is executed as PTX the line of its
    /// instruction.
    #[track_caller]
    pub(crate) fn present() -> Self {
        PRESENT.get().unwrap_or(Self(ptr::from_ref(Location::caller()).cast()))
    }

    /// Lets the lines of PTX count until another one is set.
    pub(crate) fn set(present: Option<Self>) {
        PRESENT.set(present);
    }

    /// A line that is named.
    pub(crate) fn named(file: &str, line: u32, column: u32) -> Self {
        let mut all = NAMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let wanted = Named { file: file.to_owned(), line, column };
        let found = match all.get(&wanted) {
            Some(found) => *found,
            None => {
                let kept: &'static Named = Box::leak(Box::new(wanted));
                all.insert(kept);
                kept
            }
        };
        Self(ptr::from_ref(found).cast::<()>().map_addr(|at| at | 1))
    }

    fn of(self) -> SourcePlace {
        let address = self.0.map_addr(|at| at & !1);
        // SAFETY: `present` and `named` made it of such references, and the bit says which.
        unsafe {
            match address == self.0 {
                true => SourcePlace::Call(&*address.cast()),
                false => SourcePlace::Named(&*address.cast()),
            }
        }
    }

    /// The path of the file.
    #[must_use]
    pub fn file(&self) -> &'static str {
        match self.of() {
            SourcePlace::Call(at) => at.file(),
            SourcePlace::Named(at) => &at.file,
        }
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        match self.of() {
            SourcePlace::Call(at) => at.line(),
            SourcePlace::Named(at) => at.line,
        }
    }

    /// The column, from 1.
    #[must_use]
    pub fn column(&self) -> u32 {
        match self.of() {
            SourcePlace::Call(at) => at.column(),
            SourcePlace::Named(at) => at.column,
        }
    }
}

impl PartialEq for SourceLine {
    fn eq(&self, other: &Self) -> bool {
        match (self.of(), other.of()) {
            (SourcePlace::Named(one), SourcePlace::Named(other)) => ptr::eq(one, other),
            (SourcePlace::Call(one), SourcePlace::Call(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for SourceLine {}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file(), self.line(), self.column())
    }
}

impl fmt::Debug for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

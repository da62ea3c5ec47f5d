// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of arrays as they were at several times, where whoever goes back over steps wants them kept: where they lie, in this machine's
//! memory, or in files.

use std::any::Any;
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::TempDir;

use compute::device::Memory;
use problem::values::{Element, first_not_finite};
use problem::{Dtype, Error, Values, with_dtype, with_values};

/// Where the values of a tape are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TapeStorage {
    /// Where they lie: in the memory of the GPU that computes them, or of this machine.
    #[default]
    WhereTheyLie,
    /// In the memory of the GPU that computes them.
    Device,
    /// In this machine's memory.
    Memory,
    /// In files of a folder, which are removed when they are not needed any more.
    Folder(PathBuf),
}

/// Values of this machine's memory as a session has them that reads them there, with what lies around them.
pub trait Laid: Any {
    /// They in C order.
    fn values(&self) -> Values;

    /// Takes others, in C order.
    fn set(&mut self, values: Values);
}

/// How values lie so.
pub struct Lay {
    /// Memory that they take.
    pub bytes: u128,
    /// Makes room for them.
    pub make: Box<dyn Fn() -> Box<dyn Laid>>,
}

/// The values of an array at some time.
pub enum TapeValues {
    /// In this machine's memory, in C order; nothing yet.
    Here(Option<Values>),
    /// In this machine's memory, as a session has them that takes them; nothing while it does.
    Laid(Option<Box<dyn Laid>>),
    /// In the memory of the session's device, in C order, from this byte on.
    OnDevice(Rc<Memory>, usize),
    /// In a file, as they lie in memory.
    InFile(PathBuf, Dtype),
}

impl TapeValues {
    /// Takes values that are of the right type.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn put(&mut self, values: Values) -> Result<(), Error> {
        match self {
            Self::Here(own) => {
                *own = Some(values);
                Ok(())
            }
            Self::Laid(own) => {
                own.as_mut().expect("it is there between steps").set(values);
                Ok(())
            }
            Self::InFile(path, _) => with_values!(&values, values => {
                fs::write(&*path, bytemuck::cast_slice::<_, u8>(values))
                    .map_err(|source| Error::Write { path: path.clone(), source })
            }),
            Self::OnDevice(..) => unreachable!("a session of a device puts them there itself"),
        }
    }

    /// The values.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn values(&self) -> Result<Cow<'_, Values>, Error> {
        match self {
            Self::Here(values) => Ok(Cow::Borrowed(values.as_ref().expect("they were put there"))),
            Self::Laid(values) => {
                Ok(Cow::Owned(values.as_ref().expect("it is there between steps").values()))
            }
            Self::InFile(path, dtype) => {
                let bytes =
                    fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
                Ok(Cow::Owned(with_dtype!(*dtype, T => {
                    T::wrap(bytemuck::pod_collect_to_vec(&bytes))
                })))
            }
            Self::OnDevice(..) => unreachable!("a session of a device reads them itself"),
        }
    }
}

/// Makes sure that values which were rounded to a type of fewer bytes are finite in it.
///
/// # Errors
/// One is not.
pub fn check_rounded<T: Element>(values: &[T], own: Dtype, to: Dtype) -> Result<(), Error> {
    match first_not_finite(values).filter(|_| to.bytes() < own.bytes()) {
        None => Ok(()),
        Some((index, value)) => Err(Error::Gradient {
            reason: format!(
                "states are kept as {to}, which stores the value of point {index} (in C order) as {value}: keep them in a type of a wider range"
            ),
        }),
    }
}

/// Where a tape is, with the memory for it.
pub enum TapeMemory {
    Here,
    /// In this machine's memory, by the place of an array among those of a time.
    Laid(Vec<Lay>),
    Device(Rc<Memory>),
    Folder(TempDir),
}

impl TapeMemory {
    /// In a folder, with a name that no other has.
    ///
    /// # Errors
    /// No folder can be made there.
    pub fn folder(within: &Path) -> Result<Self, Error> {
        let made = tempfile::Builder::new().prefix("states-").tempdir_in(within);
        made.map(Self::Folder).map_err(|source| Error::Write { path: within.to_owned(), source })
    }
}

/// Values of some arrays at several times.
pub struct Tape {
    /// The type that they are kept in.
    pub dtype: Dtype,
    arrays: usize,
    kept: Vec<TapeValues>,
    // Removed with what is in it.
    _room: TapeMemory,
}

impl Tape {
    /// Room for so many arrays of so many values at so many times.
    pub fn new(
        room: TapeMemory,
        (points, dtype): (usize, Dtype),
        (times, arrays): (usize, usize),
    ) -> Self {
        let dtype = dtype.stored();
        let place = |number: usize| match &room {
            TapeMemory::Here => TapeValues::Here(None),
            TapeMemory::Laid(lays) => TapeValues::Laid(Some((lays[number % arrays].make)())),
            TapeMemory::Device(memory) => {
                TapeValues::OnDevice(Rc::clone(memory), number * points * dtype.bytes())
            }
            TapeMemory::Folder(folder) => {
                TapeValues::InFile(folder.path().join(number.to_string()), dtype)
            }
        };
        Self { dtype, arrays, kept: (0..times * arrays).map(place).collect(), _room: room }
    }

    /// The arrays at a time, by its number.
    pub fn at(&mut self, time: usize) -> &mut [TapeValues] {
        &mut self.kept[time * self.arrays..][..self.arrays]
    }

    /// An array at a time, to be read.
    pub fn get(&self, time: usize, place: usize) -> &TapeValues {
        &self.kept[time * self.arrays + place]
    }

    /// Whether it lies in the memory of a device.
    pub fn is_on_device(&self) -> bool {
        self.kept.iter().any(|kept| matches!(kept, TapeValues::OnDevice(..)))
    }

    /// Has all that lies in the memory of a device lie in this machine's, as it is read there, and gives that memory back.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bring(
        &mut self,
        mut read: impl FnMut(&TapeValues) -> Result<Values, Error>,
    ) -> Result<(), Error> {
        for kept in &mut self.kept {
            if matches!(kept, TapeValues::OnDevice(..)) {
                *kept = TapeValues::Here(Some(read(kept)?));
            }
        }
        self._room = TapeMemory::Here;
        Ok(())
    }

    /// Has what was at two times change places.
    pub fn swap(&mut self, one: usize, other: usize) {
        for array in 0..self.arrays {
            self.kept.swap(one * self.arrays + array, other * self.arrays + array);
        }
    }
}

/// What is done with a tape before each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeAction {
    /// Values of the session are put there, forwards.
    Save,
    /// The session takes values from it, backwards.
    Restore,
}

/// Values of a tape, and an array of a session.
#[derive(Clone, Copy, Debug)]
pub struct TapeTransfer {
    /// The number of the array in the session.
    pub array: usize,
    /// Its place among the arrays of a time.
    pub place: usize,
    /// Of which time, from the one that the tape has come to.
    pub when: isize,
}

/// A tape that goes along with the steps of a session.
pub struct TapedSession {
    pub tape: Tape,
    /// Which values of it go to which arrays of the session, or come from there.
    pub moves: Vec<TapeTransfer>,
    pub way: TapeAction,
    /// The time that comes next.
    pub next: usize,
}

impl TapedSession {
    /// The step that was taken last is taken again.
    pub fn step_back(&mut self) {
        self.next = match self.way {
            TapeAction::Save => self.next - 1,
            TapeAction::Restore => self.next + 1,
        };
    }

    /// So many steps have been taken.
    pub fn advance(&mut self, steps: usize) {
        self.next = match self.way {
            TapeAction::Save => self.next + steps,
            TapeAction::Restore => self.next.saturating_sub(steps),
        };
    }

    /// The time that a move is about so many steps on.
    pub fn time(&self, TapeTransfer { when, .. }: TapeTransfer, steps: usize) -> usize {
        match self.way {
            TapeAction::Save => (self.next + steps).strict_add_signed(when),
            TapeAction::Restore => (self.next - steps).strict_add_signed(when),
        }
    }

    /// What a move is about, and the type of values that are kept.
    pub fn of(
        &mut self,
        TapeTransfer { place, when, .. }: TapeTransfer,
    ) -> (&mut TapeValues, Dtype) {
        let dtype = self.tape.dtype;
        (&mut self.tape.at(self.next.strict_add_signed(when))[place], dtype)
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses, loads and stores.

use std::fmt::{Display, Formatter, Result};

use super::Emitter;
use super::register::{
    B32, B64, Constant, Global, Integer, Operand, Register, RegisterKind, Shared, Type, U32, U64,
};

/// An address in one of the memories.
pub trait Address: RegisterKind + Type<Held = Self> {
    /// What distances are.
    type Distance: Integer;
    /// How a load begins.
    const LOAD: &'static str;
    /// How a store begins.
    const STORE: &'static str;
}

impl Address for Global {
    type Distance = U64;
    const LOAD: &'static str = "ld.global.nc";
    const STORE: &'static str = "st.global";
}

impl Address for Shared {
    type Distance = U32;
    const LOAD: &'static str = "ld.shared";
    const STORE: &'static str = "st.shared";
}

impl Address for Constant {
    type Distance = U64;
    const LOAD: &'static str = "ld.const";
    const STORE: &'static str = "st.const";
}

/// A distance from an address that is added as instructions do it.
type Distance<A> = Operand<<<A as Address>::Distance as Type>::Held>;

/// An address and a distance from it in bytes, which a load or a store adds by itself.
#[derive(Clone, Copy, Debug)]
pub struct OffsetAddress<A> {
    address: Register<A>,
    distance: Option<i64>,
}

impl<A: Address> Register<A> {
    /// The place so many bytes after it.
    pub fn at(self, distance: impl TryInto<i64>) -> OffsetAddress<A> {
        let distance = distance.try_into().ok();
        OffsetAddress { address: self, distance: Some(distance.expect("distances have 64 bits")) }
    }
}

impl<A> From<Register<A>> for OffsetAddress<A> {
    fn from(address: Register<A>) -> Self {
        Self { address, distance: None }
    }
}

impl<A: RegisterKind> Display for OffsetAddress<A> {
    fn fmt(&self, out: &mut Formatter) -> Result {
        match self.distance {
            Some(distance) => write!(out, "[{}+{distance}]", self.address),
            None => write!(out, "[{}]", self.address),
        }
    }
}

impl Emitter {
    /// A value among the parameters of this name.
    pub fn parameter<T: Type>(&mut self, of: T, name: &str, distance: usize) -> Register<T::Held> {
        self.result(of, "ld.param", format_args!("[{name}+{distance}]"))
    }

    /// An address that is known to be in global memory.
    pub fn global(&mut self, address: Register<B64>) -> Register<Global> {
        self.result(Global, "cvta.to.global", format_args!("{address}"))
    }

    /// An address in shared memory that is given as bits.
    pub fn shared(&mut self, bits: Operand<B32>) -> Register<Shared> {
        let to = self.register();
        self.line(format_args!("mov.b32 {to}, {bits}"));
        to
    }

    /// The address at a distance.
    pub fn offset<A: Address>(
        &mut self,
        start: Register<A>,
        distance: impl Into<Distance<A>>,
    ) -> Register<A> {
        let to = self.register();
        self.line(format_args!("add.{} {to}, {start}, {}", A::NAME, distance.into()));
        to
    }

    /// Moves an address on.
    pub fn advance<A: Address>(&mut self, address: Register<A>, by: impl Into<Distance<A>>) {
        self.line(format_args!("add.{} {address}, {address}, {}", A::NAME, by.into()));
    }

    /// The place at a distance that may have more than the 32 bits which instructions add.
    pub fn far(&mut self, start: Register<Global>, distance: i64) -> OffsetAddress<Global> {
        if i32::try_from(distance).is_ok() {
            return start.at(distance);
        }
        let far = self.register();
        self.line(format_args!("add.s64 {far}, {start}, {distance}"));
        far.into()
    }

    /// The address of an element of a list in global memory.
    pub fn element(
        &mut self,
        start: Register<Global>,
        index: impl Into<Operand<B32>>,
        bytes: usize,
    ) -> Register<Global> {
        let distance = self.mul_wide(index, bytes);
        self.offset(start, distance)
    }

    /// The address of an element of a list in shared memory.
    pub fn shared_element(
        &mut self,
        start: Register<Shared>,
        index: impl Into<Operand<B32>>,
        bytes: usize,
    ) -> Register<Shared> {
        self.result(Shared, "mad.lo", format_args!("{}, {bytes}, {start}", index.into()))
    }

    /// Has bytes be copied from global to shared memory, 4, 8 or 16 at multiples of their number; what lies after the
    /// first `there` of them is 0. Nobody reads them before the thread has waited for its copies, nor other threads
    /// before a barrier after that.
    pub fn copy_async(
        &mut self,
        to: OffsetAddress<Shared>,
        from: OffsetAddress<Global>,
        bytes: usize,
        there: Register<B32>,
    ) {
        // Only 16 bytes may pass the first cache by.
        let cache = if bytes == 16 { "cg" } else { "ca" };
        self.line(format_args!("cp.async.{cache}.shared.global {to}, {from}, {bytes}, {there}"));
    }

    /// Ends a group of copies.
    pub fn commit(&mut self) {
        self.line(format_args!("cp.async.commit_group"));
    }

    /// Waits for all copies of the thread.
    pub fn wait_for_copies(&mut self) {
        self.line(format_args!("cp.async.wait_group 0"));
    }

    /// A value in memory.
    pub fn load<T: Type, A: Address>(
        &mut self,
        of: T,
        place: impl Into<OffsetAddress<A>>,
    ) -> Register<T::Held> {
        self.result(of, A::LOAD, format_args!("{}", place.into()))
    }

    /// Four values that lie side by side.
    pub fn load_four<T: Type, A: Address>(
        &mut self,
        _: T,
        place: impl Into<OffsetAddress<A>>,
    ) -> [Register<T::Held>; 4] {
        let [a, b, c, d] = [(); 4].map(|()| self.register());
        let (load, name) = (A::LOAD, T::NAME);
        self.line(format_args!("{load}.v4.{name} {{{a}, {b}, {c}, {d}}}, {}", place.into()));
        [a, b, c, d]
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic numbers and fences whose scope or order is too small, as device functions and as instructions.

use super::*;
use cuda_sim::Module;
use cuda_sim::atomic::{self, Scope};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const TWO_BLOCKS: LaunchConfig = LaunchConfig { blocks: 2, threads: 32, ..SHAPE };

/// What runs under several seeds report: the first mistake of all, or none of any.
fn outcome<T>(run: impl Fn(LaunchConfig) -> Result<T, Fault>) -> Option<FaultKind> {
    let of = |seed| run(LaunchConfig { seed, ..TWO_BLOCKS }).err().map(|fault| fault.kind);
    let found: Vec<Option<FaultKind>> = (0..16).map(of).collect();
    let kinds: Vec<_> = found.iter().map(|it| it.as_ref().map(std::mem::discriminant)).collect();
    assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{found:?}");
    found.into_iter().next().flatten()
}

fn counted(scope: Scope, shape: LaunchConfig) -> Option<FaultKind> {
    outcome(|config| {
        let mut memory = Memory::new();
        let count = memory.zeros::<u32>("count", 1);
        launch("tiny", LaunchConfig { blocks: shape.blocks, ..config }, &mut memory, || {
            // SAFETY: the number lies in a buffer.
            unsafe {
                atomic::update(count.as_mut_ptr(), Relaxed, scope, |before| Some(before + 1))
            };
        })?;
        assert_eq!(memory.read(count), [32 * shape.blocks]);
        Ok(())
    })
}

#[test]
fn a_count_of_two_blocks_needs_the_scope_of_both() {
    for scope in [Scope::Device, Scope::System] {
        assert_eq!(counted(scope, TWO_BLOCKS), None);
    }
    assert_eq!(counted(Scope::Block, LaunchConfig { blocks: 1, ..TWO_BLOCKS }), None);
    let kind = counted(Scope::Block, TWO_BLOCKS).unwrap();
    assert!(matches!(kind, FaultKind::NarrowScope { .. }), "{kind}");
    let text = kind.to_string();
    assert!(
        text.starts_with("too narrow a scope: this atomic write of byte 0 of buffer `count`"),
        "{text}"
    );
}

/// How block 0 tells block 1 that a number is there: by a fence or none, and a store; and how block 1 takes it: by a
/// load, and a fence or none.
#[derive(Clone, Copy)]
struct Way {
    before: Option<Scope>,
    store: (Ordering, Scope),
    load: (Ordering, Scope),
    after: Option<Scope>,
}

const BY_FLAG: Way = Way {
    before: None,
    store: (Release, Scope::Device),
    load: (Acquire, Scope::Device),
    after: None,
};
const BY_FENCES: Way = Way {
    before: Some(Scope::Device),
    store: (Relaxed, Scope::Device),
    load: (Relaxed, Scope::Device),
    after: Some(Scope::Device),
};

/// The outcome as device functions and as instructions, which is one.
fn told(way: Way) -> Option<FaultKind> {
    let Way { before, store, load, after } = way;
    let as_functions = outcome(|config| {
        let mut memory = Memory::new();
        let words = memory.zeros::<u32>("words", 2);
        let (value, flag) = (words.as_mut_ptr(), words.as_mut_ptr().wrapping_add(1));
        launch("tiny", config, &mut memory, || {
            if !is_first() {
                return;
            }
            if thread::block_idx_x() == 0 {
                global::store(value, 7);
                if let Some(scope) = before {
                    atomic::fence(AcqRel, scope);
                }
                // SAFETY: the number lies in a buffer.
                return unsafe { atomic::store(flag, 1, store.0, store.1) };
            }
            // SAFETY: as above.
            while unsafe { atomic::load(flag.cast_const(), load.0, load.1) } == 0 {}
            if let Some(scope) = after {
                atomic::fence(SeqCst, scope);
            }
            assert_eq!(global::load(value), 7);
        })
    });
    let module = Module::read(&text(way)).unwrap();
    let as_instructions = outcome(|config| {
        let mut memory = Memory::new();
        let words = memory.zeros::<u32>("words", 2);
        module.launch::<tells>(config, &mut memory, (words.as_mut_ptr(),))
    });
    let kind = |it: &Option<FaultKind>| it.as_ref().map(std::mem::discriminant);
    assert_eq!(kind(&as_functions), kind(&as_instructions), "{as_functions:?} {as_instructions:?}");
    as_functions
}

#[allow(non_camel_case_types)]
struct tells;

// SAFETY: the text below has this entry point.
unsafe impl cuda_kernel::Kernel for tells {
    type Parameters = (*mut u32,);
    const NAME: &'static str = "tells";
}

fn text(Way { before, store, load, after }: Way) -> String {
    let scope = |scope| match scope {
        Scope::Block => "cta",
        Scope::Device => "gpu",
        Scope::System => "sys",
    };
    let fence =
        |of: Option<Scope>| of.map_or(String::new(), |it| format!("fence.acq_rel.{};", scope(it)));
    let order = |order: Ordering| format!("{order:?}").to_lowercase();
    format!(
        ".visible .entry tells(.param .u64 words)\n{{\n.reg .b32 %r<8>;\n.reg .b64 %a<4>;\n.reg .pred %p<4>;\n\
         ld.param.b64 %a1, [words];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n\
         setp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra TAKES;\n\
         st.global.b32 [%a1], 7;\n{}\nst.{}.{}.global.b32 [%a1+4], 1;\nret;\n\
         TAKES:\nld.{}.{}.global.b32 %r2, [%a1+4];\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra TAKES;\n{}\n\
         ld.global.b32 %r3, [%a1];\nret;\n}}\n",
        fence(before),
        order(store.0),
        scope(store.1),
        order(load.0),
        scope(load.1),
        fence(after),
    )
}

#[test]
fn a_number_is_handed_over_by_an_order_and_a_scope_of_both_blocks() {
    let wide = (Relaxed, Scope::System);
    for way in [BY_FLAG, BY_FENCES, Way { store: wide, load: wide, ..BY_FENCES }] {
        assert_eq!(told(way), None);
    }
    for way in [
        Way { store: (Relaxed, Scope::Device), ..BY_FLAG },
        Way { load: (Relaxed, Scope::Device), ..BY_FLAG },
        Way { before: None, ..BY_FENCES },
        Way { after: None, ..BY_FENCES },
        Way { before: Some(Scope::Block), ..BY_FENCES },
        Way { after: Some(Scope::Block), ..BY_FENCES },
    ] {
        let kind = told(way).unwrap();
        assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
    }
    for way in [
        Way { store: (Release, Scope::Block), ..BY_FLAG },
        Way { load: (Acquire, Scope::Block), ..BY_FLAG },
    ] {
        let kind = told(way).unwrap();
        assert!(matches!(kind, FaultKind::NarrowScope { .. }), "{kind}");
    }
}

/// Within a block the narrowest scope does, also for what another block has handed over by a wide one.
#[test]
fn a_block_hands_on_what_it_was_handed() {
    let passes = |narrow: Scope| {
        outcome(|config| {
            let mut memory = Memory::new();
            let words = memory.zeros::<u32>("words", 3);
            let at = |place| words.as_mut_ptr().wrapping_add(place);
            let wait = |place, scope| {
                // SAFETY: the number lies in a buffer.
                while unsafe { atomic::load(at(place).cast_const(), Acquire, scope) } == 0 {}
            };
            // SAFETY: as above.
            let tell = |place, scope| unsafe { atomic::store(at(place), 1, Release, scope) };
            launch("tiny", config, &mut memory, || {
                match (thread::block_idx_x(), thread::thread_idx_x()) {
                    (0, 0) => {
                        global::store(at(0), 7);
                        tell(1, Scope::Device);
                    }
                    (1, 0) => {
                        wait(1, Scope::Device);
                        tell(2, narrow);
                    }
                    (1, 9) => {
                        wait(2, narrow);
                        assert_eq!(global::load(at(0)), 7);
                    }
                    _ => {}
                }
            })
        })
    };
    assert_eq!(passes(Scope::Block), None);
    assert_eq!(passes(Scope::Device), None);
}

#[test]
fn numbers_in_no_buffer_are_those_of_the_host() {
    let mut number = 5u64;
    // SAFETY: nobody else knows the number.
    let before = unsafe {
        atomic::store(&raw mut number, 6, SeqCst, Scope::Block);
        atomic::fence(SeqCst, Scope::Device);
        let none = atomic::update(&raw mut number, AcqRel, Scope::System, |_| None);
        none + atomic::update(&raw mut number, Release, Scope::System, |it| Some(it + 4))
    };
    // SAFETY: as above.
    let after = unsafe { atomic::load(&raw const number, Acquire, Scope::Block) };
    assert_eq!((before, after), (12, 10));
}

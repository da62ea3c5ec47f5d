// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static shared memory: `#[address_space(shared)]` and `shared_array!`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, ItemStatic, StaticMutability, Token, Type};

/// The items in place of a static: one of a type without size, which leads to the memory, and on the GPU the memory. The type
/// is in a module of its own, so that only `unsafe` code makes another place that leads there. The memory
/// is a static of a name that `cuda_builder` knows and moves into shared memory; rustc knows only global memory, so the
/// code that it makes must not see where the memory is: the address comes from inline assembly.
pub fn address_space(space: Ident, item: ItemStatic) -> syn::Result<TokenStream> {
    match space.to_string().as_str() {
        "shared" => {}
        "global" | "constant" | "local" => {
            let text = "only `shared` is supported: a static is in global memory without an attribute, and a `const` or a \
                        variable of the kernel serves for the others";
            return Err(Error::new(space.span(), text));
        }
        _ => return Err(Error::new(space.span(), "the address space is `shared`")),
    }
    if !matches!(item.mutability, StaticMutability::Mut(_)) {
        let text = "shared memory is written by kernels: `static mut`";
        return Err(Error::new(item.static_token.span(), text));
    }
    let ItemStatic { attrs, vis, ident, ty, .. } = item;
    let place = format_ident!("__shared_{ident}");
    let symbol = symbol(&ident);
    // A second name, of which nothing is left unless its address is taken.
    let name = format!("{symbol}_name");
    let is_shared = quote_spanned!(ty.span()=> is_shared::<#ty>(););
    Ok(quote! {
        #[doc(hidden)]
        #[allow(non_snake_case)]
        mod #place {
            pub struct Place(());

            impl Place {
                /// # Safety
                /// The place is used as a `static mut` is: nobody else uses the memory at the same time.
                pub const unsafe fn new() -> Self {
                    Self(())
                }
            }
        }

        const _: () = {
            const fn is_shared<T: ::cuda_std::shared::Uninit>() {}
            #is_shared

            #[cfg(target_arch = "nvptx64")]
            #[unsafe(export_name = #symbol)]
            #[used]
            static mut MEMORY: ::core::mem::MaybeUninit<#ty> = ::core::mem::MaybeUninit::uninit();

            #[inline(always)]
            fn start() -> *mut #ty {
                ::cuda_std::__shared_address!(#symbol, #ty)
            }

            impl ::core::ops::Deref for #place::Place {
                type Target = #ty;
                #[inline(always)]
                fn deref(&self) -> &#ty {
                    // SAFETY: the block has memory of this type there, which may hold anything.
                    unsafe { &*start() }
                }
            }

            impl ::core::ops::DerefMut for #place::Place {
                #[inline(always)]
                fn deref_mut(&mut self) -> &mut #ty {
                    // SAFETY: as in `deref`; who uses a `static mut` promises that nobody else does.
                    unsafe { &mut *start() }
                }
            }
        };

        #(#attrs)*
        #[cfg_attr(target_arch = "nvptx64", unsafe(export_name = #name))]
        // SAFETY: who uses a `static mut` promises that nobody else does.
        #vis static mut #ident: #place::Place = unsafe { #place::Place::new() };
    })
}

/// `f32; 256`.
pub struct Array {
    element: Type,
    len: Expr,
}

impl Parse for Array {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self { element, len: input.parse()? })
    }
}

/// The address of an array of its own.
pub fn array(Array { element, len }: Array) -> TokenStream {
    quote! {{
        #[::cuda_std::address_space(shared)]
        static mut ARRAY: [::core::mem::MaybeUninit<#element>; #len] =
            [const { ::core::mem::MaybeUninit::uninit() }; #len];
        // SAFETY: only its address is taken.
        unsafe { (&raw mut *ARRAY).cast::<#element>() }
    }}
}

/// A name that no other static of the program has.
fn symbol(ident: &Ident) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let span = Span::call_site();
    let mut hasher = DefaultHasher::new();
    let place = span.unwrap();
    // Not the whole path, so that checkouts in other folders come to the same PTX.
    Path::new(&place.file()).file_name().hash(&mut hasher);
    (place.line(), place.column()).hash(&mut hasher);
    COUNT.fetch_add(1, Ordering::Relaxed).hash(&mut hasher);
    for variable in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        std::env::var(variable).unwrap_or_default().hash(&mut hasher);
    }
    format!("__cuda_shared_{ident}_{:016x}", hasher.finish())
}

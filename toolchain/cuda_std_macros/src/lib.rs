// SPDX-License-Identifier: MIT OR Apache-2.0
//! The attributes [`macro@kernel`] and [`macro@host_only`]; use them through `cuda_std`.

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{FnArg, GenericParam, Ident, ItemFn, LitInt, ReturnType, Token, Type, parse_macro_input};

/// Makes a function a GPU entry point that the host finds under the function's own name.
///
/// The function must be `unsafe`, return nothing, have no type or const parameters, and take only
/// scalars, raw pointers and structs of these, `Copy` and `#[repr(C)]`: they are passed to a kernel as
/// they are. (rust-cuda also takes slices, which it splits in two; here the launch shows every
/// parameter.)
///
/// On the host the function stays an ordinary one, so that it can be run by an emulator, which it tells
/// of its registers and parameters. A type of the same name says how it is launched, and runs the function
/// with a tuple of its parameters: it implements `cuda_std::Kernel`. The two do not meet, because functions
/// and types have names of their own.
///
/// Entry points are those of the crate that is compiled for its kernels. In a crate that it uses a kernel is an
/// ordinary function of the GPU, of which nothing is left unless it is called.
///
/// `#[kernel(registers = 112)]` lets a thread have so many registers, whatever the limit for all
/// kernels is. The compiler cannot say so in the PTX (`.maxnreg`); a comment asks `cuda_builder` to.
#[proc_macro_attribute]
pub fn kernel(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let Limits { registers } = parse_macro_input!(attributes as Limits);
    let function = parse_macro_input!(item as ItemFn);
    if let Err(error) = check(&function) {
        return error.into_compile_error().into();
    }
    let ItemFn { attrs, vis, sig, block } = function;
    let (name, inputs) = (&sig.ident, &sig.inputs);
    let types: Vec<&Type> = inputs.iter().filter_map(type_of).collect();
    let values: Vec<Ident> = (0..types.len()).map(|index| format_ident!("p{index}")).collect();
    let stated = match registers {
        Some(registers) => quote!(::core::option::Option::Some(#registers)),
        None => quote!(::core::option::Option::None),
    };
    let request = registers.map(|registers| format!("// .maxnreg {name} {registers}")).into_iter();
    let text = name.to_string();
    let on_the_gpu = if is_entry(&text) {
        quote! {
            // The macro may use what is unstable where this crate may not.
            ::cuda_std::__entry! {
                [#(#request)*]
                #(#attrs)*
                #vis fn #name(#inputs) #block
            }
        }
    } else {
        quote! {
            #(#attrs)*
            #[allow(dead_code)]
            #[inline]
            #vis unsafe fn #name(#inputs) #block
        }
    };
    let summary = format!("How the kernel `{name}` is launched.");
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #on_the_gpu

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #vis unsafe fn #name(#inputs) {
            ::cuda_std::enter(
                #stated,
                &[#([::core::mem::size_of::<#types>(), ::core::mem::align_of::<#types>()]),*],
            );
            #block
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #summary]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #name {}

        // SAFETY: the function above is compiled to this entry point.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl ::cuda_std::Kernel for #name {
            type Parameters = (#(#types,)*);
            const NAME: &'static str = #text;
            const REGISTERS: ::core::option::Option<u32> = #stated;
            unsafe fn run((#(#values,)*): Self::Parameters) {
                // SAFETY: as the caller promises.
                unsafe { #name(#(#values),*) }
            }
        }
    }
    .into()
}

/// Whether a kernel of this name is an entry point of the crate that is being compiled.
fn is_entry(name: &str) -> bool {
    // Cargo says so to the compiler of the packages that it was asked to build, and of no others.
    if std::env::var_os("CARGO_PRIMARY_PACKAGE").is_none() {
        return false;
    }
    // `cuda_builder` compiles a crate in groups of kernels: as packages, whose names stand before the beginnings of the
    // kernels' names, as in `kernels-1=sweep,wide;kernels-2=rim`. None stands for all.
    let (groups, package) = (std::env::var(GROUPS), std::env::var("CARGO_PKG_NAME"));
    let (Ok(groups), Ok(package)) = (groups, package) else { return true };
    let own = groups.split(';').filter_map(|group| group.split_once('='));
    let mut own = own.filter(|(of, _)| *of == package).flat_map(|(_, kernels)| kernels.split(','));
    own.any(|beginning| name.starts_with(beginning))
}

/// The variable that names the kernels of each group.
const GROUPS: &str = "CUDA_KERNELS";

fn type_of(input: &FnArg) -> Option<&Type> {
    match input {
        FnArg::Typed(typed) => Some(&typed.ty),
        FnArg::Receiver(_) => None,
    }
}

/// Leaves an item out of the code for the GPU: short for `#[cfg(not(target_arch = "nvptx64"))]`.
#[proc_macro_attribute]
pub fn host_only(_: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #item
    }
    .into()
}

/// The arguments of [`macro@kernel`].
struct Limits {
    registers: Option<u32>,
}

impl Parse for Limits {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self { registers: None });
        }
        let name: Ident = input.parse()?;
        if name != "registers" {
            return Err(syn::Error::new(name.span(), "a kernel takes `registers = N` only"));
        }
        input.parse::<Token![=]>()?;
        Ok(Self { registers: Some(input.parse::<LitInt>()?.base10_parse()?) })
    }
}

fn check(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    let fail = |span, text| Err(syn::Error::new(span, text));
    if signature.unsafety.is_none() {
        return fail(signature.fn_token.span(), "a kernel must be an `unsafe fn`");
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return fail(ty.span(), "a kernel returns nothing; write results through a pointer");
    }
    let generic = signature.generics.params.iter();
    if let Some(parameter) = generic.clone().find(|p| !matches!(p, GenericParam::Lifetime(_))) {
        return fail(parameter.span(), "a kernel cannot be generic; call a generic function in it");
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => return fail(receiver.span(), "a kernel has no `self`"),
            FnArg::Typed(typed) => match &*typed.ty {
                Type::Path(_) | Type::Ptr(_) => {}
                other => {
                    return fail(
                        other.span(),
                        "pass scalars, raw pointers and structs of them to a kernel",
                    );
                }
            },
        }
    }
    Ok(())
}

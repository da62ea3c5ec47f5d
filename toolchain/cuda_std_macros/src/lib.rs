// SPDX-License-Identifier: MIT OR Apache-2.0
//! The attributes [`macro@kernel`] and [`macro@host_only`]; use them through `cuda_std`.

mod parameter;
mod shared;

use proc_macro::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, Ident, ItemFn, Lifetime, LitInt, PatType, ReturnType, Token, Type,
    TypeReference, parse_macro_input,
};

/// Makes a function a GPU entry point that the host finds under the function's own name.
///
/// The function must be `unsafe`, return nothing, have no type or const parameters, and take only what
/// implements `cuda_std::Parameter`, under whatever name: scalars, raw pointers, references, `#[repr(C)]` structures with
/// [`macro@Parameter`], and slices, of which each is an address and a length, and which are written `&[T]` or `&mut [T]`.
/// Each must have a size.
///
/// On the host the function stays an ordinary one, so that it can be run by an emulator, which it tells
/// of its registers and parameters. A type of the same name says how it is launched, and runs the function
/// with a tuple of its parameters: it implements `cuda_std::Kernel`. The two do not meet, because functions
/// and types have names of their own. Modules are named among the types: where a kernel has the name of its
/// file, and so of its module, the type's name ends with `_kernel`, so that one `use` brings the function to
/// where the module is.
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
    let (name, inputs, generics) = (&sig.ident, &sig.inputs, &sig.generics);
    let types: Vec<Type> = inputs.iter().filter_map(type_of).collect();
    let values: Vec<Ident> = (0..types.len()).map(|index| format_ident!("p{index}")).collect();
    let stated = match registers {
        Some(registers) => quote!(::core::option::Option::Some(#registers)),
        None => quote!(::core::option::Option::None),
    };
    let request = registers.map(|registers| format!("// .maxnreg {name} {registers}")).into_iter();
    let text = name.to_string();
    let passed = |ty: &Type| quote_spanned!(ty.span()=> <#ty as ::cuda_std::Parameter>::Passed);
    let passed: Vec<_> = types.iter().map(passed).collect();
    // The GPU's compiler leaves out a parameter without size, and a launch passes its address: those after it would shift.
    let text_of_size = "a kernel's parameter must have a size";
    let sizes = types.iter().map(|ty| {
        quote_spanned!(ty.span()=> ::core::assert!(::core::mem::size_of::<#ty>() > 0, #text_of_size);)
    });
    let statements = &block.stmts;
    // rustc passes a slice as one parameter of 16 bytes, and `launch!` as two. All else is passed as it is written, so that
    // the compiler sees the same function as ever. A slice of another name is refused by the check.
    let (mut parameters, mut joined, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    for ((input, ty), value) in inputs.iter().zip(&types).zip(&values) {
        let FnArg::Typed(PatType { attrs, pat, .. }) = input else { continue };
        // At the type, so that a refusal points there.
        if !is_slice(ty) {
            parameters.push(quote!(#input));
            checks.push(quote_spanned!(ty.span()=> is_one_parameter::<#ty>();));
            continue;
        }
        let len = format_ident!("{value}_len");
        parameters.push(quote!(#value: <#ty as ::cuda_std::Parameter>::First));
        parameters.push(quote!(#len: <#ty as ::cuda_std::Parameter>::Second));
        checks.push(quote_spanned!(ty.span()=> is_parameter::<#ty>();));
        joined.push(quote! {
            // SAFETY: as who launches the kernel promises.
            #(#attrs)*
            let #pat = unsafe { <#ty as ::cuda_std::Parameter>::join(#value, #len) };
        });
    }
    let on_the_gpu = if is_entry(&text) {
        quote! {
            // The macro may use what is unstable where this crate may not.
            ::cuda_std::__entry! {
                [#(#request)*]
                #(#attrs)*
                #vis fn #name [#generics] (#(#parameters),*) {
                    #(#joined)*
                    #(#statements)*
                }
            }
        }
    } else {
        quote! {
            #(#attrs)*
            #[allow(dead_code)]
            #[inline]
            #vis unsafe fn #name #generics (#inputs) #block
        }
    };
    let kernel_type = match names_its_file(&text) {
        true => format_ident!("{name}_kernel"),
        false => name.clone(),
    };
    let summary = format!("How the kernel `{name}` is launched.");
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #on_the_gpu

        const _: () = {
            const fn is_parameter<T: ::cuda_std::Parameter>() {}
            const fn is_one_parameter<T: ::cuda_std::OneParameter>() {}
            #(#checks)*
            #(#sizes)*
        };

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #vis unsafe fn #name #generics (#inputs) {
            ::cuda_std::enter(
                #stated,
                &[#([::core::mem::size_of::<#types>(), ::core::mem::align_of::<#types>()]),*],
            );
            #(#statements)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #summary]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #kernel_type {}

        // SAFETY: the function above is compiled to this entry point.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl ::cuda_std::Kernel for #kernel_type {
            type Parameters = (#(#passed,)*);
            const NAME: &'static str = #text;
            const REGISTERS: ::core::option::Option<u32> = #stated;
            unsafe fn run((#(#values,)*): Self::Parameters) {
                // SAFETY: as the caller promises.
                unsafe { #name(#(<#types as ::cuda_std::Parameter>::receive(#values)),*) }
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

/// Whether a kernel's name is that of its file, which stands for a module.
fn names_its_file(name: &str) -> bool {
    let file = PathBuf::from(proc_macro::Span::call_site().file());
    let is = |part: Option<&OsStr>| part.is_some_and(|part| part == name);
    let is_folder = file.file_stem().is_some_and(|stem| stem == "mod");
    if is_folder { is(file.parent().and_then(Path::file_name)) } else { is(file.file_stem()) }
}

/// Whether a type is written as a slice.
fn is_slice(ty: &Type) -> bool {
    match ty {
        Type::Reference(to) => matches!(&*to.elem, Type::Slice(_)),
        Type::Paren(inner) => is_slice(&inner.elem),
        _ => false,
    }
}

/// A parameter's type as it can be named outside of the function: whatever is borrowed, for ever.
fn type_of(input: &FnArg) -> Option<Type> {
    struct ForEver;
    impl VisitMut for ForEver {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            *lifetime = Lifetime::new("'static", lifetime.span());
        }

        fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
            visit_mut::visit_type_reference_mut(self, reference);
            let span = reference.span();
            reference.lifetime.get_or_insert_with(|| Lifetime::new("'static", span));
        }
    }
    let FnArg::Typed(typed) = input else { return None };
    let mut ty = Type::clone(&typed.ty);
    ForEver.visit_type_mut(&mut ty);
    Some(ty)
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

/// Lets a structure be a kernel's parameter. It must be `Copy`, and `#[repr(C)]` or `#[repr(transparent)]`, because host and
/// GPU are compiled apart and must agree where its fields are; and each of its fields can be passed itself.
#[proc_macro_derive(Parameter)]
pub fn derive_parameter(item: TokenStream) -> TokenStream {
    parameter::derive(parse_macro_input!(item))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Puts a `static mut` into the memory that a block's threads share: `#[address_space(shared)]`.
///
/// Nothing initialises such memory, so its type is `MaybeUninit` or an array of such, of arrays of such, and so on. The
/// emulator gives each block its own, filled with bytes that are unlikely to be right. The name is a place of the type:
/// `TILE[y][x].write(value)`, `TILE[y][x].assume_init()`, `(*TILE).as_mut_ptr()`. Who takes the address of the static
/// itself (`&raw mut TILE`) is refused when the kernel is compiled: it is that of `*TILE`.
///
/// Other address spaces are refused: a `static` of a kernel crate is in global memory, and constants need none.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    shared::address_space(parse_macro_input!(space), parse_macro_input!(item))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// An array in the memory that a block's threads share: `shared_array![f32; 256]` is a `*mut f32` to 256 numbers, which
/// nothing has initialised. Each place where it stands has an array of its own, which is one in all turns of a loop.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    shared::array(parse_macro_input!(input)).into()
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
            FnArg::Typed(typed) => {
                if let Type::ImplTrait(of) = &*typed.ty {
                    return fail(of.span(), "a kernel cannot be generic; name the type");
                }
            }
        }
    }
    Ok(())
}

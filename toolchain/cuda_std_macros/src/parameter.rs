// SPDX-License-Identifier: MIT OR Apache-2.0
//! `#[derive(Parameter)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error};

/// The implementations for a structure.
pub fn derive(item: DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(of) = &item.data else {
        return Err(Error::new(item.ident.span(), "only a structure can be a kernel's parameter"));
    };
    if !item.attrs.iter().any(has_fixed_layout) {
        let text = "host and GPU must agree where the fields are: add `#[repr(C)]`";
        return Err(Error::new(item.ident.span(), text));
    }
    if of.fields.is_empty() {
        return Err(Error::new(item.ident.span(), "a parameter without fields is none"));
    }
    let name = &item.ident;
    let (generics, of_type, conditions) = item.generics.split_for_impl();
    let stated = conditions.map(|it| &it.predicates).into_iter();
    let of_generics = item.generics.type_params().map(|of| &of.ident);
    let of_generics = of_generics.map(|ident| quote!(#ident: ::cuda_std::Passed));
    let fields = of.fields.iter().map(|field| &field.ty);
    let passed = fields.map(|ty| quote_spanned!(ty.span()=> #ty: ::cuda_std::Passed));
    let stated = stated.map(|them| quote!(#them)).filter(|it| !it.is_empty());
    let all: Vec<TokenStream> = stated.chain(of_generics).chain(passed).collect();
    Ok(quote! {
        // SAFETY: its layout is fixed, and each field can be passed.
        unsafe impl #generics ::cuda_std::Passed for #name #of_type where #(#all),* {}

        impl #generics ::cuda_std::OneParameter for #name #of_type where #(#all),* {}

        // SAFETY: it is passed as it is.
        unsafe impl #generics ::cuda_std::Parameter for #name #of_type where #(#all),* {
            type Passed = Self;
            type First = Self;
            type Second = ();
            #[inline(always)]
            unsafe fn join(first: Self, (): ()) -> Self {
                first
            }
            unsafe fn receive(passed: Self) -> Self {
                passed
            }
        }
    })
}

fn has_fixed_layout(attribute: &Attribute) -> bool {
    let mut is_fixed = false;
    if attribute.path().is_ident("repr") {
        // Other words, such as `align(16)`, do not matter.
        let _ = attribute.parse_nested_meta(|meta| {
            is_fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        });
    }
    is_fixed
}

//! What functions return, by their names: enough to know what a call may be replaced with.
//!
//! Names are not resolved. If two functions of one name return different things, a replacement may not compile, and
//! then its mutant is dropped.

use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type};

/// What a function returns, as far as mutants care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Returns {
    /// Nothing.
    Unit,
    /// A result without a value.
    Fallible,
    /// Yes or no.
    Bool,
    /// Anything else, or it depends on which function is meant.
    Other,
}

impl Returns {
    /// Reads a signature's return type.
    pub(crate) fn of(output: &ReturnType) -> Returns {
        let ReturnType::Type(_, of) = output else { return Returns::Unit };
        match &**of {
            Type::Tuple(tuple) if tuple.elems.is_empty() => Returns::Unit,
            Type::Path(path) => match path.path.segments.last() {
                Some(last) if last.ident == "bool" => Returns::Bool,
                Some(last) if last.ident == "Result" && is_first_unit(&last.arguments) => Returns::Fallible,
                _ => Returns::Other,
            },
            _ => Returns::Other,
        }
    }
}

/// Whether the first generic argument is `()`.
fn is_first_unit(arguments: &PathArguments) -> bool {
    let PathArguments::AngleBracketed(arguments) = arguments else { return false };
    let first = arguments.args.first();
    matches!(first, Some(GenericArgument::Type(Type::Tuple(tuple))) if tuple.elems.is_empty())
}

/// What functions return, by name.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<String, Returns>);

impl Names {
    /// Adds all functions of a file.
    pub(crate) fn read(&mut self, file: &syn::File) {
        self.visit_file(file);
    }

    /// What a call of this name returns.
    pub(crate) fn returns(&self, name: &str) -> Returns {
        self.0.get(name).copied().unwrap_or(Returns::Other)
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        let returns = Returns::of(&signature.output);
        let known = self.0.entry(signature.ident.to_string()).or_insert(returns);
        if *known != returns {
            *known = Returns::Other;
        }
        visit::visit_signature(self, signature);
    }
}

//! The places of a source file that mutants change.
//!
//! Left alone: tests, macros (and so assertions), attributes, patterns, types, and whatever the compiler evaluates:
//! constants, statics, `const fn`, lengths of arrays.

use super::names::{Names, Returns};
use super::operator::Operator;
use anyhow::{Context, Result};
use proc_macro2::TokenStream;
use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Lit, Signature, Stmt};

/// How the source is rewritten at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// An expression is replaced by another one.
    Expression,
    /// The expression of a statement is left out.
    Statement,
    /// A statement is replaced by another one, or left out.
    Statements,
    /// A return is inserted, behind the opening brace of a function.
    Entry,
}

/// A place that a mutant changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    /// The kind of change.
    pub(crate) operator: Operator,
    /// The shape of the change.
    pub(crate) shape: Shape,
    /// The bytes of the file that it concerns.
    pub(crate) range: Range<usize>,
    /// The line on which they begin, from 1.
    pub(crate) line: usize,
    /// The code, on one line.
    pub(crate) before: String,
    /// What takes its place, on one line; empty if nothing does.
    pub(crate) after: String,
}

/// Finds all points of a file.
///
/// # Errors
/// The file cannot be parsed.
pub(crate) fn points(text: &str, names: &Names) -> Result<Vec<Point>> {
    let file = syn::parse_file(text).context("it cannot be parsed")?;
    let mut search = Search { text, names, found: Vec::new(), taken: BTreeSet::new() };
    search.visit_file(&file);
    Ok(search.found)
}

struct Search<'a> {
    text: &'a str,
    names: &'a Names,
    found: Vec<Point>,
    /// Calls that are points already: where they begin and end.
    taken: BTreeSet<(usize, usize)>,
}

/// The name of the function that is called, if the expression is a call.
fn called(expr: &Expr) -> Option<String> {
    match expr {
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            Expr::Paren(paren) => match &*paren.expr {
                Expr::Field(field) => match &field.member {
                    syn::Member::Named(name) => Some(name.to_string()),
                    syn::Member::Unnamed(_) => None,
                },
                _ => None,
            },
            _ => None,
        },
        Expr::Try(inner) => called(&inner.expr),
        _ => None,
    }
}

/// The comparison that differs from this one in its bound.
fn exchanged(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        _ => return None,
    })
}

/// Whether an operand of a chain is a `let`: then its operator cannot be another one.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether an item is a test, or is left out of usual builds.
fn is_skipped(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let list = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        let names = |word: &str| list.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word);
        path.is_ident("test") || (path.is_ident("cfg") && (names("test") || names("miri")))
    })
}

impl Search<'_> {
    /// The code of a range, on one line.
    fn code(&self, range: Range<usize>) -> String {
        let code = &self.text[range];
        if !code.contains('\n') {
            return code.to_owned();
        }
        TokenStream::from_str(code).map_or_else(|_| code.to_owned(), |tokens| tokens.to_string())
    }

    fn add(&mut self, operator: Operator, shape: Shape, range: Range<usize>, after: String) {
        let line = self.text[..range.start].matches('\n').count() + 1;
        let before = self.code(range.clone());
        self.found.push(Point { operator, shape, range, line, before, after });
    }

    /// A statement that is a call: it can be left out, whatever it returns.
    fn statement(&mut self, expr: &Expr) {
        let Some(name) = called(expr) else { return };
        let range = expr.span().byte_range();
        self.taken.insert((range.start, range.end));
        if let Expr::Try(inner) = expr {
            let inner = inner.expr.span().byte_range();
            self.taken.insert((inner.start, inner.end));
        }
        self.add(Operator::of_call(&name).unwrap_or(Operator::Call), Shape::Statement, range, String::new());
    }

    /// A call that is part of an expression: what it returns decides what may take its place.
    fn call(&mut self, expr: &Expr) {
        let Some(name) = called(expr) else { return };
        let range = expr.span().byte_range();
        if !self.taken.insert((range.start, range.end)) {
            return;
        }
        let operator = Operator::of_call(&name);
        let (operator, afters): (Operator, &[&str]) = match (self.names.returns(&name), operator) {
            (Returns::Unit, operator) => (operator.unwrap_or(Operator::Call), &["()"]),
            (Returns::Fallible, operator) => (operator.unwrap_or(Operator::Call), &["Ok(())"]),
            (Returns::Bool, Some(Operator::Validate)) => (Operator::Validate, &["true"]),
            (Returns::Bool, _) => (Operator::Answer, &["true", "false"]),
            (Returns::Other, _) => return,
        };
        for after in afters {
            self.add(operator, Shape::Expression, range.clone(), (*after).to_owned());
        }
    }

    /// A number, one more and one less.
    fn number(&mut self, number: &syn::LitInt) {
        let Ok(value) = number.base10_parse::<u64>() else { return };
        let is_decimal = number.base10_digits().len() + number.suffix().len() == number.token().to_string().len();
        if value > 1 << 31 || !is_decimal {
            return;
        }
        let range = number.span().byte_range();
        let less = value.checked_sub(1);
        for value in [Some(value + 1), less].into_iter().flatten() {
            self.add(Operator::Constant, Shape::Expression, range.clone(), format!("{value}{}", number.suffix()));
        }
    }

    fn entry(&mut self, signature: &Signature, block: &Block) {
        let after = match Returns::of(&signature.output) {
            Returns::Unit => "return",
            Returns::Fallible => "return Ok(())",
            Returns::Bool | Returns::Other => return,
        };
        if block.stmts.is_empty() {
            return;
        }
        let at = block.brace_token.span.open().byte_range().end;
        let line = self.text[..at].matches('\n').count() + 1;
        let before = format!("fn {}", signature.ident);
        let (operator, shape) = (Operator::Early, Shape::Entry);
        self.found.push(Point { operator, shape, range: at..at, line, before, after: after.into() });
    }
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_skipped(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_skipped(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_skipped(&item.attrs) && item.sig.constness.is_none() {
            self.entry(&item.sig, &item.block);
            self.visit_block(&item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_skipped(&item.attrs) && item.sig.constness.is_none() {
            self.entry(&item.sig, &item.block);
            self.visit_block(&item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default
            && !is_skipped(&item.attrs)
            && item.sig.constness.is_none()
        {
            self.entry(&item.sig, block);
            self.visit_block(block);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(_)) = statement {
            self.statement(expr);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Call(_) | Expr::MethodCall(_) => self.call(expr),
            Expr::Lit(literal) => {
                if let Lit::Int(number) = &literal.lit {
                    self.number(number);
                }
            }
            Expr::Binary(binary) => {
                let range = expr.span().byte_range();
                let sides = [&binary.left, &binary.right].map(|side| self.code(side.span().byte_range()));
                if let Some(other) = exchanged(&binary.op) {
                    self.add(Operator::Compare, Shape::Expression, range, sides.join(&format!(" {other} ")));
                } else if let (BinOp::And(_), false) = (&binary.op, has_let(expr)) {
                    self.add(Operator::Logic, Shape::Expression, range, sides.join(" || "));
                } else if let BinOp::Or(_) = &binary.op {
                    self.add(Operator::Logic, Shape::Expression, range, sides.join(" && "));
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
}

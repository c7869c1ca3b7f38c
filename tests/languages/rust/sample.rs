use a::b::{self, c as d, e::*}; pub(crate) use x; extern crate y as z; use p::q;
/// Doc
#[derive(Debug)]
pub struct S<T> { pub a: i32, b: T }
struct T(i32); union U { a: i32 }
enum E { A, B(i32), C { x: i32 }, D = 1 }
trait Tr: Sup { const K: i32; type Ty; fn m(&self); fn d(&self) {} }
/* block */
impl<T> Tr for S<T> { type Ty = i32; const K: i32 = 1; fn m(&mut self, a: x::Y) { let q = 1; self.a = 2; self.a += 1; q = 2; q += 1; foo::bar(1); self.m(); g::<u8>(); x::g::<u8>(); self.h::<u8>(); std::println!("{}", q); vec![1]; match x { A::B => 1, _ => 2 } } }
impl S2 { fn new() -> Self { let S2 { q } = s; S2 { q } } } impl fmt::D for m::S3 {} impl m::S4<T> {} impl Tr for &S5 {} impl Tr for &S6<T> {} impl Tr for u8 {}
mod m { pub static X: i32 = 1; } mod other;
const C: usize = 1; type A = B; macro_rules! mac { ($x:expr) => { $x } }
fn f<'a>(a: &'a str) -> Result<(), E> { fn inner() {} S { a: 1 }; let (u, mut v) = w; let ref t = u; |x| x + 1; if a && b || c {} for i in x {} while a {} loop {} y()?; }
extern "C" { fn ext(a: i32); static ES: i32; }

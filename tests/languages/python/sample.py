from a.b import (c as d, e)
from . import *
from __future__ import annotations
import x.y as z, w
type A[T] = int
X, (Y, z) = 1, 2
foo: int = 3
# hello
def top(é=1): "one"; é.x = é; q = lambda s: s
@dec.ora("async")
@property
async def f(a: Foo[Bar], /, b: "X" | None=1, *args, c, **kw) -> List[int]: 
    """
    The doc.
    """
    x: int = 2
    with a as b: pass
    try: pass
    except E as e: pass
    def inner(): return 1
class K(Base, metaclass=M):
    '''K doc'''
    FIELD = 1
    a = b = 2
    @d
    def m(self): self.x = 1 if 2 else 3

for i in [n for n in y if n]: t += 1; self.t += 1; v.w, u = 1, 2
while (k := 1): del k
assert True and lam(lambda p=1, *r: p)
(m, o) = 1, 2
type B[T] = list[T]
def g(p: a.B, q: C | D, r: E[F] = 1, s=2): x.y()
class L(b.Base):
    """L doc"""
try:
    pass
except (A): pass
match x:
    case 1: pass
try: pass
except ValueError: pass
if a: pass
elif b: pass
with f() as h: pass
@plain
def z(): pass
def typed(d: D = 1, *args: int, **kw: str): pass
type Plain = int
@dec.bare
def bare(): pass

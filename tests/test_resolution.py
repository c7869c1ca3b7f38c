"""What a use of a name is known to mean: grades of occurrences over small projects with decoys of the same name."""

import time

import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from projects import opened, ready, write

PYTHON = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": "class Cart:\n    def total(self):\n        return 1\n\ndef price(x):\n    return x\n\nY = price(2)\n",
    "shop/other.py": "def price(x):\n    return 0\n",
    "a.py": "from shop.cart import price\nprint(price(1))\n",
    "b.py": "from shop.cart import price as p\np(1)\n",
    "c.py": "import shop.cart\nfrom shop import cart as k\nshop.cart.price(1)\nk.price(2)\n",
    "d.py": "from shop.other import price\nprice(1)\n",
    "e.py": "from elsewhere import price\nprice(1)\n",
    "f.py": "from shop import Cart\nCart.total(Cart())\n",
    "g.py": "def f(x):\n    return x.price\n",
    "shop/h.py": "from .cart import *\nprice(3)\n",
    "shop/sub/i.py": "from ..cart import price\nprice(4)\n",
}
TYPESCRIPT = {
    "src/cart.ts": "export function price(x: number) { return x; }\nexport class Cart { static total() { return 1; } }\n",
    "src/other.ts": "export function price(x: number) { return 0; }\n",
    "src/index.ts": "export * from './cart';\n",
    "src/a.ts": "import { price } from './cart';\nprice(1);\n",
    "src/b.ts": "import { price as p } from './cart.js';\np(1);\n",
    "src/c.ts": "import * as k from './cart';\nk.price(1);\n",
    "src/d.ts": "import { price } from './other';\nprice(1);\n",
    "app/e.ts": "import { price } from '../src';\nprice(1);\n",
    "app/f.ts": "import { Cart } from '../src/cart';\nCart.total();\n",
    "app/g.ts": "import { price } from 'prices';\nprice(1);\n",
}
GO = {
    "go.mod": "module example.com/owner/shop\n",
    "cart/cart.go": "package cart\n\nfunc Price(x int) int { return x }\n",
    "cart/use.go": "package cart\n\nvar y = Price(1)\n",
    "other/other.go": "package other\n\nfunc Price(x int) int { return 0 }\n",
    "a/a.go": 'package a\n\nimport "example.com/owner/shop/cart"\n\nvar A = cart.Price(1)\n',
    "b/b.go": 'package b\n\nimport k "example.com/owner/shop/cart"\n\nvar B = k.Price(1)\n',
    "c/c.go": 'package c\n\nimport "example.com/owner/shop/other"\n\nvar C = other.Price(1)\n',
}
JAVA = {
    "src/main/java/shop/cart/Cart.java": "package shop.cart;\n\npublic class Cart {\n  public static int total() { return 1; }\n}\n",
    "src/main/java/shop/cart/Near.java": "package shop.cart;\n\nclass Near { Cart c; }\n",
    "src/main/java/shop/other/Cart.java": "package shop.other;\n\npublic class Cart {\n  public static int total() { return 0; }\n}\n",
    "src/main/java/app/A.java": "package app;\n\nimport shop.cart.Cart;\n\nclass A { int x = Cart.total(); }\n",
    "src/main/java/app/B.java": "package app;\n\nimport shop.other.Cart;\n\nclass B { int x = Cart.total(); }\n",
    "src/main/java/app/C.java": "package app;\n\nimport static shop.cart.Cart.total;\n\nclass C { int x = total(); }\n",
    "src/main/java/app/D.java": "package app;\n\nimport shop.cart.*;\n\nclass D { Cart c; }\n",
}
RUST = {
    "src/lib.rs": "pub mod cart;\npub mod other;\nmod app;\n",
    "src/cart.rs": "pub fn price(x: i32) -> i32 { x }\n\npub fn twice() -> i32 { price(2) }\n",
    "src/other.rs": "pub fn price(x: i32) -> i32 { 0 }\n",
    "src/app/mod.rs": "use crate::cart::price;\n\nfn a() -> i32 { price(1) }\n",
    "src/app/b.rs": "use crate::cart;\n\nfn b() -> i32 { cart::price(1) }\n",
    "src/app/c.rs": "use super::super::other::price;\n\nfn c() -> i32 { price(1) }\n",
    "src/app/d.rs": "use crate::cart::price as p;\n\nfn d() -> i32 { p(1) }\n",
}
GO_ROOT = {
    "go.mod": "// The shop.\nmodule example.com/owner/shop/v2\n\ngo 1.22\n",
    "shop.go": "package shop\n\nfunc Price(x int) int { return x }\n",
    "shop_test.go": "package shop_test\n\nfunc Price() int { return 2 }\n\nvar z = Price()\n",
    "cmd/run.go": "package shopcmd\n\nfunc Price(x int) int { return 0 }\n",
    "a/a.go": 'package a\n\nimport "example.com/owner/shop/v2"\n\nvar A = shop.Price(1)\n',
    "b/b.go": 'package b\n\nimport shopcmd "example.com/owner/shop/v2/cmd"\n\nvar B = shopcmd.Price(1)\n',
    "c/c.go": 'package c\n\nimport "example.net/other/shop"\n\nvar C = shop.Price(1)\n',
}
GO_TYPES = {
    "go.mod": "module example.com/owner/shop\n",
    "cart/cart.go": "package cart\n\ntype Cart struct{ Total int }\n\ntype Other struct{ Total int }\n\nfunc (c *Cart) Sum(o *Other) int {\n"
    "\treturn c.Total +\n\t\to.Total\n}\n\nvar (\n\ta = Cart{Total: 1}\n\tb = []Cart{{Total: 2}}\n\to = Other{Total: 3}\n)\n",
    "a/a.go": 'package a\n\nimport k "example.com/owner/shop/cart"\n\nfunc f(c *k.Cart, o *k.Other, x any) {\n\tprint(c.Total)\n'
    "\tprint(o.Total)\n\tprint(x.Total)\n\td := k.Cart{\n\t\tTotal: 1,\n\t}\n\tprint(d.Total)\n}\n",
}
RUST_TYPES = {
    "src/lib.rs": "mod a;\nmod cart;\n",
    "src/cart.rs": "pub struct Cart { pub total: i32 }\n\npub struct Shop { cart: Cart }\n\nimpl Shop {\n  fn sum(&self, o: Other) -> i32 {\n"
    "    self.cart.total + 1;\n    o.total\n  }\n}\n\nimpl Cart {\n  fn new(total: i32) -> Self {\n    Self { total }\n  }\n}\n",
    "src/a.rs": "use crate::cart::{self, Cart};\n\nstruct Other { total: i32 }\n\nfn f(c: &Cart, o: Other) {\n  c.total;\n  o.total;\n"
    "  cart::Cart { total: 1 };\n  let Cart { total } = c;\n  Other { total: 2 };\n}\n",
}
NAMED_CRATE = {
    "Cargo.toml": '[package]\nname = "shop"\n\n[[bin]]\nname = "shop"\npath = "crates/core/main.rs"\n',
    "crates/core/main.rs": "mod cart;\nmod flags;\n",
    "crates/core/cart.rs": "pub fn price() {}\n",
    "crates/core/flags/mod.rs": "pub fn price() {}\n",
    "crates/core/flags/a.rs": "fn a() {\n  use crate::cart::price as p;\n  p();\n}\n\nfn b(p: fn()) { p() }\n",
}
WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["shop-core", "app"]\n',
    "shop-core/Cargo.toml": '[package]\nname = "shop-core"\n',
    "shop-core/src/lib.rs": "pub mod cart;\n\npub fn price() {}\n\npub fn name() { price() }\n",
    "shop-core/src/cart.rs": "pub fn price() {}\n\npub enum Kind { Open, Shut }\n\nmod tests {\n  use super::*;\n  fn t() { price() }\n}\n",
    "shop-core/src/a.rs": "use crate::price;\n\nfn a() { price(); crate::cart::price() }\n",
    "shop-core/src/b.rs": "use crate::cart::*;\n\nfn b() { price(); Kind::Open }\n\nfn o() { Open }\n",
    "shop-core/src/c.rs": "fn c() { use crate::cart::Kind::*; Open }\n\nfn d() { Open }\n",
    "app/Cargo.toml": '[package]\nname = "app"\n',
    "app/src/cart.rs": "pub fn price() {}\n",
    "app/src/main.rs": "mod cart;\n\nfn main() {\n  cart::price();\n  shop_core::cart::price();\n}\n",
    "app/src/f.rs": "use shop_core::cart;\n\nfn f(x: X) { x.cart.price }\n",
    "app/src/d.rs": "use shop_core::cart as k;\n\nfn d() { k::price() }\n",
    "app/src/e.rs": "use std::cart::price;\n\nfn e() { price() }\n",
}


@pytest.mark.parametrize(
    ("files", "name", "expected"),
    [
        (
            PYTHON,
            "shop.cart.price",
            """definition shop/cart.py:5 | import-resolved a.py:1 a.py:2 b.py:1 b.py:2 c.py:3 c.py:4 shop/h.py:2 shop/sub/i.py:1
            shop/sub/i.py:2 | same-module shop/cart.py:8""",
        ),
        (PYTHON, "Cart.total", "definition shop/cart.py:2 | import-resolved f.py:2"),
        (
            TYPESCRIPT,
            "src.cart.price",
            """definition src/cart.ts:1 | import-resolved app/e.ts:1 app/e.ts:2 src/a.ts:1 src/a.ts:2 src/b.ts:1 src/b.ts:2
            src/c.ts:2""",
        ),
        (TYPESCRIPT, "Cart.total", "definition src/cart.ts:2 | import-resolved app/f.ts:2"),
        (
            GO,
            "cart.Price",
            "definition cart/cart.go:3 | import-resolved a/a.go:5 b/b.go:5 | same-module cart/use.go:3",
        ),
        (
            JAVA,
            "shop.cart.Cart",
            """definition src/main/java/shop/cart/Cart.java:3 | import-resolved src/main/java/app/A.java:3 src/main/java/app/A.java:5
            src/main/java/app/C.java:3 src/main/java/app/D.java:5 | same-module src/main/java/shop/cart/Near.java:3""",
        ),
        (
            JAVA,
            "shop.cart.Cart.total",
            """definition src/main/java/shop/cart/Cart.java:4 | import-resolved src/main/java/app/A.java:5
            src/main/java/app/C.java:3 src/main/java/app/C.java:5""",
        ),
        (
            RUST,
            "cart::price",
            """definition src/cart.rs:1 | import-resolved src/app/b.rs:3 src/app/d.rs:1 src/app/d.rs:3 src/app/mod.rs:1
            src/app/mod.rs:3 | same-module src/cart.rs:3""",
        ),
        (GO_ROOT, "shop.Price", "definition shop.go:3 | import-resolved a/a.go:5"),
        (GO_ROOT, "shopcmd.Price", "definition cmd/run.go:3 | import-resolved b/b.go:5"),
        (
            WORKSPACE,
            "shop_core::cart::price",
            """definition shop-core/src/cart.rs:1 | import-resolved app/src/d.rs:3 app/src/main.rs:5 shop-core/src/a.rs:3
            shop-core/src/b.rs:3 | same-module shop-core/src/cart.rs:7""",
        ),
        (
            NAMED_CRATE,
            "cart::price",
            "definition crates/core/cart.rs:1 | import-resolved crates/core/flags/a.rs:2 crates/core/flags/a.rs:3",
        ),
        (WORKSPACE, "app::cart::price", "definition app/src/cart.rs:1 | import-resolved app/src/main.rs:4"),
        (
            WORKSPACE,
            "Kind::Open",
            "definition shop-core/src/cart.rs:3 | import-resolved shop-core/src/b.rs:3 shop-core/src/c.rs:1",
        ),
        (
            GO_TYPES,
            "Cart.Total",
            """definition cart/cart.go:3 | import-resolved a/a.go:6 a/a.go:10 a/a.go:12 | same-module cart/cart.go:8
            cart/cart.go:13 cart/cart.go:14""",
        ),
        (
            RUST_TYPES,
            "Cart::total",
            "definition src/cart.rs:1 | import-resolved src/a.rs:6 src/a.rs:8 src/a.rs:9 | same-module src/cart.rs:7 src/cart.rs:14",
        ),
    ],
    ids=[
        "python",
        "python-method",
        "typescript",
        "typescript-method",
        "go",
        "java",
        "java-method",
        "rust",
        "go-root",
        "go-package",
        "rust-workspace",
        "rust-named-crate",
        "rust-rival",
        "rust-variant",
        "go-field",
        "rust-field",
    ],
)
def test_uses_are_resolved_through_imports(folder, home, workers, files, name, expected):
    write(folder, files)
    with opened(folder, home, workers) as project:
        ready(project)
        answer = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": name})
    found = {}
    for one in answer["occurrences"]:
        found.setdefault(one["grade"], []).append(f"{one['file_path']}:{one['line_number']}")
    found.pop("name-only", None)
    assert found == {grade: places for grade, *places in (part.split() for part in expected.split("|"))}


def test_what_only_shares_the_name_is_last_and_says_so(folder, home, workers):
    write(folder, PYTHON)
    with opened(folder, home, workers) as project:
        ready(project)
        answer = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": "price"})
    grades = [one["grade"] for one in answer["occurrences"]]
    assert grades == sorted(grades, key=["definition", "import-resolved", "same-module", "name-only"].index)
    assert {one["symbol_fqn"] for one in answer["occurrences"] if one["file_path"] == "d.py"} == {"shop.other.price"}
    unknown = [one for one in answer["occurrences"] if one["grade"] == "name-only"]
    assert {one["file_path"] for one in unknown} == {"e.py", "g.py"}
    assert not any("symbol_fqn" in one for one in unknown)


def occurrences(project, name, **arguments):
    """Places by grade: `{"same-module": ["a.py:1", ...]}`, in the order of the answer."""
    answer = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": name, **arguments})
    found = {}
    for one in answer["occurrences"]:
        found.setdefault(one["grade"], []).append(f"{one['file_path']}:{one['line_number']}")
    return found


SCOPES = {
    # Members: by what stands before the dot.
    "cart.py": "class Cart:\n    def total(self):\n        return 1\n\n    def all(self, other):\n        total = self.total()\n"
    "        return total + other.total() + Cart.total(other)\n\nclass Other:\n    def all(self):\n        return self.total()\n",
    # A top-level name: by what hides it.
    "price.py": "def price(x):\n    return x\n\ndef f(price):\n    return price\n\ndef g():\n    def price():\n        return 2\n"
    "    return price()\n\ndef h():\n    return k(price=price(3), x=y.price)\n",
    "imports.py": "from price import price as p\nimport price\n\ndef f(p):\n    return p\n\nprint(p(1), price.price(2), self.price.price(3))\n",
    "Cart.java": "class Cart {\n  int total;\n  void set(int total) {\n    this.total = total;\n  }\n  int twice() {\n    total++;\n"
    "    return total;\n  }\n  class Line { int get() { return total; } }\n}\nclass Other { int total; int get() { return total; } }\n",
    "cart.go": "package cart\n\nfunc (c *Cart) Total() int { return 1 }\n\nfunc (c *Cart) All(o *Other) int {\n\treturn c.Total() + o.Total()\n}\n",
    "cart.ts": "export const query = 1;\n\ntest('a', () => {\n  const query = 2;\n  use(query);\n});\n\ntest('b', (query) => {\n"
    "  use(query);\n});\n\nuse(query);\nuse({ query: 3 });\n",
    "alias.ts": "import { query as q } from './cart';\n\ntest('a', () => {\n  const q = 2;\n  use(q);\n});\n\nuse(q);\n"
    "const query = 3;\nuse(query);\n",
}


@pytest.mark.parametrize(
    ("name", "sure"),
    [
        ("Cart.total", "cart.py:6 cart.py:7"),
        ("price.price", "price.py:13 imports.py:1 imports.py:7"),
        ("Cart.Cart.total", "Cart.java:4 Cart.java:7 Cart.java:8 Cart.java:10"),
        ("Cart.Total", "cart.go:6"),
        ("cart.query", "cart.ts:12 alias.ts:1 alias.ts:8"),
    ],
    ids=["python-member", "python-local", "java", "go", "typescript"],
)
def test_a_use_is_sure_only_where_scope_says_what_it_means(folder, home, workers, name, sure):
    write(folder, SCOPES)
    with opened(folder, home, workers) as project:
        ready(project)
        language = sure.split(".", 1)[1].split(":")[0].replace("py", "python").replace("ts", "typescript")
        found = occurrences(project, name, language=language)
    assert {*found.get("same-module", ()), *found.get("import-resolved", ())} == set(sure.split())


FAR = {
    "cart.py": "class Cart:\n    def total(self):\n        return 1\n",
    **{f"a{number}.py": "x.total()\n" for number in range(9)},
    "b.py": "from cart import Cart\nc = Cart()\nc.total()\n",
}


def test_uses_that_do_not_name_the_asked_type_come_last_but_are_there(folder, home, workers):
    write(folder, FAR)
    with opened(folder, home, workers) as project:
        ready(project)
        pages, cursor = [], {}
        while True:
            answer = TOOLS["find_symbol_occurrences"].call(
                Call(View(project)), {"symbol_name": "Cart.total", "max_tokens": 200, **cursor}
            )
            pages += [f"{one['file_path']}:{one['line_number']}" for one in answer["occurrences"]]
            if "next_cursor" not in answer:
                break
            cursor = {"cursor": answer["next_cursor"]}
    assert pages == ["cart.py:2", "b.py:3", *(f"a{number}.py:1" for number in range(9))]


NAMES = {
    "src/cart.test.ts": "export const total = 1;\n",
    "src/cart.ts": "export const total = 2;\n",
    "src/index.ts": "export const all = 3;\n",
    "src/a.ts": "import { total } from './cart.test';\nuse(total);\n",
    "src/type.ts": "export interface Options { retry?: (x: number) => boolean }\n",
    "src/options.ts": "use({ retry: (x) => true });\n",
}


def test_dots_in_a_files_name_part_names_and_its_own_name_may_be_asked_for(folder, home, workers):
    write(folder, NAMES)
    with opened(folder, home, workers) as project:
        ready(project)
        assert occurrences(project, "src/cart.test.total") == {
            "definition": ["src/cart.test.ts:1"],
            "import-resolved": ["src/a.ts:1", "src/a.ts:2"],
        }
        assert occurrences(project, "src/index.all") == {"definition": ["src/index.ts:1"]}


def test_a_key_of_an_object_is_what_its_type_asks_for_and_not_what_its_file_is_called(folder, home, workers):
    write(folder, NAMES)
    with opened(folder, home, workers) as project:
        ready(project)
        assert occurrences(project, "Options.retry") == {
            "definition": ["src/type.ts:1"],
            "name-only": ["src/options.ts:1"],
        }


OLDER = {
    "cart/__init__.py": "from .price import total\n",
    "cart/price.py": "def total():\n    return 1\n",
    "cart/v1/price.py": "def total():\n    return 2\n",
    "a.py": "from cart import total\ntotal()\n",
    "b.py": "from cart.v1.price import total\ntotal()\n",
}


def test_a_name_that_is_one_definitions_own_means_no_other(folder, home, workers):
    write(folder, OLDER)
    with opened(folder, home, workers) as project:
        ready(project)
        found = occurrences(project, "cart.price.total")
        gapped = occurrences(project, "cart.total")
    assert found["definition"] == ["cart/price.py:1"]
    assert found["import-resolved"] == ["a.py:1", "a.py:2", "cart/__init__.py:1"]
    assert gapped["definition"] == ["cart/price.py:1", "cart/v1/price.py:1"]


def test_a_line_of_a_megabyte_is_graded_in_time(folder, home, workers):
    line = "other.total(" + "a" * 30_000 + "); " + "this.total(); " * 20_000
    write(folder, {"cart.ts": "class Cart {\n  total() {\n" + line + "\n  }\n}\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        call = Call(View(project))
        answer = TOOLS["find_symbol_occurrences"].call(call, {"symbol_name": "Cart.total", "max_tokens": 2_000})
        assert not call.timed_out()
    assert {one["grade"] for one in answer["occurrences"]} == {"definition", "same-module"}


MANY = 8_000
MANY_OF_A_KIND = {
    "locals": {"a.js": "function cart() {}\n" + "function f() { let cart = 1; return cart; }\n" * MANY},
    "blocks": {"a.js": "function cart() {}\nit('', () => {\n" + "  let cart = 1; use(cart);\n" * MANY + "});\n"},
    "imports inside functions": {
        "m.py": "def cart(): pass\n",
        "a.py": "def f():\n    from m import cart\n    return cart()\n" * MANY,
    },
    "imports of modules": {
        "y.ts": "export function cart() {}\n",
        "a.ts": "import cart, { cart as c } from './z/y/x';\n" * MANY,
    },
    "fields": {"a.py": "class C:\n    cart: int\n    def f(self, cart): return self.cart()\n" * MANY},
    "dots above": {"a.js": "class C { cart() {\nx" + ".a" * 400_000 + "\n.cart(); } }\n"},
}


@pytest.mark.parametrize("files", MANY_OF_A_KIND.values(), ids=MANY_OF_A_KIND)
def test_a_generated_file_is_graded_in_time(folder, home, workers, files):
    write(folder, files)
    with opened(folder, home, workers) as project:
        ready(project)
        call = Call(View(project), ends_at=time.monotonic() + 5)
        answer = TOOLS["find_symbol_occurrences"].call(
            call, {"symbol_name": "cart", "find_definitions": False, "max_tokens": 200}
        )
        assert not call.timed_out()
        assert answer["occurrences"]


def test_an_alias_of_an_overloaded_function_is_told_once(folder, home, workers):
    overloads = "export function cart(x: number): void;\nexport function cart(x: string): void;\nexport function cart(x: any) {}\n"
    write(folder, {"a.ts": overloads, "b.ts": "import { cart as c } from './a';\nc(1);\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        assert occurrences(project, "cart")["import-resolved"] == ["b.ts:1", "b.ts:2"]


@pytest.mark.parametrize("manifest", ["[package]\nname = 'x'\nx = " + "[" * 100_000, "[" + "a." * 300_000 + "a]\n"])
def test_a_manifest_that_no_parser_survives_is_passed_over(folder, home, workers, manifest):
    write(folder, {"Cargo.toml": manifest, "src/lib.rs": "fn cart() {}\nfn f() { cart(); }\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        assert occurrences(project, "cart")["same-module"] == ["src/lib.rs:2"]

import D, { a as b, c } from './foo'
import * as ns from "m"
import './side'
export { p as q } from './bar'; export * from './baz'; export * as all from './all'
const r = require('mod'), { s1, k: s2 } = require('m2')
/** The class. */
export default class A extends B { static x = 1; #p; get y() { return this.#p } constructor(a) { super(a); } foo = () => 1 }
class C2 extends n.B {}
export const f = async (x = 1, ...rest) => { let u = 1; const { k, l: m, d = 2 } = o; u++; o.n--; o.n = u; u += 1; o.n += 1 }, g = function () {}
const h = x => x
function* gen({ a, b }, [c1, c2]) { if (a && b) { return } for (const t of ts) {} for (w of ts) {} try {} catch (e) {} }
function plain(a, b = 1) { let inner = 2; var v2 = a ? b : inner; while (1) {} do {} while (0); switch (a) { case 1: } }
o.p.q = function named(z) {}; F.prototype.g = () => 2; w1 = (a) => a; F.h = x => x
module.exports = { h() {}, i: function () {}, j: () => 1, k: 3, l: x => x, short }
new Foo(); new ns.Bar(); tag`x`; a.b?.c(); call(1)
let v1, v3 = 3; var v4 = 1
const { d1, d2: d3 } = obj, [e1, e2 = 1] = arr
const K = class Named { m() {} }
@deco class Deco { @n.deco m() {} @other() x() {} }
const view = <Panel a={v1}><ns.Item /><Leaf /><ns.Box></ns.Box></Panel>
const gf = function* () {}
class Keys { [Symbol.iterator]() {} "dashed-name"() {} [computed()]() {} [computed()] = 1; }
if (Keys) { const inBlock = 1; const alsoDefined = () => inBlock; } else { let inElse; }
for (let inFor = 0; inFor < 1; inFor++) { const inLoop = inFor; }
module.exports = function () {};
function Made() { this.held = function () {}; return class Returned { inside() {} }; }
const quoted = { "with-dash": function () {}, "and arrow": () => 1 };
Made.Kept = class Kept {};
Made[0].clicked = function () {};
module.exports = function rendered() {};

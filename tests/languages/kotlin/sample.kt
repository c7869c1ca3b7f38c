@file:JvmName("Sample")
package a.b
import x.y.Z
import x.y.*
import x.y.Q as R
/** Doc of A. */
@Ann(1)
@Other // why
public abstract class A<T : B>
@Inject
internal constructor(val x: Int = f { val q = 1 }, private var y: String = "a", vararg z: Foo) : Base(x), I by z {
    companion object { const val K = 1; fun make() = A() }
    companion object Named : F()
    init { val q = 1; run { q } }
    constructor(a: Int) : this(a, "b") { foo() }
    // Doc of prop
    var prop: Int = 1
        get() = field
        private set(value) { field = value }
    val lazyProp by lazy { val q = 2; q }
    val chosen = if (x > 1) { val q = 3; q } else when (x) { 1 -> 2; else -> 3 }
    val (p, qq) = pair
    override suspend fun m(a: Int, vararg b: String = "x"): Int = if (a > 1 && b || c) 2 else a ?: 3
    inner class In
}
private enum class E(val n: Int) : I { AA(1) { override fun f() {} }, BB; fun g() {} }
data class D(val `in`: Int)
sealed interface S { fun x(): Int }
fun interface FI { fun call() }
data object O : A() { fun y() {} }
annotation class AN(val s: String)
typealias TA<T> = List<T>
context(c: Ctx)
fun String?.ext(b: Int): Int { val local = 1; fun inner() {}; return this.b }
val Map.Entry<K, V>.extp: Int get() = 1
const val CC = 1
val UPPER = 0b01
var top = object : Foo by bar {
    fun `a name`() {}
    val av = $$"x"
}
inline fun <reified T> r(): T {
    when (x) {
        is A -> "c"
        in 1..<2 -> 3
        else -> 4
    }
    for (i in 1..2) { while (a) {} }
    do {} while (x)
    try { f() } catch (e: Ex) {}
    list.map { it -> it + 1 }.filter(::foo).also(A<*>::bar)
    x = 1; a.b = 2; x += 1; x++; --y; arr[1] = 2
    val f = fun(x: Int): Int { return 1 }
    "s $x ${y.z()}"
    val t = A<Int>(1); a is B; a infix b; `in`
}

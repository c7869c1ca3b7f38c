package a.b
import x.y.Z
import x.y.{P, Q => R, S as T, U => _, _}
import x.y.*, z.w
/** Doc of A */
@deprecated("x")
private[a] abstract class A[T <: B](val x: Int, private var y: String = "a", z: Foo)(implicit ec: EC) extends Base(x) with I { self: X =>
  type TT = Int
  val a, b = 1
  val (p, q) = pair
  val Some(r) = s
  val (p2: Int, q2) = pair
  val u: A | Null = null
  val :: = x
  var v: Int = _
  var v1, v2 = 0
  var (v3, v4) = pair
  // Doc of l
  lazy val l: String = { val loc = 1; loc.toString }
  def this(a: Int) = this(a, "x")
  override def m[U](a: Int, b: => String)(implicit c: C): Int = { val local = 1; def inner() = 2; if (a > 1) 1 else 2 }
  def abs(x: Int): Int
  val av: Int
  var aw: Int
  def +(o: A) = 1
  def `quoted id` = 1
  def x_=(v: Int): Unit = { a.b = v; q = 1; q += 1; extension.f(`quoted id`) }
  implicit val imp: Foo = new Foo { def anon = 1; val anv = 2 }
}
case class D[T](a: Int, b: String)(implicit c: C)
case class ::(head: Int)
trait Tr[+F[_]] { def t: F[Int] }
object O extends A(1) { val MAX = 1; test("x") { val q = 1 } }
package object po { type X = Int }
case object +:
enum Color(val rgb: Int) {
  case Red extends Color(1)
  case Green, Blue
  case Mix(a: Int)
}
extension [T](xs: List[T]) def ext(a: Int): Int = 1
given intOrd: Ord[Int] with
  def compare(x: Int, y: Int) = 1
given Foo[String] with {
  def bar = 1
}
export o.e
object M {
  def r(): Unit = {
    for { i ← xs; j = i if i > 1 } yield i
    while (a) {}
    do { } while (b)
    try { f() } catch { case e: Ex ⇒ 1 }
    xs.map(x => x + 1).filter((y: Int) => y > 1
      || y < 0)
    xs map { case (k, v) => k }
    new Foo(1) with B { var w = 1 }; new Foo(1) with B with C { def mixed = 1 }
    new Foo(1); new Foo[Int](1); Foo[Int](1); a.g[Int](1); s"$x ${y.z}"
  }
}
class C3(a: Int):
  def f =
    val y = 1
    y

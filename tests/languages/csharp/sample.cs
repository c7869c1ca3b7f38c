extern alias Foo;
global using System;
using static System.Math;
using A = System.Collections.Generic.List<int>;
using X.Y;
[assembly: Foo("hidden")]
namespace N.M {
/// <summary>
/// Doc of C.
/// </summary>
[Serializable, System.Obsolete("hidden")]
public abstract partial class C<T> : B<T>, I where T : Base, new() {
  public const int X = 1, Y = 2;
  private static readonly int _f = 1, _g;
  public event EventHandler E1, E2;
  public event EventHandler E3 { add { } remove { } }
  public required Foo.Bar P { get; private set; } = 3;
  public D Q => a ?? 1;
  int I.R { get { if (b) { return 1; } return 2; } set { x = value; } }
  public D this[int i, string s] { get => 1; }
  /// <summary>Makes it.</summary>
  public C(int a, params string[] b) : base(a) { }
  ~C() {}
  static C() {}
  public static C operator +(C a, C b) => a;
  public static implicit operator int(C c) { return 1; }
  public static explicit operator D(C c) { return 1; }
  public D Plain() { return null; }
  public async Task<int> M<U>(D a, ref U b, out int c, int d = 1) where U : class {
    if (a > 1 && b || c) {} else if (x) {}
    for (int i = 0; i < 1; i++) {} foreach (var q in qs) {} foreach (D q in qs) {} foreach (var (q1, q2) in qs) {}
    while (a) {} do {} while (b);
    switch (a) { case 1: break; case int z when z > 1: default: break; }
    var s = a switch { 1 => 2, > 3 => 4, C { P: var p } => 4, D dd => 3, D or E => 5, _ => 3 };
    try { } catch (E e) when (e.x) { } finally {}
    var l = x?.Foo(1)?.Bar<int>(2); var n = new L<int>(a) { P = 1, Q = {} }; L m = new(1); var an = new { A = 1, b.C };
    Func<int> f = x => x; f = (x, y) => { return 1; }; f = delegate(int x) { return 1; }; f = static (int x) => x;
    D Local(int x) => x; void Local2() {}
    a = b ? c : d; a += 1; this.f = 2; a.b.c = 1; a++; --a; a.b++; --this.f; (a, b) = (b, a); (D aa, var bb) = t; x[1] = 2;
    foo.Bar<int>(1); Bar<int>(); foo(); M.N.O(); nameof(x); F(typeof(D)); F(default(D)); y = (D)x; y = x as D; y = x is D; y = x is D t1;
    using var r = o(); using (var r2 = o()) {} lock (x) {}
    var qq = from a1 in b1 where a1 select a1; new V(); new Q.W(); new Q.W<int>();
    M(out var ov, name: 3); D? nn; D[] arr; (D a, string b) tup; ref D rr = ref x; var str = $"hidden {b} hidden"; // hidden
  }
  void I.M2() {}
  class Inner {}
  delegate D D1(int a);
#if DEBUG
  struct S1 { int inDebug; }
#else
  struct S2 { int inRelease; }
#endif
#if NET
  void Split(int net) {
#else
  void Split(int other) {
#endif
    F(@"hidden ""#if""");
  }
}
public interface I<in T> : J { int IP { get; } void IM(); event E Ev; }
public readonly ref struct S(int a) { public int x; }
public enum En : byte { EA, EB = 1, [Foo] EC }
public record R(int RA, string RB = "x") : Base(RA) { public int Z; }
public record struct RS(int SA); record class RC;
public class PC(int a, string b) : Base(a) { }
}
namespace Single { class InSingle {} }
namespace Filed;
class InFiled {}
namespace Q.Filed2;
class InFiled2 {}

package a.b;
import a.b.C; import static x.Y.*; import static x.Y.z;
/** Class K. */
@Ann("x") public abstract class K<T> extends B<T> implements I, J { private static final int X = 1, Y[] = {}; int f; @Override public <U> U m(final int a, String... b) throws E { int q = 1; Runnable r = () -> { int z = 1; }; new K<String>() { int anon; void am() {} }; x.foo(); this.f = 1; q = 2; q++; this.f++; new L(); new p.L(); fn(A::b); fn(x -> x); fn((x, y) -> x); for (int i : is) {} try (R s = o()) {} catch (E e) {} return a > 1 && q > 1 ? 1 : 2; } K(int a) { if (a > 1) {} for (;;) {} while (true) {} }
enum En { A, B(1) { void z() {} }; int f; } interface In { void g(); int C = 1; default void d() {} } record R(int a, B b) { R { } } @interface An { int v() default 1; } static { do { switch (x) { case 1: } } while (true); } /* a */ // b
}

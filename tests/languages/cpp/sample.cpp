#include "x.h"
BEGIN_NAMESPACE
namespace a::b { inline namespace c { class X final : public Y<int>, private q::Z { public: X(); explicit X(int a) : m_(a) {} ~X() {} int f() const override; virtual int g() = 0; int h() { return 1; } bool operator==(const X& o) const { return true; } operator bool() { } static constexpr int k = 1; int m_{0}, n; template<typename T> T t(T&& x) noexcept { } using U = int; friend class F; enum class E2 : int { P }; typedef int td; struct In { int i; }; int *p() { } void lock() LOCKS(m_) { } }; } }
template <class T> X<T>& a::X<T>::foo(int a) { x.y(); z::w(); o::z::w(); x.t<int>(); z::u<int>(); for (auto i : is) {} for (auto& j : is) {} try {} catch (E& e) {} new Foo(1); if (a && b) {} }
X::X() : m_(1) {} X::~X() {} bool X::operator<(const X&) { }
template <> struct hash<X> { size_t operator()(X) { } }; template <> class chash<X> { int ci; };
class O::Inner { int oi; }; struct O::SInner { int si; }; class { int anon; } instance;
using std::string; using namespace foo; using V = vector<int>; namespace al = a::b;
auto lam = [](int q) { int loc; return q; };
extern "C" { int cfun(void) { } }
const int gc = 1; constexpr auto gx = 2; static int gs(1); Foo obj{1};
template <typename T> concept C2 = requires(T t) { t.x(); };
auto f2() -> int { return foo<int>(1); }
class FOO_EXPORT Exported : public Base { int e; };
import std;

// What C has, too.
#define FOO 1
#define MAX(a,b) ((a) > (b) ? foo(a) : b) // "no"
#include <linux/x.h>
static const struct foo *a[3] = { .x = 1 }, *b;
typedef unsigned int (*fn_t)(int a);
typedef struct { int x:3; char *n[4]; void (*cb)(int q); union { int u1; }; struct in { int z; } m; } T_t, *T_p;
union un { int q; };
enum e { A, B = 2 };
struct fwd;
extern int ext;
/* The function
 * f. */
static __always_inline int *f(struct foo *p, int (*cb)(void), ...) { goto out; p->a = 1; x.y(); int loc, *lp = 0, lq = 1; a[1] = 2; p->b[1] = 3; *p = 1; loc = 2; loc++; p->a++; out: return A; }
int proto(int);
int (*fp)(int);
SYSCALL_DEFINE2(foo, int, a, char *, b)
{ int not_global; return 0; }
module_init(xx);
static DEFINE_MUTEX(m1);
int __init g(void) { if (a && b || c) for (;;) while (1) do { } while (0); switch (a) { case 1: ; } return a ? sizeof(struct foo) : b(1); }
int counter __read_mostly = 1;
int h(void)
{
#ifdef X
	if (a) {
#else
	if (b) {
#endif
	}
}
int after(void) { return 1; }
#ifndef CLOSES
#define CLOSES \
  } /* of the namespace */ \
  }
#endif
#define COMPARE(a) \
  if (a) /* hidden */ { \
    int hidden; }
class Widget {
  Q_OBJECT
public slots:
  void shown() {}
PRIVATE_UNLESS_TESTED:
  int state;
  DEPRECATED_FOR(3.1.0, items(x, 2))  // why
  int old() { return 1; }
};
TEST_F(Suite, Prunes) { state(); }
MODULE(loaded, m) { state(); }
TEST_CASE("has no name") { state(); }
class Friendly { friend outer::Widget; EXPORTED friend bool operator< (const Widget & a, double b); };
class LOCKABLE WARN_UNUSED Locked {
  CONSTEXPR Locked(int a)
#if A
      : a_(a)
#endif
  {
  }
  explicit FORCE_INLINE Locked(long a) {}
  explicit operator bool() const { return true; }
};
NUMBERED(double);

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
struct stats {
	DECLARED_BY_MACRO(mutex)
	/* why */
	int base;
};
TEST_BEGIN(test_reuse) {
	int hidden;
}
TEST_END
enum last { FIRST_OF_ALL,
	LAST_OF_ALL
};
enum remarked {
	FIRST_REMARKED, /* why */
	/* and */
	LAST_REMARKED
};
static __be32 encoded(int a) { return a; }
static int chosen(int a)
{
#ifdef X
	if (a)
#else
	if (!a)
#endif
		return 1;
	return 0;
}
#define REMARKED (8 /* why */ + 1)
typedef int (WINAPI *convention)(int a);

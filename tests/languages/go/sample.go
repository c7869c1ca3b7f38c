package main
import ( "fmt"; y "gopkg.in/yaml.v3"; . "os"; _ "embed" )
// T is a type.
type T struct { A, B int; *Emb; pkg.Emb2; c func(x int) }
type I interface { M(a int) error; Emb }
type X = Y
type Num int
const ( C1 = iota; C2 )
var a, b = 1, 2
var _ I = (*T)(nil)
func (t *T[K]) F(a, b int, c ...string) (r int, err error) { x := 1; y, z = 2, 3; t.A = 1; t.A++; x--; t.B--; x++; if v := f(); v && x || y {} ; for i, k := range m {}; t.c(1); T{A: 1}; return }
func (t T) V() {}
func (t *T) P() { switch q := x.(type) { case int: }; select { case v := <-c: } ; (f)(1) }
func (t T[K]) W() {}
func G[K any](x pkg.T) { var q int; const lc = 1; switch { case 1: } ; select { case <-c: } ; func() { var u int }() }

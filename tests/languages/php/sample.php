<html><?= $x ?>
<?php
declare(strict_types=1);
namespace A\B;
use C\D;
use C\E as F;
use function C\f as g, C\h;
use C\{G, H as I, function j};
use Plain;
require_once __DIR__ . '/a.php';
require('b.php');
include 'c.php';
include_once "d.php";
const TOP = 1, TOP2 = 2;
define('DEFINED', 1);
\define("QUOTED", 1);
not_define('hidden', 1);
/** Doc of K.
 * more */
#[Attr(1), \A\Attr2]
abstract class K extends L implements M, \A\N {
  use T1, \A\T2 { T1::a insteadof T2; }
  const CC = 1;
  final public const string CD = 'x', CE = 2;
  public static ?int $p = 1, $q;
  private readonly array|null $r;
  public string $hook { get => $this->x; set(string $v) { $this->x = $v; } }
  /** Makes it. */
  public function __construct(private readonly int $promo, int $plain = 0) { parent::__construct(); }
  abstract protected function abs(int ...$a): static;
  #[Pure] final public static function stat(array &$b, ?Foo $f = null, int|\A\Foo $u = 1): ?Foo {
    if ($a && $b || $c and $d) {} elseif ($e) {} else if ($f) {}
    for ($i = 0; $i < 1; $i++) {} foreach ($as as $k => $v) {} foreach ($as as $v) {} foreach ($as as &$v) {} while (1) {} do {} while (1);
    switch ($a) { case 1: break; default: }
    $m = match(true) { $a, 1 => 2, default => 3 };
    try {} catch (Foo | Bar $e) {} finally {}
    $this->p = 1; self::$p = 2; $x['a'] = 1; $this->q[] = 1; $x .= 'a'; $this->q .= 'a'; self::$p ??= 1; [$l1, $l2] = $arr; list($l3) = $arr;
    $x++; --$this->p; self::$p++; $ref = &$x; $this->ref = &$x; unset($x);
    $f = function ($a, &$b) use ($c, &$d): int { return 1; }; $g = fn($x) => $x;
    $n = new Foo(1); new static; new $cls(); new \A\B\C(); $anon = new class(1) extends Foo { public $ap; function am() {} };
    foo(1, name: 2, ...$args); \A\foo(); $f(1); $this->meth(1); $o?->meth2(); $o?->prop; Foo::stat(); \A\Foo::stat(); Foo::$sp; Foo::BAR; \A\Foo::BAR;
    $x instanceof Foo; $x instanceof \A\Foo; echo "hidden $b {$c->d} $f[0] $g->h"; // hidden
    $h = <<<EOT
      hidden $var {$v->w}
      EOT;
    static $st = 1; $a ? $b : $c; $parent = $this;
  }
  function nested() { function inner() {} class IC {} }
}
interface IF1 extends IF2, \A\IF3 { public function im(); }
trait TR { public $tp; }
enum En: string implements IF1 { case EA = 'a'; const EC = self::EA; public function em() {} }
function &topf(int $a): void {}
$topvar = $chained = 1;
[$listed] = f();
$referred = &$topvar;
$topfun = function() { $loc = 1; };
if (!function_exists('cf')) { function cf() {} }
namespace Other { function of() {} }
namespace Last;
?>
<b><?php if ($a): ?> hidden <?php endif; ?>

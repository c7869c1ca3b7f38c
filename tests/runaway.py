"""Patterns that run away, and the texts in which they do: tests/e2e/test_runaway.py sends some, benchmarks/redos.py all."""

REFUSED = {
    "[a-z]{1000}{1000}": "[a-z]{1000}{1000}",
    "counts that multiply": "(?:[a-z]{1000}){1000}",
    "1 MB of letters": "a" * 1_000_000,
    "1 MB of parentheses": "(" * 1_000_000,
    "1 MB of options": "a|" * 500_000,
    "1 MB of look-aheads": "(?=a)" * 200_000,
    "100 KB of classes": r"\w" * 50_000,
    "deep": "(?:" * 5_000 + "a" + ")*" * 5_000,
}
"""Too large: an error that says so, at once."""

LINEAR = {
    "(a+)+$": "(a+)+$",
    "(a|aa)+$": "(a|aa)+$",
    "(.*)*x": "(.*)*x!",
    "(x+x+)+y": "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]": "^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(\w+\s?)*!$": r"(\w+\s?)*!$",
    "a?{500}a{500}": "(?:a?){500}a{500}!",
    "[a-z]{1000}": "[a-z]{1000}!",
    r"\w{500}": r"(\w{500}|\W{500}!)",
    "(?i)sk, 20 KB": "(?i)" + "sk" * 10_000,
    "100 KB of options": "|".join(f"word_{number}" for number in range(8_500)),
    "90 KB of stars": "(?:a*b*)*" * 10_000,
    "many nested counts": "(?:(?:(?:(?:a|b){1,10}|c){1,10}|d){1,10}|e)*!",
}
"""Any engine of linear time answers these, some of them slowly."""

BACKTRACKING = {
    "(a+)+$, ahead": "(?=(a+)+$)a",
    "(a+)+$, not ahead": "(?!(a+)+$)b",
    "(a|aa)+$, ahead": "(?=(a|aa)+$)a",
    "(x+x+)+y, ahead": "(?=(x+x+)+y)x",
    r"(.*)*\1!, ahead": r"(?=(.*)*\1!)",
    r"(\w+)+\1": r"(\w+\s?)+\1$(?<!b)",
    r"(a*)*\1c": r"(?=(a*)*\1c)",
    r"(a+)(a+)(a+)\3\2\1": r"(?=(a+)(a+)(a+)\3\2\1c)",
    "(a+)+$, atomic": "(?>a)(?=(a+)+$)",
    "[a-z]{500} twice": r"([a-z]{500})(?=[a-z]*\1c)",
    r"\w{200}": r"(?=\w{200}!)",
    "100 KB of look-aheads": "(?=a)" * 19_000,
    "90 KB of stars, ahead": "(?=" + "(?:a*b*)*" * 10_000 + "!)",
    "40 KB of back-references": "(a*)" + r"\1" * 20_000 + "$",
    "100 KB of classes, ahead": "(?=" + "[^a]" * 24_000 + ")",
}
"""These run away: what could be decided is answered; where the pattern takes too long to compile, an error says so."""


def files():
    """`{name: text}`: twenty files with lines that keep such patterns busy, and one of ordinary lines after them."""
    hostile = [
        "a" * 40 + "b",
        "a" * 30_000 + "b",
        "x" * 5_000,
        "aaaa " * 5_000,
        "abcdefghij" * 2_000,
        "é" + "a" * 5_000,
        "a" * 300_000,
    ]
    return {f"hostile/{number}.txt": "\n".join([*hostile, "the end"]) for number in range(20)} | {
        "zz.txt": "an ordinary line\nxxy and aa!\n"
    }

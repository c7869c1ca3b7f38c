; Nearly everything is a call. The called word decides what it defines (elixir.py): @form, @attribute, @used, @record.
(call target: (identifier) @call) @form
(unary_operator operator: "@" operand: (call)) @attribute
(unary_operator operator: "@" operand: (identifier) @used)
(call target: (dot left: (alias) right: (identifier)) (arguments . (atom))) @record
(comment) @comment

(do_block (stab_clause) @branch)
(else_block (stab_clause) @branch)
(rescue_block (stab_clause) @branch)
(catch_block (stab_clause) @branch)
(binary_operator operator: ["&&" "||" "and" "or"]) @branch

; References.
(identifier) @read
(alias) @alias
(struct (alias) @struct)

(binary_operator left: [(identifier) @write (tuple (identifier) @write) (list (identifier) @write)] operator: ["=" "<-"])
(stab_clause left: (arguments [(identifier) @write (tuple (identifier) @write)]))
(call target: (dot right: (identifier) @call) (arguments))

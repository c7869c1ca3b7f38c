; Definitions. Aliases are told by the word that is called (bash.py).
(function_definition name: (word) @name.function body: (_) @body) @element
(declaration_command) @outer
(variable_assignment name: (variable_name) @name.variable "=") @element
(declaration_command "readonly" (variable_assignment name: (variable_name) @name.constant))
(declaration_command ["declare" "typeset"] (variable_name) @element @name.variable)
(command (variable_assignment name: (variable_name) @prefixed))
(declaration_command "local" (variable_assignment name: (variable_name) @prefixed))
(comment) @comment
[(ERROR) (MISSING)] @broken

[
  (if_statement) (elif_clause) (for_statement) (c_style_for_statement) (while_statement) (case_item) (ternary_expression)
  (list ["&&" "||"]) (binary_expression operator: ["&&" "||"])
] @branch

; References.
(variable_name) @read

(variable_assignment name: (variable_name) @write)
(variable_assignment name: (subscript name: (variable_name) @write))
(declaration_command ["declare" "typeset" "local"] (variable_name) @write)
(for_statement variable: (variable_name) @write)
(postfix_expression (word) @write)
(unset_command (variable_name) @write)

(command_name (word) @call)

; What JavaScript and TypeScript share.

; Definitions.
(export_statement) @outer
(lexical_declaration) @outer
(variable_declaration) @outer
(expression_statement . (assignment_expression)) @outer

(function_declaration name: (identifier) @name.function parameters: (_) @parameters) @element
(generator_function_declaration name: (identifier) @name.function parameters: (_) @parameters) @element
(method_definition name: [(property_identifier) (private_property_identifier) (number)] @name.method parameters: (_) @parameters) @element
(method_definition name: (string (string_fragment) @name.method) parameters: (_) @parameters) @element
; A computed name counts where it is a name itself: `[Symbol.iterator]() {}`.
(method_definition name: (computed_property_name [(identifier) (member_expression)]) @name.method parameters: (_) @parameters) @element

(variable_declarator name: (identifier) @name.function value: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters) (generator_function parameters: (_) @parameters)]) @element
(variable_declarator name: (identifier) @name.function value: (arrow_function parameter: (_) @parameters)) @element
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name.constant) @element)
(lexical_declaration kind: "const" (variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name.constant)) @element)
(lexical_declaration kind: "const" (variable_declarator name: (object_pattern (pair_pattern value: (identifier) @name.constant))) @element)
(lexical_declaration kind: "const" (variable_declarator name: (array_pattern (identifier) @name.constant)) @element)
(lexical_declaration kind: "let" (variable_declarator name: (identifier) @name.variable) @element)
(variable_declaration (variable_declarator name: (identifier) @name.variable) @element)
(variable_declarator value: (class name: (_)? @write)) @element
(class body: (class_body)) @scope.class
(return_statement (class name: (_) @name.class) @element)
(assignment_expression right: (class name: (_) @name.class) @element)

(pair key: (property_identifier) @name.method value: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters)]) @element
(pair key: (string (string_fragment) @name.method) value: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters)]) @element
(pair key: (property_identifier) @name.method value: (arrow_function parameter: (_) @parameters)) @element
(assignment_expression left: (identifier) @name.function right: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters)]) @element
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression) (this)] @owner property: (property_identifier) @name.function)
  right: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters)]) @element
(assignment_expression
  left: (member_expression object: (subscript_expression) property: (property_identifier) @name.function)
  right: [(arrow_function parameters: (_) @parameters) (function_expression parameters: (_) @parameters)]) @element

(function_expression name: (identifier) @name.function parameters: (_) @parameters) @element
(arrow_function) @scope
(function_expression) @scope
(generator_function) @scope
; Variables of a block are local, also outside of functions.
[
  (if_statement (statement_block (lexical_declaration) @scope))
  (else_clause (statement_block (lexical_declaration) @scope))
  (try_statement (statement_block (lexical_declaration) @scope))
  (for_in_statement (statement_block (lexical_declaration) @scope))
  (for_statement (statement_block (lexical_declaration) @scope))
  (for_statement (lexical_declaration) @scope)
]
(comment) @comment

[
  (if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (switch_case) (catch_clause) (ternary_expression)
  (binary_expression operator: ["&&" "||" "??"])
] @branch

; Imports.
(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator value: (call_expression function: (identifier) arguments: (arguments . (string) .))) @import

; References.
(identifier) @read
(property_identifier) @read
(private_property_identifier) @read
(shorthand_property_identifier) @read
(shorthand_property_identifier_pattern) @write

(variable_declarator name: (identifier) @write)
(pair_pattern value: (identifier) @write)
(array_pattern (identifier) @write)
(assignment_pattern left: (identifier) @write)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @write)
(rest_pattern (identifier) @write)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_expression property: (_) @write))
(augmented_assignment_expression left: (identifier) @write)
(augmented_assignment_expression left: (member_expression property: (_) @write))
(update_expression argument: (identifier) @write)
(update_expression argument: (member_expression property: (_) @write))
(for_in_statement left: (identifier) @write)
(catch_clause parameter: (identifier) @write)
(arrow_function parameter: (identifier) @write)

(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (_) @call))
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (_) @call))
(decorator (identifier) @call)
(decorator (member_expression property: (_) @call))

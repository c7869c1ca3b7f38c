; References. They come first, because captures of a later pattern wait for an earlier one that may still match. A table of
; data has a hundred thousand fields, and each may hold a function: 0.1 s a megabyte in this order, 1.3 s in the other.
(identifier) @read
(attribute (identifier) @ignore)
(goto_statement (identifier) @ignore)
(label_statement (identifier) @ignore)

(variable_list name: (identifier) @write)
(variable_list name: (dot_index_expression field: (identifier) @write))
(field name: (identifier) @key)
(parameters name: (identifier) @write)
(for_numeric_clause name: (identifier) @write)

(function_call name: (identifier) @call)
(function_call name: (dot_index_expression field: (identifier) @call))
(function_call name: (method_index_expression method: (identifier) @call))

; Definitions.
(variable_declaration) @outer
(function_declaration name: (identifier) @name.function parameters: (parameters) @parameters) @element
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name.function) parameters: (parameters) @parameters) @element
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name.method) parameters: (parameters) @parameters) @element
(assignment_statement
  (variable_list . name: (identifier) @name.function)
  (expression_list . value: [
    (function_definition parameters: (parameters) @parameters)
    (binary_expression right: (function_definition parameters: (parameters) @parameters))])) @element
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name.function))
  (expression_list . value: [
    (function_definition parameters: (parameters) @parameters)
    (binary_expression right: (function_definition parameters: (parameters) @parameters))])) @element
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (_) @owner field: (string content: (_) @name.function)))
  (expression_list . value: (function_definition parameters: (parameters) @parameters))) @element
(field name: [(identifier) (string)] value: [(function_definition) (binary_expression right: (function_definition))]) @element @declarator.function
(function_definition) @scope
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name.variable)) @element))
(chunk (variable_declaration (variable_list name: (identifier) @name.variable) @element))
(chunk (assignment_statement (variable_list name: (identifier) @name.variable)) @element)
(comment) @comment

[
  (if_statement) (elseif_statement) (for_statement) (while_statement) (repeat_statement)
  (binary_expression ["and" "or"])
] @branch

; Imports, if the call is one of `require`.
(variable_declaration (assignment_statement (expression_list value: (function_call name: (identifier) arguments: (arguments . (string) .))))) @import
(variable_declaration (assignment_statement (expression_list value: (dot_index_expression table: (function_call name: (identifier) arguments: (arguments . (string) .)))))) @import
(function_call name: (identifier) arguments: (arguments . (string) .)) @import

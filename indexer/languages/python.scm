; Definitions.
(decorated_definition) @outer
(class_definition name: (identifier) @name.class) @element
(function_definition name: (identifier) @name.function parameters: (parameters) @parameters) @element
(class_definition body: (block . (string) @doc))
(function_definition body: (block . (string) @doc))
(assignment left: (identifier) @name.variable) @element
(assignment left: (pattern_list (identifier) @name.variable)) @element
(assignment left: (tuple_pattern (identifier) @name.variable)) @element
(type_alias_statement left: (type (identifier) @name.type)) @element
(type_alias_statement left: (type (generic_type . (identifier) @name.type))) @element
(comment) @comment

[
  (if_statement) (elif_clause) (conditional_expression) (for_statement) (while_statement) (except_clause)
  (case_clause) (boolean_operator) (for_in_clause) (if_clause)
] @branch

; Imports.
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import

; References.
(identifier) @read

(augmented_assignment left: (identifier) @write)
(assignment left: (attribute attribute: (identifier) @write))
(augmented_assignment left: (attribute attribute: (identifier) @write))
(pattern_list (attribute attribute: (identifier) @write))
(for_statement left: (identifier) @write)
(for_in_clause left: (identifier) @write)
(pattern_list (identifier) @write)
(tuple_pattern (identifier) @write)
(as_pattern_target (identifier) @write)
(named_expression name: (identifier) @write)
(delete_statement (identifier) @write)
(parameters (identifier) @write)
(lambda_parameters (identifier) @write)
(default_parameter name: (identifier) @write)
(typed_parameter . (identifier) @write)
(typed_default_parameter name: (identifier) @write)
(list_splat_pattern (identifier) @write)
(dictionary_splat_pattern (identifier) @write)

(type (identifier) @type)
(type (attribute attribute: (identifier) @type))
(type (generic_type . (identifier) @type))
(type (binary_operator (identifier) @type))
(class_definition superclasses: (argument_list (identifier) @type))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @type)))
(except_clause value: (identifier) @type)
(except_clause value: (as_pattern . (identifier) @type))

(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))

; C and C++ share this file.

; Definitions.
(function_definition declarator: (_) @declarator.function) @element
(declaration declarator: (_) @declarator.variable) @element
(field_declaration declarator: (_) @declarator.variable) @element
(type_definition declarator: (_) @declarator.type) @element
(struct_specifier name: (type_identifier) @name.struct body: (_)) @element
(struct_specifier body: (_)) @element
(union_specifier name: (type_identifier) @name.struct body: (_)) @element
(union_specifier body: (_)) @element
(enum_specifier name: (type_identifier) @name.enum body: (_)) @element
(enumerator name: (identifier) @name.constant) @element
(preproc_def name: (identifier) @name.macro.constant) @element
(preproc_function_def name: (identifier) @name.macro.function parameters: (preproc_params) @parameters) @element
(preproc_arg) @tokens
(compound_statement) @scope
(comment) @comment

[
  (if_statement) (for_statement) (while_statement) (do_statement) (case_statement) (conditional_expression)
  (binary_expression operator: ["&&" "||"])
] @branch

; Imports.
(preproc_include) @import

; References.
(identifier) @read
(field_identifier) @read
(type_identifier) @type

(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression field: (field_identifier) @write))
(assignment_expression left: (subscript_expression argument: (identifier) @write))
(assignment_expression left: (subscript_expression argument: (field_expression field: (field_identifier) @write)))
(assignment_expression left: (pointer_expression argument: (identifier) @write))
(update_expression argument: (identifier) @write)
(update_expression argument: (field_expression field: (field_identifier) @write))
(field_designator (field_identifier) @write)
(parameter_declaration declarator: (identifier) @write)
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @write))
(init_declarator declarator: (identifier) @write)
(init_declarator declarator: (pointer_declarator declarator: (identifier) @write))
(preproc_params (identifier) @write)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))

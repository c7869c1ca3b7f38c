; Definitions.
(class_declaration name: (identifier) @name.class) @element
(record_declaration name: (identifier) @name.class parameters: (formal_parameters) @parameters) @element
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @member.variable)))
(interface_declaration name: (identifier) @name.interface) @element
(annotation_type_declaration name: (identifier) @name.interface) @element
(enum_declaration name: (identifier) @name.enum) @element
(enum_constant name: (identifier) @name.constant) @element
(enum_constant body: (class_body) @scope.class)
(object_creation_expression (class_body) @scope.class)
(method_declaration name: (identifier) @name.method parameters: (formal_parameters) @parameters) @element
(constructor_declaration name: (identifier) @name.method parameters: (formal_parameters) @parameters) @element
(compact_constructor_declaration name: (identifier) @name.method) @element
(annotation_type_element_declaration name: (identifier) @name.method) @element
(field_declaration declarator: (variable_declarator name: (identifier) @name.variable)) @element
(constant_declaration declarator: (variable_declarator name: (identifier) @name.constant)) @element
(lambda_expression) @scope
(line_comment) @comment
(block_comment) @comment

[
  (if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (switch_label) (catch_clause) (ternary_expression)
  (binary_expression operator: ["&&" "||"])
] @branch

; Imports.
(import_declaration) @import

; References.
(identifier) @read
(type_identifier) @type

(variable_declarator name: (identifier) @write)
(formal_parameter name: (identifier) @write)
(catch_formal_parameter name: (identifier) @write)
(enhanced_for_statement name: (identifier) @write)
(resource name: (identifier) @write)
(inferred_parameters (identifier) @write)
(lambda_expression parameters: (identifier) @write)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_access field: (identifier) @write))
(update_expression (identifier) @write)
(update_expression (field_access field: (identifier) @write))

(annotation name: (identifier) @type)
(marker_annotation name: (identifier) @type)
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call .))
(method_reference (identifier) @call .)

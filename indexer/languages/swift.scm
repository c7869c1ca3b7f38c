; Definitions.
(class_declaration declaration_kind: "class" name: (type_identifier) @name.class) @element
(class_declaration declaration_kind: "actor" name: (type_identifier) @name.class) @element
(class_declaration declaration_kind: "struct" name: (type_identifier) @name.struct) @element
(class_declaration declaration_kind: "enum" name: (type_identifier) @name.enum) @element
(class_declaration declaration_kind: "extension" name: (user_type) @owner) @element
(protocol_declaration name: (type_identifier) @name.interface) @element
(enum_entry name: (simple_identifier) @name.constant) @element
(function_declaration "func" . name: _ @name.function) @element
(function_declaration "(" @parameters)
(protocol_function_declaration name: (simple_identifier) @name.method) @element
(protocol_function_declaration "(" @parameters)
(init_declaration name: "init" @name.method "(" @parameters) @element
(deinit_declaration "deinit" @name.method) @element
(subscript_declaration "subscript" @name.method "(" @parameters) @element
(macro_declaration (simple_identifier) @name.function "(" @parameters) @element
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name.variable)) @element
(property_declaration name: (pattern (pattern (simple_identifier) @name.variable))) @element
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name.variable)) @element
(associatedtype_declaration name: (type_identifier) @name.type) @element
(typealias_declaration name: (type_identifier) @name.type) @element
(computed_property) @scope
(willset_didset_block) @scope
(lambda_literal) @scope
(comment) @comment
(multiline_comment) @comment

[
  (if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement) (switch_entry) (catch_block)
  (ternary_expression) (conjunction_expression) (disjunction_expression) (nil_coalescing_expression)
] @branch

; Imports.
(import_declaration) @import

; References.
(simple_identifier) @read
(type_identifier) @type
(parameter external_name: (simple_identifier) @ignore)

(parameter name: (simple_identifier) @write)
(lambda_parameter name: (simple_identifier) @write)
(pattern bound_identifier: (simple_identifier) @write)
(if_statement bound_identifier: (simple_identifier) @write)
(guard_statement bound_identifier: (simple_identifier) @write)
(directly_assignable_expression (simple_identifier) @write)
(directly_assignable_expression (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @write)))

(call_expression . (simple_identifier) @call . (call_suffix [(value_arguments "(") (lambda_literal)]))
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call)) . (call_suffix [(value_arguments "(") (lambda_literal)]))
(constructor_expression constructed_type: (user_type (type_identifier) @call))
(macro_invocation (simple_identifier) @call)

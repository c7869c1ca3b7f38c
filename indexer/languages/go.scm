; Definitions.
(type_declaration) @outer
(const_declaration) @outer
(var_declaration) @outer
(function_declaration name: (identifier) @name.function parameters: (parameter_list) @parameters) @element
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name.method
  parameters: (parameter_list) @parameters) @element
(func_literal) @scope
(type_spec name: (type_identifier) @name.struct type: (struct_type)) @element
(type_spec name: (type_identifier) @name.interface type: (interface_type)) @element
(type_spec name: (type_identifier) @name.type) @element
(type_alias name: (type_identifier) @name.type) @element
(struct_type (field_declaration_list (field_declaration name: (field_identifier) @name.variable) @element))
(method_elem name: (field_identifier) @name.method parameters: (parameter_list) @parameters) @element
(const_spec name: (identifier) @name.constant) @element
(var_spec name: (identifier) @name.variable) @element
(comment) @comment

[
  (if_statement) (for_statement) (expression_case) (type_case) (communication_case)
  (binary_expression operator: ["&&" "||"])
] @branch

; Imports.
(import_declaration) @import

; References.
(identifier) @read
(field_identifier) @read
(package_identifier) @read
(type_identifier) @type

(const_spec name: (identifier) @write)
(var_spec name: (identifier) @write)
(short_var_declaration left: (expression_list (identifier) @write))
(assignment_statement left: (expression_list (identifier) @write))
(assignment_statement left: (expression_list (selector_expression field: (field_identifier) @write)))
(range_clause left: (expression_list (identifier) @write))
(inc_statement (identifier) @write)
(inc_statement (selector_expression field: (field_identifier) @write))
(dec_statement (identifier) @write)
(dec_statement (selector_expression field: (field_identifier) @write))
(parameter_declaration name: (identifier) @write)
(variadic_parameter_declaration name: (identifier) @write)
(type_switch_statement alias: (expression_list (identifier) @write))
(receive_statement left: (expression_list (identifier) @write))

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))

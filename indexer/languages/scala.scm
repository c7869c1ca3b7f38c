; Definitions.
(class_definition name: [(identifier) (operator_identifier)] @name.class) @element
(object_definition name: [(identifier) (operator_identifier)] @name.class) @element
(package_object name: (identifier) @name.module) @element
(trait_definition name: (identifier) @name.trait) @element
(enum_definition name: (identifier) @name.enum) @element
(class_definition class_parameters: (class_parameters) @parameters)
(enum_definition class_parameters: (class_parameters) @parameters)
(class_parameter ["val" "var"] name: (identifier) @member.variable)
(class_definition "case" [name: (_) (type_parameters) (access_modifier)] . class_parameters: (class_parameters (class_parameter name: (identifier) @member.variable)))
(simple_enum_case name: (identifier) @name.constant) @element
(full_enum_case name: (identifier) @name.constant class_parameters: (class_parameters) @parameters) @element
(function_definition name: [(identifier) (operator_identifier)] @name.function) @element
(function_declaration name: [(identifier) (operator_identifier)] @name.function) @element
(function_definition parameters: (parameters) @parameters)
(function_declaration parameters: (parameters) @parameters)
(val_definition pattern: [
  (identifier) @name.variable
  (operator_identifier) @name.variable
  (alternative_pattern (typed_pattern pattern: (identifier) @name.variable))
  (tuple_pattern (typed_pattern pattern: (identifier) @name.variable))
  (identifiers (identifier) @name.variable)
  (tuple_pattern (identifier) @name.variable)
  (case_class_pattern pattern: (identifier) @name.variable)]) @element
(var_definition pattern: [
  (identifier) @name.variable
  (alternative_pattern (typed_pattern pattern: (identifier) @name.variable))
  (identifiers (identifier) @name.variable)
  (tuple_pattern (identifier) @name.variable)]) @element
(val_declaration name: (identifier) @name.variable) @element
(var_declaration name: (identifier) @name.variable) @element
(type_definition name: (type_identifier) @name.type) @element
(given_definition name: (identifier) @name.variable) @element
(given_definition body: [(with_template_body) (block)] @scope.class)
(extension_definition parameters: (parameters (parameter type: (_) @owner))) @element
(instance_expression (template_body) @scope.class)
; The grammar takes `new A(a) with B with C { ... }` for calls of `with`.
(infix_expression
  left: [
    (instance_expression)
    (infix_expression left: [(instance_expression) (infix_expression left: (instance_expression))])]
  right: (call_expression arguments: (block) @scope.class))
(block) @scope
(indented_block) @scope
(case_clause) @scope
(lambda_expression) @scope
(comment) @comment
(block_comment) @comment

[
  (if_expression) (case_clause) (for_expression) (while_expression) (do_while_expression)
] @branch

; Imports.
(import_declaration) @import
(export_declaration) @import

; References.
(identifier) @read
(operator_identifier) @read
(type_identifier) @type

(parameter name: (identifier) @write)
(class_parameter name: (identifier) @write)
(binding name: (identifier) @write)
(lambda_expression parameters: (identifier) @write)
(enumerator . (identifier) @write)
(typed_pattern pattern: (identifier) @write)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression field: (identifier) @write))

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (field_expression field: (identifier) @call)))
(infix_expression operator: (identifier) @call)
(instance_expression . (type_identifier) @call)
(instance_expression . (generic_type type: (type_identifier) @call))

; Definitions. All functions are methods, those of the top level too.
(class name: (constant) @name.class) @element
(class name: (scope_resolution name: (constant) @name.class)) @element
(class name: (scope_resolution scope: (_) @owner))
(module name: (constant) @name.module) @element
(module name: (scope_resolution name: (constant) @name.module)) @element
(module name: (scope_resolution scope: (_) @owner))
(method name: [(identifier) (constant) (setter) (operator)] @name.method) @element
(method parameters: (method_parameters) @parameters)
(singleton_method name: [(identifier) (constant) (setter) (operator)] @name.method) @element
(singleton_method object: (constant) @owner)
(singleton_method parameters: (method_parameters) @parameters)
(call arguments: (argument_list [(method) (singleton_method)] .)) @outer
(assignment left: [(constant) (scope_resolution)] right: (call receiver: (constant) method: (identifier))) @element @declarator.class @declarator.module
(assignment left: (constant) @name.constant) @element
(assignment left: (scope_resolution scope: (_) @owner name: (constant) @name.constant)) @element
(assignment left: (left_assignment_list (constant) @name.constant)) @element
(operator_assignment left: (constant) @name.constant) @element
(assignment left: (class_variable) @name.variable) @element
(operator_assignment left: (class_variable) @name.variable) @element
(alias name: [(identifier) (constant) (setter) (operator)] @name.method) @element
(alias name: (global_variable) @name.variable) @element
(alias name: (simple_symbol) @declarator.method) @element
(call !receiver arguments: (argument_list (simple_symbol) @declarator.method)) @element
(comment) @comment

[
  (if) (elsif) (unless) (while) (until) (for) (when) (in_clause) (rescue) (conditional) (if_modifier) (unless_modifier)
  (while_modifier) (until_modifier) (rescue_modifier) (binary operator: ["&&" "||" "and" "or"])
] @branch

; Imports.
(call !receiver arguments: (argument_list . (string)) @import)
(call !receiver arguments: (argument_list . (simple_symbol) (string)) @import)

; References.
(identifier) @read
(constant) @read
(instance_variable) @read
(class_variable) @read
(global_variable) @read
(hash_key_symbol) @read
(simple_symbol) @symbol

(assignment left: [(identifier) (instance_variable) (class_variable) (global_variable)] @write)
(operator_assignment left: [(identifier) (instance_variable) (class_variable) (global_variable)] @write)
(left_assignment_list [(identifier) (instance_variable) (class_variable) (global_variable)] @write)
(destructured_left_assignment (identifier) @write)
(rest_assignment (identifier) @write)
(for pattern: (identifier) @write)
(exception_variable (identifier) @write)
(method_parameters (identifier) @write)
(block_parameters (identifier) @write)
(lambda_parameters (identifier) @write)
(destructured_parameter (identifier) @write)
(optional_parameter name: (identifier) @write)
(keyword_parameter name: (identifier) @write)
(splat_parameter name: (identifier) @write)
(hash_splat_parameter name: (identifier) @write)
(block_parameter name: (identifier) @write)
(as_pattern name: (identifier) @write)

(superclass (constant) @type)
(superclass (scope_resolution name: (constant) @type))
(exceptions (constant) @type)
(exceptions (scope_resolution name: (constant) @type))

(call method: [(identifier) (constant)] @call)

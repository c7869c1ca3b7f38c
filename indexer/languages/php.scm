; Definitions.
(namespace_definition name: (namespace_name) @declarator.module !body) @element.rest
(namespace_definition name: (namespace_name) @declarator.module body: (_)) @element
(class_declaration name: (name) @name.class) @element
(interface_declaration name: (name) @name.interface) @element
(trait_declaration name: (name) @name.trait) @element
(enum_declaration name: (name) @name.enum) @element
(enum_case name: (name) @name.constant) @element
(anonymous_class) @scope.class
(function_definition name: (name) @name.function parameters: (formal_parameters) @parameters) @element
(method_declaration name: (name) @name.method parameters: (formal_parameters) @parameters) @element
(const_declaration (const_element . (name) @name.constant)) @element
(property_declaration (property_element name: (variable_name (name) @name.variable))) @element
(property_promotion_parameter name: (variable_name (name) @member.variable))
(assignment_expression left: (variable_name (name) @name.function) right: [
  (anonymous_function parameters: (_) @parameters) (arrow_function parameters: (_) @parameters)]) @element
(assignment_expression left: (variable_name (name) @name.variable)) @element
(assignment_expression left: (list_literal (variable_name (name) @name.variable))) @element
(reference_assignment_expression left: (variable_name (name) @name.variable)) @element
(function_call_expression function: [(name) (qualified_name)] arguments: (arguments . (argument [
  (string (string_content) @declarator.constant) (encapsed_string (string_content) @declarator.constant)]))) @element
(anonymous_function) @scope
(arrow_function) @scope
(property_hook) @scope
(comment) @comment

[
  (if_statement) (else_if_clause) (for_statement) (foreach_statement) (while_statement) (do_statement) (case_statement)
  (match_conditional_expression) (catch_clause) (conditional_expression)
  (binary_expression operator: ["&&" "||" "and" "or" "xor" "??"])
] @branch

; Imports.
(namespace_use_declaration) @import
(require_expression) @import
(require_once_expression) @import
(include_expression) @import
(include_once_expression) @import

; References.
(name) @read
(property_hook (name) @ignore)

(simple_parameter name: (variable_name (name) @write))
(variadic_parameter name: (variable_name (name) @write))
(property_promotion_parameter name: (variable_name (name) @write))
(assignment_expression left: (member_access_expression name: (name) @write))
(assignment_expression left: (scoped_property_access_expression name: (variable_name (name) @write)))
(assignment_expression left: (subscript_expression . (variable_name (name) @write)))
(assignment_expression left: (subscript_expression . (member_access_expression name: (name) @write)))
(reference_assignment_expression left: (member_access_expression name: (name) @write))
(augmented_assignment_expression left: (variable_name (name) @write))
(augmented_assignment_expression left: (member_access_expression name: (name) @write))
(augmented_assignment_expression left: (scoped_property_access_expression name: (variable_name (name) @write)))
(update_expression argument: (variable_name (name) @write))
(update_expression argument: (member_access_expression name: (name) @write))
(update_expression argument: (scoped_property_access_expression name: (variable_name (name) @write)))
(list_literal (variable_name (name) @write))
(foreach_statement (_) (variable_name (name) @write))
(foreach_statement (pair (variable_name (name) @write)))
(foreach_statement (_) (by_ref (variable_name (name) @write)))
(catch_clause name: (variable_name (name) @write))
(static_variable_declaration name: (variable_name (name) @write))
(unset_statement (variable_name (name) @write))

(named_type (name) @type)
(named_type (qualified_name (name) @type))
(base_clause (name) @type)
(base_clause (qualified_name (name) @type))
(class_interface_clause (name) @type)
(class_interface_clause (qualified_name (name) @type))
(use_declaration (name) @type)
(use_declaration (qualified_name (name) @type))
(scoped_call_expression scope: (name) @type)
(scoped_call_expression scope: (qualified_name (name) @type))
(scoped_property_access_expression scope: (name) @type)
(class_constant_access_expression . (name) @type)
(class_constant_access_expression . (qualified_name (name) @type))
(binary_expression operator: "instanceof" right: (name) @type)
(binary_expression operator: "instanceof" right: (qualified_name (name) @type))
(attribute (name) @type)
(attribute (qualified_name (name) @type))

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(function_call_expression function: (variable_name (name) @call))
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))

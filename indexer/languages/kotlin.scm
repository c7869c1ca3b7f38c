; Definitions.
(class_declaration "class" (type_identifier) @name.class) @element
(class_declaration "interface" (type_identifier) @name.interface) @element
(class_declaration (type_identifier) @name.enum (enum_class_body)) @element
(object_declaration (type_identifier) @name.class) @element
(companion_object (type_identifier) @name.class) @element
(class_declaration (primary_constructor) @parameters)
(class_parameter (binding_pattern_kind) . (simple_identifier) @member.variable)
(enum_entry (simple_identifier) @name.constant) @element
(enum_entry (class_body) @scope.class)
(object_literal (class_body) @scope.class)
(function_declaration (simple_identifier) @name.function (function_value_parameters) @parameters) @element
(function_declaration receiver: (receiver_type) @owner)
(secondary_constructor "constructor" @name.method (function_value_parameters) @parameters) @element
(property_declaration (variable_declaration (simple_identifier) @name.variable)) @element
(property_declaration (modifiers (property_modifier)) (variable_declaration (simple_identifier) @name.constant))
(property_declaration (multi_variable_declaration (variable_declaration (simple_identifier) @name.variable))) @element
(property_declaration receiver: (receiver_type) @owner)
(property_declaration [(if_expression) (when_expression) (try_expression)] @scope)
(type_alias (type_identifier) @name.type) @element
(anonymous_function) @scope
(anonymous_initializer) @scope
(lambda_literal) @scope
(getter) @scope
(setter) @scope
(line_comment) @comment
(multiline_comment) @comment

[
  (if_expression) (for_statement) (while_statement) (do_while_statement) (when_entry) (catch_block)
  (conjunction_expression) (disjunction_expression) (elvis_expression)
] @branch

; Imports.
(import_header) @import

; References.
(simple_identifier) @read
(interpolated_identifier) @read
(type_identifier) @type

(parameter (simple_identifier) @write)
(parameter_with_optional_type (simple_identifier) @write)
(class_parameter (simple_identifier) @write)
(variable_declaration (simple_identifier) @write)
(catch_block (simple_identifier) @write)
(directly_assignable_expression (simple_identifier) @write .)
(directly_assignable_expression (navigation_suffix (simple_identifier) @write) .)
(postfix_expression (simple_identifier) @write ["++" "--"])
(prefix_expression ["++" "--"] (simple_identifier) @write)

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression (navigation_suffix (simple_identifier) @call)))
(constructor_invocation (user_type (type_identifier) @call .))
(infix_expression (_) . (simple_identifier) @call . (_))
(callable_reference (simple_identifier) @call .)

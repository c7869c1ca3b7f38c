; Definitions.
(namespace_declaration name: (identifier) @name.module) @element
(namespace_declaration name: (qualified_name qualifier: (_) @owner name: (identifier) @name.module)) @element
(file_scoped_namespace_declaration name: (identifier) @name.module) @element.rest
(file_scoped_namespace_declaration name: (qualified_name qualifier: (_) @owner name: (identifier) @name.module)) @element.rest
(class_declaration name: (identifier) @name.class) @element
(class_declaration (parameter_list) @parameters)
(struct_declaration name: (identifier) @name.struct) @element
(struct_declaration (parameter_list) @parameters)
(record_declaration) @element @declarator.class @declarator.struct
(record_declaration (parameter_list) @parameters)
(record_declaration (parameter_list (parameter name: (identifier) @member.variable)))
(interface_declaration name: (identifier) @name.interface) @element
(enum_declaration name: (identifier) @name.enum) @element
(enum_member_declaration name: (identifier) @name.constant) @element
(delegate_declaration name: (identifier) @name.type parameters: (parameter_list) @parameters) @element
(method_declaration name: (identifier) @name.method parameters: (parameter_list) @parameters) @element
(constructor_declaration name: (identifier) @name.method parameters: (parameter_list) @parameters) @element
(destructor_declaration) @element @declarator.method
(operator_declaration) @element @declarator.method
(conversion_operator_declaration) @element @declarator.method
(local_function_statement name: (identifier) @name.function parameters: (parameter_list) @parameters) @element
(property_declaration name: (identifier) @name.variable) @element
(indexer_declaration "this" @name.variable parameters: (_) @parameters) @element
(event_declaration name: (identifier) @name.variable) @element
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name.variable))) @element
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name.variable))) @element
(field_declaration (modifier "const") (variable_declaration (variable_declarator name: (identifier) @name.constant)))
(comment) @comment

[
  (if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement) (switch_section) (switch_expression_arm)
  (catch_clause) (conditional_expression) (binary_expression operator: ["&&" "||" "??"])
] @branch

; Imports.
(using_directive) @import

; References.
(identifier) @read

(variable_declarator name: (identifier) @write)
(parameter name: (identifier) @write)
(parameter_list name: (identifier) @write)
(implicit_parameter) @write
(foreach_statement left: (identifier) @write)
(tuple_pattern name: (identifier) @write)
(catch_declaration name: (identifier) @write)
(declaration_pattern name: (identifier) @write)
(declaration_expression name: (identifier) @write)
(from_clause name: (identifier) @write)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_access_expression name: (identifier) @write))
(assignment_expression left: (element_access_expression expression: (identifier) @write))
(assignment_expression left: (tuple_expression (argument (identifier) @write)))
(postfix_unary_expression (identifier) @write ["++" "--"])
(postfix_unary_expression (member_access_expression name: (identifier) @write) ["++" "--"])
(prefix_unary_expression ["++" "--"] (identifier) @write)
(prefix_unary_expression ["++" "--"] (member_access_expression name: (identifier) @write))

(generic_name . (identifier) @type)
(qualified_name name: (identifier) @type)
(type_argument_list (identifier) @type)
(nullable_type type: (identifier) @type)
(array_type type: (identifier) @type)
(base_list (identifier) @type)
(type_parameter_constraints_clause (identifier) @type)
(type_parameter_constraint type: (identifier) @type)
(variable_declaration type: (identifier) @type)
(parameter type: (identifier) @type)
(method_declaration returns: (identifier) @type)
(local_function_statement type: (identifier) @type)
(property_declaration type: (identifier) @type)
(indexer_declaration type: (identifier) @type)
(event_declaration type: (identifier) @type)
(operator_declaration type: (identifier) @type)
(conversion_operator_declaration type: (identifier) @type)
(delegate_declaration type: (identifier) @type)
(explicit_interface_specifier (identifier) @type)
(foreach_statement type: (identifier) @type)
(catch_declaration type: (identifier) @type)
(cast_expression type: (identifier) @type)
(as_expression right: (identifier) @type)
(is_pattern_expression pattern: (constant_pattern (identifier) @type))
(typeof_expression type: (identifier) @type)
(default_expression type: (identifier) @type)
(declaration_pattern type: (identifier) @type)
(declaration_expression type: (identifier) @type)
(recursive_pattern type: (identifier) @type)
(tuple_element type: (identifier) @type)
(ref_type type: (identifier) @type)
(attribute name: (identifier) @type)
(attribute name: (qualified_name name: (identifier) @type))

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name . (identifier) @call))
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (member_access_expression name: (generic_name . (identifier) @call)))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (identifier) @call)))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (generic_name . (identifier) @call))))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name . (identifier) @call))
(object_creation_expression type: (qualified_name name: (identifier) @call))
(object_creation_expression type: (qualified_name name: (generic_name . (identifier) @call)))
(primary_constructor_base_type type: (identifier) @call)

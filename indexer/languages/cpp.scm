; What C++ adds to C.

; Definitions.
(template_declaration) @outer
(class_specifier name: (type_identifier) @name.class body: (_)) @element
(class_specifier name: (template_type name: (type_identifier) @name.class) body: (_)) @element
(class_specifier name: (qualified_identifier scope: (_) @owner name: (type_identifier) @name.class) body: (_)) @element
(struct_specifier name: (template_type name: (type_identifier) @name.struct) body: (_)) @element
(struct_specifier name: (qualified_identifier scope: (_) @owner name: (_) @name.struct) body: (_)) @element
(class_specifier body: (_)) @element
(namespace_definition name: (namespace_identifier) @name.module) @element
(namespace_definition name: (nested_namespace_specifier (namespace_identifier) @name.module .)) @element
(alias_declaration name: (type_identifier) @name.type) @element
(concept_definition name: (identifier) @name.type) @element
(lambda_expression) @scope
(catch_clause) @branch
(for_range_loop) @branch

; Imports.
(using_declaration) @import
(namespace_alias_definition) @import
(import_declaration) @import

; References.
(namespace_identifier) @read
(reference_declarator (identifier) @write)
(for_range_loop declarator: (identifier) @write)
(field_initializer (field_identifier) @write)
(call_expression function: (qualified_identifier name: (identifier) @call))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @call)))
(call_expression function: (template_function name: (identifier) @call))
(call_expression function: (qualified_identifier name: (template_function name: (identifier) @call)))
(call_expression function: (field_expression field: (template_method name: (field_identifier) @call)))
(new_expression type: (type_identifier) @call)

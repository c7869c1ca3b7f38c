; What TypeScript adds.

; Definitions.
(ambient_declaration) @outer
(class_declaration name: (type_identifier) @name.class) @element
(abstract_class_declaration name: (type_identifier) @name.class) @element
(variable_declarator name: (identifier) @name.class value: (class)) @element
(interface_declaration name: (type_identifier) @name.interface) @element
(type_alias_declaration name: (type_identifier) @name.type) @element
(enum_declaration name: (identifier) @name.enum) @element
(enum_body name: (property_identifier) @name.constant @element)
(enum_body (enum_assignment name: (property_identifier) @name.constant) @element)
(internal_module name: (_) @name.module) @element
(module name: [(identifier) (nested_identifier)] @name.module) @element
(function_signature name: (identifier) @name.function parameters: (_) @parameters) @element
(method_signature name: (_) @name.method parameters: (_) @parameters) @element
(abstract_method_signature name: (_) @name.method parameters: (_) @parameters) @element
(public_field_definition name: (_) @name.method value: (arrow_function parameters: (_) @parameters)) @element
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name.variable) @element
(interface_body (property_signature name: (_) @name.variable) @element)
(type_alias_declaration (object_type (property_signature name: (_) @name.variable) @element))
(type_alias_declaration (_ (object_type (property_signature name: (_) @name.variable) @element)))
(required_parameter (accessibility_modifier) pattern: (identifier) @member.variable)
(required_parameter "readonly" pattern: (identifier) @member.variable)
(optional_parameter (accessibility_modifier) pattern: (identifier) @member.variable)

(import_alias) @import

; References.
(type_identifier) @type
(required_parameter pattern: (identifier) @write)
(optional_parameter pattern: (identifier) @write)
(class_heritage (extends_clause value: (identifier) @type))
(class_heritage (extends_clause value: (member_expression property: (_) @type)))
(nested_type_identifier module: (identifier) @read)
(type_query (identifier) @read)

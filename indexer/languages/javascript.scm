; Patterns that TypeScript's grammar spells differently.
(class_declaration name: (identifier) @name.class) @element
(variable_declarator name: (identifier) @name.class value: (class)) @element
(field_definition property: [(property_identifier) (private_property_identifier)] @name.variable) @element
(class_heritage (identifier) @type)
(class_heritage (member_expression property: (_) @type))
(formal_parameters (identifier) @write)

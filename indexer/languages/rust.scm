; Definitions.
(attribute_item) @prefix
(function_item name: (identifier) @name.function parameters: (parameters) @parameters) @element
(function_signature_item name: (identifier) @name.function parameters: (parameters) @parameters) @element
(struct_item name: (type_identifier) @name.struct) @element
(union_item name: (type_identifier) @name.struct) @element
(enum_item name: (type_identifier) @name.enum) @element
(enum_variant name: (identifier) @name.constant) @element
(field_declaration name: (field_identifier) @name.variable) @element
(trait_item name: (type_identifier) @name.trait) @element
(associated_type name: (type_identifier) @name.type) @element
(type_item name: (type_identifier) @name.type) @element
(mod_item name: (identifier) @name.module) @element
(const_item name: (identifier) @name.constant) @element
(static_item name: (identifier) @name.variable) @element
(macro_definition name: (identifier) @name.function) @element
(impl_item type: [
  (type_identifier) @owner
  (generic_type type: (type_identifier) @owner)
  (scoped_type_identifier name: (type_identifier) @owner)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @owner))
  (reference_type type: (type_identifier) @owner)
  (reference_type type: (generic_type type: (type_identifier) @owner))
  (primitive_type) @owner]) @element
(line_comment) @comment
(block_comment) @comment

[
  (if_expression) (match_arm) (for_expression) (while_expression) (loop_expression) (try_expression)
  (binary_expression operator: ["&&" "||"])
] @branch

; Imports.
(use_declaration) @import
(extern_crate_declaration) @import

; References.
(identifier) @read
(field_identifier) @read
(shorthand_field_identifier) @read
(type_identifier) @type
(lifetime (identifier) @ignore)

(let_declaration pattern: (identifier) @write)
(parameter pattern: (identifier) @write)
(closure_parameters (identifier) @write)
(mut_pattern (identifier) @write)
(tuple_pattern (identifier) @write)
(ref_pattern (identifier) @write)
(for_expression pattern: (identifier) @write)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression field: (field_identifier) @write))
(compound_assignment_expr left: (identifier) @write)
(compound_assignment_expr left: (field_expression field: (field_identifier) @write))
(const_item name: (identifier) @write)
(static_item name: (identifier) @write)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier name: (identifier) @call))

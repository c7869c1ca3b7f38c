; Definitions. A type signature and the clauses after it are one definition.
(declarations (signature name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element.signature)
(class_declarations (signature name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element.signature)
(class_declarations (signature names: (binding_list name: [(variable) @name.function (prefix_id (operator) @name.function)])) @element)
(instance_declarations (signature name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element.signature)
(foreign_import (signature name: (variable) @name.function)) @element
(function name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element
(function patterns: (patterns) @parameters)
(function (infix operator: [(operator) @name.function (infix_id (variable) @name.function)])) @element
(declarations (bind name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element)
(class_declarations (bind name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element)
(instance_declarations (bind name: [(variable) @name.function (prefix_id (operator) @name.function)]) @element)
; A local binding is a variable, unless its parameters or the signature right before it make it a function.
(local_binds
  (signature type: [(function) (context type: (function)) (forall type: (function)) (forall type: (context type: (function)))])
  . (bind name: (variable) @name.function) @element)
(declarations (bind pattern: (tuple element: (variable) @name.variable)) @element)
(data_type name: (name) @name.type) @element
(newtype name: (name) @name.type) @element
(type_synomym name: (name) @name.type) @element
(type_family name: (name) @name.type) @element
(data_family name: (name) @name.type) @element
(class name: (name) @name.trait) @element
; Heads with an operator: `data a :* b`, `type family (++) a b`.
(data_type . [(prefix_id (_) @name.type) (infix operator: [(constructor_operator) (operator)] @name.type) (infix operator: (infix_id (name) @name.type))]) @element
(newtype . [(prefix_id (_) @name.type) (infix operator: [(constructor_operator) (operator)] @name.type) (infix operator: (infix_id (name) @name.type))]) @element
(type_synomym . [(prefix_id (_) @name.type) (infix operator: [(constructor_operator) (operator)] @name.type) (infix operator: (infix_id (name) @name.type))]) @element
(type_family . [(prefix_id (_) @name.type) (infix operator: [(constructor_operator) (operator)] @name.type) (infix operator: (infix_id (name) @name.type))]) @element
(data_family . [(prefix_id (_) @name.type) (infix operator: [(constructor_operator) (operator)] @name.type) (infix operator: (infix_id (name) @name.type))]) @element
(class . [(prefix_id (_) @name.trait) (infix operator: [(constructor_operator) (operator)] @name.trait) (infix operator: (infix_id (name) @name.trait))]) @element
(instance patterns: (type_patterns) @owner) @element
(data_constructor constructor: [
  (prefix name: [(constructor) @name.constant (prefix_id (constructor_operator) @name.constant)])
  (record name: (constructor) @name.constant)
  (infix operator: [(constructor_operator) @name.constant (infix_id (constructor) @name.constant)])]) @element
(newtype_constructor name: (constructor) @name.constant) @element
(gadt_constructor name: (constructor) @name.constant) @element
(gadt_constructor names: (binding_list name: (constructor) @name.constant)) @element
(field name: (field_name (variable) @name.variable)) @element
(pattern_synonym (signature synonym: (constructor) @name.function)) @element.signature
(pattern_synonym (equation synonym: [(constructor) @name.function (apply function: (constructor) @name.function)])) @element
(comment) @comment
(haddock) @comment

[(conditional) (alternative)] @branch
(function (match) . (match) @branch)
(bind (match) . (match) @branch)
(alternative (match) . (match) @branch)
(multi_way_if (match) . (match) @branch)

; Imports.
(import) @import

; References.
(variable) @read
(operator) @read
(constructor) @read
(constructor_operator) @read
(name) @type

(patterns (variable) @write)
(local_binds (bind name: (variable) @write))
(bind pattern: (variable) @write)
(generator pattern: (variable) @write)
(field_update field: (field_name (variable) @write))

(apply function: (variable) @call)
(apply function: (constructor) @call)
(apply function: (qualified id: [(variable) (constructor)] @call))
(infix operator: (infix_id (variable) @call))

; Patterns are short if words can decide instead (zig.py): with this grammar a deep pattern takes up to 0.1 s to compile.
; Definitions.
(Decl) @outer
"pub" @prefix
(Decl (FnProto function: (IDENTIFIER) @name.function (ParamDeclList) @parameters)) @element
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name.constant) @element)
(VarDecl
  variable_type_function: (IDENTIFIER) @name.struct
  "=" . (ErrorUnionExpr . (SuffixExpr . (ContainerDecl (ContainerDeclType ["struct" "union" "opaque"])) .))) @element
(VarDecl
  variable_type_function: (IDENTIFIER) @name.enum
  "=" . (ErrorUnionExpr . (SuffixExpr . [(ContainerDecl (ContainerDeclType "enum")) (ErrorSetDecl)] .))) @element
(ContainerDecl) @scope.class
(ContainerField field_member: (IDENTIFIER) @name.variable) @element
(ContainerField . (doc_comment) @doc)
(ParamType (ErrorUnionExpr . (SuffixExpr . (ContainerDecl (ContainerField field_member: (IDENTIFIER) @member.variable)))))
(ContainerDecl (ContainerDeclType ["enum" "union"])
  (ContainerField . (doc_comment)? . (ErrorUnionExpr . (SuffixExpr . variable_type_function: (IDENTIFIER) @name.constant .))) @element)
(ErrorSetDecl field_constant: (IDENTIFIER) @error)
[(line_comment) (doc_comment) (container_doc_comment)] @comment

[
  (IfStatement) (IfExpr) (ForStatement) (ForExpr) (WhileStatement) (WhileExpr) (SwitchProng)
  (BinaryExpr operator: ["and" "or"]) (BitwiseOp ["catch" "orelse"]) (PrefixOp "try")
] @branch

; Imports, if the builtin is @import.
(VarDecl (ErrorUnionExpr . (SuffixExpr . (BUILTINIDENTIFIER)))) @import
(BUILTINIDENTIFIER) @import

; References.
(IDENTIFIER) @read
(BlockLabel (IDENTIFIER) @ignore)
(BreakLabel (IDENTIFIER) @ignore)

(VarDecl variable_type_function: (IDENTIFIER) @write)
(ParamDecl parameter: (IDENTIFIER) @write)
[(PtrListPayload variable: (IDENTIFIER) @write) (PtrIndexPayload variable: (IDENTIFIER) @write) (PtrPayload variable: (IDENTIFIER) @write)
 (Payload variable: (IDENTIFIER) @write)]
(FieldInit field_member: (IDENTIFIER) @write)
(AssignExpr (AssignOp) @assign)

(ParamType (ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @type)))
(ParamType (ErrorUnionExpr (SuffixExpr (FieldOrFnCall field_access: (IDENTIFIER) @type) .)))
(FnProto (ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @type)))
(FnProto (ErrorUnionExpr (SuffixExpr (FieldOrFnCall field_access: (IDENTIFIER) @type) .)))
(ContainerField field_member: (_) (ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @type)))
(VarDecl ":" . (ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @type)))

(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)

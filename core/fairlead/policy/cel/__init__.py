"""Conditions of a policy's rules, in CEL, the Common Expression Language.

In goes the text of a condition and, at each evaluation, the values of its variables. Out comes
an `Expression`, then true or false; `InvalidCondition` says where a text goes wrong and what to
write instead.

`compiler` compiles and runs conditions by the package cel_expr_python, `fast_path` those that
only compare, `errors` puts the package's messages into words, and `variables` has the variables
of rules. Pure; imports nothing else of Fairlead. Begin with `variables.expression`, then
`compiler.compile_condition`.
"""

"""Rules of the policy: which of them apply now.

In: the compiled rules, the ledgers, the pools' slots, clocks. Out: the rules that apply to
each lane, and to each job when it is its turn; rules that fail or take too long are disabled.

`evaluator` runs conditions on pools and lanes before each plan, `job_evaluator` those on
single jobs during the plan, `circuit_breaker` decides when to disable a rule, `variables`
reads the values of a lane. Its clocks are arguments. Imports `ordering`, `limits` and
`policy`. Begin with `evaluator.RuleEvaluator.evaluate`.
"""

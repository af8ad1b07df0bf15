"""The levels of the fair order: a pool's branches, and in each branch the accounts of tenants.

`level` keeps the members of one level in the order of their start tags, and `virtual_time` says
when those that were away come back, by what each has had (`service`). `accounts` is what is
charged on each level. `first_turns` lets newcomers in at a rate, and `order_tags` keeps tags
from growing out of a bigint.
"""

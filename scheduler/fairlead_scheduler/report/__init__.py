"""The fairness report: how the slots of a pool were shared, and how they should have been.

Goes in: a `LedgerSnapshot` every few seconds. Comes out: a `FairnessReport` on a window of
about a minute.

`builder` spreads the work over ticks, `account` keeps a lane's window, `maxmin` shares service
ideally, `aggregate` adds accounts up and names the largest, `values` are what is published. It
imports `ordering` and `limits`, and no I/O. Begin with `builder.ReportBuilder.step`.
"""

"""One module for each screen: what it reads, put together for its template.

In: sessions and what the address says. Out: the values of one page. A screen reads by `reads`
and `fairlead.inspection`, and has `pages` say what comes of it. Begin with `job`.
"""

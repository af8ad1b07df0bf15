"""HTTP: routes, who may come in, headers of every answer, and the stream of changes.

`app` puts it together; `access` says who may look; `records` are the screens that list;
`acting` is what changes something, `bulk` what changes many jobs, and `policy_edit` the editor
of the policy. `answers` renders templates and says what is wrong; `changes` is the stream.
`templates` and `static` are files. In `static/vendor` is what others wrote, with a checksum and
licence that a test holds. Begin with `app`.
"""

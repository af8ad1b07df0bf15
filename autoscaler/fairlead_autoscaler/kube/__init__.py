"""Kubernetes as the controller uses it: one protocol of plain values, and its HTTP adapter.

`port.KubePort` lists every read and write that the controller may do, and its errors. `adapter`
implements it over HTTP: `watch` mirrors pods, Deployments and ConfigMaps in threads, `client`
sends single requests, `leases` and `events` know those two kinds. JSON is validated into
`models`, of which `convert` makes the port's values (`decision.inputs.Workload` among them).
It may import `decision.inputs` and `election`; the controller imports it, and no other room
does but the CLI.

Begin at `port`, then `adapter`.
"""

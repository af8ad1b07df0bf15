"""The autoscaler: decides how many pods each pool of workers has, and says why.

In: the pools' demand, workers and drain marks from PostgreSQL, pods and Deployments from
Kubernetes, the policy. Out: `replicas` of each pool's Deployment, drain marks, a status
ConfigMap, events, log lines and metrics.

It imports the core (`fairlead`) and no other service. Inside, `decision` and `election` are
pure; `controller` reads, calls them and writes; `kube` is the only package that calls the API
server. Begin at `controller.controller.Controller.step`, then `decision.decide.decide`.
autoscaler/README.md is the map of its packages.
"""

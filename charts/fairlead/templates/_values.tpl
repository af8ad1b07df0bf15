{{/*
A pool with its defaults and the pods and time limits of its entry in the policy, as JSON:
(list context name pool). Uses mergeOverwrite, because merge ignores 0 and false.
*/}}
{{- define "fairlead.pool" -}}
{{- $it := mergeOverwrite (deepCopy (first .).Values.workerPoolDefaults) (last .) -}}
{{- $name := index . 1 -}}
{{- range (first .).Values.policy.document.pools -}}
{{- if eq .name $name -}}
{{- $said := dict "timeoutMax" .timeoutMax "autoscale" (deepCopy (.autoscale | default dict)) -}}
{{- $it = mergeOverwrite $it $said -}}
{{- end -}}
{{- end -}}
{{- if eq $it.kind "Job" -}}
{{- $it = mergeOverwrite $it (dict "concurrency" 1 "processes" 1) -}}
{{- end -}}
{{- toJson $it -}}
{{- end -}}

{{/* Seconds of a duration of the policy: 500ms, 5s, 2m, 1.5h. */}}
{{- define "fairlead.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1 "m" 60 "h" 3600 -}}
{{- mulf (regexFind "^[0-9.]+" .) (get $units (regexFind "[a-z]+$" .)) | toJson -}}
{{- end -}}

{{/* The longest time of an attempt in a pool, in seconds: (list context pool). */}}
{{- define "fairlead.longest" -}}
{{- $settings := (first .).Values.scheduler.settings -}}
{{- (last .).longestTimeoutSeconds | default $settings.timeoutMaxSeconds | default 3600 -}}
{{- end -}}

{{/* Seconds that a pool's running jobs get to finish: (list context pool). */}}
{{- define "fairlead.grace" -}}
{{- (last .).graceSeconds | default (include "fairlead.longest" . | float64) -}}
{{- end -}}

{{/* A scalar as the text of an environment variable, so that a large number is not 1e+06. */}}
{{- define "fairlead.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{/* Settings as environment variables: (list shared own), maps by name in camel case; no name is in both. */}}
{{- define "fairlead.settings" -}}
{{- range $name, $value := mergeOverwrite (deepCopy (first .)) (last .) }}
- name: FAIRLEAD_{{ $name | snakecase | upper }}
  value: {{ include "fairlead.text" $value | quote }}
{{- end }}
{{- end -}}

{{/* Refuse what a pool's kind cannot be: (list context name pool). */}}
{{- define "fairlead.validateKind" -}}
{{- $pool := last . -}}
{{- $name := index . 1 -}}
{{- $enabled := (first .).Values.autoscaler.enabled -}}
{{- if and (eq $pool.kind "Job") (not $enabled) -}}
{{- fail (printf "workerPools.%s.kind=Job has no pods without the autoscaler, which makes a Job for each job: set autoscaler.enabled=true, or kind=Deployment" $name) -}}
{{- end -}}
{{- if and $pool.target (ne $pool.kind "Deployment") -}}
{{- fail (printf "workerPools.%s has target and kind=%s: what target names holds the pods, so remove kind" $name $pool.kind) -}}
{{- end -}}
{{- if and $pool.volumeClaimTemplates (ne $pool.kind "StatefulSet") -}}
{{- fail (printf "workerPools.%s.volumeClaimTemplates has no effect with kind=%s: set kind=StatefulSet" $name $pool.kind) -}}
{{- end -}}
{{- end -}}

{{/* Refuse wrong values that a schema cannot detect. */}}
{{- define "fairlead.validate" -}}
{{- $given := list -}}
{{- if .Values.database.existingSecret }}{{ $given = append $given "database.existingSecret" }}{{ end -}}
{{- if .Values.database.url }}{{ $given = append $given "database.url" }}{{ end -}}
{{- if .Values.trialDatabase.enabled }}{{ $given = append $given "trialDatabase.enabled" }}{{ end -}}
{{- if eq (len $given) 0 -}}
{{- fail "no database is given. Set database.existingSecret to a Secret with one URL for each role, or, to try Fairlead out, trialDatabase.enabled=true" -}}
{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "%s are all set: keep only one of them" (join " and " $given)) -}}
{{- end -}}
{{- if and .Values.trialDatabase.enabled .Values.database.tls.existingSecret -}}
{{- fail "the trial database has no certificate: remove database.tls.existingSecret" -}}
{{- end -}}
{{- if and .Values.trialDatabase.enabled .Values.database.passwordCommand -}}
{{- fail "the trial database has passwords of its own: remove database.passwordCommand" -}}
{{- end -}}
{{- if and (eq .Values.migrations.mode "hook") (not .Values.database.existingSecret) -}}
{{- fail (printf "migrations.mode=hook runs before the objects of %s exist: use migrations.mode=job, or database.existingSecret" (first $given)) -}}
{{- end -}}
{{- if and .Values.migrations.takeOver (eq .Values.migrations.mode "none") -}}
{{- fail "migrations.takeOver has no effect with migrations.mode=none: run `fairlead migrate --take-over --release NAME` yourself, or use another mode" -}}
{{- end -}}
{{- if and .Values.metrics.podMonitor.enabled .Values.metrics.serviceMonitor.enabled -}}
{{- fail "metrics.podMonitor.enabled and metrics.serviceMonitor.enabled are both set, so every series would be scraped twice: keep only one of them" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.enabled=true; or use metrics.podMonitor.enabled" -}}
{{- end -}}
{{- include "fairlead.validateAutoscaler" . -}}
{{- include "fairlead.validateStrategy" (list "scheduler" .Values.scheduler.strategy) -}}
{{- include "fairlead.validateStrategy" (list "autoscaler" .Values.autoscaler.strategy) -}}
{{- include "fairlead.validateStrategy" (list "console" .Values.console.strategy) -}}
{{- include "fairlead.validateConsole" . -}}
{{- range $name, $pool := include "fairlead.pools" . | fromJson -}}
{{- $grace := include "fairlead.grace" (list $ $pool) | float64 -}}
{{- $longest := include "fairlead.longest" (list $ $pool) | float64 -}}
{{- if and (lt $grace $longest) (not $pool.cutShort) -}}
{{- fail (printf "workerPools.%s.graceSeconds (%v) is shorter than the longest time of an attempt (%v s), so a rollout would cut jobs short: raise it, lower workerPools.%s.longestTimeoutSeconds or scheduler.settings.timeoutMaxSeconds, or set workerPools.%s.cutShort=true" $name $grace $longest $name $name) -}}
{{- end -}}
{{- with $pool.timeoutMax -}}
{{- $budget := include "fairlead.seconds" . | float64 -}}
{{- if and (lt $grace $budget) (not $pool.cutShort) -}}
{{- fail (printf "policy.document.pools: timeoutMax (%s) of %s is longer than the grace period of its pods (%v s), so a rollout would cut jobs short: set workerPools.%s.longestTimeoutSeconds=%v, lower the timeoutMax, or set workerPools.%s.cutShort=true" . $name $grace $name (ceil $budget) $name) -}}
{{- end -}}
{{- end -}}
{{- include "fairlead.validateScale" (list $ $name $pool) -}}
{{- include "fairlead.validateKind" (list $ $name $pool) -}}
{{- include "fairlead.validateStrategy" (list (printf "workerPools.%s" $name) $pool.strategy) -}}
{{- end -}}
{{- end -}}

{{/* Refuse a rollout that may replace no pod: (list path strategy). */}}
{{- define "fairlead.validateStrategy" -}}
{{- $it := last . -}}
{{- $rolling := $it.rollingUpdate | default dict -}}
{{- if and (ne ($it.type | default "") "Recreate") (eq "0" (toString $rolling.maxUnavailable | trimSuffix "%")) (eq "0" (toString $rolling.maxSurge | trimSuffix "%")) -}}
{{- fail (printf "%s.strategy.rollingUpdate has maxUnavailable and maxSurge both 0, so a rollout could replace no pod: raise one of them" (first .)) -}}
{{- end -}}
{{- end -}}

{{/* Refuse a pool's contradictory numbers of pods: (list context name pool). */}}
{{- define "fairlead.validateScale" -}}
{{- $it := (last .).autoscale -}}
{{- if (first .).Values.autoscaler.enabled -}}
{{- if not $it.objective -}}
{{- fail (printf "workerPools.%s.autoscale.objective is missing: set how long a job may wait, such as 30s" (index . 1)) -}}
{{- end -}}
{{- if gt ($it.min | default 0 | int) ($it.max | default 10 | int) -}}
{{- fail (printf "workerPools.%s.autoscale.min (%d) is above its max (%d): lower min, or raise max" (index . 1) (int $it.min) ($it.max | default 10 | int)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.validateAutoscaler" -}}
{{- $it := .Values.autoscaler -}}
{{- if and (not $it.replicas) $it.enabled -}}
{{- fail "autoscaler.replicas=0 would leave every pool at one pod: also set autoscaler.enabled=false" -}}
{{- end -}}
{{- if and (not $it.replicas) (eq .Values.policy.source "configmap") -}}
{{- fail "autoscaler.replicas=0 would leave the policy unread: also set policy.source=database" -}}
{{- end -}}
{{- if and $it.replicas $it.rbac.create (not $it.serviceAccount.create) (not $it.serviceAccount.name) -}}
{{- fail "autoscaler.serviceAccount.create=false would give the autoscaler's rights to the ServiceAccount `default`: set autoscaler.serviceAccount.name" -}}
{{- end -}}
{{- if and (ne .Values.policy.source "configmap") .Values.policy.document -}}
{{- fail "policy.document has no effect with policy.source=database: store it with `fairlead policy apply FILE --release NAMESPACE/NAME`, or set policy.source=configmap" -}}
{{- end -}}
{{- $pools := include "fairlead.pools" . | fromJson -}}
{{- if gt (len $pools) 50 -}}
{{- fail (printf "workerPools has %d pools, but a policy may have at most 50: merge some" (len $pools)) -}}
{{- end -}}
{{- $entries := dict -}}
{{- range .Values.policy.document.pools -}}
{{- $_ := set $entries .name true -}}
{{- if and .autoscale (not (hasKey $pools .name)) -}}
{{- fail (printf "policy.document.pools: %s has autoscale but no Deployment: add workerPools.%s, or remove its autoscale" .name .name) -}}
{{- end -}}
{{- end -}}
{{- if and $entries $it.enabled -}}
{{- range $name, $_ := $pools -}}
{{- if not (hasKey $entries $name) -}}
{{- fail (printf "policy.document.pools leaves out %s, whose pods would then have no queue and no autoscale: add an entry {name: %s, queues: […]}, or remove the pool with workerPools.%s=null" $name $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.validateConsole" -}}
{{- $it := .Values.console -}}
{{- if and $it.enabled (not $it.logins.existingSecret) (not $it.proxy.userHeader) -}}
{{- fail "console.logins.existingSecret is missing, so everybody in the cluster could read the pages: name a Secret with lines of name:password under the key `logins`, or have a proxy sign people in with console.proxy" -}}
{{- end -}}
{{- if and $it.enabled $it.logins.existingSecret $it.proxy.userHeader -}}
{{- fail "console.logins.existingSecret and console.proxy.userHeader are both set: keep one of them" -}}
{{- end -}}
{{- if and $it.enabled $it.proxy.userHeader (not $it.proxy.networks) -}}
{{- fail "console.proxy.networks is missing, so the header of console.proxy.userHeader would be believed from nobody: name the networks from which the proxy connects" -}}
{{- end -}}
{{- if and $it.enabled (eq (int $it.port) (int .Values.healthPort)) -}}
{{- fail (printf "console.port is %d, which is healthPort: change one of them" (int $it.port)) -}}
{{- end -}}
{{- end -}}

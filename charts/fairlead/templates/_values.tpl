{{/*
A pool with its defaults and what its entry in the policy says of its pods and budgets, as JSON:
(list context name pool). Not merge, to which 0 and false are not given.
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
{{- toJson $it -}}
{{- end -}}

{{/* Seconds of a duration as the policy has it: 500ms, 5s, 2m, 1.5h. */}}
{{- define "fairlead.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1 "m" 60 "h" 3600 -}}
{{- mulf (regexFind "^[0-9.]+" .) (get $units (regexFind "[a-z]+$" .)) | toJson -}}
{{- end -}}

{{/* Seconds of an attempt's longest budget in a pool: (list context pool). */}}
{{- define "fairlead.longest" -}}
{{- $settings := (first .).Values.scheduler.settings -}}
{{- (last .).longestTimeoutSeconds | default $settings.timeoutMaxSeconds | default 3600 -}}
{{- end -}}

{{/* Seconds that a pool's running jobs get: (list context pool). */}}
{{- define "fairlead.grace" -}}
{{- (last .).graceSeconds | default (include "fairlead.longest" . | float64) -}}
{{- end -}}

{{/* A scalar as a variable's text; a large number is not written as 1e+06. */}}
{{- define "fairlead.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{/* Settings as variables: (list shared own), maps by name in camel case; no name is in both. */}}
{{- define "fairlead.settings" -}}
{{- range $name, $value := mergeOverwrite (deepCopy (first .)) (last .) }}
- name: FAIRLEAD_{{ $name | snakecase | upper }}
  value: {{ include "fairlead.text" $value | quote }}
{{- end }}
{{- end -}}

{{/* Refuse values that a schema cannot see to be wrong. */}}
{{- define "fairlead.validate" -}}
{{- $given := list -}}
{{- if .Values.database.existingSecret }}{{ $given = append $given "database.existingSecret" }}{{ end -}}
{{- if .Values.database.url }}{{ $given = append $given "database.url" }}{{ end -}}
{{- if .Values.trialDatabase.enabled }}{{ $given = append $given "trialDatabase.enabled" }}{{ end -}}
{{- if eq (len $given) 0 -}}
{{- fail "where is the database? Set database.existingSecret to a Secret with one URL for each role, or, to try Fairlead out, trialDatabase.enabled=true" -}}
{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "%s are all set: keep one of them" (join " and " $given)) -}}
{{- end -}}
{{- if and .Values.trialDatabase.enabled .Values.database.tls.existingSecret -}}
{{- fail "the trial database has no certificate: leave database.tls.existingSecret out" -}}
{{- end -}}
{{- if and (eq .Values.migrations.mode "hook") (not .Values.database.existingSecret) -}}
{{- fail (printf "migrations.mode=hook runs before %s is there: use migrations.mode=job, or database.existingSecret" (first $given)) -}}
{{- end -}}
{{- if and .Values.metrics.podMonitor.enabled .Values.metrics.serviceMonitor.enabled -}}
{{- fail "metrics.podMonitor.enabled and metrics.serviceMonitor.enabled are both set, and every series would be scraped twice: keep one of them" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.enabled=true, or use metrics.podMonitor.enabled" -}}
{{- end -}}
{{- include "fairlead.validateAutoscaler" . -}}
{{- range $name, $pool := include "fairlead.pools" . | fromJson -}}
{{- $grace := include "fairlead.grace" (list $ $pool) | float64 -}}
{{- $longest := include "fairlead.longest" (list $ $pool) | float64 -}}
{{- if and (lt $grace $longest) (not $pool.cutShort) -}}
{{- fail (printf "workerPools.%s.graceSeconds (%v) is under the longest budget of an attempt (%v s), so a rollout would cut jobs short: raise it, lower workerPools.%s.longestTimeoutSeconds or scheduler.settings.timeoutMaxSeconds, or set workerPools.%s.cutShort=true" $name $grace $longest $name $name) -}}
{{- end -}}
{{- with $pool.timeoutMax -}}
{{- $budget := include "fairlead.seconds" . | float64 -}}
{{- if and (lt $grace $budget) (not $pool.cutShort) -}}
{{- fail (printf "policy.document.pools: timeoutMax (%s) of %s is above the grace of its pods (%v s), so a rollout would cut jobs short: set workerPools.%s.longestTimeoutSeconds=%v, lower the timeoutMax, or set workerPools.%s.cutShort=true" . $name $grace $name (ceil $budget) $name) -}}
{{- end -}}
{{- end -}}
{{- include "fairlead.validateScale" (list $ $name $pool) -}}
{{- end -}}
{{- end -}}

{{/* Refuse pods of a pool that contradict one another: (list context name pool). */}}
{{- define "fairlead.validateScale" -}}
{{- $it := (last .).autoscale -}}
{{- if (first .).Values.autoscaler.enabled -}}
{{- if not $it.objective -}}
{{- fail (printf "workerPools.%s.autoscale.objective is missing: say how long a job may wait, such as 30s" (index . 1)) -}}
{{- end -}}
{{- if gt ($it.min | default 0 | int) ($it.max | default 10 | int) -}}
{{- fail (printf "workerPools.%s.autoscale.min (%d) is above its max (%d): lower the one" (index . 1) (int $it.min) ($it.max | default 10 | int)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.validateAutoscaler" -}}
{{- $it := .Values.autoscaler -}}
{{- if and (not $it.replicas) $it.enabled -}}
{{- fail "autoscaler.replicas=0 would leave every pool at one pod: set autoscaler.enabled=false, too" -}}
{{- end -}}
{{- if and (not $it.replicas) (eq .Values.policy.source "configmap") -}}
{{- fail "autoscaler.replicas=0 would leave the policy unread: set policy.source=database, too" -}}
{{- end -}}
{{- if and $it.replicas $it.rbac.create (not $it.serviceAccount.create) (not $it.serviceAccount.name) -}}
{{- fail "autoscaler.serviceAccount.create=false would give the autoscaler's rights to the account `default`: set autoscaler.serviceAccount.name" -}}
{{- end -}}
{{- if and (ne .Values.policy.source "configmap") .Values.policy.document -}}
{{- fail "policy.document is not read with policy.source=database: store it with `fairlead policy apply`, or set policy.source=configmap" -}}
{{- end -}}
{{- $pools := include "fairlead.pools" . | fromJson -}}
{{- if gt (len $pools) 20 -}}
{{- fail (printf "workerPools has %d pools, and a policy at most 20: join some" (len $pools)) -}}
{{- end -}}
{{- $entries := dict -}}
{{- range .Values.policy.document.pools -}}
{{- $_ := set $entries .name true -}}
{{- if and .autoscale (not (hasKey $pools .name)) -}}
{{- fail (printf "policy.document.pools: %s has autoscale and no Deployment: add workerPools.%s, or leave its autoscale out" .name .name) -}}
{{- end -}}
{{- end -}}
{{- if and $entries $it.enabled -}}
{{- range $name, $_ := $pools -}}
{{- if not (hasKey $entries $name) -}}
{{- fail (printf "policy.document.pools leaves out %s, whose pods would then have no queue and no autoscale: add an entry {name: %s, queues: […]}, or take the pool away with workerPools.%s=null" $name $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Every pool that is not null, with its defaults, by name, as JSON. */}}
{{- define "fairlead.pools" -}}
{{- $pools := dict -}}
{{- range $name, $over := .Values.workerPools -}}
{{- if not (kindIs "invalid" $over) -}}
{{- $_ := set $pools $name (include "fairlead.pool" (list $ $name $over) | fromJson) -}}
{{- end -}}
{{- end -}}
{{- toJson $pools -}}
{{- end -}}

{{/*
A pool as an entry of the policy: (list context name pool). The chart knows a pod's slots and
connections, so the autoscaler need not wait for a first worker to report them.
*/}}
{{- define "fairlead.policyPool" -}}
{{- $it := last . -}}
{{- $made := dict "name" (index . 1) "queues" ($it.queues | default (list (index . 1))) -}}
{{- with $it.longestTimeoutSeconds -}}
{{- $_ := set $made "timeoutMax" (printf "%ds" (int64 .)) -}}
{{- end -}}
{{- if (first .).Values.autoscaler.enabled -}}
{{- $slots := min 10000 (mul $it.concurrency $it.processes) -}}
{{- $connections := min 100 (add 1 (mul 2 $it.processes)) -}}
{{- $known := dict "slots" $slots "connectionsPerPod" $connections -}}
{{- $_ := set $made "autoscale" (mergeOverwrite $known $it.autoscale) -}}
{{- end -}}
{{- toJson $made -}}
{{- end -}}

{{/*
An entry of the policy's own pools: (list context entry). Fields that it leaves out, except the queues,
come from the worker pool of its name.
*/}}
{{- define "fairlead.policyEntry" -}}
{{- $entry := deepCopy (last .) -}}
{{- $pool := get (include "fairlead.pools" (first .) | fromJson) $entry.name -}}
{{- if $pool -}}
{{- $made := include "fairlead.policyPool" (list (first .) $entry.name $pool) | fromJson -}}
{{- range $field, $known := $made -}}
{{- if or (not (hasKey $entry $field)) (and (eq $field "autoscale") $entry.autoscale) -}}
{{- $_ := set $entry $field $known -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $entry -}}
{{- end -}}

{{/*
The policy made from these values. A queue belongs to the first pool that matches it, and a map has no
order: so pools with names come first, those with patterns next, and those with `*` last.
*/}}
{{- define "fairlead.policy" -}}
{{- $named := list -}}{{- $patterns := list -}}{{- $rest := list -}}
{{- range $name, $it := include "fairlead.pools" . | fromJson -}}
{{- $pool := include "fairlead.policyPool" (list $ $name $it) | fromJson -}}
{{- if has "*" $pool.queues -}}
{{- $rest = append $rest $pool -}}
{{- else if regexMatch "[*?]" (join " " $pool.queues) -}}
{{- $patterns = append $patterns $pool -}}
{{- else -}}
{{- $named = append $named $pool -}}
{{- end -}}
{{- end -}}
{{- $document := deepCopy .Values.policy.document -}}
{{- if $document.pools -}}
{{- $entries := list -}}
{{- range $document.pools -}}
{{- $entries = append $entries (include "fairlead.policyEntry" (list $ .) | fromJson) -}}
{{- end -}}
{{- $_ := set $document "pools" $entries -}}
{{- else -}}
{{- with concat $named $patterns $rest -}}
{{- $_ := set $document "pools" . -}}
{{- end -}}
{{- end -}}
{{- toYaml $document -}}
{{- end -}}

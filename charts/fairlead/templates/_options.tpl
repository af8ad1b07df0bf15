{{/*
What a pod takes from its own values and from `everyPod`, as JSON: (list context values). Its own lists come behind
those of every pod and its own maps are merged over them; an entry of a list replaces one of its name.
*/}}
{{- define "fairlead.options" -}}
{{- $every := (first .).Values.everyPod -}}
{{- $it := deepCopy (last .) -}}
{{- range $field, $key := dict "env" "name" "volumes" "name" "extraContainers" "name" "extraInitContainers" "name" "volumeMounts" "mountPath" "hostAliases" "ip" -}}
{{- $own := get $it $field | default list -}}
{{- $names := list -}}
{{- range $own -}}{{- $names = append $names (get . $key) -}}{{- end -}}
{{- $kept := list -}}
{{- range get $every $field -}}
{{- if not (has (get . $key) $names) -}}{{- $kept = append $kept . -}}{{- end -}}
{{- end -}}
{{- $_ := set $it $field (concat $kept $own | default list) -}}
{{- end -}}
{{- range list "envFrom" "tolerations" -}}
{{- $_ := set $it . (concat (get $every .) (get $it . | default list) | uniq | default list) -}}
{{- end -}}
{{- range list "podLabels" "podAnnotations" "nodeSelector" -}}
{{- $_ := set $it . (mergeOverwrite (deepCopy (get $every .)) (get $it . | default dict)) -}}
{{- end -}}
{{- range list "affinity" "dnsConfig" "dnsPolicy" "priorityClassName" "runtimeClassName" -}}
{{- $_ := set $it . (get $it . | default (get $every .)) -}}
{{- end -}}
{{- toJson $it -}}
{{- end -}}

{{/* An added container: (list context container). One that says nothing of its rights gets the chart's. */}}
{{- define "fairlead.added" -}}
{{- $container := deepCopy (last .) -}}
{{- if not (hasKey $container "securityContext") -}}
{{- $_ := set $container "securityContext" (first .).Values.securityContext -}}
{{- end -}}
- {{ tpl (toYaml $container) (first .) | nindent 2 | trim }}
{{- end -}}

{{/*
The init containers that a pod is given: (list context options ends). A pod that has to end (`ends`) has its further
containers among them, as sidecars: a container beside its own would keep it from ending.
*/}}
{{- define "fairlead.initContainers" -}}
{{- $ := first . -}}
{{- $it := index . 1 -}}
{{- $found := $it.extraInitContainers -}}
{{- if last . -}}
{{- $sidecars := list -}}
{{- range $it.extraContainers -}}
{{- $sidecars = append $sidecars (merge (dict "restartPolicy" "Always") (deepCopy .)) -}}
{{- end -}}
{{- $found = concat $sidecars $found -}}
{{- end -}}
{{- with $found -}}
initContainers:
  {{- range . }}
  {{- include "fairlead.added" (list $ .) | nindent 2 }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* The annotations of a pod: (list context options). */}}
{{- define "fairlead.podAnnotations" -}}
{{- with (last .).podAnnotations -}}
annotations:
  {{- tpl (toYaml .) (first $) | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The environment, sources and mounts that a container is given: (list context options own-env own-mounts). */}}
{{- define "fairlead.containerOptions" -}}
{{- $ := first . -}}
{{- $it := index . 1 -}}
env:
  {{- index . 2 | nindent 2 }}
  {{- with $it.env }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- with $it.envFrom }}
envFrom:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
volumeMounts:
  {{- index . 3 | nindent 2 }}
  {{- with $it.volumeMounts }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end -}}

{{/*
The fields that every pod has: (list context options ends); see fairlead.initContainers. Each decides by itself
whether it mounts a token.
*/}}
{{- define "fairlead.pod" -}}
{{- $ := first . -}}
{{- $it := index . 1 -}}
enableServiceLinks: false
{{- if not $.Values.hostUsers }}
hostUsers: false
{{- end }}
{{- with $.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "fairlead.over" (list $.Values.podSecurityContext $it.podSecurityContext) | nindent 2 }}
{{- with $it.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $it.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $it.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- range $field := list "dnsConfig" "hostAliases" "nodeSelector" "tolerations" }}
{{- with get $it $field }}
{{ $field }}:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
{{- end }}
{{- with $it.affinity }}
affinity:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
{{- with include "fairlead.initContainers" . }}
{{ . }}
{{- end }}
{{- end -}}

{{/* How the pods of a Deployment spread: (list context component options pool). */}}
{{- define "fairlead.spread" -}}
{{- $ := first . -}}
{{- $component := index . 1 -}}
{{- $it := index . 2 -}}
{{- $pool := index . 3 -}}
{{- if or (ne $it.topologySpread "none") $it.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- if ne $it.topologySpread "none" }}
  {{- range $key, $when := dict "kubernetes.io/hostname" (ternary "DoNotSchedule" "ScheduleAnyway" (eq $it.topologySpread "hard")) "topology.kubernetes.io/zone" "ScheduleAnyway" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $when }}
    labelSelector:
      matchLabels:
        {{- include "fairlead.selector" (list $ $component) | nindent 8 }}
        {{- with $pool }}
        fairlead/pool: {{ . }}
        {{- end }}
    matchLabelKeys: [pod-template-hash]
    {{- /* Otherwise a tainted node, on which these pods may not run, is an empty domain that all others exceed. */}}
    nodeTaintsPolicy: Honor
  {{- end }}
  {{- end }}
  {{- with $it.topologySpreadConstraints }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The environment by which a program finds its database, and says whose it is; it contains no secret. */}}
{{- define "fairlead.databaseEnv" -}}
- name: FAIRLEAD_DATABASE_URL_FILE
  value: /run/fairlead/database/url
- name: FAIRLEAD_RELEASE
  value: {{ include "fairlead.release" . }}
{{- with .Values.database.passwordCommand }}
- name: FAIRLEAD_DATABASE_PASSWORD_COMMAND
  value: {{ . | quote }}
- name: FAIRLEAD_DATABASE_PASSWORD_SECONDS
  value: {{ $.Values.database.passwordSeconds | quote }}
{{- end }}
{{- if not .Values.database.direct }}
- name: FAIRLEAD_DATABASE_DIRECT
  value: "false"
{{- end }}
{{- if .Values.database.tls.existingSecret }}
{{- /* Otherwise libpq would connect unencrypted to a server, or a man in the middle, that offers no TLS. */}}
- name: PGSSLMODE
  value: verify-full
- name: PGSSLROOTCERT
  value: /run/fairlead/tls/ca.crt
{{- if .Values.database.tls.clientCertificate }}
- name: PGSSLCERT
  value: /run/fairlead/tls/tls.crt
- name: PGSSLKEY
  value: /run/fairlead/tls/tls.key
{{- end }}
{{- end }}
{{- end -}}

{{- define "fairlead.databaseMounts" -}}
- name: database
  mountPath: /run/fairlead/database
  readOnly: true
{{- if .Values.database.tls.existingSecret }}
- name: tls
  mountPath: /run/fairlead/tls
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- end -}}

{{/*
The volumes of these mounts: (list context role own-secret size-of-tmp). A pod starts without its Secret of URLs:
the program logs that it waits for it, and reads it once it exists. A pod does not start without its
Secret of certificates, because a URL with `sslmode=require` checks nothing if there is none.
*/}}
{{- define "fairlead.databaseVolumes" -}}
{{- $ := first . -}}
{{- $role := index . 1 -}}
{{- $own := index . 2 -}}
{{- $tls := $.Values.database.tls -}}
- name: database
  secret:
    secretName: {{ if $own.existingSecret }}{{ tpl $own.existingSecret $ }}{{ else }}{{ include "fairlead.databaseSecret" $ }}{{ end }}
    optional: true
    defaultMode: 0440
    items:
      - key: {{ if $own.existingSecret }}{{ $own.key }}{{ else }}{{ ternary (get $.Values.database.keys $role) $role (ne $.Values.database.existingSecret "") }}{{ end }}
        path: url
{{- if $tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ tpl $tls.existingSecret $ }}
    defaultMode: 0440
    items:
      - {key: {{ $tls.caKey }}, path: ca.crt}
      {{- if $tls.clientCertificate }}
      - {key: {{ $tls.certKey }}, path: tls.crt}
      - {key: {{ $tls.privateKeyKey }}, path: tls.key}
      {{- end }}
{{- end }}
- name: tmp
  emptyDir:
    {{- with last . }}
    sizeLimit: {{ . }}
    {{- else }} {}
    {{- end }}
{{- end -}}

{{/* The name of a program's ServiceAccount: (list name values). */}}
{{- define "fairlead.accountName" -}}
{{- (last .).name | default (ternary (first .) "default" (last .).create) -}}
{{- end -}}

{{/* A PodDisruptionBudget for the pods with these labels: (list context component name labels values). */}}
{{- define "fairlead.budget" -}}
{{- $ := first . -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "fairlead.metadata" (list $ (index . 1) (index . 2)) | nindent 2 }}
spec:
  maxUnavailable: {{ (last .).maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- index . 3 | nindent 6 }}
{{- end -}}

{{- define "fairlead.databaseSecret" -}}
{{- if .Values.database.existingSecret -}}
{{- tpl .Values.database.existingSecret . -}}
{{- else if .Values.trialDatabase.enabled -}}
{{- include "fairlead.named" (list . "trial-database") -}}
{{- else -}}
{{- include "fairlead.named" (list . "database") -}}
{{- end -}}
{{- end -}}

{{/* A map with fields over it, of which null takes one away, as YAML: (list map over). */}}
{{- define "fairlead.over" -}}
{{- $made := dict -}}
{{- range $key, $value := mergeOverwrite (deepCopy (first .)) (last . | default dict) -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $made $key $value -}}{{- end -}}
{{- end -}}
{{- toYaml $made -}}
{{- end -}}

{{/* A probe of the health port with fields over it: (list probe over). Another way to ask replaces the request. */}}
{{- define "fairlead.probe" -}}
{{- $probe := first . -}}
{{- $over := last . | default dict -}}
{{- if or $over.exec $over.tcpSocket $over.grpc -}}{{- $probe = omit $probe "httpGet" -}}{{- end -}}
{{- include "fairlead.over" (list $probe $over) -}}
{{- end -}}

{{/*
The health port, its probes and the rights of a program's container: (list context options). Ready means started,
schema checked and not shutting down; live means that the process answers. Neither probe queries the database, so
an outage restarts nothing.
*/}}
{{- define "fairlead.health" -}}
{{- $ := first . -}}
{{- $it := last . -}}
{{- $live := dict "path" "/livez" "port" "health" -}}
{{- $ready := dict "path" "/readyz" "port" "health" -}}
ports:
  - name: health
    containerPort: {{ $.Values.healthPort }}
startupProbe:
  {{- include "fairlead.probe" (list (dict "httpGet" $live "periodSeconds" 1 "timeoutSeconds" 3 "failureThreshold" 60) $it.startupProbe) | nindent 2 }}
readinessProbe:
  {{- include "fairlead.probe" (list (dict "httpGet" $ready "periodSeconds" 1 "timeoutSeconds" 3 "failureThreshold" 1) $it.readinessProbe) | nindent 2 }}
livenessProbe:
  {{- include "fairlead.probe" (list (dict "httpGet" $live "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 6) $it.livenessProbe) | nindent 2 }}
{{- with $it.lifecycle }}
lifecycle:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
securityContext:
  {{- include "fairlead.over" (list $.Values.securityContext $it.securityContext) | nindent 2 }}
{{- end -}}

{{/* How a Deployment replaces its pods: (list strategy). Recreate has no numbers of its own. */}}
{{- define "fairlead.strategy" -}}
{{- $it := first . -}}
strategy:
  {{- if eq ($it.type | default "RollingUpdate") "Recreate" }}
  type: Recreate
  {{- else }}
  {{- toYaml $it | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The fields that all of our pods share. Each decides by itself whether it mounts a token. */}}
{{- define "fairlead.pod" -}}
enableServiceLinks: false
{{- if not .Values.hostUsers }}
hostUsers: false
{{- end }}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- end -}}

{{/* The fields that place a pod on nodes: (list context component settings pool). */}}
{{- define "fairlead.placement" -}}
{{- $ := first . -}}
{{- $component := index . 1 -}}
{{- $it := index . 2 -}}
{{- $pool := index . 3 -}}
{{- with $it.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $it.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $it.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $it.affinity }}
affinity:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
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

{{/* A ServiceAccount whose token is not mounted by default: (list context component name values). */}}
{{- define "fairlead.serviceAccount" -}}
{{- $ := first . -}}
{{- $it := last . -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $it.name | default (index . 2) }}
  namespace: {{ include "fairlead.namespace" $ }}
  labels:
    {{- include "fairlead.labels" (list $ (index . 1)) | nindent 4 }}
  {{- with merge (deepCopy $it.annotations) $.Values.commonAnnotations }}
  annotations:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
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

{{/*
The health port and its probes. Ready means started, schema checked and not shutting down; live means
that the process answers. Neither probe queries the database, so an outage restarts nothing.
*/}}
{{- define "fairlead.health" -}}
ports:
  - name: health
    containerPort: {{ .Values.healthPort }}
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 1
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

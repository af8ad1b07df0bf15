{{/*
The Deployment of a program with one leader and standbys:
(list context component values whether-it-mounts-a-token variables).
*/}}
{{- define "fairlead.service" -}}
{{- $ := first . -}}
{{- $component := index . 1 -}}
{{- $it := include "fairlead.options" (list $ (index . 2)) | fromJson -}}
{{- $named := include "fairlead.named" (list $ $component) -}}
{{- $env := include "fairlead.serviceEnv" (list $ $it (last .)) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "fairlead.metadata" (list $ $component $named) | nindent 2 }}
spec:
  replicas: {{ $it.replicas }}
  revisionHistoryLimit: 3
  {{- include "fairlead.strategy" (list $it.strategy) | nindent 2 }}
  selector:
    matchLabels:
      {{- include "fairlead.selector" (list $ $component) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "fairlead.podLabels" (list $ $component) | nindent 8 }}
        fairlead/metrics: "true"
        {{- with $it.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with include "fairlead.podAnnotations" (list $ $it) }}
      {{- . | nindent 6 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "fairlead.accountName" (list $named $it.serviceAccount) }}
      automountServiceAccountToken: {{ index . 3 }}
      {{- include "fairlead.pod" (list $ $it false) | nindent 6 }}
      {{- include "fairlead.spread" (list $ $component $it "") | nindent 6 }}
      terminationGracePeriodSeconds: {{ $it.terminationGracePeriodSeconds }}
      containers:
        - name: {{ $component }}
          image: {{ include "fairlead.address" (list $ $.Values.image) }}
          imagePullPolicy: {{ $.Values.image.pullPolicy }}
          command: [fairlead-{{ $component }}]
          {{- with $it.extraArgs }}
          args:
            {{- tpl (toYaml .) $ | nindent 12 }}
          {{- end }}
          {{- include "fairlead.containerOptions" (list $ $it $env (include "fairlead.databaseMounts" $)) | nindent 10 }}
          {{- include "fairlead.health" (list $ $it) | nindent 10 }}
          resources:
            {{- toYaml $it.resources | nindent 12 }}
        {{- range $it.extraContainers }}
        {{- include "fairlead.added" (list $ .) | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "fairlead.databaseVolumes" (list $ $component dict "64Mi") | nindent 8 }}
        {{- with $it.volumes }}
        {{- tpl (toYaml .) $ | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* The environment of such a program: (list context values variables). */}}
{{- define "fairlead.serviceEnv" -}}
{{- $ := first . -}}
{{- include "fairlead.databaseEnv" $ }}
- name: FAIRLEAD_HEALTH_PORT
  value: {{ $.Values.healthPort | quote }}
{{- with last . }}
{{ . }}
{{- end }}
{{- include "fairlead.settings" (list $.Values.settings (index . 1).settings) }}
{{- end -}}

{{/*
The Deployment of a program with one leader and standbys:
(list context component values whether-it-mounts-a-token variables).
*/}}
{{- define "fairlead.service" -}}
{{- $ := first . -}}
{{- $component := index . 1 -}}
{{- $it := index . 2 -}}
{{- $named := include "fairlead.named" (list $ $component) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "fairlead.metadata" (list $ $component $named) | nindent 2 }}
spec:
  replicas: {{ $it.replicas }}
  revisionHistoryLimit: 3
  strategy:
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
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
      {{- with $it.podAnnotations }}
      annotations:
        {{- tpl (toYaml .) $ | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "fairlead.accountName" (list $named $it.serviceAccount) }}
      automountServiceAccountToken: {{ index . 3 }}
      {{- include "fairlead.pod" $ | nindent 6 }}
      {{- include "fairlead.placement" (list $ $component $it "") | nindent 6 }}
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
          env:
            {{- include "fairlead.databaseEnv" $ | nindent 12 }}
            - name: FAIRLEAD_HEALTH_PORT
              value: {{ $.Values.healthPort | quote }}
            {{- with last . }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- include "fairlead.settings" (list $.Values.settings $it.settings) | nindent 12 }}
            {{- with $it.env }}
            {{- tpl (toYaml .) $ | nindent 12 }}
            {{- end }}
          {{- with $it.envFrom }}
          envFrom:
            {{- tpl (toYaml .) $ | nindent 12 }}
          {{- end }}
          {{- include "fairlead.health" $ | nindent 10 }}
          securityContext:
            {{- toYaml $.Values.securityContext | nindent 12 }}
          resources:
            {{- toYaml $it.resources | nindent 12 }}
          volumeMounts:
            {{- include "fairlead.databaseMounts" $ | nindent 12 }}
            {{- with $it.volumeMounts }}
            {{- tpl (toYaml .) $ | nindent 12 }}
            {{- end }}
      volumes:
        {{- include "fairlead.databaseVolumes" (list $ $component dict "64Mi") | nindent 8 }}
        {{- with $it.volumes }}
        {{- tpl (toYaml .) $ | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "fairlead.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fairlead.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "fairlead.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "fairlead.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The name under which a release owns its database. */}}
{{- define "fairlead.release" -}}
{{- printf "%s/%s" (include "fairlead.namespace" .) .Release.Name -}}
{{- end -}}

{{/* The name of one of our objects: (list context suffix). The suffix is never truncated. */}}
{{- define "fairlead.named" -}}
{{- $suffix := last . -}}
{{- $room := sub 62 (len $suffix) | int -}}
{{- printf "%s-%s" (include "fairlead.fullname" (first .) | trunc $room | trimSuffix "-") $suffix -}}
{{- end -}}

{{/* What holds a pool's pods, as the autoscaler takes it: (list context name pool). */}}
{{- define "fairlead.poolTarget" -}}
{{- $it := last . -}}
{{- $named := include "fairlead.poolDeployment" (list (first .) (index . 1)) -}}
{{- if $it.target -}}
{{- $it.target -}}
{{- else if eq $it.kind "StatefulSet" -}}
statefulsets.v1.apps/{{ $named }}
{{- else if eq $it.kind "Job" -}}
podtemplates.v1/{{ $named }}
{{- else -}}
{{- $named -}}
{{- end -}}
{{- end -}}

{{/* The name of a pool's Deployment, or of what the chart renders in its place: (list context pool). */}}
{{- define "fairlead.poolDeployment" -}}
{{- include "fairlead.named" (list (first .) (printf "worker-%s" (last .))) -}}
{{- end -}}

{{/* The labels that select pods, which must never change: (list context component). */}}
{{- define "fairlead.selector" -}}
app.kubernetes.io/name: {{ include "fairlead.name" (first .) }}
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{/* The labels of a pod: (list context component). Without the chart's version, so that a new one restarts no pod. */}}
{{- define "fairlead.podLabels" -}}
{{- $ := first . -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/managed-by: {{ $.Release.Service }}
{{- with $.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels of an object: (list context component). */}}
{{- define "fairlead.labels" -}}
{{- $ := first . -}}
{{ include "fairlead.podLabels" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The body of an object's metadata: (list context component name). */}}
{{- define "fairlead.metadata" -}}
{{- $ := first . -}}
name: {{ last . }}
namespace: {{ include "fairlead.namespace" $ }}
labels:
  {{- include "fairlead.labels" (list $ (index . 1)) | nindent 2 }}
{{- with $.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* An image's address: (list context image). A digest replaces a tag. */}}
{{- define "fairlead.address" -}}
{{- $ := first . -}}
{{- $image := last . -}}
{{- $registry := default $image.registry $.Values.global.imageRegistry -}}
{{- $repository := $image.repository -}}
{{- if $registry -}}{{- $repository = printf "%s/%s" $registry $repository -}}{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default $.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "segd.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "segd.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains (include "segd.name" .) .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "segd.name" .) | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "segd.selector" -}}
app.kubernetes.io/name: {{ include "segd.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "segd.labels" -}}
{{ include "segd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "segd.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "segd.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "segd.authSecret" -}}
{{- default (printf "%s-auth" (include "segd.fullname" .)) .Values.auth.existingSecret -}}
{{- end -}}

{{- define "segd.configSecret" -}}
{{- default (printf "%s-config" (include "segd.fullname" .)) .Values.existingConfigSecret -}}
{{- end -}}

{{/* segd.yaml: config, and over it what the chart decides. */}}
{{- define "segd.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if not .Values.cameras -}}
{{- fail "cameras is empty: name at least one, such as --set cameras[0].name=gate,cameras[0].url=rtsp://host/path, or an existingConfigSecret" -}}
{{- end -}}
{{- $_ := set $config "cameras" .Values.cameras -}}
{{- $_ := set $config "http" (mergeOverwrite (default (dict) $config.http) (dict "addr" ":8080")) -}}
{{- $nats := mergeOverwrite (default (dict) $config.nats) (dict "addr" ":4222" "store_dir" "/var/lib/segd/nats") -}}
{{- if .Values.nats.url -}}
{{- $_ := set $nats "url" .Values.nats.url -}}
{{- end -}}
{{- $_ := set $config "nats" $nats -}}
{{- if .Values.whip.enabled -}}
{{- $_ := set $config "whip" (mergeOverwrite (default (dict) $config.whip) (dict "addr" (printf ":%d" (int .Values.whip.port)) "public_ips" .Values.whip.publicIPs)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

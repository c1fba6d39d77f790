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

{{/* Not empty where the pods are boxes of a fleet. */}}
{{- define "segd.fleet" -}}
{{- if or .Values.fleet.enabled .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}
{{- if not .Values.nats.url -}}
{{- fail "nats.url is empty: the boxes of a fleet (fleet.enabled, autoscaling.enabled or replicas above 1) share a NATS server; set it, such as nats://user:password@nats.messaging:4222, or replicas=1 without a fleet" -}}
{{- end -}}
{{- if and .Values.whip.enabled (not .Values.whip.hostPort) -}}
{{- fail "whip.hostPort is false: the media of a publisher have to reach the one box that runs its camera, and a service would spread them over all; set whip.hostPort=true, and whip.publicIPs to the addresses of all nodes" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* The boxes of a fleet, of whichever release. */}}
{{- define "segd.boxes" -}}
- podSelector: {matchLabels: {app.kubernetes.io/name: {{ include "segd.name" . }}}}
{{- end -}}

{{/* Where other boxes reach a pod's page; empty: it tells its IP itself, as it does where there is no page for others. */}}
{{- define "segd.address" -}}
{{- if .Values.fleet.address -}}
{{- .Values.fleet.address -}}
{{- else if .Values.fleet.page -}}
{{- printf "%s://$(POD_IP):8080/" (ternary "https" "http" (ne (dig "http" "tls" "cert" "" .Values.config) "")) -}}
{{- end -}}
{{- end -}}

{{/* Boxes on nodes of their own where there are enough, so that what fails with a node is one box. */}}
{{- define "segd.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else if include "segd.fleet" . -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "segd.selector" . | nindent 12 }}
{{- end -}}
{{- end -}}

{{/* And over zones. */}}
{{- define "segd.spread" -}}
{{- if .Values.topologySpreadConstraints -}}
{{- toYaml .Values.topologySpreadConstraints -}}
{{- else if include "segd.fleet" . -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "segd.selector" . | nindent 6 }}
{{- end -}}
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
{{- if gt (int .Values.nats.replicas) 1 -}}
{{- $_ := set $nats "replicas" (int .Values.nats.replicas) -}}
{{- end -}}
{{- if .Values.nats.camerasKeySecret -}}
{{- $_ := set $nats "cameras_key" "/etc/segd/cameras/cameras.key" -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "nats" $nats -}}
{{- if include "segd.fleet" . -}}
{{- $fleet := default (dict) $config.fleet -}}
{{- with .Values.fleet.labels -}}
{{- $_ := set $fleet "labels" . -}}
{{- end -}}
{{- with .Values.fleet.maxCameras -}}
{{- $_ := set $fleet "max_cameras" (int .) -}}
{{- end -}}
{{- with .Values.fleet.ttl -}}
{{- $_ := set $fleet "ttl" . -}}
{{- end -}}
{{- if $fleet -}}
{{- $_ := set $config "fleet" $fleet -}}
{{- end -}}
{{- end -}}
{{- if .Values.whip.enabled -}}
{{- $_ := set $config "whip" (mergeOverwrite (default (dict) $config.whip) (dict "addr" (printf ":%d" (int .Values.whip.port)) "public_ips" .Values.whip.publicIPs)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

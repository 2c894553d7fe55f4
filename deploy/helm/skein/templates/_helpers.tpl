{{- define "skein.name" -}}
{{- if contains "skein" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-skein" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "skein.selector" -}}
app.kubernetes.io/name: skein
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "skein.labels" -}}
{{ include "skein.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "skein.secret" -}}
{{ .Values.secret.existing | default (include "skein.name" .) }}
{{- end -}}

{{/* Does a pool, given its roles, have one of them? Empty: no. */}}
{{- define "skein.has" -}}
{{- if or (has "all" .roles) (has .role .roles) }}yes{{ end -}}
{{- end -}}

{{- define "skein.single" -}}
{{- if eq .Values.mode "single" }}yes{{ end -}}
{{- end -}}

{{/* The groups of nodes, as YAML: in the mode "single" one of one node. */}}
{{- define "skein.pools" -}}
{{- if include "skein.single" . -}}
{{- dict "node" (merge (dict "roles" (list "all") "replicas" 1) (omit .Values.single "persistence")) | toYaml -}}
{{- else -}}
{{- .Values.pools | toYaml -}}
{{- end -}}
{{- end -}}

{{/* Addresses where a node finds the others: the first three of every pool. One that answers is enough. */}}
{{- define "skein.seeds" -}}
{{- $root := . -}}
{{- $seeds := list -}}
{{- range $name, $pool := .Values.pools }}{{ if $pool }}
{{- range $i := until (int (min 3 (int $pool.replicas))) -}}
{{- $seeds = append $seeds (printf "%s-%s-%d.%s-nodes:7946" (include "skein.name" $root) $name $i (include "skein.name" $root)) -}}
{{- end }}{{ end }}{{ end -}}
{{- join "," $seeds -}}
{{- end -}}

package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm/skein"

// values reads values as they stand in a file.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The ways to install it that the documents tell.
var installations = map[string]string{
	"single": `mode: single`,
	"single, with a volume of one's own": `
mode: single
single: {persistence: {size: 1Gi, existingClaim: mine}}`,
	"single, with a class and in front of it an ingress": `
mode: single
single: {persistence: {size: 100Gi, storageClass: fast}}
preStopSeconds: 0
ingress: {enabled: true, host: chat.example.org, tls: [{secretName: chat-tls, hosts: [chat.example.org]}]}`,
	"cluster": `store: {url: "postgres://skein:x@db/skein"}`,
	"cluster, with a secret of one's own and monitoring": `
secret: {existing: skein-secrets}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true}
networkPolicy: {enabled: true, monitoring: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]}
settings: {SKEIN_HTTP_PUBLIC_URL: "https://chat.example.org"}`,
	"cluster, over a bus of one's own": `
secret: {existing: skein-secrets}
externalBus: nats://user:password@nats:4222`,
	"split": "secret: {existing: skein-secrets}\n", // and values-split.yaml
}

func installation(t *testing.T, name string) map[string]any {
	t.Helper()
	v := values(t, installations[name])
	if name == "split" {
		split, err := chartutil.ReadValuesFile(chartDir + "/values-split.yaml")
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(v, split)
	}
	return v
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm lint has nothing to say.
func TestChartIsLinted(t *testing.T) {
	for name := range installations {
		t.Run(name, func(t *testing.T) {
			l := lint.All(chartDir, installation(t, name), "skein", true)
			for _, m := range l.Messages {
				// An icon is a matter of taste.
				if m.Severity > support.InfoSev || !strings.Contains(m.Error(), "icon is recommended") {
					t.Error(m)
				}
			}
		})
	}
}

// rendered is what `helm template` prints, read as strictly as Kubernetes reads it: a field that
// is not there is an error. Kinds of others than Kubernetes (monitoring) are left as text.
func rendered(t *testing.T, v map[string]any) (objects []runtime.Object, others []string, notes string) {
	t.Helper()
	c := load(t)
	caps := *chartutil.DefaultCapabilities
	full, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "skein", Namespace: "chat", IsInstall: true, Revision: 1}, &caps)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, full)
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		for doc := range strings.SplitSeq("\n"+files[name], "\n---") {
			if parsed := map[string]any{}; yaml.Unmarshal([]byte(doc), &parsed) == nil && len(parsed) == 0 {
				continue
			}
			if strings.Contains(doc, "apiVersion: monitoring.coreos.com/") {
				if err := yaml.UnmarshalStrict([]byte(doc), &map[string]any{}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				others = append(others, doc)
				continue
			}
			object, _, err := decoder.Decode([]byte(doc), nil, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, doc)
				continue
			}
			objects = append(objects, object)
		}
	}
	return objects, others, notes
}

func of[T any](objects []runtime.Object) (found []T) {
	for _, o := range objects {
		if v, ok := o.(T); ok {
			found = append(found, v)
		}
	}
	return found
}

// Every way to install it becomes objects that Kubernetes takes, whose parts fit each other.
func TestChartIsRendered(t *testing.T) {
	for name := range installations {
		t.Run(name, func(t *testing.T) {
			objects, others, notes := rendered(t, installation(t, name))
			sets, services := of[*appsv1.StatefulSet](objects), of[*corev1.Service](objects)
			if len(sets) == 0 || len(services) != 3 || len(of[*netv1.NetworkPolicy](objects)) != 1 {
				t.Fatalf("%d sets, %d services", len(sets), len(services))
			}
			if monitored := strings.Contains(name, "monitoring"); monitored != (len(others) == 2) {
				t.Errorf("%d objects of the Prometheus operator", len(others))
			}
			for _, s := range services {
				if !slices.ContainsFunc(sets, func(set *appsv1.StatefulSet) bool { return selects(s.Spec.Selector, set.Spec.Template.Labels) }) {
					t.Errorf("nothing is behind the service %s", s.Name)
				}
			}
			for _, set := range sets {
				if !selects(set.Spec.Selector.MatchLabels, set.Spec.Template.Labels) {
					t.Errorf("%s does not select its own pods", set.Name)
				}
				if !strings.Contains(notes, "exec "+sets[0].Name+"-0") && len(sets) == 1 {
					t.Errorf("the notes name no pod of %s:\n%s", set.Name, notes)
				}
				checkVolumes(t, set)
			}
		})
	}
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// checkVolumes: what is mounted is there, and the other way round.
func checkVolumes(t *testing.T, set *appsv1.StatefulSet) {
	t.Helper()
	var there, mounted []string
	for _, v := range set.Spec.Template.Spec.Volumes {
		there = append(there, v.Name)
	}
	for _, c := range set.Spec.VolumeClaimTemplates {
		there = append(there, c.Name)
	}
	for _, m := range set.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounted = append(mounted, m.Name)
	}
	slices.Sort(there)
	slices.Sort(mounted)
	if !slices.Equal(there, mounted) {
		t.Errorf("%s has the volumes %v and mounts %v", set.Name, there, mounted)
	}
}

// The single node keeps everything in a volume that outlives it, and knows nothing of a database
// or of other nodes.
func TestChartOfASingleNode(t *testing.T) {
	objects, _, _ := rendered(t, installation(t, "single"))
	sets := of[*appsv1.StatefulSet](objects)
	if len(sets) != 1 || *sets[0].Spec.Replicas != 1 || len(of[*corev1.Secret](objects)) != 0 {
		t.Fatalf("%d sets", len(sets))
	}
	claims := sets[0].Spec.VolumeClaimTemplates
	if len(claims) != 1 || claims[0].Spec.Resources.Requests.Storage().String() != "20Gi" {
		t.Errorf("claims %v", claims)
	}
	for _, e := range sets[0].Spec.Template.Spec.Containers[0].Env {
		if slices.Contains([]string{"SKEIN_STORE_FILE", "SKEIN_NODE_SECRET_FILE", "SKEIN_CLUSTER", "SKEIN_NODE_LISTEN"}, e.Name) {
			t.Errorf("it is told %s", e.Name)
		}
	}
	objects, _, _ = rendered(t, installation(t, "single, with a volume of one's own"))
	set := of[*appsv1.StatefulSet](objects)[0]
	if v := set.Spec.Template.Spec.Volumes; len(set.Spec.VolumeClaimTemplates) != 0 || len(v) != 1 || v[0].PersistentVolumeClaim.ClaimName != "mine" {
		t.Errorf("volumes %v", v)
	}
}

// What is written wrongly is refused before anything is installed, with the name of the value.
func TestChartRefuses(t *testing.T) {
	c := load(t)
	for wrong, want := range map[string]string{
		`mode: double`: "mode",
		`imagee: {}`:   "imagee",
		`image: {repository: skein, pullPolicy: Sometimes}`: "pullPolicy",
		`image: {repository: ""}`:                           "repository",
		`single: {persistence: {size: big}}`:                "size",
		`single: {replicas: 3, persistence: {size: 1Gi}}`:   "replicas",
		`pools: {node: {roles: [king], replicas: 1}}`:       "pools",
		`pools: {node: {roles: [all], replicas: 0}}`:        "pools",
		`pools: {Node: {roles: [all], replicas: 1}}`:        "pools",
		`store: {url: "mysql://db/skein"}`:                  "url",
		`secret: {node: short}`:                             "node",
		`externalBus: "http://nats"`:                        "externalBus",
		`settings: {HTTP_LISTEN: ":80"}`:                    "HTTP_LISTEN",
		`settings: {SKEIN_HTTP_LISTEN: [a]}`:                "SKEIN_HTTP_LISTEN",
		`service: {type: ClusterIP, port: 0}`:               "port",
		`ingress: {enabled: "yes"}`:                         "enabled",
		`preStopSeconds: -1`:                                "preStopSeconds",
		`terminationGracePeriodSeconds: 1`:                  "terminationGracePeriodSeconds",
		`podDisruptionBudget: {maxUnavailable: 0}`:          "maxUnavailable",
	} {
		_, err := chartutil.ToRenderValues(c, values(t, wrong), chartutil.ReleaseOptions{Name: "skein"}, chartutil.DefaultCapabilities)
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want an error with %q", wrong, err, want)
		}
	}
	// A cluster without a database.
	full, err := chartutil.ToRenderValues(c, map[string]any{}, chartutil.ReleaseOptions{Name: "skein"}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Render(c, full); err == nil || !strings.Contains(err.Error(), "store.url") {
		t.Errorf("a cluster without a database: %v", err)
	}
}

// Package monitoring has Prometheus read its files, as promtool does.
package monitoring

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const dir = "../../../deploy/monitoring/"

func promQL() parser.Parser { return parser.NewParser(parser.Options{}) }

// promtool check rules: every expression, label and template of the alerts.
func TestRules(t *testing.T) {
	groups, errs := rulefmt.ParseFile(dir+"alerts.yaml", false, model.UTF8Validation, promQL(), promslog.NewNopLogger())
	for _, err := range errs {
		t.Error(err)
	}
	n := 0
	if groups != nil {
		for _, g := range groups.Groups {
			n += len(g.Rules)
		}
	}
	if n < 10 {
		t.Errorf("only %d rules", n)
	}
	wrong := "groups: [{name: a, rules: [{alert: A, expr: 'rate(skein_x[)'}]}]"
	if _, errs := rulefmt.Parse([]byte(wrong), false, model.UTF8Validation, promQL(), promslog.NewNopLogger()); len(errs) == 0 {
		t.Error("an expression that is none passed")
	}
}

// promtool check config, of what an operator copies.
func TestConfig(t *testing.T) {
	c, err := config.LoadFile(dir+"prometheus.yml", false, promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ScrapeConfigs) != 1 || c.ScrapeConfigs[0].JobName != "skein" {
		t.Errorf("%+v", c.ScrapeConfigs)
	}
	for _, f := range c.RuleFiles {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
}

// Every panel of the dashboard asks what Prometheus understands.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile(dir + "grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	n := 0
	grafana := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$node", "n1", "$instance", "n1", "$job", "skein")
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			n++
			if _, err := promQL().ParseExpr(grafana.Replace(q.Expr)); err != nil {
				t.Errorf("%s: %s: %v", p.Title, q.Expr, err)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d queries", n)
	}
}

package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Grafana's names of units.
const (
	unitSeconds   = "s"
	unitPerSecond = "reqps"
	unitFPS       = "fps"
	unitShare     = "percentunit"
	unitBytes     = "bytes"
	unitCount     = "short"
	unitPixels    = "pixel"
	unitNone      = "none"
)

// The grid is 24 wide.
const (
	full, half, third, quarter, sixth = 24, 12, 8, 6, 4

	chartHeight  = 8
	numberHeight = 4
)

// source is the Prometheus chosen above the dashboard.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// A query is PromQL with the name its lines get.
type query struct{ expr, legend string }

func (q query) builder(ref int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		Datasource(source).RefId(string(rune('A' + ref))).
		Expr(q.expr).LegendFormat(q.legend)
}

// newDashboard is what all have in common.
func newDashboard(uid, title, description string) *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder(title).
		Uid(uid).
		Description(description).
		Tags([]string{"segd"}).
		Refresh("10s").
		Time("now-30m", "now").
		Timezone("browser").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("segd").
			Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"segd"}).
			IncludeVars(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").
			Label("Prometheus").Type("prometheus"))
}

// cameraVariable chooses cameras, any number of them if several.
func cameraVariable(several bool) *dashboard.QueryVariableBuilder {
	const values = "label_values(segd_camera_up, camera)"
	v := dashboard.NewQueryVariableBuilder("camera").
		Label("Camera").Datasource(source).
		Query(dashboard.StringOrMap{String: cog.ToPtr(values)}).Definition(values).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNaturalAsc)
	if several {
		return v.Multi(true).IncludeAll(true).AllValue(".*").
			Current(dashboard.VariableOption{
				Text:  dashboard.StringOrArrayOfString{String: cog.ToPtr("All")},
				Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")},
			})
	}
	return v
}

func row(title string) *dashboard.RowBuilder { return dashboard.NewRowBuilder(title) }

// lines is a chart over time.
func lines(width uint32, title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Span(width).Height(chartHeight).
		Unit(unit).LineWidth(1).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, q := range queries {
		p.WithTarget(q.builder(i))
	}
	return p
}

// stacked piles a chart's lines up.
func stacked(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return p.FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// logarithmic has a chart show orders of magnitude.
func logarithmic(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return p.ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionLog).Log(10))
}

// number is the newest value, large. Its colour is that of the highest limit it has
// reached; the first limit has no bound.
func number(title, description, unit string, q query, limits ...limit) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Span(sixth).Height(numberHeight).
		Unit(unit).
		GraphMode(common.BigValueGraphModeArea).ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(thresholds(limits)).
		WithTarget(q.builder(0))
}

type limit struct {
	from  float64
	color string
}

// Common limits.
var (
	neutral = []limit{{0, "text"}}
	goodIf1 = []limit{{0, "red"}, {1, "green"}}
	badIf1  = []limit{{0, "green"}, {1, "red"}}
	latency = []limit{{0, "green"}, {.3, "yellow"}, {.5, "red"}}
)

func thresholds(limits []limit) *dashboard.ThresholdsConfigBuilder {
	steps := make([]dashboard.Threshold, len(limits))
	for i, l := range limits {
		steps[i].Color = l.color
		if i > 0 {
			steps[i].Value = cog.ToPtr(l.from)
		}
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// state is one value of a timeline.
type state struct{ value, text, color string }

// timeline shows states as bars over time.
func timeline(width uint32, title, description string, q query, states ...state) *statetimeline.PanelBuilder {
	options := make(map[string]dashboard.ValueMappingResult, len(states))
	for i, s := range states {
		options[s.value] = dashboard.ValueMappingResult{
			Text: cog.ToPtr(s.text), Color: cog.ToPtr(s.color), Index: cog.ToPtr(int32(i)),
		}
	}
	return statetimeline.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Span(width).Height(chartHeight).
		ShowValue(common.VisibilityModeNever).MergeValues(true).RowHeight(.8).FillOpacity(80).
		Mappings([]dashboard.ValueMapping{{
			ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options},
		}}).
		WithTarget(q.builder(0))
}

// buckets shows a histogram's buckets over time.
func buckets(width uint32, title, description, unit, expr string) *heatmap.PanelBuilder {
	return heatmap.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Span(width).Height(chartHeight).
		Calculate(false).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit)).
		WithTarget(query{expr, "{{le}}"}.builder(0).Format(prometheus.PromQueryFormatHeatmap))
}

// bars shows the newest values side by side, in the order of the queries.
func bars(width uint32, title, description, unit string, queries ...query) *bargauge.PanelBuilder {
	p := bargauge.NewPanelBuilder().
		Title(title).Description(description).Datasource(source).
		Span(width).Height(chartHeight).
		Unit(unit).Orientation(common.VizOrientationVertical).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdContinuousBlues)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	for i, q := range queries {
		p.WithTarget(q.builder(i).Instant())
	}
	return p
}

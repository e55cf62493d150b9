# make.jq - a dashboard of Grafana out of a table of panels: jq -f make.jq NAME.panels.json
# A panel is {title, width (of 24), height, type, unit, queries: [[expression, legend], ...]}.

def datasource: { type: "prometheus", uid: "${datasource}" };

def variable: {
    name: .name, label: .label, type: "query", datasource: datasource,
    query: { query: "label_values(\(.of), \(.name))", refId: .name },
    definition: "label_values(\(.of), \(.name))",
    includeAll: true, allValue: ".*", multi: true, current: { text: ["All"], value: ["$__all"] },
    refresh: 2, sort: 1, hide: 0, options: [], regex: "", skipUrlSync: false
};

def options:
    if .type == "timeseries" then
        { legend: { displayMode: "list", placement: "bottom", showLegend: true },
          tooltip: { mode: "multi", sort: "desc" } }
    elif .type == "stat" or .type == "gauge" or .type == "bargauge" then
        { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, textMode: "auto",
          colorMode: "value", graphMode: "area", orientation: "auto", displayMode: "lcd" }
    elif .type == "heatmap" then
        { calculate: false, yAxis: { unit: .unit }, color: { mode: "scheme", scheme: "Viridis", steps: 64 },
          tooltip: { show: true }, legend: { show: true } }
    else { showHeader: true } end;

def custom:
    if .type == "timeseries" then
        { drawStyle: "line", lineWidth: 1, fillOpacity: (if .stack then 40 else 10 end), showPoints: "never",
          spanNulls: false, stacking: { mode: (if .stack then "normal" else "none" end), group: "A" } }
    else {} end;

def bounds: if .unit == "percentunit" then { min: 0, max: 1 } else { min: 0 } end;

# Where Prometheus has native histograms, a histogram has no _bucket, _sum and _count: a query that names them asks for
# native ones first. A heat map of classic buckets asks for native ones where there are none: it cannot show both.
def native_first: . as $classic
    | gsub("rate\\((?<of>[a-z_]+_latency_seconds)_(?<part>sum|count)(?<rest>[^]]*\\])\\)"; "histogram_\(.part)(rate(\(.of)\(.rest)))")
    | if startswith("sum by (le) (") then
        gsub("_bucket\\{"; "{") | sub("^sum by \\(le\\)"; "sum") | "\($classic) or (\(.) unless on () count(\($classic)))"
      elif startswith("histogram_quantile(") then gsub(", le\\)"; ")") | gsub("_bucket\\{"; "{") else . end
    | if . == $classic or startswith($classic) then . else "\(.) or \($classic)" end;

def panel($id; $x; $y): . as $panel | {
    id: $id, title: .title, type: .type, description: (.description // ""), datasource: datasource,
    gridPos: { x: $x, y: $y, w: .width, h: .height },
    fieldConfig: {
        defaults: ({ unit: .unit, custom: custom, color: { mode: (.color // "palette-classic") },
                     thresholds: { mode: "absolute", steps: (.steps // [{ color: "green", value: null }]) } } + bounds),
        overrides: []
    },
    options: options,
    targets: [ .queries | to_entries[] | {
        refId: ("ABCDEFGHIJ"[.key:.key + 1]), datasource: datasource, expr: (.value[0] | native_first), legendFormat: .value[1],
        range: ($panel.type != "table"), instant: ($panel.type == "table"), editorMode: "code",
        format: (if $panel.type == "table" then "table" elif $panel.type == "heatmap" then "heatmap" else "time_series" end)
    } ],
    transformations: (if .type == "table" then [ { id: "organize", options: { excludeByName: (
        ["Time", "__name__", "job", "availability_zone", "instance_name", "subnet_id"] | map({ (.): true }) | add ) } } ] else [] end)
};

# Panels from left to right, in lines of 24.
def placed: reduce .[] as $panel ({ x: 0, y: 0, high: 0, id: 1, done: [] };
    if .x + $panel.width > 24 then .x = 0 | .y += .high | .high = 0 else . end
    | .done += [ .x as $x | .y as $y | .id as $id | $panel | panel($id; $x; $y) ]
    | .x += $panel.width | .id += 1 | .high = ([.high, $panel.height] | max)) | .done;

{
    uid: .uid, title: .title, description: .description, tags: ["neuron"], editable: true, schemaVersion: 38,
    version: 1, refresh: "30s", time: { from: "now-1h", to: "now" }, timezone: "", graphTooltip: 1,
    annotations: { list: [] }, links: [ { title: "Neuron", type: "dashboards", tags: ["neuron"], asDropdown: true,
        includeVars: true, keepTime: true, targetBlank: false, icon: "external link", tooltip: "", url: "" } ],
    templating: { list: ([ { name: "datasource", label: "Data source", type: "datasource", query: "prometheus",
        current: {}, hide: 0, includeAll: false, multi: false, options: [], refresh: 1, regex: "", skipUrlSync: false } ]
        + [ .variables[] | variable ]) },
    panels: (.panels | placed)
}

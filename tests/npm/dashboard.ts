// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A dashboard as Grafana's own types have it, with what they leave open filled in: of each kind of panel its options and
// its field settings, of the targets the query of Prometheus. From this a JSON schema is made that allows no other keys.
import type {Dashboard, DataQuery, FieldColor, FieldConfig, GraphDrawStyle, GridPos, LineStyle, MatcherConfig, Panel,
  RowPanel} from '@grafana/schema';
import type * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as states
  from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type * as series from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

interface Query extends Pick<DataQuery, 'refId' | 'hide'> {
  expr: string;
  legendFormat?: string;
  format?: 'time_series' | 'heatmap' | 'table';
  instant?: boolean;
  interval?: string;
}

interface Override {
  matcher: MatcherConfig<string> & {id: 'byName' | 'byRegexp'};
  properties: Array<
    | {id: 'color'; value: FieldColor}
    | {id: 'custom.drawStyle'; value: GraphDrawStyle}
    | {id: 'custom.lineStyle'; value: LineStyle}
    | {id: 'custom.fillOpacity' | 'custom.lineWidth'; value: number}>;
}

interface PanelOf<Type extends string, Options, Custom>
  extends Omit<Panel, 'type' | 'title' | 'description' | 'id' | 'gridPos' | 'options' | 'fieldConfig' | 'targets'> {
  type: Type;
  id: number;
  title: string;
  description: string;
  gridPos: GridPos;
  options: Partial<Options>;
  fieldConfig: {
    defaults: Omit<FieldConfig, 'custom' | 'unit'> & {unit: string; custom?: Custom};
    overrides: Override[];
  };
  targets: Query[];
}

/** @discriminator type */
type OurPanel =
  | (Omit<RowPanel, 'panels' | 'title'> & {title: string; panels: []})
  | PanelOf<'timeseries', series.Options, series.FieldConfig>
  | PanelOf<'heatmap', heatmap.Options, heatmap.FieldConfig>
  | PanelOf<'stat', stat.Options, undefined>
  | PanelOf<'state-timeline', states.Options, states.FieldConfig>;

export interface OurDashboard extends Omit<Dashboard, 'panels'> {
  uid: string;
  title: string;
  panels: OurPanel[];
}

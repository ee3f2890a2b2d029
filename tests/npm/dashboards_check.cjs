// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// dashboards_check.cjs FILE…: is each as dashboard.ts has it? And are those that are wrong on purpose
// refused?
const fs = require('fs');
const path = require('path');
const Ajv = require('ajv');
const {createGenerator} = require('ts-json-schema-generator');

const schema = createGenerator({
  path: path.join(__dirname, 'dashboard.ts'), tsconfig: path.join(__dirname, 'tsconfig.json'), type: 'OurDashboard',
  additionalProperties: false, discriminatorType: 'open-api', expose: 'none', topRef: false,
}).createSchema('OurDashboard');
const isDashboard = new Ajv({allErrors: true, allowUnionTypes: true, discriminator: true}).compile(schema);

const first = (dashboard, type, setting) => dashboard.panels.find(
  p => p.type === type && (!setting || p.fieldConfig.defaults[setting]));

const wrong = {
  'a key that nobody knows': d => { d.pannels = []; },
  'a version that is text': d => { d.schemaVersion = '39'; },
  'a kind of variable that is none': d => { d.templating.list[0].type = 'guess'; },
  'a kind of panel that is none': d => { first(d, 'stat').type = 'graph3d'; },
  'a panel without a description': d => { delete first(d, 'stat').description; },
  'a panel without a unit': d => { delete first(d, 'timeseries').fieldConfig.defaults.unit; },
  'a misspelt option': d => { first(d, 'stat').options.colourMode = 'value'; },
  'an option of another kind of panel': d => { first(d, 'timeseries').options.calculate = true; },
  'a way to draw that is none': d => { first(d, 'timeseries').fieldConfig.defaults.custom.drawStyle = 'dots'; },
  'a misspelt setting of a field': d => { first(d, 'timeseries').fieldConfig.defaults.custom.lineWith = 2; },
  'a threshold without a colour': d => {
    delete first(d, 'stat', 'thresholds').fieldConfig.defaults.thresholds.steps[0].color;
  },
  'a query without an expression': d => { delete first(d, 'heatmap').targets[0].expr; },
  'an override of what there is not': d => {
    first(d, 'timeseries').fieldConfig.overrides[0].properties[0].id = 'colour';
  },
};
function problems(dashboard) {
  if (isDashboard(dashboard)) return [];
  return isDashboard.errors.map(({instancePath, message, params}) => {
    const panel = dashboard.panels?.[instancePath.match(/^\/panels\/(\d+)/)?.[1]];
    return `${instancePath}${panel ? ` ('${panel.title}')` : ''}: ${message} ${JSON.stringify(params)}`;
  });
}

const files = process.argv.slice(2);
const failures = files.length ? [] : ['no dashboards were named'];
for (const file of files) {
  const text = fs.readFileSync(file, 'utf8');
  failures.push(...problems(JSON.parse(text)).map(problem => `${file}: ${problem}`));
}
for (const [what, spoil] of Object.entries(wrong)) {
  const dashboard = JSON.parse(fs.readFileSync(files[0], 'utf8'));
  spoil(dashboard);
  if (problems(dashboard).length === 0) failures.push(`${what} was not noticed`);
}
failures.forEach(failure => console.error(failure));
console.log(`${files.length} dashboards, ${Object.keys(wrong).length} wrong on purpose, ${failures.length} failures`);
process.exit(failures.length ? 1 : 0);

// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
import js from '@eslint/js';

const names = (list) => Object.fromEntries(list.split(' ').map((name) => [name, 'readonly']));
const browser =
    names(`addEventListener cancelAnimationFrame clearTimeout confirm document Event fetch getComputedStyle history
  HTMLElement ImageData localStorage location matchMedia Option Path2D performance requestAnimationFrame ResizeObserver
  sessionStorage setInterval setTimeout URL URLSearchParams WebSocket window`.replace(/\s+/g, ' '));
const node = names(`Buffer clearInterval console globalThis process setInterval
    setTimeout URL document window Event performance sessionStorage structuredClone`.replace(/\s+/g, ' '));

const rules = {
  ...js.configs.recommended.rules,
  eqeqeq: 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-eval': 'error',
  'no-unused-vars': ['error', {argsIgnorePattern: '^_'}],
  'no-self-compare': 'off',
  semi: 'error',
  quotes: ['error', 'single', {avoidEscape: true}],
  'max-len': ['error', {code: 120, ignoreTemplateLiterals: true, ignoreStrings: true}],
};
const forbidden = (name) =>
    ({selector: `MemberExpression[property.name="${name}"]`, message: 'Text from outside goes in by textContent.'});

export default [
  {
    files: ['www/*.js'],
    languageOptions: {ecmaVersion: 2023, sourceType: 'module', globals: browser},
    rules: {
      ...rules,
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', 40],
      'no-restricted-syntax': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML'].map(forbidden)]
    },
  },
  {
    files: ['*.mjs'],
    languageOptions: {ecmaVersion: 2023, sourceType: 'module', globals: node},
    rules: {...rules, 'max-lines': ['error', 300]}
  },
];

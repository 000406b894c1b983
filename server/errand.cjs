#!/usr/bin/env node
// Entry point of the command `errand`. This file is plain ES5 and first loads nothing else from the package, so any
// version of Node can run it and report that it is too old. All other files need the version in `engines` of
// package.json.
'use strict'

var fs = require('fs')
var path = require('path')

var needed = require('../package.json').engines.node.replace('>=', '')
var has = process.versions.node.split('.').map(Number)
var least = needed.split('.').map(Number)
var built = path.join(__dirname, 'main.js')

if (has[0] < least[0] || (has[0] === least[0] && has[1] < least[1])) {
  fail(
    'Node ' +
      needed +
      ' or newer is needed, and this is ' +
      process.versions.node +
      '; install one from https://nodejs.org.',
  )
} else if (fs.existsSync(built)) {
  require(built)
} else if (__dirname.split(path.sep).indexOf('node_modules') >= 0) {
  fail('this is the source of Errand, which does not run below node_modules; install the package: npm install errand')
} else {
  require('./main.ts')
}

function fail(reason) {
  process.stderr.write('errand: ' + reason + '\n')
  process.exitCode = 1
}

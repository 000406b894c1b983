#!/usr/bin/env node
'use strict'
// `npm create errand FOLDER` runs `errand init FOLDER` of the same version.
const path = require('node:path')

process.argv.splice(2, 0, 'init')
require(path.join(path.dirname(require.resolve('errand/package.json')), 'server/errand.cjs'))

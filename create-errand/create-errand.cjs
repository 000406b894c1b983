#!/usr/bin/env node
'use strict'
// `npm create errand FOLDER` runs `errand init FOLDER` of the same version.
const { dirname, join } = require('node:path')

process.argv.splice(2, 0, 'init')
require(join(dirname(require.resolve('errand/package.json')), 'server/errand.cjs'))

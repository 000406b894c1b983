import { readFileSync } from 'node:fs'
import spectral from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'

const linter = new spectral.Spectral()
linter.setRuleset({ extends: [[oas, 'recommended']] })
const found = await linter.run(JSON.parse(readFileSync(process.argv[2], 'utf8')))
for (const { code, message, path } of found) console.log(`${code} at ${path.join('.')}: ${message}`)

import { parseArgs } from 'node:util'
import { reportLines } from './sim-report.ts'
import { simulate } from './simulate.ts'

// npm run sim -- --ops N --seed S [--worlds W] [--process]

const { values } = parseArgs({
  options: {
    ops: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    worlds: { type: 'string', default: '1' },
    process: { type: 'boolean', default: false },
  },
})
const operations = whole('--ops', values.ops)
const worlds = whole('--worlds', values.worlds)
const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000_000) : whole('--seed', values.seed)

function whole(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  console.error(`${option}: "${text}" is no whole number`)
  process.exit(2)
}

let violations = 0
for (let world = 0; world < worlds; world++) {
  const report = await simulate({ seed: seed + world, operations, inProcess: values.process })
  const inProcess = values.process ? ' --process' : ''
  const repeat = `npm run sim -- --seed ${report.seed} --ops ${operations}${inProcess}`
  for (const line of reportLines(report, repeat)) console.log(line)
  if (report.violation) violations++
}
if (worlds > 1) console.log(`${worlds} seeds, ${violations} violations`)
process.exit(violations > 0 ? 1 : 0)

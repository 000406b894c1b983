import { parseArgs } from 'node:util'
import { reportLines } from './sim-report.ts'
import { simulate } from './simulate.ts'

// npm run sim -- --ops N --seed S [--worlds W] [--hostile] [--process] [--engine postgres [--nodes N] [--url postgres://…]]

const { values } = parseArgs({
  options: {
    ops: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    worlds: { type: 'string', default: '1' },
    hostile: { type: 'boolean', default: false },
    process: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    nodes: { type: 'string', default: '2' },
    url: { type: 'string' },
  },
})
const operations = whole('--ops', values.ops)
const worlds = whole('--worlds', values.worlds)
const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000_000) : whole('--seed', values.seed)

function whole(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  refuse(`${option}: "${text}" is not a whole number`)
}

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

if (values.engine !== 'sqlite' && values.engine !== 'postgres')
  refuse(`--engine: "${values.engine}" is not sqlite or postgres`)
const nodes = whole('--nodes', values.nodes)
if (nodes < 1) refuse('--nodes: must be at least 1')
if (values.process && values.engine === 'postgres')
  refuse('--process: is for --engine sqlite; npm run faults kills nodes')
const postgres = values.engine === 'postgres' ? { nodes, url: values.url } : undefined

const say = (line: string) => process.stderr.write(`${line}\n`)
let violations = 0
for (let world = 0; world < worlds; world++) {
  const name = `seed ${seed + world}`
  say(`${name}: starting, ${operations} operations`)
  const report = await simulate({
    seed: seed + world,
    operations,
    isHostile: values.hostile,
    inProcess: values.process,
    ...(postgres && { postgres }),
    onProgress: (done) => say(`${name}: ${done} of ${operations} operations`),
  })
  const inProcess = `${values.hostile ? ' --hostile' : ''}${values.process ? ' --process' : ''}`
  const engine = postgres ? ` --engine postgres --nodes ${nodes}` : ''
  const repeat = `npm run sim -- --seed ${report.seed} --ops ${operations}${inProcess}${engine}`
  for (const line of reportLines(report, repeat)) console.log(line)
  if (report.violation) violations++
}
if (worlds > 1) console.log(`${worlds} seeds, ${violations} violations`)
process.exit(violations > 0 ? 1 : 0)

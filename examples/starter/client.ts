import { readFileSync } from 'node:fs'
import { createClient } from 'errand-client'
import type config from './errand.config.ts'

// Runs a task and prints its cost, with the key in ERRAND_API_KEY or else that of the demo user.

const { ERRAND_API_KEY, ERRAND_URL: baseUrl = 'http://127.0.0.1:3000' } = process.env
const demo = '.errand/demo.json'
const apiKey = ERRAND_API_KEY ?? (JSON.parse(readFileSync(demo, 'utf8')) as { key: string }).key
console.log(`Calling ${baseUrl} with the key in ${ERRAND_API_KEY === undefined ? demo : 'ERRAND_API_KEY'}.`)
const errand = createClient<typeof config>({ baseUrl, apiKey })
const task = await errand.tasks.run({ endpointId: 'writer.summarize', params: { text: 'It was a dark night.' } })
console.log(task.status, task.response, `for ${task.costUsd} USD`)
console.log(`${(await errand.account.get()).balanceUsd} USD are left.`)

import { createClient } from 'errand-client'

// Runs a task and prints its cost. `npm start` prints the key: ERRAND_API_KEY=errand_sk_… npm run client

const { ERRAND_API_KEY: apiKey = '', ERRAND_URL: baseUrl = 'http://127.0.0.1:3000' } = process.env
const errand = createClient({ baseUrl, apiKey })
const task = await errand.tasks.run({ endpointId: 'writer.summarize', params: { text: 'It was a dark night.' } })
console.log(task.status, task.response, `for ${task.costUsd} USD`)
console.log(`${(await errand.account.get()).balanceUsd} USD are left.`)
